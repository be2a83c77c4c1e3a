//go:build cgo

package passes_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/graph"
	"tvmgo/internal/testing/must"
	"tvmgo/tir"
)

func TestDead(t *testing.T) {
	b := newBuilder(t)
	x := b.input("x", -1, 4)
	b.op("relu", b.op("exp", x))
	n := b.op("gather", b.op("shape", x), b.Ints("zero", 0))
	y := b.op("reshape", x, b.op("concat", b.Ints("two", 2, 2), n))
	norm := must.Get(b.AddNode(&graph.Node{Op: graph.LookupOp("max_pool"), Attrs: graph.Attrs{"kernel_shape": []int64{1}},
		Inputs: []*graph.Value{y}, Outputs: []*graph.Value{{Name: "y"}, {Name: "mean"}}}, "max_pool"))(t)
	b.Return(norm[0])
	require.Equal(t, []string{
		"shape x = v1", "gather v1 const[1] = v2", "concat const[2] v2 = v3", "reshape x v3 = v4",
		"max_pool v4 kernel_shape=[1] = y", "return y",
	}, changed(t, b.Function, "dead"))
}

// Nodes of bodies are removed, too, and those of the function around them are kept if a body needs them.
func TestDead_Bodies(t *testing.T) {
	b := newBuilder(t)
	x := b.input("x", 4)
	up := b.op("exp", x)
	b.op("neg", up)
	then, otherwise := b.body(b.Body("then")), b.body(b.Body("else"))
	then.op("tanh", up)
	then.Return(then.op("sqrt", up))
	otherwise.Return(otherwise.op("neg", x))
	cond := b.op("less", b.op("reduce_sum", x, b.Ints("axes", 0)), b.scalar(0))
	outs := must.Get(b.AddIf(&graph.Node{}, cond, then.Function, otherwise.Function))(t)
	b.Return(outs[0])
	require.Equal(t, []string{
		"exp x = v1", "reduce_sum x const[1] = v2", "less v2 const[] = v3", "if v3 = v4",
		"sqrt v1 = v5", "return v5", "neg x = v6", "return v6", "return v4",
	}, trimmed(changed(t, b.Function, "dead")))
}

func trimmed(lines []string) []string {
	for i, l := range lines {
		for len(l) > 0 && l[0] == ' ' {
			l = l[1:]
		}
		lines[i] = l
	}
	return lines
}

// The elements of a tensor that are read on the host are kept where only sizes need them.
func TestDead_Elements(t *testing.T) {
	b := newBuilder(t)
	x := b.input("x", 2)
	n := b.with("cast", graph.Attrs{"to": tir.Int64}, b.op("add", b.op("abs", x), b.scalar(1)))
	y := b.op("constant_of_shape", n, b.scalar(2))
	b.Return(b.op("shape", y))
	lines := changed(t, b.Function, "dead")
	require.Contains(t, lines[3], "elements")
	require.Len(t, lines, 7)
}

func TestCommon(t *testing.T) {
	b := newBuilder(t)
	x := b.input("x", -1, 4)
	a := b.with("leaky_relu", graph.Attrs{"alpha": 0.5}, b.op("add", x, b.scalar(1)))
	c := b.with("leaky_relu", graph.Attrs{"alpha": 0.5}, b.op("add", x, b.scalar(1)))
	d := b.with("leaky_relu", graph.Attrs{"alpha": 0.25}, b.op("add", x, b.scalar(2)))
	then, otherwise := b.body(b.Body("then")), b.body(b.Body("else"))
	then.Return(then.op("mul", then.op("add", x, b.scalar(1)), x))
	otherwise.Return(d)
	cond := b.op("less", b.op("reduce_sum", x), b.floats([]int64{1, 1}, 0))
	outs := must.Get(b.AddIf(&graph.Node{}, cond, then.Function, otherwise.Function))(t)
	y, z := b.op("mul", a, c), b.op("mul", a, a)
	y.Name, z.Name = "y", "z"
	b.Return(y, z, outs[0], x)
	require.Equal(t, []string{
		"add x const[] = v1", "leaky_relu v1 alpha=0.5 = v2", "add x const[] = v3", "leaky_relu v3 alpha=0.25 = v4",
		"reduce_sum x = v5", "less v5 const[1,1] = v6", "if v6 = v7", "mul v1 x = v8", "return v8", "return v4",
		"mul v2 v2 = y", "mul v2 v2 = z", "return y z v7 x",
	}, trimmed(changed(t, b.Function, "common", "dead")), "results keep their names: y and z stay two nodes")
}
