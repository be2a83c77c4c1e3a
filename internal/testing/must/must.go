// Package must puts a call that can fail, and the check of its error, on one line of a test.
package must

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Get returns the value of a call that must succeed. If it fails, the test ends:
//
//	data := must.Get(os.ReadFile(path))(t)
func Get[T any](value T, err error) func(t require.TestingT) T {
	return func(t require.TestingT) T {
		if h, ok := t.(interface{ Helper() }); ok {
			h.Helper()
		}
		require.NoError(t, err)
		return value
	}
}

// Open is Get for a value that is closed when the test ends:
//
//	m := must.Open(runtime.Load(ctx, path))(t)
func Open[T interface{ Close() error }](value T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		Get(value, err)(t)
		t.Cleanup(func() { value.Close() })
		return value
	}
}

// Fail returns the error of a call that should fail, and drops its value:
//
//	require.ErrorContains(t, must.Fail(runtime.Load(ctx, path)), "no such file")
func Fail[T any](_ T, err error) error { return err }
