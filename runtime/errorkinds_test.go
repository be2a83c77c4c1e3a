package runtime_test

import (
	"fmt"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/runtime"
)

// Each kind has a code, and KindOf finds it by the code.
func TestErrorf_KindsAndCodes(t *testing.T) {
	for kind, code := range map[error]string{
		runtime.ErrNotFound: "NotFoundError", runtime.ErrNotSupported: "NotSupportedError",
		runtime.ErrDeviceUnavailable: "DeviceUnavailableError",
		runtime.ErrInvalidArgument:   "ValueError", runtime.ErrCorruptModule: "CorruptModuleError",
		runtime.ErrOutOfMemory: "MemoryError", runtime.ErrUntrusted: "UntrustedError",
		runtime.ErrClosed: "ClosedError", runtime.ErrFailed: "RuntimeError",
	} {
		err := runtime.Errorf(kind, "open %s: %w", "x", fs.ErrNotExist)
		require.Equal(t, code, err.Code)
		require.ErrorIs(t, err, kind)
		require.ErrorIs(t, err, fs.ErrNotExist)
		require.EqualError(t, err, "open x: file does not exist")
		require.Equal(t, kind, runtime.KindOf(code))
		require.Equal(t, code, runtime.CodeOf(fmt.Errorf("more: %w", err)))
		require.Equal(t, code, runtime.CodeOf(fmt.Errorf("more: %w", kind)))
	}
	for _, code := range []string{"TypeError", "IndexError", "KeyError", "AttributeError"} {
		require.Equal(t, runtime.ErrInvalidArgument, runtime.KindOf(code))
	}
	require.Equal(t, runtime.ErrFailed, runtime.KindOf("InternalError"))
	require.Equal(t, runtime.ErrFailed, runtime.KindOf("OwnError"))
	require.Equal(t, "RuntimeError", runtime.CodeOf(fs.ErrExist))
	require.Equal(t, "TypeError", runtime.CodeOf(&runtime.Error{Kind: runtime.ErrInvalidArgument, Code: "TypeError"}))
}
