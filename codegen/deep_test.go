package codegen_test

import (
	"fmt"
	goruntime "runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/internal/testing/must"
	"tvmgo/tir"
)

// deepProgram is a function with expressions or statements that are nested n deep.
func deepProgram(sort string, n int) *tir.IRModule {
	handle, m := tir.NewVar("A_handle", tir.Handle), tir.NewVar("m", tir.Int32)
	a := tir.NewBuffer("A", tir.Float32, tir.I32(4))
	ints := sort == "let" || sort == "lets"
	if ints {
		a = tir.NewBuffer("A", tir.Int32, tir.I32(4))
	}
	load := func(i int32) tir.Expr { return &tir.BufferLoad{Buffer: a, Indices: []tir.Expr{tir.I32(i)}} }
	store := func(e tir.Expr) tir.Stmt {
		return &tir.BufferStore{Buffer: a, Indices: []tir.Expr{tir.I32(0)}, Value: e}
	}
	cond := tir.LT(m, tir.I32(3))
	wrap := map[string]func(tir.Expr) tir.Expr{
		"sum":     func(e tir.Expr) tir.Expr { return tir.Add(e, load(1)) },
		"product": func(e tir.Expr) tir.Expr { return tir.Mul(load(2), e) },
		"min":     func(e tir.Expr) tir.Expr { return tir.Min(tir.Add(e, load(3)), load(1)) },
		"select":  func(e tir.Expr) tir.Expr { return tir.NewSelect(cond, load(2), e) },
		"call": func(e tir.Expr) tir.Expr {
			return &tir.Call{Type: tir.Float32, Kind: tir.CallIntrinsic, Name: "exp", Args: []tir.Expr{e}}
		},
		"let": func(e tir.Expr) tir.Expr {
			v := tir.NewVar("v", tir.Int32)
			return &tir.Let{Var: v, Value: m, Body: tir.Add(e, v)}
		},
	}
	var s tir.Stmt
	switch sort {
	case "loops":
		s = store(load(1))
		for i := range n {
			s = &tir.For{Var: tir.NewVar(fmt.Sprint("i", i), tir.Int32), Min: tir.I32(0), Extent: tir.I32(2), Body: s}
		}
	case "branches":
		s = store(load(1))
		for i := range n {
			s = &tir.If{Cond: tir.LT(tir.I32(int32(i)), m), Then: s}
		}
	case "else":
		s = store(load(1))
		for i := range n {
			s = &tir.If{Cond: tir.EQ(m, tir.I32(int32(i))), Then: store(load(2)), Else: s}
		}
	case "allocations":
		s = store(load(1))
		for i := range n {
			b := tir.NewBuffer(fmt.Sprint("b", i), tir.Float32, tir.I32(1))
			s = &tir.Alloc{Buffer: b, Body: &tir.Seq{Stmts: []tir.Stmt{&tir.BufferStore{Buffer: b,
				Indices: []tir.Expr{tir.I32(0)}, Value: load(1)}, s}}}
		}
	case "lets":
		vars := []*tir.Var{m}
		for range n {
			vars = append(vars, tir.NewVar("v", tir.Int32))
		}
		s = store(vars[n])
		for i := n; i > 0; i-- {
			s = &tir.LetStmt{Var: vars[i], Value: tir.Add(vars[i-1], tir.I32(1)), Body: s}
		}
	default:
		e := load(1)
		if ints {
			e = m
		}
		for range n {
			e = wrap[sort](e)
		}
		s = store(e)
	}
	return &tir.IRModule{Funcs: []*tir.PrimFunc{{Name: "f", Params: []*tir.Var{handle, m}, Result: tir.Void, Body: s,
		Buffers: map[*tir.Var]*tir.Buffer{handle: a}}}}
}

// Building a program of twice the depth takes about twice the work. The test counts allocated bytes, because time
// depends on the machine. Work that grows with the square of the depth would be four times as much.
func TestBuild_DeepIsLinear(t *testing.T) {
	const depth = 3000
	for _, sort := range []string{"sum", "product", "min", "select", "call", "let", "lets", "loops", "branches", "else",
		"allocations"} {
		work := func(n int) uint64 {
			program := deepProgram(sort, n)
			var before, after goruntime.MemStats
			goruntime.ReadMemStats(&before)
			m, err := codegen.Build(program, kind(t, "c"))
			goruntime.ReadMemStats(&after)
			require.NoError(t, err, sort)
			text := must.Get(m.GetSource("c"))(t)
			require.NotContains(t, text, "\x01", "a placeholder for a piece of code")
			require.Less(t, len(text), 700*n+40_000, "%s: most of the text is blanks", sort)
			require.NoError(t, m.Close())
			return after.TotalAlloc - before.TotalAlloc
		}
		work(100)
		once, twice := work(depth), work(2*depth)
		t.Logf("%s: %d MB, %d MB", sort, once>>20, twice>>20)
		require.Less(t, float64(twice)/float64(once), 2.9, "%s: %d bytes at depth %d, %d at %d", sort, once, depth, twice,
			2*depth)
	}
}
