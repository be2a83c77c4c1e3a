package graph_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/graph"
	"tvmgo/internal/testing/must"
	"tvmgo/tir"
)

// conditional makes a function whose body reads a value of the function around it.
func conditional(t *testing.T) (f *graph.Function, x *graph.Value) {
	f = graph.NewFunction("main")
	x = f.Param("x", tir.Float32, f.Symbol("n"))
	c := f.Param("c", tir.Bool)
	y := must.Get(f.Add("neg", nil, x))(t)[0]
	then, otherwise := f.Body("then"), f.Body("else")
	then.Return(must.Get(then.Add("exp", nil, y))(t)...)
	otherwise.Return(must.Get(otherwise.Add("neg", nil, y))(t)...)
	outs := must.Get(f.AddIf(&graph.Node{}, c, then, otherwise))(t)
	z := must.Get(f.Add("neg", nil, outs[0]))(t)[0]
	z.Name = "z"
	f.Return(z)
	return f, x
}

// A change of a copy leaves the function as it was.
func TestFunction_Clone(t *testing.T) {
	f, _ := conditional(t)
	g := f.Clone()
	require.Len(t, g.Nodes, 3)
	require.NotSame(t, f.Params[0], g.Params[0])
	require.Same(t, g.Params[0], g.Nodes[0].Inputs[0])
	require.Same(t, g.Nodes[0].Outputs[0], g.Nodes[1].Bodies[0].Nodes[0].Inputs[0], "bodies read values of the copy")
	require.Same(t, g.Nodes[1], g.Nodes[1].Outputs[0].Node)
	require.Same(t, g, g.Nodes[2].Function())
	require.Same(t, g.Nodes[1].Bodies[1], g.Nodes[1].Bodies[1].Nodes[0].Function())
	require.Same(t, f.Symbol("n"), g.Symbol("n"))
	require.NotSame(t, f.NewSymbol(), g.NewSymbol())
	must.Get(g.Nodes[1].Bodies[0].Add("exp", nil, g.Params[0]))(t)
	g.Results[0].Name = "other"
	require.Len(t, f.Nodes[1].Bodies[0].Nodes, 1)
	require.Equal(t, "z", f.Results[0].Name)
}

// A rule sees nodes of bodies, too, with operands that are already replaced; results keep their names.
func TestFunction_Rewrite(t *testing.T) {
	f, x := conditional(t)
	var seen []string
	changed, err := f.Rewrite(func(g *graph.Function, n *graph.Node) ([]*graph.Value, error) {
		seen = append(seen, g.Name+" "+n.Op.Name)
		if n.Op.Name != "neg" {
			return nil, nil
		}
		return g.Add("abs", nil, n.Inputs[0])
	})
	require.NoError(t, err)
	require.True(t, changed)
	require.Equal(t, []string{"main neg", "then exp", "else neg", "main if", "main neg"}, seen)
	abs := f.Nodes[0]
	require.Equal(t, "abs", abs.Op.Name)
	require.Same(t, x, abs.Inputs[0])
	require.Same(t, abs.Outputs[0], f.Nodes[2].Bodies[0].Nodes[0].Inputs[0])
	require.Equal(t, "abs", f.Nodes[2].Bodies[1].Results[0].Node.Op.Name)
	require.Equal(t, "z: float32[n]", f.Results[0].String())
	require.Equal(t, "abs", f.Results[0].Node.Op.Name)
}

// Lists that results and operands share with nodes, as callers may have passed them, do not change these nodes.
func TestFunction_RewriteOfSharedLists(t *testing.T) {
	f := graph.NewFunction("main")
	x := f.Param("x", tir.Float32, f.Symbol("n"))
	y := must.Get(f.Add("neg", nil, x))(t)
	f.Return(must.Get(f.Add("exp", nil, y...))(t)...)
	must.Get(f.Rewrite(func(g *graph.Function, n *graph.Node) ([]*graph.Value, error) {
		return g.Add("abs", nil, n.Inputs[0])
	}))(t)
	require.Same(t, y[0], f.Nodes[1].Outputs[0])
	require.Equal(t, "neg", y[0].Node.Op.Name)
	require.Equal(t, "abs", f.Results[0].Node.Op.Name)
	require.NotSame(t, f.Nodes[3].Outputs[0], f.Results[0])
}

// Values of another type or shape, and parameters in place of results, are not used.
func TestFunction_RewriteThatDoesNotFit(t *testing.T) {
	f, x := conditional(t)
	changed, err := f.Rewrite(func(g *graph.Function, n *graph.Node) ([]*graph.Value, error) {
		switch {
		case n.Op.Name == "exp":
			return g.Add("shape", nil, n.Inputs[0])
		case n.Op.Name == "neg" && n.Outputs[0].Name == "z":
			return []*graph.Value{x}, nil
		}
		return nil, nil
	})
	require.NoError(t, err)
	require.False(t, changed)
	require.Equal(t, "neg", f.Results[0].Node.Op.Name)
	_, err = f.Rewrite(func(_ *graph.Function, n *graph.Node) ([]*graph.Value, error) {
		if n.Op.Name == "exp" {
			return nil, errors.New("broken")
		}
		return nil, nil
	})
	require.EqualError(t, err, "broken")
	require.Len(t, f.Nodes, 3, "nodes stay")
}
