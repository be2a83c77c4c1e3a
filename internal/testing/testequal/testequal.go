// Package testequal compares arrays of millions of elements quickly; require.Equal uses reflection on each element
// and takes seconds under the race detector.
package testequal

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// Slices requires that two slices have equal elements.
func Slices[T comparable](t testing.TB, want, got []T, what ...any) {
	t.Helper()
	if len(got) != len(want) {
		require.Fail(t, fmt.Sprintf("%d elements, not %d", len(got), len(want)), what...)
	}
	for i, x := range got {
		if x != want[i] {
			require.Fail(t, fmt.Sprintf("element %d is %v, not %v", i, x, want[i]), what...)
		}
	}
}
