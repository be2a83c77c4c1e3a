package tirunknown_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/tirgen"
	"tvmgo/internal/testing/tirrun"
	. "tvmgo/internal/testing/tirunknown"
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/text"
	"tvmgo/tir/transform"
)

// pipelines are the pipelines of package transform, and each of their passes as a pipeline.
func pipelines() map[string]transform.Pipeline {
	all := map[string]transform.Pipeline{"every": transform.ForEvery(), "host": transform.ForHost(),
		"device": transform.ForDevice(language)}
	for _, p := range []string{"every", "host", "device"} {
		for _, s := range all[p] {
			s.Kernels = false
			all[s.Name] = transform.Pipeline{s}
		}
	}
	return all
}

var language = transform.Language{Name: "a small language", Scopes: []string{"global", "shared", "local"},
	Elements: []tir.Type{tir.Int32, tir.Float32}, Lanes: []int{2, 4}}

// withUnknown puts nodes of this package into a function: values around integers, events and blocks around statements.
// Parallel loops become serial, so that the order of the events is defined.
func withUnknown(f *tir.PrimFunc, r *rand.Rand) *tir.PrimFunc {
	var loops []*tir.Var
	note := func() tir.Expr {
		if len(loops) > 0 && r.IntN(2) == 0 {
			return loops[r.IntN(len(loops))]
		}
		return tir.I32(int32(r.IntN(100)))
	}
	named := func() *tir.Var {
		if len(loops) > 0 && r.IntN(3) == 0 {
			return loops[r.IntN(len(loops))]
		}
		return nil
	}
	opaque := r.IntN(4) > 0 // whether the expressions are opaque
	exprs := func(e tir.Expr) tir.Expr {
		selects := func(e tir.Expr) (tir.Expr, bool) { // a generator may compute only one of its branches
			_, is := e.(*tir.Select)
			return e, is
		}
		return (&tir.Mutator{PreExpr: selects, Expr: func(e tir.Expr) tir.Expr {
			if t := e.DType(); t != tir.Int32 && t != tir.Float32 || r.IntN(20) > 0 {
				return e
			}
			switch r.IntN(3) {
			case 0:
				if opaque {
					return &Value{A: e, V: named()}
				}
			case 1:
				v := tir.NewVar("sum", e.DType())
				return &Sum{Var: v, First: e, Body: &Pure{A: v}}
			}
			return &Pure{A: e}
		}}).MutateExpr(e)
	}
	by := &tir.Mutator{}
	around := func(s tir.Stmt) tir.Stmt {
		switch r.IntN(12) {
		case 0:
			return tir.Sequence(&Event{Note: note(), V: named()}, s)
		case 1:
			v, b := tir.NewVar("times", tir.Int32), tir.NewBuffer("memory", tir.Int32, tir.I32(4))
			use := &tir.BufferStore{Buffer: b, Value: v, Indices: []tir.Expr{tir.I32(2)}}
			read := &Event{Note: v, Buffer: b, At: []tir.Expr{tir.I32(2)}}
			return &Block{Count: tir.I32(int32(1 + r.IntN(2))), Var: v, Buffer: b, Body: tir.Sequence(use, s, read),
				Rest: []tir.Stmt{&Event{Note: note()}}}
		}
		return s
	}
	by.PreStmt = func(s tir.Stmt) (tir.Stmt, bool) {
		switch s := s.(type) {
		case *tir.For:
			c := *s
			if c.Kind == tir.Parallel {
				c.Kind = tir.Serial
			}
			loops = append(loops, s.Var)
			c.Body = around(by.MutateStmt(s.Body))
			loops = loops[:len(loops)-1]
			return &c, true
		case *tir.BufferStore:
			c := &tir.BufferStore{Buffer: s.Buffer, Value: exprs(s.Value), Indices: s.Indices}
			if r.IntN(8) == 0 && c.Value.DType().Lanes == 1 {
				return tir.Sequence(c, &Event{Note: note(), Buffer: s.Buffer, At: s.Indices}), true
			}
			return around(c), true
		case *tir.LetStmt:
			return around(&tir.LetStmt{Var: s.Var, Value: exprs(s.Value), Body: by.MutateStmt(s.Body)}), true
		}
		return nil, false
	}
	c := *f
	c.Body = tir.Sequence(by.MutateStmt(f.Body), &Event{Note: tir.I32(-1)})
	return &c
}

