//go:build cgo

package cpu_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/dlpack"
	"tvmgo/internal/cpufeatures"
	"tvmgo/internal/testing/errbound"
	"tvmgo/internal/testing/guardpage"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/testseed"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
)

// guarded is an operator that is compiled and called with tensors between guard pages.
type guarded struct {
	name string
	ins  []*te.Tensor
	out  *te.Tensor
	// calls are the sizes with which the function is called: for each tensor, the result last, its shape
	calls  [][][]int
	finite []int // inputs that get no infinities and no NaN: weights, which padding multiplies
	// want computes a result with bounds of its errors; inputs have the shapes of the call
	want func(shapes [][]int, in [][]errbound.Number) []errbound.Number
}

// TestGuarded calls generated code with tensors that begin right behind or end right before a page that must not be
// touched, and compares the results with those in float64 within bounds that follow from the inputs. Inputs are normal
// numbers, and for a second call also subnormal ones, zeros of both signs, infinities and NaN. The targets share the
// cases; with TVMGO_TEST_ALL there are more cases, and each target has all of them.
func TestGuarded(t *testing.T) {
	targets := vectorTargets()
	for n, options := range targets {
		t.Run(options, func(t *testing.T) {
			guardpage.Run(t, func(step func(string, ...any)) {
				r := testseed.Rand(t)
				cases := share(guardedCases(r, allCases), len(targets), n)
				for len(cases) > 0 { // a library for some of them, because compilers need memory for all functions of one
					n := min(len(cases), 200)
					runGuarded(t, must.Get(target.New(options))(t), cases[:n], r, step)
					cases = cases[n:]
				}
			})
		})
	}
}

// allCases says that there are more cases, and that each target has all of them.
var allCases = os.Getenv("TVMGO_TEST_ALL") != ""

// share returns the cases of one of several targets.
func share[T any](cases []T, targets, n int) (own []T) {
	if allCases {
		return cases
	}
	for ; n < len(cases); n += targets {
		own = append(own, cases[n])
	}
	return own
}

// vectorTargets returns targets with vectors of several widths, as far as this machine runs them.
func vectorTargets() []string {
	list := []string{"c", "c -march=native"}
	triple := cpufeatures.HostTriple()
	cpu, more := cpufeatures.HostCPU()
	host, known := cpufeatures.Features(triple, cpu, more)
	if !known || !strings.HasPrefix(triple, "x86_64") {
		return list
	}
	for _, feature := range []string{"avx2", "fma", "bmi2", "f16c", "lzcnt", "movbe"} {
		if !host.Has(feature) {
			return list
		}
	}
	return append(list, "c -march=x86-64-v3")
}

func runGuarded(t *testing.T, to *target.Target, cases []guarded, r *rand.Rand, step func(string, ...any)) {
	step("building")
	var funcs []*tir.PrimFunc
	for i, c := range cases {
		require.NoError(t, c.out.Err(), c.name)
		s, err := ops.Schedule(to, c.out)
		require.NoError(t, err, c.name)
		var args []any
		for _, x := range append(append([]*te.Tensor{}, c.ins...), c.out) {
			args = append(args, x)
		}
		m, err := te.Lower(s, args, fmt.Sprintf("f%d", i))
		require.NoError(t, err, c.name)
		funcs = append(funcs, m.Funcs...)
	}
	built := must.Open(codegen.Build(must.Get(tir.NewModule(funcs...))(t), to))(t)
	for i, c := range cases {
		f := must.Get(built.Function(fmt.Sprintf("f%d", i)))(t)
		for _, shapes := range c.calls {
			for _, special := range []bool{false, true} {
				inputs := make([][]float32, len(c.ins))
				numbers := make([][]errbound.Number, len(c.ins))
				for k := range c.ins {
					inputs[k] = randomInput(r, elements(shapes[k]), special, slices.Contains(c.finite, k))
					numbers[k] = exact(inputs[k])
				}
				want := c.want(shapes, numbers)
				require.Len(t, want, elements(shapes[len(shapes)-1]), c.name)
				for _, side := range guardpage.Sides {
					step("%s of %v, guarded %s, special values: %t", c.name, shapes, side, special)
					callGuarded(t, c, f, shapes, side, inputs, want)
				}
			}
		}
		require.NoError(t, f.Close())
	}
}

// callGuarded calls a function with tensors at a side of guard pages, and compares the result.
func callGuarded(t *testing.T, c guarded, f *runtime.Function, shapes [][]int, side guardpage.Side, inputs [][]float32,
	want []errbound.Number) {
	var tensors []*guardpage.Tensor
	var args []any
	for k, shape := range shapes {
		dtype, content := dlpack.Float32, []byte(nil)
		if k < len(inputs) {
			content = bytesOf(inputs[k])
		} else {
			size := 4
			if c.out.ProducerDType() == tir.Int64 {
				dtype, size = dlpack.Int64, 8
			}
			content = make([]byte, size*elements(shape))
			for i := range content {
				content[i] = 0xFF // NaN, or -1
			}
		}
		long := make([]int64, len(shape))
		for d, n := range shape {
			long[d] = int64(n)
		}
		x := must.Get(guardpage.New(dtype, long, side, content))(t)
		tensors, args = append(tensors, x), append(args, x.Tensor)
	}
	_, err := f.Call(args...)
	require.NoError(t, err, "%s of %v", c.name, shapes)
	result := tensors[len(tensors)-1].Bytes()
	for i, n := range want {
		var got float64
		if len(result) == 8*len(want) {
			got = float64(int64(binary.NativeEndian.Uint64(result[8*i:])))
		} else {
			got = float64(math.Float32frombits(binary.NativeEndian.Uint32(result[4*i:])))
		}
		if !n.Has(got) {
			require.Fail(t, "wrong", "%s of %v: element %d is %v: want %v, at most %g away", c.name, shapes, i, got, n.Value,
				n.Error)
		}
	}
	for k, x := range tensors {
		if k < len(inputs) {
			require.Equal(t, bytesOf(inputs[k]), x.Bytes(), "%s of %v writes its input %d", c.name, shapes, k)
		}
		require.NoError(t, x.Free(), "%s of %v, tensor %d", c.name, shapes, k)
	}
}

// randomInput returns numbers up to 4 of both signs, with special also some others.
func randomInput(r *rand.Rand, n int, special, finite bool) []float32 {
	values := make([]float32, n)
	for i := range values {
		if values[i] = float32(r.Float64()*8 - 4); !special {
			continue
		}
		switch r.IntN(40) {
		case 0:
			values[i] = float32(math.Copysign(0, float64(values[i])))
		case 1, 2, 3:
			values[i] *= 0x1p-140
		case 4:
			if !finite && r.IntN(n) < 4 { // a few in a tensor
				values[i] = float32(math.Inf(1 - 2*r.IntN(2)))
			}
		case 5:
			if !finite && r.IntN(n) < 2 {
				values[i] = float32(math.NaN())
			}
		}
	}
	return values
}

func exact(values []float32) []errbound.Number {
	all := make([]errbound.Number, len(values))
	for i, v := range values {
		all[i].Value = float64(v)
	}
	return all
}

func bytesOf(values []float32) []byte {
	b := make([]byte, 4*len(values))
	for i, v := range values {
		binary.NativeEndian.PutUint32(b[4*i:], math.Float32bits(v))
	}
	return b
}
