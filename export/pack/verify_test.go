package pack_test

import (
	"context"
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/export/pack"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

var cpu = dlpack.Device{Type: dlpack.CPU}

func addVectors() []pack.Vector {
	return []pack.Vector{
		{In: []any{array([]float32{1, 2, 3}), array([]float32{10, 20, 30}), int64(3)},
			Out: []*pack.Array{array([]float32{11, 22, 33})}},
		{In: []any{array([]float32{0.5}), array([]float32{-0.5}), int64(1)}, Out: []*pack.Array{array([]float32{0})}},
	}
}

const wrongSource = `#include <math.h>
#include <stdint.h>
void half(const float* a, float* out, int64_t n) {
  for (int64_t i = 0; i < n / 2; i++) out[i] = a[i];
}
void shift(float* a, int32_t* counts, double by) {
  for (int i = 0; i < 6; i++) a[i] += (float)by;
  counts[1] += 1;
}
void scratch(const uint8_t* a, double* out) { ((uint8_t*)a)[0] = 9; out[0] = (double)NAN, out[1] = -HUGE_VAL; }
void truth(_Bool* out) { out[0] = 1; }
`

func TestVerify(t *testing.T) {
	k := kernelsOf([]string{write(t, "k.c", wrongSource)}, "half(a: float32[n], float32[n], n: int64)",
		"shift(a: inout float32[2, 3], counts: inout int32[2], by: float64)", "scratch(a: const uint8[2], out: float64[2])",
		"truth(bool[2])")
	k.Functions[0].Vectors = []pack.Vector{
		{In: []any{array([]float32{1, 2, 3, 4}), int64(4)}, Out: []*pack.Array{array([]float32{1, 2, 3, 4})}},
		{In: []any{array([]float32{1}), int64(1)}, Out: []*pack.Array{array([]float32{1})}},
		{In: []any{array([]float32{1, 1}), int64(2)},
			Out: []*pack.Array{array([]float32{1.000009, math.Float32frombits(0xa5a5a5a5)})}},
	}
	k.Functions[1].Vectors = []pack.Vector{{In: []any{array([]float32{0, 1, 2, 3, 4, 5}, 2, 3),
		array([]int32{7, math.MaxInt32 - 1}), 0.5},
		Out: []*pack.Array{array([]float32{0.5, 1.5, 2.5, 3.5, 6, 5}, 2, 3), array([]int32{7, 0})}}}
	k.Functions[2].Vectors = []pack.Vector{{In: []any{array([]uint8{1, 2})},
		Out: []*pack.Array{array([]float64{math.NaN(), math.Inf(1)})}}}
	k.Functions[3].Vectors = []pack.Vector{{Out: []*pack.Array{array([]bool{true, true})}}}
	m := modules.Load(t, packed(t, k))
	r := must.Get(pack.Verify(ctx, m, cpu, pack.DefaultTolerance))(t)
	require.Equal(t, "cpu:0", r.Device)
	require.Equal(t, 5, r.Failed())

	first := r.Vectors[0].Differences[0]
	require.Contains(t, first.Got, "-2.87", "the pattern")
	require.InDelta(t, 1, float64(first.MaxRel), 1e-9)
	first.Got, first.MaxRel = "", 0
	require.Equal(t, pack.Difference{Argument: 1, Type: "float32", Elements: 4, Differing: 2, Untouched: 2,
		First: []int64{2}, Want: "3", MaxAbs: 4}, first)
	require.EqualValues(t, 1, r.Vectors[1].Differences[0].Untouched)
	require.True(t, r.Vectors[2].OK(), "within the tolerance, and a pattern that is expected")
	require.Equal(t, pack.Result{Function: "shift", Vector: 0, Differences: []pack.Difference{
		{Argument: 0, Name: "a", Type: "float32", Elements: 6, Differing: 2, First: []int64{1, 1}, Got: "4.5", Want: "6",
			MaxAbs: 1.5, MaxRel: 0.25},
		{Argument: 1, Name: "counts", Type: "int32", Elements: 2, Differing: 1, First: []int64{1}, Got: "2147483647",
			Want: "0", MaxAbs: math.MaxInt32, MaxRel: pack.Number(math.Inf(1))},
	}}, r.Vectors[3])
	require.Equal(t, []pack.Difference{
		{Argument: 0, Name: "a", Type: "uint8", Elements: 2, Differing: 1, First: []int64{0}, Got: "9", Want: "1", MaxAbs: 8,
			MaxRel: 8, Const: true},
		{Argument: 1, Name: "out", Type: "float64", Elements: 2, Differing: 1, First: []int64{1}, Got: "-Inf", Want: "+Inf",
			MaxAbs: pack.Number(math.Inf(1)),
			MaxRel: pack.Number(math.NaN())},
	}[0], r.Vectors[4].Differences[0])
	require.Equal(t, "-Inf", r.Vectors[4].Differences[1].Got)
	require.EqualValues(t, 1, r.Vectors[4].Differences[1].Differing, "NaN is as expected")
	require.Equal(t, []int64{1}, r.Vectors[5].Differences[0].First)
	must.Get(json.Marshal(r))(t)

	loose := must.Get(pack.Verify(ctx, m, cpu, pack.Tolerance{Rel: 0.25, Abs: 1e12}))(t)
	require.Len(t, loose.Vectors[3].Differences, 1, "integers have no tolerance")
	strict := must.Get(pack.Verify(ctx, m, cpu, pack.Tolerance{}))(t)
	require.False(t, strict.Vectors[2].OK())

	require.ErrorIs(t, must.Fail(pack.Verify(ctx, m, cpu, pack.Tolerance{Rel: math.NaN()})), runtime.ErrInvalidArgument)
	over, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, must.Fail(pack.Verify(over, m, cpu, pack.DefaultTolerance)), context.Canceled)
}

