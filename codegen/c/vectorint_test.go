//go:build cgo

package c_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen/c"
	"tvmgo/export"
	"tvmgo/internal/cpufeatures"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/testseed"
	"tvmgo/internal/testing/tirrun"
	"tvmgo/runtime"
	"tvmgo/tir"
)

// dots adds the results of dot4 of two tensors to a third, by vectors of some lanes, or one by one.
func dots(lanes int) *tir.PrimFunc {
	n, i := i64("n"), i64("i")
	a, b, s := tir.NewBuffer("A", tir.Int32, n), tir.NewBuffer("B", tir.Int32, n), tir.NewBuffer("S", tir.Int32, n)
	l := tir.I64(int64(lanes))
	var r tir.Expr = tir.Mul(i, l)
	if lanes > 1 {
		r = &tir.Ramp{Base: r, Stride: tir.I64(1), Lanes: lanes}
	}
	sum := tir.Add(tir.Intrin("dot4", at(a, r), at(b, r)), at(s, r))
	return tensors(fmt.Sprint("dots", lanes), loop(tir.Serial, i, tir.FloorDiv(n, l), store(s, sum, r)), a, b, s)
}

// bits computes the bitwise operations on vectors of 8 lanes.
func bits() *tir.PrimFunc {
	n, i := i64("n"), i64("i")
	a, b, c := tir.NewBuffer("A", tir.Int32, n), tir.NewBuffer("B", tir.Int32, n), tir.NewBuffer("C", tir.Int32, n)
	r := &tir.Ramp{Base: tir.Mul(i, tir.I64(8)), Stride: tir.I64(1), Lanes: 8}
	by := &tir.Broadcast{Value: tir.I32(5), Lanes: 8}
	value := tir.Intrin("bitwise_or", tir.Intrin("bitwise_and", tir.Intrin("shift_left", at(a, r), by), at(b, r)),
		tir.Intrin("bitwise_xor", at(b, r), at(a, r)))
	return tensors("bits", loop(tir.Serial, i, tir.FloorDiv(n, tir.I64(8)), store(c, value, r)), a, b, c)
}

// dotInputs returns words of random bytes, of which many are the least and the greatest ones.
func dotInputs(r *rand.Rand) (a, b, s []int32) {
	word := func() (w int32) {
		for range 4 {
			v := []int32{0, 1, 127, 128, 255, int32(r.IntN(256))}[r.IntN(6)]
			w = w<<8 | v
		}
		return w
	}
	for range 1 << 12 {
		a, b, s = append(a, word()), append(b, word()), append(s, int32(r.Uint32()))
	}
	copy(a, []int32{-1, -1, 0, 0x01020304})
	copy(b, []int32{-0x7f7f7f80, 0x7f7f7f7f, -1, -0x01020305})
	return a, b, s
}

// dotFlags returns compiler flags for which the generated code has different forms, as far as this machine runs them.
func dotFlags() (all [][]string) {
	cpu, more := cpufeatures.HostCPU()
	host, known := cpufeatures.Features(cpufeatures.HostTriple(), cpu, more)
	all = [][]string{{"-O2"}, {"-O2", "-U__SSE2__", "-U__ARM_NEON"}, {"-O0"}}
	for _, needs := range []string{"avx", "avx2", "avx512bw", "avx512vl avx512vnni", "avxvnni"} {
		flags, has := []string{"-O2"}, known
		for feature := range strings.FieldsSeq(needs) {
			flags, has = append(flags, "-m"+feature), has && host.Has(feature)
		}
		if has {
			all = append(all, flags)
		}
	}
	return all
}

// TestRun_Dots compares dot4 with its definition, whatever instructions the compiler may use, and in the interpreter.
func TestRun_Dots(t *testing.T) {
	m := module(t, dots(1), dots(2), dots(4), dots(8), dots(16), bits())
	a, b, s := dotInputs(testseed.Rand(t))
	want, mixed := make([]int32, len(a)), make([]int32, len(a))
	for i := range a {
		want[i] = s[i] + tir.DotOfBytes(a[i], b[i])
		mixed[i] = a[i]<<5&b[i] | (b[i] ^ a[i])
	}
	require.Equal(t, int32(4*255*-128), want[0]-s[0])
	require.Equal(t, int32(4*255*127), want[1]-s[1])
	check := func(t *testing.T, call func(name string, a, b, s []int32) []int32) {
		for _, lanes := range []int{1, 2, 4, 8, 16} {
			require.Equal(t, want, call(fmt.Sprint("dots", lanes), a, b, s), "%d lanes", lanes)
		}
		require.Equal(t, mixed, call("bits", a, b, s))
	}
	for _, compiler := range []string{"gcc", "clang"} {
		if _, err := exec.LookPath(compiler); err != nil {
			t.Logf("without %s", compiler)
			continue
		}
		for _, flags := range dotFlags() {
			t.Run(compiler+strings.Join(flags, ""), func(t *testing.T) {
				source := must.Get(runtime.NewCSource(emit(t, c.Emitter{}, m), "c", []string{"dots1", "dots2", "dots4", "dots8",
					"dots16", "bits"}, nil))(t)
				defer source.Close()
				path := filepath.Join(t.TempDir(), "dots.so")
				t.Setenv("CC", compiler)
				require.NoError(t, export.Library(context.Background(), source, path, export.Flags(flags...)), flags)
				l := must.Open(runtime.Load(context.Background(), path))(t)
				check(t, func(name string, a, b, s []int32) []int32 {
					out := modules.Tensor(t, s)
					must.Get(modules.Call(t, l, name, modules.Tensor(t, a), modules.Tensor(t, b), out))(t)
					return modules.Slice[int32](t, out)
				})
			})
		}
	}
	t.Run("interpreter", func(t *testing.T) {
		program := must.Get(tirrun.Compile(m, tirrun.Options{}))(t)
		check(t, func(name string, a, b, s []int32) []int32 {
			var all []any
			for _, x := range [][]int32{a, b, s} {
				all = append(all, must.Get(tirrun.From(tir.Int32, x, int64(len(x))))(t))
			}
			must.Get(program.Call(name, all...))(t)
			return must.Get(tirrun.Values[int32](all[2].(*tirrun.Array)))(t)
		})
	})
}
