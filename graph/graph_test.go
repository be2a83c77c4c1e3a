package graph_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/graph"
	_ "tvmgo/graph/operators"
	"tvmgo/internal/testing/must"
	"tvmgo/tir"
	"tvmgo/tir/text"
)

// shapes returns the types and shapes of values as text.
func shapes(values []*graph.Value) []string {
	var out []string
	for _, v := range values {
		out = append(out, v.String())
	}
	return out
}

// Shapes that a model computes by operators are resolved: the elements of small tensors are expressions of sizes.
func TestFunction_ShapeArithmetic(t *testing.T) {
	f := graph.NewFunction("main")
	x := f.Param("x", tir.Float32, f.Symbol("n"), tir.I32(6), tir.I32(4))
	shape := must.Get(f.Add("shape", nil, x))(t)[0]
	n := must.Get(f.Add("gather", nil, shape, f.Ints("first", 0)))(t)[0]
	twice := must.Get(f.Add("mul", nil, n, f.Ints("two", 2)))(t)[0]
	to := must.Get(f.Add("concat", nil, twice, f.Ints("rest", 3, -1)))(t)[0]
	var elements []string
	for _, e := range to.Elements() {
		elements = append(elements, text.Print(graph.Size(e)))
	}
	require.Equal(t, []string{"n * 2", "3", "-1"}, elements)
	y := must.Get(f.Add("reshape", nil, x, to))(t)
	require.Equal(t, []string{": float32[n * 2, 3, 4]"}, shapes(y))
	require.Nil(t, y[0].Elements(), "data is not known")
}

// A constant of which another shape is made stays a constant.
func TestFunction_ViewsOfConstants(t *testing.T) {
	f := graph.NewFunction("main")
	w := must.Get(f.Const("w", tir.Int8, []int64{300}, make([]byte, 300)))(t)
	v := must.Get(f.Add("reshape", nil, w, f.Ints("shape", 3, 100)))(t)[0]
	require.NotNil(t, v.Const)
	require.Equal(t, ": int8[3, 100]", v.String())
}

// An operand whose elements are data is read on the host if sizes depend on it, and cannot be if the form of the code
// does.
func TestFunction_ElementsOfData(t *testing.T) {
	f := graph.NewFunction("main")
	x := f.Param("x", tir.Float32, tir.I32(4), tir.I32(4))
	to := f.Param("to", tir.Int64, tir.I32(2))
	y := must.Get(f.Add("expand", nil, x, to))(t)
	require.Equal(t, []string{": float32[4, 4]"}, shapes(y), "sizes of 1 and 4 are the same")
	filled := must.Get(f.Add("constant_of_shape", nil, to, must.Get(f.Scalar(tir.Float32, 1))(t)))(t)
	require.Equal(t, []string{": float32[s0, s1]"}, shapes(filled))
	_, err := f.Add("reduce_sum", nil, x, to)
	var e *graph.ElementsError
	require.ErrorAs(t, err, &e)
	require.Equal(t, []*graph.Value{to}, e.Params())
	require.ErrorContains(t, err, `make these inputs constants: "to"`)
}

