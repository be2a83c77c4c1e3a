//go:build cuda

package cuda_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/runtime"
)

// A kernel may be used for the first time while its stream records, and its module be closed then: loading and unloading is no part of
// the recording, and the graph keeps what it launches.
func TestKernel_FirstUsedInARecording(t *testing.T) {
	need(t)
	leavesNothing(t)
	m, err := runtime.NewDeviceModule("cuda", "ptx", testdata(t, "kernels.ptx"), kernels...)
	require.NoError(t, err)
	k, err := m.Kernel("scale")
	require.NoError(t, err)
	unused := ptx(t, kernels...)
	x := tensor(t, first, []float32{1, 2})
	y := tensor(t, first, []float32{1})
	require.NoError(t, kernel(t, unused, "scale").Launch(nil, one, one, y, 1, 1))
	require.NoError(t, runtime.SyncDevice(t.Context(), first))
	s := stream(t, first)
	g, err := s.Capture(func() error {
		if err := k.Launch(s, one, runtime.Dim3{2}, x, 3, 2); err != nil {
			return err
		}
		return unused.Close()
	})
	require.NoError(t, err)
	require.NoError(t, k.Close())
	require.NoError(t, m.Close())
	for range 2 {
		require.NoError(t, g.Launch(s))
	}
	require.NoError(t, s.Sync(t.Context()))
	require.Equal(t, []float32{9, 18}, slice(t, x))
	require.NoError(t, g.Close())
}
