package pack

import "tvmgo/runtime"

func invalid(format string, args ...any) error {
	return runtime.Errorf(runtime.ErrInvalidArgument, format, args...)
}

func notFound(format string, args ...any) error {
	return runtime.Errorf(runtime.ErrNotFound, format, args...)
}

func corrupt(format string, args ...any) error {
	return runtime.Errorf(runtime.ErrCorruptModule, format, args...)
}