// ran runs a program whose unknown nodes have been lowered. It returns the results and the recorded calls.
func ran(t *testing.T, m *tir.IRModule, seed uint64) (string, error) {
	var log strings.Builder
	noted := func(name string) func(args []any) (any, error) {
		return func(args []any) (any, error) {
			fmt.Fprintln(&log, name, args)
			return args[0], nil
		}
	}
	p, err := tirrun.Compile(m, tirrun.Options{Seed: seed, MaxSteps: 1 << 20,
		Funcs: map[string]func([]any) (any, error){"event": noted("event"), "value": noted("value")}})
	require.NoError(t, err, "%s", text.Print(m))
	args, err := tirgen.Arguments(m.Funcs[0], seed)
	require.NoError(t, err)
	_, err = p.Call("f", args...)
	for _, a := range args {
		fmt.Fprintln(&log, a.(*tirrun.Array).Data)
	}
	return log.String(), err
}

// unchecked removes checks of indices, which the interpreter does itself.
func unchecked(m *tir.IRModule) *tir.IRModule {
	by := &tir.Mutator{Expr: func(e tir.Expr) tir.Expr {
		if c, ok := e.(*tir.Call); ok && c.Name == transform.CheckIndex {
			return c.Args[0]
		}
		return e
	}}
	f := *m.Funcs[0]
	f.Body = by.MutateStmt(f.Body)
	return &tir.IRModule{Attrs: m.Attrs, Funcs: []*tir.PrimFunc{&f}}
}

// After each pass and pipeline, a program with unknown nodes computes and records the same as before, or the pass
// returned an error that names such a node.
func TestPasses_KeepUnknownNodes(t *testing.T) {
	all := pipelines()
	cpu, err := target.New("c -bounds-check=1")
	require.NoError(t, err)
	kept, rejected := map[string]int{}, map[string]int{}
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 1))
		m, err := tir.NewModule(withUnknown(tirgen.Function("f", seed), r))
		require.NoError(t, err)
		require.NoError(t, tir.Check(m), "seed %d:\n%s", seed, text.Print(m))
		source := text.Print(m)
		back, err := text.Parse(source)
		require.NoError(t, err, source)
		require.Equal(t, source, text.Print(back))
		want, wantErr := ran(t, Lower(m), seed)
		for name, p := range all {
			to := cpu
			if name == "device" || name == "verify memory" {
				to = nil
			}
			passed, err := p.Run(m, to)
			if err != nil {
				require.Regexp(t, `(Value|Pure|Sum|Event|Block) .*lower it before`, err.Error(), "%s: seed %d", name, seed)
				rejected[name]++
				continue
			}
			kept[name]++
			what := func() string {
				return fmt.Sprintf("seed %d, %s:\n%s\nbecame\n%s", seed, name, source, text.Print(passed))
			}
			if err := tir.Check(passed); err != nil {
				require.NoError(t, err, what())
			}
			if text.Print(passed) == source {
				continue
			}
			got, err := ran(t, unchecked(Lower(passed)), seed)
			if (wantErr != nil) != (err != nil) {
				require.Equal(t, wantErr, err, what())
			}
			if wantErr == nil && got != want {
				require.Fail(t, "it notes or computes something else", what())
			}
		}
		require.Equal(t, source, text.Print(m), "seed %d: a pass has changed its argument", seed)
	}
	for name := range all {
		t.Logf("%s: %d programs kept, %d rejected", name, kept[name], rejected[name])
		require.NotZero(t, kept[name]+rejected[name])
	}
}
