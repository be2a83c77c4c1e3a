//go:build cgo

package tirunknown_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen/c"
	"tvmgo/codegen/opencl"
	"tvmgo/internal/testing/tirrun"
	. "tvmgo/internal/testing/tirunknown"
	"tvmgo/target"
	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/compare"
	"tvmgo/tir/json"
	"tvmgo/tir/text"
)

const everything = `func f(A: handle, n: int32) {
  buffer A: int32[64], param A
  tir.Event(note=tir.Value(a=n, v=n), v=n, buffer=A, at=[tir.Sum(first=n, var=x: int32, body=tir.Pure(a=x)) + 1])
  tir.Block(count=2, var=i: int32, buffer={m: int32[4, n], align 64}) body {
    m[i, 0] = i
    A[i] = m[i, 0]
  } rest {
    tir.Event(note=1)
    seq {
      tir.Event(note=let y = n in y)
    }
  } other {
    A[1] = 0
  }
` + fields1 + fields2 + fields3 + "}\n"

const (
	fields1 = `  tir.Fields(type=float16x4, op="floordiv", call="packed", for="parallel", text="a\n\"", int=-3, ` +
		"list=[1, -2], long=-9007199254740993, float=nan(0x7ff8000000000002), attrs={\"a\": 1.5, \"b\": true}, " +
		"node={buffer A})\n"
	fields2 = `  tir.Fields(type=void, op="+", call="intrin", for="for", text="", int=0, list=[], long=0, float=-inf, ` +
		"node={iter n in range(4), kind reduce}, missing=n)\n"
	fields3 = `  tir.Fields(type=void, op="+", call="intrin", for="for", text="", int=0, list=[], long=0, float=0.5, ` +
		"node={var n})\n"
)

// Nodes without a syntax of their own are read back from text and from JSON.
func TestForms_OfUnknownNodes(t *testing.T) {
	m, err := text.Parse(everything)
	require.NoError(t, err)
	require.Equal(t, everything, text.Print(m))
	data, err := json.Marshal(m)
	require.NoError(t, err)
	back, err := json.Unmarshal(data)
	require.NoError(t, err, "%s", data)
	require.Empty(t, compare.Difference(m, back))
	require.Equal(t, everything, text.Print(back))
	require.Equal(t, compare.Hash(m), compare.Hash(back))
	lines := strings.Split(everything, "\n")
	for i, line := range lines { // removing a line changes the node
		if strings.HasPrefix(line, "  tir.Fields") {
			other, err := text.Parse(strings.Join(append(append([]string{}, lines[:i]...), lines[i+1:]...), "\n"))
			require.NoError(t, err)
			require.False(t, compare.Equal(m, other))
		}
	}
	for _, change := range [][2]string{{"v=n, buffer", "buffer"}, {"at=[tir", "at=[1 + tir"}, {"count=2", "count=3"},
		{"tir.Pure(a=x)", "x"}, {"op=\"+\"", "op=\"-\""}, {"long=-9007199254740993", "long=-9007199254740992"},
		{"note=1", "note=2"}, {"align 64", "align 32"}, {"A[1] = 0", "A[1] = 1"}, {"list=[1, -2]", "list=[1, -3]"}} {
		other, err := text.Parse(strings.Replace(everything, change[0], change[1], 1))
		require.NoError(t, err, change)
		require.False(t, compare.Equal(m, other), change)
		require.NotEqual(t, compare.Hash(m), compare.Hash(other), change)
	}
	require.Equal(t, `$"tir.Pure"`, text.Print(tir.NewVar("tir.Pure", tir.Int32)))
}

func TestParse_ErrorsOfUnknownNodes(t *testing.T) {
	for body, want := range map[string]string{
		"tir.Event(note=1, note=2)":                              `found "note", want a field of tir.Event`,
		"tir.Event()":                                            "tir.Event lacks its field note",
		"eval tir.Event(note=1)":                                 "found statement",
		"tir.Pure(a=1)":                                          "an expression has no effect",
		"eval tir.For(min=1)":                                    "there is no intrinsic tir.For",
		"tir.For(min=1)":                                         "there is no intrinsic tir.For",
		"eval tir.Pure(a=x)":                                     "there is no variable x",
		"eval tir.Sum(var=x, first=1, body=x)":                   "x lacks its type",
		"eval tir.Sum(var=x: int32, first=x, body=x)":            "there is no variable x",
		"eval tir.Sum(var=x: int32, first=1, body=x) + x":        "there is no variable x",
		"tir.Block(count=1, body={})":                            "want a field of tir.Block",
		"tir.Event(note=1, buffer=C)":                            "there is no buffer C",
		"eval tir.Pure(a=" + strings.Repeat("tir.Pure(a=", 2000): "deep: use let",
	} {
		_, err := text.Parse("func f(n: int32) { " + body + " }")
		require.ErrorContains(t, err, want, body)
	}
}

