package gpuprograms

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/gputest"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/testseed"
	"tvmgo/internal/testing/tirgen"
	"tvmgo/internal/testing/tirrun"
	"tvmgo/runtime"
	"tvmgo/tir"
)

// RandomPrograms compares random programs of package tirgen, each run by one thread, with the interpreter.
func (h *Harness) RandomPrograms(t *testing.T, count int) {
	h.Need(t)
	seed := testseed.Of(t)
	m := &tir.IRModule{Attrs: map[string]any{}}
	for k := range count {
		f := tirgen.Function(fmt.Sprintf("f%d", k), seed+uint64(k))
		drop := &tir.Mutator{Stmt: func(s tir.Stmt) tir.Stmt { // a device has no assertions
			if _, is := s.(*tir.Assert); is {
				return &tir.Seq{}
			}
			return s
		}}
		f.Body = &tir.For{Kind: tir.ThreadBind, Thread: "threadIdx.x", Var: tir.NewVar("thread", tir.Int32),
			Min: tir.I32(0), Extent: tir.I32(1), Body: drop.MutateStmt(f.Body)}
		m.Funcs = append(m.Funcs, f)
	}
	lib := h.Library(t, m)
	reference := must.Get(tirrun.Compile(m, tirrun.Options{}))(t)
	for k, f := range m.Funcs {
		args := must.Get(tirgen.Arguments(f, seed+uint64(k)))(t)
		var given []any
		for _, a := range args {
			given = append(given, OnDevice(t, a.(*tirrun.Array), h.Devices[0]))
		}
		must.Get(reference.Call(f.Name, args...))(t)
		must.Get(gputest.Function(t, lib, f.Name).Call(given...))(t)
		for i, a := range args {
			want := a.(*tirrun.Array)
			got := *want
			got.Data = make([]byte, len(want.Data))
			require.NoError(t, given[i].(*runtime.Tensor).CopyToBytes(got.Data))
			x, y := must.Get(tirrun.Values[float64](want))(t), must.Get(tirrun.Values[float64](&got))(t)
			for e := range x {
				if x[e] != y[e] && !(math.IsNaN(x[e]) && math.IsNaN(y[e])) {
					t.Fatalf("%s: element %d of argument %d is %v, expected %v\n%s", f.Name, e, i, y[e], x[e], f)
				}
			}
		}
	}
}