// Errors name the node, and say what to do.
func TestFunction_Errors(t *testing.T) {
	f := graph.NewFunction("main")
	x := f.Param("x", tir.Float32, tir.I32(2), tir.I32(3))
	y := f.Param("y", tir.Float32, tir.I32(4))
	i := f.Param("i", tir.Int64, tir.I32(4))
	large := f.Param("large", tir.Int64, tir.I32(1000))
	for _, c := range []struct {
		op    string
		attrs graph.Attrs
		in    []*graph.Value
		want  string
	}{
		{"nothing", nil, nil, `operator "nothing" does not exist`},
		{"relu", nil, nil, "0 operands are given: want at least 1"},
		{"relu", nil, []*graph.Value{x, x}, "2 operands are given: want at most 1"},
		{"relu", nil, []*graph.Value{nil}, "operand 0 is missing"},
		{"relu", graph.Attrs{"slope": 1.0}, []*graph.Value{x}, `attribute "slope" does not exist: the operator has none`},
		{"elu", graph.Attrs{"alpha": int64(1)}, []*graph.Value{x}, `attribute "alpha" is a integer: want a float`},
		{"add", nil, []*graph.Value{x, y}, "want equal sizes, or 1"},
		{"add", nil, []*graph.Value{x, i}, "cast one of them"},
		{"transpose", graph.Attrs{"perm": []int64{0, 0}}, []*graph.Value{x}, "axis 0 is given twice"},
		{"concat", graph.Attrs{"axis": int64(2)}, []*graph.Value{x, x},
			"axis 2 does not exist: the operand has 2 dimensions"},
		{"reshape", nil, []*graph.Value{x, f.Ints("shape", 4, 2)}, "the operand has 6 elements, and the shape 8"},
		{"reshape", nil, []*graph.Value{x, f.Ints("shape", -1, -1)}, "both -1"},
		{"reshape", nil, []*graph.Value{x, large}, "have to be known when the model is compiled"},
		{"slice", nil, []*graph.Value{x, f.Ints("s", 0), f.Ints("e", 1), f.Ints("a", 0), f.Ints("t", 0)}, "step 0 is 0"},
		{"matmul", nil, []*graph.Value{x, x}, "matmul"},
		{"matmul", nil, []*graph.Value{y, x}, "matmul"},
		{"if", nil, []*graph.Value{x}, "AddIf"},
	} {
		_, err := f.Add(c.op, c.attrs, c.in...)
		require.ErrorContains(t, err, c.want, c.op)
	}
	require.Empty(t, f.Nodes, "nodes with errors are not added")
	_, err := f.Const("w", tir.Float32, []int64{2}, make([]byte, 7))
	require.ErrorContains(t, err, "has 7 bytes: want 8")
	_, err = f.Const("w", tir.Float32, []int64{-2}, nil)
	require.ErrorContains(t, err, "dimension 0 is -2")
}

// A loop whose body changes a carried value's size gets a variable for it.
func TestFunction_Loop(t *testing.T) {
	f := graph.NewFunction("main")
	x := f.Param("x", tir.Float32, tir.I32(2))
	trips := must.Get(f.Scalar(tir.Int64, 3))(t)
	outs := must.Get(f.AddLoop(&graph.Node{}, trips, nil, []*graph.Value{x},
		func(body *graph.Function, _, _ *graph.Value, now []*graph.Value) (more *graph.Value, next, collected []*graph.Value,
			err error) {
			longer, err := body.Add("concat", nil, now[0], x)
			if err != nil {
				return nil, nil, nil, err
			}
			return nil, longer, []*graph.Value{x}, nil
		}))(t)
	require.Equal(t, []string{": float32[s1]", ": float32[s2, 2]"}, shapes(outs))
}

func TestFunction_If(t *testing.T) {
	f := graph.NewFunction("main")
	c := f.Param("c", tir.Bool)
	x := f.Param("x", tir.Float32, tir.I32(2), f.Symbol("n"))
	body := func(results ...*graph.Value) *graph.Function {
		b := f.Body("body")
		b.Return(results...)
		return b
	}
	y := f.Param("y", tir.Float32, tir.I32(3), f.Symbol("n"))
	outs := must.Get(f.AddIf(&graph.Node{}, c, body(x), body(y)))(t)
	require.Equal(t, []string{": float32[s0, n]"}, shapes(outs))
	_, err := f.AddIf(&graph.Node{}, x, body(x), body(y))
	require.ErrorContains(t, err, "want one element of type bool")
	_, err = f.AddIf(&graph.Node{}, c, body(x), body())
	require.ErrorContains(t, err, "1 and 0 results")
	_, err = f.AddIf(&graph.Node{}, c, body(x), body(c))
	require.ErrorContains(t, err, "want one type and one number of dimensions")
}

// Elements that mention others twice, again and again, count as unknown: their expressions would grow without end.
func TestFunction_LargeElements(t *testing.T) {
	f := graph.NewFunction("main")
	x := must.Get(f.Add("cast", graph.Attrs{"to": tir.Float32}, must.Get(f.Add("size", nil,
		f.Param("x", tir.Float32, f.Symbol("n"))))(t)[0]))(t)[0]
	require.NotNil(t, x.Elements())
	for range 100 {
		e := must.Get(f.Add("exp", nil, x))(t)[0]
		x = must.Get(f.Add("add", nil, e, x))(t)[0]
	}
	require.Nil(t, x.Elements())
	sizes := []*graph.Value{}
	for k := range 40 { // each size may be 1
		sizes = append(sizes, f.Param("y", tir.Float32, f.Symbol(fmt.Sprintf("n%d", k))))
	}
	sum := must.Get(f.Add("sum", nil, sizes[:8]...))(t)[0]
	require.Less(t, len(text.Print(sum.Shape[0])), 1000)
	require.ErrorContains(t, must.Fail(f.Add("sum", nil, sizes...)), "too many sizes that are only known at run time")
}
