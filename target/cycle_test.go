package target_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/target"
)

// TestReplaceTag_Cycle checks that no tag can refer to itself, directly or through others.
func TestReplaceTag_Cycle(t *testing.T) {
	require.NoError(t, target.RegisterTag("test-cycle/a", map[string]any{"kind": "c", "mcpu": "x"}, "test-cycle/alias"))
	require.NoError(t, target.RegisterTag("test-cycle/b", map[string]any{"tag": "test-cycle/alias"}))
	require.NoError(t, target.RegisterTag("test-cycle/c", map[string]any{"tag": "test-cycle/b"}))
	for _, through := range []string{"test-cycle/a", "test-cycle/alias", "test-cycle/b", "test-cycle/c"} {
		err := target.ReplaceTag("test-cycle/a", map[string]any{"tag": through})
		require.ErrorIs(t, err, target.ErrRegister, through)
		require.ErrorContains(t, err, "based on this tag itself")
	}
	x := must.Get(target.New("test-cycle/c"))(t)
	require.Equal(t, "test-cycle/c", x.Tag())
	// a kind of its own: no cycle
	require.NoError(t, target.ReplaceTag("test-cycle/a", map[string]any{"tag": "test-cycle/c", "kind": "c"}))
}
