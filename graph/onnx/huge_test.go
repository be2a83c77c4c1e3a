package onnx_test

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tvmgo/graph/onnx/file"
)

// small is a model of nodes that read x, float[2, 3], and constants. Its results are those of the last node.
func small(constants []*file.Tensor, nodes ...*file.Node) *file.Model {
	g := &file.Graph{Name: "small", Inputs: []*file.ValueInfo{value("x", file.Float, 2, 3)}, Initializers: constants,
		Nodes: nodes}
	for _, name := range nodes[len(nodes)-1].Outputs {
		g.Outputs = append(g.Outputs, &file.ValueInfo{Name: name})
	}
	return &file.Model{IRVersion: 10, OpsetImports: []file.Opset{{Version: 22}}, Graph: g}
}

// scalars are constants of one number each.
func scalars(t file.DataType, names string, values ...float64) (list []*file.Tensor) {
	for k, name := range strings.Fields(names) {
		x := &file.Tensor{Name: name, DataType: t}
		if t == file.Int64 {
			x.Int64Data = []int64{int64(values[k])}
		} else {
			x.FloatData = []float32{float32(values[k])}
		}
		list = append(list, x)
	}
	return list
}

// Small files that describe huge tensors, long loops or deep graphs are compiled, or are errors, in little time and
// memory.
func TestImport_Huge(t *testing.T) {
	const most = math.MaxInt32
	attr := func(name string, v ...int64) *file.Attribute {
		return &file.Attribute{Name: name, Type: file.AttrInts, Ints: v}
	}
	one := func(name string, v int64) *file.Attribute {
		return &file.Attribute{Name: name, Type: file.AttrInt, Int: v}
	}
	text := func(name, v string) *file.Attribute {
		return &file.Attribute{Name: name, Type: file.AttrString, String: v}
	}
	list := func(v ...*file.Tensor) []*file.Tensor { return v }
	of := func(op string, constants ...*file.Tensor) *file.Model { // x is the first operand
		in := names("x")
		for _, c := range constants {
			in = append(in, c.Name)
		}
		return small(constants, node(op, in, names("y")))
	}
	chain := func(n int, op string, twice bool, constants ...*file.Tensor) *file.Model {
		var nodes []*file.Node
		last := "x"
		for k := range n {
			in := names(last)
			if twice {
				in = append(in, last)
			}
			last = fmt.Sprint("v", k)
			nodes = append(nodes, node(op, in, names(last)))
		}
		return small(constants, nodes...)
	}
	many := func(n int, op string) *file.Model {
		return small(nil, node(op, slices.Repeat(names("x"), n), names("y")))
	}
	// A tensor that becomes twice as long, again and again.
	doubled := chain(60, "Concat", true)
	for _, n := range doubled.Graph.Nodes {
		n.Attributes = []*file.Attribute{one("axis", 0)}
	}
	trips := scalars(file.Int64, "n", 1<<62)[0]
	step := &file.Graph{Name: "step", Inputs: []*file.ValueInfo{value("i", file.Int64), value("go", file.Bool),
		value("c", file.Float, 2, 3)}, Nodes: []*file.Node{node("Identity", names("go"), names("again")),
		node("Concat", names("c", "c"), names("d"), one("axis", 0))},
		Outputs: []*file.ValueInfo{{Name: "again"}, {Name: "d"}, {Name: "d"}}}
	upTo := func(n int64) (list []int64) {
		for k := range n {
			list = append(list, k)
		}
		return list
	}
	deep := chain(3000, "Relu", false)
	for name, m := range map[string]*file.Model{
		"filled": small(list(ints("s", most, most, most)),
			node("ConstantOfShape", names("s"),
				names("y"))),
		"filled 4 GiB": small(list(ints("s", 1<<30)), node("ConstantOfShape", names("s"), names("y"))),
		"filled and read": small(list(ints("s", 1<<15, 1<<15)),
			node("ConstantOfShape", names("s"), names("v")),
			node("Exp", names("v"), names("w")),
			node("ReduceSum", names("w"),
				names("y"))),
		"expanded":   of("Expand", ints("s", 1<<40, 2, 3)),
		"tiled":      of("Tile", ints("s", 1<<62, 1<<62)),
		"tiled 2^31": of("Tile", ints("s", 1<<30, 1<<30)),
		"range": small(scalars(file.Int64, "a b c", 0, 1<<62, 1),
			node("Range", names("a", "b", "c"),
				names("y"))),
		"range by 0": small(scalars(file.Int64, "a b c", 0, 1, 0),
			node("Range", names("a", "b", "c"),
				names("y"))),
		"range of floats": small(scalars(file.Float, "a b c", 0, math.Inf(1), 1),
			node("Range", names("a", "b", "c"),
				names("y"))),
		"range of nan": small(scalars(file.Float, "a b c", math.NaN(), 1, 1),
			node("Range", names("a", "b", "c"),
				names("y"))),
		"range by tiny": small(scalars(file.Float, "a b c", 0, 1e30, 1e-30),
			node("Range", names("a", "b", "c"),
				names("y"))),
		"padded":      of("Pad", ints("s", 1<<62, 1<<62, 1<<62, 1<<62)),
		"padded by -": of("Pad", ints("s", math.MinInt64, 0, 0, 0)),
		"classes": small(append(scalars(file.Int64, "i d", 1, 1<<62), ints("v", 0, 1)),
			node("OneHot", names("i", "d", "v"),
				names("y"))),
		"window":  small(scalars(file.Int64, "n", 1<<62), node("HannWindow", names("n"), names("y"))),
		"doubled": doubled,
		"loop": small(list(trips),
			node("Loop", names("n", "", "x"), names("y", "z"), body("body", step))),
		"squared":       chain(200, "Mul", true),
		"deep":          deep,
		"many operands": many(2000, "Sum"),
		"greatest":      many(2000, "Max"),
		"mean":          many(2000, "Mean"),
		"concat":        many(5000, "Concat"),
		"einsum": small(nil, node("Einsum", names("x"), names("y"),
			text("equation", strings.Repeat("i", 1<<16)+"->"))),
		"einsum of many": small(nil, node("Einsum", slices.Repeat(names("x"), 40), names("y"),
			text("equation", strings.Repeat("ij,", 39)+"ij->i"))),
		"einsum letters": small(nil, node("Einsum", names("x", "x", "x", "x", "x", "x", "x", "x"), names("y"),
			text("equation", "ab,cd,ef,gh,ij,kl,mn,op->"))),
		"unsqueeze":    of("Unsqueeze", ints("s", slices.Repeat([]int64{0}, 100)...)),
		"unsqueeze 40": of("Unsqueeze", ints("s", upTo(40)...)),
		"split":        small(nil, node("Split", names("x"), names("y"), one("num_outputs", 1<<40))),
		"pool": small(list(ints("s", 1, 1, 2, 3)),
			node("Reshape", names("x", "s"), names("v")),
			node("MaxPool", names("v"), names("y"), attr("kernel_shape", 1<<30, 1<<30),
				attr("pads", 1<<30, 1<<30, 1<<30, 1<<30))),
		"pool of few": small(list(ints("s", 1, 1, 2, 3)),
			node("Reshape", names("x", "s"), names("v")),
			node("AveragePool", names("v"), names("y"), attr("kernel_shape", 2, 2), attr("strides", 1<<62, 1<<62))),
		"resized": small(append(list(ints("s", 1<<30, 1<<30)), scalars(file.Float, "e", 0)...),
			node("Resize", names("x", "", "", "s"),
				names("y"), text("mode", "cubic"))),
		"scaled": small(list(&file.Tensor{Name: "s", DataType: file.Float, Dims: []int64{2}, FloatData: []float32{1e30, 1}}),
			node("Resize", names("x", "", "s"),
				names("y"))),
		"sparse": small(nil, node("Constant", nil, names("y"),
			&file.Attribute{Name: "sparse_value", Type: file.AttrSparseTensor,
				SparseTensor: &file.SparseTensor{Dims: []int64{1 << 40}, Values: ints("v", 1), Indices: ints("i", 1)}})),
	} {
		t.Run(name, func(t *testing.T) {
			hangs := time.AfterFunc(3*time.Minute, func() { panic(name + ": the compiler does not end") })
			defer hangs.Stop()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if err := tryModel(m); err != nil {
				require.NotEmpty(t, err.Error())
			}
			runtime.ReadMemStats(&after)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<30))
		})
	}
}
