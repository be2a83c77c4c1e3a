package schedule_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
	"tvmgo/tir/text"
)

// TestSchedule_Extern checks who executes the loops of an extern operation.
func TestSchedule_Extern(t *testing.T) {
	loop := func(kind tir.ForKind, n tir.Expr, body func(i tir.Expr) tir.Stmt) tir.Stmt {
		v := tir.NewVar("i", tir.Int32)
		return &tir.For{Kind: kind, Var: v, Min: tir.I32(0), Extent: n, Body: body(v)}
	}
	n := te.Var("n")
	made := func(size tir.Expr, kind string, body func(in, out *tir.Buffer) tir.Stmt) string {
		x := te.Placeholder([]tir.Expr{size}, tir.Float32, "X")
		y := te.Extern([]te.ExternResult{{Shape: []tir.Expr{size}, Type: tir.Float32}}, []*te.Tensor{x}, "Y",
			func(ins, outs []*tir.Buffer) tir.Stmt { return body(ins[0], outs[0]) })[0]
		s := must.Get(ops.Schedule(newTarget(t, kind), y))(t)
		m := must.Get(te.Lower(s, []any{x, y}, "f"))(t)
		require.NoError(t, tir.Check(m))
		return text.Print(m)
	}
	step := func(in, out *tir.Buffer, i tir.Expr) tir.Stmt {
		return &tir.BufferStore{Buffer: out, Value: tir.BufferAt(in, i), Indices: []tir.Expr{i}}
	}
	copied := func(size tir.Expr) func(in, out *tir.Buffer) tir.Stmt {
		return func(in, out *tir.Buffer) tir.Stmt {
			return loop(tir.Parallel, size, func(i tir.Expr) tir.Stmt { return step(in, out, i) })
		}
	}
	for _, c := range []struct {
		size     tir.Expr
		kind     string
		has, not []string
	}{
		{tir.I32(100), "c", nil, []string{"parallel"}}, {tir.I32(1 << 20), "c", []string{"parallel"}, nil},
		{n, "c", []string{"parallel"}, nil},
		{tir.I32(100), "opencl", []string{"thread block in"}, []string{"parallel", "round"}},
		{n, "opencl", []string{"thread block in", "round"}, []string{"parallel"}},
	} {
		code := made(c.size, c.kind, copied(c.size))
		for _, s := range c.has {
			require.Contains(t, code, s, c.kind)
		}
		for _, s := range c.not {
			require.NotContains(t, code, s, c.kind)
		}
	}
	// what is not in a parallel loop is a kernel of one thread, and a parallel loop within another one is serial
	code := made(tir.I32(9), "opencl", func(in, out *tir.Buffer) tir.Stmt {
		return loop(tir.Serial, tir.I32(3), func(tir.Expr) tir.Stmt {
			return tir.Sequence(step(in, out, tir.I32(0)), loop(tir.Parallel, tir.I32(2), func(i tir.Expr) tir.Stmt {
				return loop(tir.Parallel, tir.I32(1), func(tir.Expr) tir.Stmt { return step(in, out, i) })
			}))
		})
	})
	require.NotContains(t, code, "parallel")
	require.Contains(t, code, "for i")
	_, err := ops.Schedule(newTarget(t, "c"), nil)
	require.Error(t, err)
	// a rewrite may fail
	x := placeholder("X", 4)
	y := te.Extern([]te.ExternResult{{Shape: te.Dims(4), Type: tir.Float32}}, []*te.Tensor{x}, "Y",
		func(ins, outs []*tir.Buffer) tir.Stmt { return copied(tir.I32(4))(ins[0], outs[0]) })[0]
	s := must.Get(te.NewSchedule(y))(t)
	s.Stage(y).Rewrite(func(tir.Stmt) (tir.Stmt, error) { return nil, fmt.Errorf("no such loop") })
	_, err = te.Lower(s, []any{x, y}, "f")
	require.ErrorContains(t, err, "rewrite of extern operation Y: no such loop")
	s = must.Get(te.NewSchedule(ops.Relu(x, "R")))(t)
	s.Stage(s.Stages()[1].Tensor()).Rewrite(nil)
	require.ErrorContains(t, s.Err(), "rewrite of tensor R: it is no extern operation")
}
