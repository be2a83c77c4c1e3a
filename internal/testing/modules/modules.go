// Package modules loads modules for tests.
package modules

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/runtime"
)

// Load loads a module, and closes it at the end of the test.
func Load(t testing.TB, path string, options ...runtime.LoadOption) *runtime.Module {
	t.Helper()
	m, err := runtime.Load(context.Background(), path, options...)
	require.NoError(t, err)
	t.Cleanup(func() { m.Close() })
	return m
}
