// Package signaturefile finds the detached signature of a file: which name it has, and how much of it is read. Packages
// trust, which knows what a signature means, and runtime, which checks files before it loads them, share it.
package signaturefile

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Suffix is added to the name of a file to name the file with its signature, as the tool minisign does.
const Suffix = ".minisig"

// Verifier is runtime.Verifier, which documents it.
type Verifier interface {
	Verify(name string, content, signature []byte) error
}

// ReadKeys reads the public keys of a file or a folder. Package trust sets it, so that programs without that package do
// not contain its code.
var ReadKeys func(path string) (Verifier, error)

// limit is more than the longest signature with the longest comments that the tool minisign writes.
const limit = 32 << 10

// ErrTooLong is the error for a file that is too long to be a signature.
var ErrTooLong = errors.New("the file is longer than 32 KiB, which no signature is")

// Read returns the signature of the file path; nil, without an error, if it has none.
func Read(path string) ([]byte, error) {
	f, err := os.OpenFile(path+Suffix, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe must not block
	return readAll(f, err)
}

// ReadFS is Read for a file of fsys.
func ReadFS(fsys fs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name + Suffix)
	return readAll(f, err)
}

func readAll(f fs.File, err error) ([]byte, error) {
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, cause(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, cause(err)
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no ordinary file")
	}
	var text bytes.Buffer
	if _, err := io.Copy(&text, io.LimitReader(f, limit+1)); err != nil {
		return nil, cause(err)
	}
	if text.Len() > limit {
		return nil, ErrTooLong
	}
	if text.Len() == 0 {
		return []byte{}, nil // not nil: there is a file
	}
	return text.Bytes(), nil
}

// cause removes the path from an error: the caller names the file.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
