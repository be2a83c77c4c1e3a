//go:build runtimeonly

package objects

import (
	"context"
	"errors"
	"io"
)

// NoCompilerError says that files are not linked, because there is no compiler.
type NoCompilerError struct{ Err error }

func (e *NoCompilerError) Error() string { return e.Err.Error() }
func (e *NoCompilerError) Unwrap() error { return e.Err }

// Link is an error: the library was built to run what is linked.
func Link(context.Context, io.ReaderAt, int64) (library []byte, err error) {
	return nil, &NoCompilerError{errors.New("libtvmgo_runtime.so does not link objects: use libtvmgo.so, or export a " +
		"shared library")}
}

// IsObject reports whether data begins as an object, which counts as one for this machine: Link has the error.
func IsObject(head []byte) (isObject, isNative bool) {
	_, ok := relocatable(head)
	return ok, ok
}
