//go:build cgo

package c_test

import (
	"fmt"
	goruntime "runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen/c"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/tir"
)

// past is a function of vectors that are stored past the caches, in a loop of the given kind. An offset of one element
// makes their addresses unaligned.
func past(name string, kind tir.ForKind, lanes int, offset int64, more ...tir.Stmt) *tir.PrimFunc {
	n, i := i64("n"), i64("i")
	a, b := tir.NewBuffer("A", tir.Float32, n), tir.NewBuffer("B", tir.Float32, n)
	l := tir.I64(int64(lanes))
	r := &tir.Ramp{Base: tir.Add(tir.Mul(i, l), tir.I64(offset)), Stride: tir.I64(1), Lanes: lanes}
	one := &tir.Broadcast{Value: tir.F32(1), Lanes: lanes}
	body := &tir.AttrStmt{Key: tir.AttrNonTemporal, Node: b, Value: tir.I32(1), Body: store(b, tir.Add(at(a, r), one), r)}
	steps := loop(kind, i, tir.FloorDiv(tir.Sub(n, tir.I64(offset)), l), body)
	return tensors(name, tir.Sequence(append([]tir.Stmt{steps}, more...)...), a, b)
}

// Stores past the caches are waited for where the function, or its part of a parallel loop, ends. Functions that may
// return before have none.
func TestNonTemporal(t *testing.T) {
	var funcs []*tir.PrimFunc
	kinds := map[tir.ForKind]string{tir.Serial: "serial", tir.Parallel: "parallel"}
	for kind, name := range kinds {
		for _, lanes := range []int{2, 4, 8, 16} {
			for _, offset := range []int64{0, 1} {
				funcs = append(funcs, past(fmt.Sprintf("%s_%d_%d", name, lanes, offset), kind, lanes, offset))
			}
		}
	}
	m := module(t, funcs...)
	code := emit(t, c.Emitter{}, m)
	for bytes, want := range map[int]int{8: 0, 16: 4, 32: 4, 64: 4} {
		require.Equal(t, want, strings.Count(code, fmt.Sprintf("tvmgo_nontemporal%d(&B[", bytes)), "%d bytes", bytes)
	}
	require.Equal(t, 12, strings.Count(code, "  }\n  tvmgo_fence();\n  return 0;"), "parts of loops, and serial functions")
	flags := []string{"-O0", "-O2"}
	if goruntime.GOARCH == "amd64" {
		flags = append(flags, "-march=x86-64-v3", "-march=x86-64-v4")
	}
	compile(t, "nontemporal", code, flags...)

	built := loaded(t, c.Emitter{}, m)
	for _, f := range funcs {
		for _, n := range []int{0, 1, 17, 1025, 40001} {
			x := numbers[float32](n, func(i int) float64 { return float64(i) })
			out := modules.Empty(t, dlpack.Float32, int64(n))
			require.NoError(t, out.CopyFromBytes(make([]byte, 4*n)))
			must.Get(modules.Call(t, built, f.Name, modules.Tensor(t, x), out))(t)
			var lanes, offset int
			_, err := fmt.Sscanf(f.Name[strings.Index(f.Name, "_")+1:], "%d_%d", &lanes, &offset)
			require.NoError(t, err)
			whole := offset + max(0, n-offset)/lanes*lanes
			want := numbers[float32](n, func(i int) float64 {
				if i < offset || i >= whole {
					return 0
				}
				return float64(x[i] + 1)
			})
			require.Equal(t, want, modules.Slice[float32](t, out), "%s of %d", f.Name, n)
		}
	}

	early := past("early", tir.Serial, 16, 0, &tir.Evaluate{Value: tir.NewCall(tir.CallIntrinsic, tir.Void, "ret_none")})
	require.NotContains(t, emit(t, c.Emitter{}, module(t, early)), "nontemporal")
}
