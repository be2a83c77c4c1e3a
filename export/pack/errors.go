package pack

import (
	"fmt"

	"tvmgo/runtime"
)

func invalid(format string, args ...any) error {
	return fail(runtime.ErrInvalidArgument, "ValueError", format, args...)
}

func notFound(format string, args ...any) error {
	return fail(runtime.ErrNotFound, "NotFoundError", format, args...)
}

func corrupt(format string, args ...any) error {
	return fail(runtime.ErrCorruptModule, "CorruptModuleError", format, args...)
}

// fail makes an error of one of runtime's kinds.
func fail(kind error, code, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &runtime.Error{Kind: kind, Code: code, Message: err.Error(), Err: err}
}
