//go:build cgo

package ops

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/testseed"
	"tvmgo/internal/testing/tirrun"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/te"
	"tvmgo/tir"
)

// TestRandomGraphs_OnDevices compares random graphs of operators, with default schedules, on devices and on the CPU.
func TestRandomGraphs_OnDevices(t *testing.T) {
	count := 4
	if os.Getenv(everyCase) != "" {
		count = 200
	}
	first := testseed.Of(t) * 1000
	cpu := newTarget(t, "c")
	for _, kind := range []dlpack.DeviceType{dlpack.OpenCL, dlpack.Vulkan, dlpack.CUDA} {
		t.Run(kind.String(), func(t *testing.T) {
			for n, to := range deviceTargets(t, kind) {
				var seeds []uint64
				for i := range count {
					seeds = append(seeds, first+uint64(n*count+i))
				}
				for part := range slices.Chunk(seeds, 25) {
					want := runGraphs(t, part, cpu, dlpack.Device{Type: dlpack.CPU, ID: 0})
					got := runGraphs(t, part, to, dlpack.Device{Type: kind})
					for i, seed := range part {
						compareGraph(t, randomGraph(seed), seed, to, want[i], got[i])
					}
				}
			}
		})
	}
}

// runGraphs computes the graphs of seeds with their schedules for a target, and returns the outputs of each.
func runGraphs(t *testing.T, seeds []uint64, to *target.Target, dev dlpack.Device) (all [][][]float64) {
	t.Helper()
	var funcs []*tir.PrimFunc
	for _, seed := range seeds {
		g := randomGraph(seed)
		var outs []*te.Tensor
		var args []any
		for _, x := range g.ins {
			args = append(args, x)
		}
		for _, v := range g.outs {
			outs, args = append(outs, v.t), append(args, v.t)
		}
		what := fmt.Sprintf("graph %d\n%s", seed, strings.Join(g.text, "\n"))
		s, err := Schedule(to, outs...)
		require.NoError(t, err, what)
		m, err := te.Lower(s, args, fmt.Sprintf("g%d", seed))
		require.NoError(t, err, what)
		funcs = append(funcs, m.Funcs[0])
	}
	lib := must.Get(codegen.Build(must.Get(tir.NewModule(funcs...))(t), to))(t)
	defer lib.Close()
	for i, seed := range seeds {
		all = append(all, callGraph(t, randomGraph(seed), must.Get(lib.Function(funcs[i].Name))(t), seed, dev))
	}
	return all
}

// callGraph calls the function of a graph with numbers that depend on the seed.
func callGraph(t *testing.T, g *graph, f *runtime.Function, seed uint64, dev dlpack.Device) (outs [][]float64) {
	t.Helper()
	defer f.Close()
	rng := rand.New(rand.NewPCG(seed, 19))
	var args []any
	var arrays []*tirrun.Array
	fill := func(shape []int, random bool) {
		a := each(g.typ, shape, func([]int) float64 {
			switch {
			case !random:
				return 0
			case tir.IsFloat(g.typ):
				return math.Round(rng.Float64()*2048-1024) / 1024
			}
			return float64(rng.IntN(7) - 3)
		})
		array := memory(t, a, false)
		x := must.Get(runtime.NewTensor(dlpack.DataType(array.DType), array.Shape, dev))(t)
		if len(array.Data) > 0 {
			require.NoError(t, x.CopyFromBytes(array.Data))
		}
		args, arrays = append(args, x), append(arrays, array)
	}
	for _, x := range g.ins {
		var shape []int
		for _, n := range x.ProducerShape() {
			size, _ := tir.IntValue(n)
			shape = append(shape, int(size))
		}
		fill(shape, true)
	}
	for _, v := range g.outs {
		fill(v.shape, false)
	}
	_, err := f.Call(args...)
	require.NoError(t, err, "graph %d", seed)
	for i := range g.outs {
		n := len(g.ins) + i
		if len(arrays[n].Data) > 0 {
			require.NoError(t, args[n].(*runtime.Tensor).CopyToBytes(arrays[n].Data))
		}
		outs = append(outs, must.Get(tirrun.Values[float64](arrays[n]))(t))
	}
	for _, x := range args {
		require.NoError(t, x.(*runtime.Tensor).Close())
	}
	return outs
}

// compareGraph compares the outputs of a graph. Sums of floats may be added in another order.
func compareGraph(t *testing.T, g *graph, seed uint64, to *target.Target, want, got [][]float64) {
	t.Helper()
	near := map[tir.Type]float64{tir.Float16: 0.03, tir.Float32: 1e-4, tir.Float64: 1e-10}[g.typ]
	for i, v := range g.outs {
		require.Len(t, got[i], len(want[i]))
		most := 1.0
		for _, x := range want[i] {
			most = max(most, math.Abs(x))
		}
		for k, x := range want[i] {
			if math.Abs(got[i][k]-x) > near*most || math.IsNaN(got[i][k]) != math.IsNaN(x) {
				assert.Failf(t, "wrong number", "graph %d on %s: element %d of %s is %v, and %v on the CPU\n%s", seed, to, k,
					v.t.ProducerName(), got[i][k], x, strings.Join(g.text, "\n"))
				return
			}
		}
	}
}
