//go:build opencl

package opencl_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/gpuprograms"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/tirrun"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir"
)

// Subgroups add rows on a device that has them. PoCL 3.1 has none.
func TestRun_Shuffles(t *testing.T) {
	need(t)
	to := must.Get(target.New("opencl -host=c -extensions=cl_khr_subgroup_shuffle,cl_khr_fp64 -thread_warp_size=32"))(t)
	lib := harness.LibraryFor(t, shuffledSums(t, tir.Float32), to)
	a := gpuprograms.Array(t, gpuprograms.Random(), tir.Float32, 4, 64)
	out := must.Open(runtime.NewTensor(tir.Float32, []int64{4}, devices[0]))(t)
	f := must.Open(lib.Function("sums"))(t)
	if _, err := f.Call(gpuprograms.OnDevice(t, a, devices[0]), out); err != nil {
		require.ErrorContains(t, err, "sub_group_shuffle")
		t.Skip("the driver lacks cl_khr_subgroup_shuffle")
	}
	v := must.Get(tirrun.Values[float32](a))(t)
	for i, got := range must.Get(runtime.ToSlice[float32](out))(t) {
		require.Equal(t, slices.Max(v[i*64:i*64+64]), got, "row %d", i)
	}
}
