//go:build cuda

package cuda_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/cudarun"
	"tvmgo/internal/testing/gpuprograms"
	"tvmgo/internal/testing/gputest"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir"
)

// harness runs programs with the fake driver, whose kernels package cudarun executes.
var harness = gpuprograms.Harness{Kind: "cuda",
	Devices: []dlpack.Device{{Type: dlpack.CUDA}, {Type: dlpack.CUDA, ID: 1}},
	Need:    func(t testing.TB) { cudarun.Use(t) },
	Target: func(t testing.TB, options ...string) *target.Target {
		text := `{"kind": "cuda", "arch": "sm_90", "code-format": "source", "host": {"kind": "c"}`
		for _, o := range options {
			text += fmt.Sprintf(", %q: true", o)
		}
		return must.Get(target.New(text + "}"))(t)
	}}

func TestRun(t *testing.T) {
	cudarun.Use(t)
	harness.Run(t)
}

// Tensors may begin anywhere in their memory, unless a kernel loads or stores vectors, which must be aligned.
func TestRun_Offsets(t *testing.T) {
	cudarun.Use(t)
	memory := gputest.Tensor(t, cudarun.Device, make([]float32, 256))
	other := gputest.Tensor(t, cudarun.Device, make([]float32, 256))
	at := func(x *runtime.Tensor, n, offset int64) *runtime.Tensor {
		return must.Open(x.View(dlpack.Float32, []int64{n}, nil, 4*offset))(t)
	}
	add := gputest.Function(t, harness.Library(t, gpuprograms.VAdd(t, tir.Float32, 64)), "vadd")
	for _, offset := range []int64{0, 1, 2, 3, 5, 100} {
		a := at(memory, 30, offset)
		require.NoError(t, a.CopyFromBytes(bytes.Repeat([]byte{0, 0, 128, 63}, 30))) // 1
		must.Get(add.Call(a, a, at(other, 30, 7), 2.0))(t)
		require.Equal(t, slices.Concat(make([]float32, 7), slices.Repeat([]float32{4}, 30), make([]float32, 256-37)),
			gputest.Slice(t, other))
		require.NoError(t, at(other, 256, 0).CopyFromBytes(make([]byte, 1024)))
	}
	vectors := gputest.Function(t, harness.Library(t, vectorized(t, "X + Y", tir.Float32, tir.Float32, 4)), "v")
	must.Get(vectors.Call(at(memory, 20, 4), at(memory, 20, 8), at(other, 20, 12)))(t)
	for i := range 3 {
		args := []any{at(memory, 20, 4), at(memory, 20, 8), at(other, 20, 12)}
		args[i] = at(other, 20, 50)
		require.ErrorContains(t, must.Fail(vectors.Call(args...)), fmt.Sprintf(
			"v: argument %d (%c): the elements begin 8 bytes behind a multiple of 16: copy them to aligned memory", i, 'A'+i))
	}
}

// Random programs of package tirgen compute what the interpreter computes.
func TestRandomPrograms(t *testing.T) { harness.RandomPrograms(t, 24) }

// Indices outside of buffers are errors, and the accesses are skipped.
func TestBoundsCheck(t *testing.T) { harness.BoundsCheck(t) }