// Check follows the description of a node.
func TestCheck_UnknownNodes(t *testing.T) {
	v, w := tir.NewVar("v", tir.Int32), tir.NewVar("w", tir.Int32)
	b := tir.NewBuffer("b", tir.Int32, tir.I32(4))
	eval := func(e tir.Expr) tir.Stmt { return &tir.Evaluate{Value: e} }
	block := func(body tir.Stmt) *Block { return &Block{Count: tir.I32(1), Var: v, Buffer: b, Body: body} }
	void := tir.NewCall(tir.CallPacked, tir.Void, "p")
	outside := block(eval(v))
	outside.Rest = []tir.Stmt{eval(v)}
	for want, s := range map[string]tir.Stmt{
		"body.note: the expression is nil":                       &Event{},
		"body: variable v is not defined":                        &Event{Note: tir.I32(1), V: v},
		"body: buffer b is not defined":                          &Event{Note: tir.I32(1), Buffer: b},
		"body.note: Call has no value":                           &Event{Note: void},
		"body.at[0]: variable v is not defined":                  &Event{Note: tir.I32(1), At: []tir.Expr{v}},
		"body.value.first: variable v is not defined":            eval(&Sum{Var: v, First: v, Body: v}),
		"body.value.var: a variable is nil":                      eval(&Sum{First: tir.I32(1), Body: tir.I32(1)}),
		"body[1].value: variable v is used outside of its scope": tir.Sequence(block(eval(v)), eval(v)),
		"body.body.value: variable w is not defined":             block(eval(w)),
		"body.body: the statement is nil":                        block(nil),
		"body.count: variable v is not defined":                  &Block{Count: v, Var: v, Buffer: b, Body: eval(v)},
		"body[0].value: variable v is not defined":               outside,
		"body.body.var: variable v is defined twice":             block(block(eval(v))),
	} {
		f := &tir.PrimFunc{Name: "f", Body: s, Result: tir.Void}
		err := tir.CheckFunc(f)
		require.ErrorContains(t, err, want)
	}
	require.NoError(t, tir.CheckFunc(&tir.PrimFunc{Name: "f", Result: tir.Void,
		Body: block(&Event{Note: tir.BufferAt(b, tir.I32(9))})}), "what an opaque node loads may be no access")
}

// The errors of generators and of the interpreter name the unknown node.
func TestGenerators_OfUnknownNodes(t *testing.T) {
	host, err := target.New("c")
	require.NoError(t, err)
	device, err := target.New("opencl")
	require.NoError(t, err)
	for _, node := range []string{"eval tir.Value(a=1)", "A[0] = tir.Pure(a=1)",
		"A[0] = tir.Sum(var=x: int32, first=1, body=x)",
		"A[ramp(0, 1, 4)] = tir.Pure(a=ramp(0, 1, 4))", "tir.Event(note=1)",
		"tir.Block(count=1, var=x: int32, buffer={m: int32[1]}) body {}"} {
		m, err := text.Parse("func f(A: handle) {\n buffer A: int32[64], param A\n" + node + "\n}")
		require.NoError(t, err)
		name := node[strings.Index(node, "tir.")+4:]
		name = name[:strings.Index(name, "(")]
		_, err = (&c.Emitter{}).Emit(m, host)
		require.ErrorContains(t, err, name+": lower it before", node)
		m.Funcs[0].Attrs = map[string]any{"calling_conv": int64(2)}
		_, err = opencl.New().Emit(m, device)
		require.ErrorContains(t, err, name+": lower it before", node)
		_, err = tirrun.Compile(m, tirrun.Options{})
		require.ErrorContains(t, err, name, node)
	}
}

// A schedule may compute a formula several times, so a formula may not contain opaque nodes.
func TestCompute_OfUnknownNodes(t *testing.T) {
	formula := func(of func(tir.Expr) tir.Expr) error {
		shape := []tir.Expr{tir.I32(4)}
		x := te.Placeholder(shape, tir.Float32, "x")
		y := te.Compute(shape, "y", func(i ...tir.Expr) tir.Expr { return of(x.At(i...)) })
		s, err := te.NewSchedule(y)
		if err != nil {
			return err
		}
		_, err = te.Lower(s, []any{x, y}, "f")
		return err
	}
	require.NoError(t, formula(func(e tir.Expr) tir.Expr { return &Pure{A: e} }))
	require.ErrorContains(t, formula(func(e tir.Expr) tir.Expr { return &Value{A: e} }), "the formula has a")
}
