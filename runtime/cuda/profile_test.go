//go:build cuda

package cuda_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/tracetest"
	"tvmgo/runtime"
)

// Kernels and copies are on the tracks of their streams. Work that is being recorded as a graph is not timed, and the
// graph runs as without a profile.
func TestProfile(t *testing.T) {
	need(t)
	leavesNothing(t)
	k := kernel(t, ptx(t, kernels...), "scale")
	s := stream(t, first)
	x, y := tensor(t, first, []float32{1, 2}), tensor(t, first, []float32{0, 0})
	p := must.Get(runtime.NewProfile())(t)
	var g *runtime.Graph
	require.NoError(t, p.Do(func() (err error) {
		for range 3 {
			if err := k.Launch(s, one, runtime.Dim3{2}, x, 3, 2); err != nil {
				return err
			}
		}
		if err := y.CopyFromTensor(x, s); err != nil {
			return err
		}
		if g, err = s.Capture(func() error { return k.Launch(s, one, runtime.Dim3{2}, x, 2, 2) }); err != nil {
			return err
		}
		return s.Sync(t.Context())
	}))
	require.NoError(t, g.Launch(s))
	require.NoError(t, s.Sync(t.Context()))
	require.Equal(t, []float32{54, 108}, slice(t, x))
	require.Equal(t, []float32{27, 54}, slice(t, y))
	require.NoError(t, g.Close())

	trace := tracetest.Of(t, p)
	require.Equal(t, map[string]int{"scale": 4, "copy cuda:0 to cuda:0": 1}, tracetest.CheckShares(t, p))
	var onStream []string
	for _, e := range trace.Events {
		if e.Phase == "X" && trace.Process[e.PID] == "cuda:0" {
			require.Equal(t, fmt.Sprintf("stream %#x", s.Handle()), trace.Track[[2]int{e.PID, e.TID}])
			onStream = append(onStream, e.Category)
		}
	}
	require.Equal(t, []string{"kernel", "kernel", "kernel", "copy"}, onStream)
}