func TestVerify_CallThatFails(t *testing.T) {
	k := kernelsOf([]string{write(t, "k.cl", clSource)}, addSignature)
	k.Functions[0].Vectors = addVectors()
	m := modules.Load(t, packed(t, k))
	r := must.Get(pack.Verify(ctx, m, cpu, pack.DefaultTolerance))(t)
	require.Equal(t, 2, r.Failed())
	require.Contains(t, r.Vectors[1].Error, "add: the tensors are on cpu:0, and the file has the function for opencl")
}

func TestVerify_NoVectors(t *testing.T) {
	for _, path := range []string{packed(t, kernelsOf([]string{"testdata/k.c"}, addSignature)),
		"../../testdata/artifacts/modern/multi_c.so",
		"../../testdata/artifacts/classic/multi_llvm.so"} {
		_, err := pack.Verify(ctx, modules.Load(t, path), cpu, pack.DefaultTolerance)
		require.ErrorIs(t, err, runtime.ErrNotFound, path)
		require.ErrorContains(t, err, "it carries no test vectors: tvmgo pack --test")
	}
}

func TestLibrary_BadVectors(t *testing.T) {
	a, one := array([]float32{1, 2}), array([]float32{1})
	outs := []*pack.Array{a}
	for _, c := range []struct {
		vector  pack.Vector
		failure string
	}{
		{pack.Vector{In: []any{a, a, int64(2)}}, "test vector 0 of add: argument 2 (c): there is no output left for it"},
		{pack.Vector{In: []any{a, a, int64(2)}, Out: []*pack.Array{a, a}}, "1 outputs too many: it has 2, and the function " +
			"writes 1"},
		{pack.Vector{In: []any{a}, Out: outs}, "argument 1 (b): there is no input left for it, expected a tensor"},
		{pack.Vector{In: []any{a, a}, Out: outs},
			"argument 3 (n): there is no input left for it, expected an integer, as in i:3"},
		{pack.Vector{In: []any{a, a, int64(2), int64(3)}, Out: outs},
			"1 inputs too many: it has 4, and the function takes 3"},
		{pack.Vector{In: []any{a, int64(2), a}, Out: outs}, "argument 1 (b): it is no tensor, expected float32[n]"},
		{pack.Vector{In: []any{a, a, a}, Out: outs}, "argument 3 (n): it is a tensor, expected an integer, as in i:3"},
		{pack.Vector{In: []any{a, a, 2.0}, Out: outs}, "argument 3 (n): it is a floating-point number, expected an integer"},
		{pack.Vector{In: []any{a, a, int64(1) << 31}, Out: outs}, "argument 0 (a): expected float32[n], got the shape [2]: " +
			"dimension 0 must be 2147483648"},
		{pack.Vector{In: []any{a, one, int64(2)}, Out: outs}, "argument 1 (b): expected float32[n], got the shape [1]: " +
			"dimension 0 must be 2"},
		{pack.Vector{In: []any{a, array([]int32{1, 2}), int64(2)}, Out: outs}, "argument 1 (b): expected float32, got int32"},
		{pack.Vector{In: []any{a, array([]float32{1, 2}, 1, 2), int64(2)}, Out: outs},
			"argument 1 (b): expected float32[n], got the shape [1 2]"},
		{pack.Vector{In: []any{a, &pack.Array{DType: dlpack.Float32, Shape: []int64{2}}, int64(2)}, Out: outs},
			"argument 1 (b): float32[2] takes 8 bytes, not 0"},
		{pack.Vector{In: []any{a, a, int64(2)}, Out: []*pack.Array{array(make([]float32, 5<<20))}}, "dimension 0 must be 2"},
	} {
		k := kernelsOf([]string{"testdata/k.c"}, addSignature)
		k.Functions[0].Vectors = []pack.Vector{c.vector}
		_, err := pack.Module(k)
		require.ErrorContains(t, err, c.failure)
		require.ErrorIs(t, err, runtime.ErrInvalidArgument)
	}
	k := kernelsOf([]string{write(t, "k.c", wrongSource)}, "half(float32[_], float32[_], int64)")
	big := array(make([]float32, 5<<20))
	k.Functions[0].Vectors = []pack.Vector{{In: []any{one, int64(1)}, Out: []*pack.Array{big}}}
	require.ErrorContains(t, must.Fail(pack.Module(k)), "the test vectors take more than 16 MiB: use smaller arrays")
}
