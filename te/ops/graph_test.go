//go:build cgo

package ops

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"tvmgo/te"
	"tvmgo/tir"
)

// graph is a random computation by operators: chains, branches that meet again, and several outputs. Equal seeds make
// equal graphs, so that one can be rebuilt for each target.
type graph struct {
	*rand.Rand
	typ   tir.Type
	ins   []*te.Tensor
	nodes []*vertex
	outs  []*vertex
	text  []string // the operators, for a failure
}

// vertex is a tensor of a graph.
type vertex struct {
	t     *te.Tensor
	shape []int
	bound float64 // of the absolute values
	read  bool
}

// graphTypes are the types that graphs compute with.
var graphTypes = []tir.Type{tir.Float32, tir.Float32, tir.Float32, tir.Float16, tir.Int32, tir.Float64}

// randomGraph is the graph of a seed.
func randomGraph(seed uint64) *graph {
	g := &graph{Rand: rand.New(rand.NewPCG(seed, 18))}
	g.typ = graphTypes[g.IntN(len(graphTypes))]
	rank := 1 + g.IntN(4)
	shape := make([]int, rank)
	for d := range shape {
		shape[d] = g.size(rank)
	}
	g.input(shape...)
	g.elementwise(g.nodes[0], false)
	for n := 3 + g.IntN(6); len(g.nodes) < n; {
		g.grow()
	}
	for i, v := range g.nodes {
		if !slices.Contains(g.ins, v.t) && (!v.read || i == len(g.nodes)-1 || g.IntN(8) == 0) {
			g.outs = append(g.outs, v)
		}
	}
	return g
}

// size returns the size of a dimension, which tiles and vectors divide or not.
func (g *graph) size(rank int) int {
	most := []int{3000, 150, 40, 20}[rank-1]
	switch g.IntN(4) {
	case 0:
		return min(most, 4<<g.IntN(7))
	case 1:
		return 1 + g.IntN(4)
	}
	return 1 + g.IntN(most)
}

func (g *graph) name() string { return fmt.Sprintf("t%d", len(g.nodes)) }

// add adds a tensor, or a smaller multiple of it if its values may be large.
func (g *graph) add(t *te.Tensor, shape []int, bound float64, from ...*vertex) *vertex {
	for _, v := range from {
		v.read = true
	}
	v := &vertex{t: t, shape: shape, bound: bound}
	g.nodes = append(g.nodes, v)
	var read []string
	for _, f := range from {
		read = append(read, f.t.ProducerName())
	}
	kind := "elementwise"
	if o := OperatorOf(t); o != nil {
		kind = o.Kind
	} else if slices.Contains(g.ins, t) {
		kind = "input"
	}
	g.text = append(g.text, fmt.Sprintf("%s = %s(%s): %s %v", t.ProducerName(), kind, strings.Join(read, ", "),
		t.ProducerDType(), shape))
	if bound > 16 && tir.IsFloat(g.typ) {
		return g.add(Clip(t, g.name(), -4, 4), shape, 4, v)
	}
	return v
}

func (g *graph) input(shape ...int) *vertex {
	t := te.Placeholder(dims(shape), g.typ, g.name())
	g.ins = append(g.ins, t)
	return g.add(t, shape, 1)
}

// like returns another vertex of a shape, or a new input.
func (g *graph) like(v *vertex) *vertex {
	for _, i := range g.Perm(len(g.nodes)) {
		if o := g.nodes[i]; o != v && slices.Equal(o.shape, v.shape) {
			return o
		}
	}
	shape := slices.Clone(v.shape)
	for d := range shape { // broadcast
		if g.IntN(3) == 0 {
			shape[d] = 1
		}
	}
	return g.input(shape[g.IntN(len(shape)+1)/2:]...)
}

// grow adds a tensor that reads others.
func (g *graph) grow() {
	x := g.nodes[len(g.nodes)-1]
	if g.IntN(3) == 0 {
		x = g.nodes[g.IntN(len(g.nodes))]
	}
	floats := tir.IsFloat(g.typ)
	switch rank := len(x.shape); g.IntN(12) {
	case 0, 1:
		g.elementwise(x, floats)
	case 2, 3:
		g.binary(x)
	case 4:
		g.reduce(x, floats)
	case 5:
		if rank > 0 && floats {
			g.normalize(x)
		}
	case 6, 7:
		if rank == 4 {
			g.convolve(x)
		} else if rank > 1 {
			g.multiply(x)
		}
	case 8:
		if rank == 4 {
			g.pool(x, floats)
		} else if rank > 1 {
			g.multiply(x)
		}
	case 9, 10:
		if rank > 0 {
			g.move(x)
		}
	case 11:
		if rank > 0 {
			g.join(x)
		}
	}
}

func (g *graph) elementwise(x *vertex, floats bool) {
	name := g.name()
	switch n := g.IntN(7); {
	case n == 0 || !floats && n > 3:
		g.add(Relu(x.t, name), x.shape, x.bound, x)
	case n == 1:
		g.add(Abs(x.t, name), x.shape, x.bound, x)
	case n == 2:
		g.add(Neg(x.t, name), x.shape, x.bound, x)
	case n == 3:
		g.add(Square(x.t, name), x.shape, x.bound*x.bound, x)
	case n == 4:
		g.add(Tanh(x.t, name), x.shape, 1, x)
	case n == 5:
		g.add(Sigmoid(x.t, name), x.shape, 1, x)
	default:
		g.add(Gelu(x.t, name), x.shape, x.bound, x)
	}
}

func (g *graph) binary(x *vertex) {
	y, name := g.like(x), g.name()
	switch g.IntN(4) {
	case 0:
		g.add(Add(x.t, y.t, name), x.shape, x.bound+y.bound, x, y)
	case 1:
		g.add(Subtract(y.t, x.t, name), x.shape, x.bound+y.bound, x, y)
	case 2:
		g.add(Multiply(x.t, y.t, name), x.shape, x.bound*y.bound, x, y)
	case 3:
		g.add(Maximum(x.t, y.t, name), x.shape, max(x.bound, y.bound), x, y)
	}
}

func (g *graph) reduce(x *vertex, floats bool) {
	var axes []int
	count := 1
	keep := g.IntN(2) == 0
	var shape []int
	for d, n := range x.shape {
		if g.IntN(2) == 0 {
			axes, count = append(axes, d), count*n
			if keep {
				shape = append(shape, 1)
			}
		} else {
			shape = append(shape, n)
		}
	}
	if axes == nil { // all of them
		return
	}
	name := g.name()
	switch n := g.IntN(4); {
	case n == 0:
		g.add(Max(x.t, name, axes, keep), shape, x.bound, x)
	case n == 1:
		g.add(Min(x.t, name, axes, keep), shape, x.bound, x)
	case floats && n == 2:
		g.add(Mean(x.t, name, axes, keep), shape, x.bound, x)
	default:
		g.add(Sum(x.t, name, axes, keep), shape, x.bound*float64(count), x)
	}
}

func (g *graph) normalize(x *vertex) {
	last := x.shape[len(x.shape)-1]
	switch g.IntN(4) {
	case 0:
		g.add(Softmax(x.t, g.name(), g.IntN(len(x.shape))), x.shape, 1, x)
	case 1:
		g.add(LogSoftmax(x.t, g.name()), x.shape, 2*x.bound+10, x)
	case 2:
		gamma, beta := g.input(last), g.input(last)
		g.add(LayerNorm(x.t, gamma.t, beta.t, g.name(), 1, 0.1), x.shape, 8, x, gamma, beta)
	case 3:
		gamma := g.input(last)
		g.add(RMSNorm(x.t, gamma.t, g.name(), 1, 0.1), x.shape, 8, x, gamma)
	}
}

func (g *graph) multiply(x *vertex) {
	n := len(x.shape)
	k, m := x.shape[n-1], g.size(2)
	shape := append(slices.Clone(x.shape[:n-1]), m)
	bound := x.bound * float64(k)
	if g.IntN(2) == 0 {
		y := g.input(k, m)
		g.add(Matmul(x.t, y.t, g.name()), shape, bound, x, y)
		return
	}
	y := g.input(m, k)
	g.add(Matmul(x.t, y.t, g.name(), TransposeY()), shape, bound, x, y)
}

func (g *graph) convolve(x *vertex) {
	channels, stride, pad := x.shape[1], 1+g.IntN(2), g.IntN(2)
	k := []int{1, 3}[g.IntN(2)]
	if x.shape[2]+2*pad < k || x.shape[3]+2*pad < k {
		return
	}
	groups, out := 1, 1+g.IntN(20)
	if g.IntN(3) == 0 {
		groups, out = channels, channels
	}
	size := func(n int) int { return (n+2*pad-k)/stride + 1 }
	w := g.input(out, channels/groups, k, k)
	shape := []int{x.shape[0], out, size(x.shape[2]), size(x.shape[3])}
	bound := x.bound * float64(channels/groups*k*k)
	options := []ConvOption{Groups(groups)}
	from := []*vertex{x, w}
	if g.IntN(2) == 0 {
		b := g.input(out)
		options, from = append(options, Bias(b.t)), append(from, b)
		bound++
	}
	g.add(Conv2D(x.t, w.t, g.name(), stride, pad, options...), shape, bound, from...)
}

func (g *graph) pool(x *vertex, floats bool) {
	if x.shape[2] < 2 || x.shape[3] < 2 {
		return
	}
	w := Window{Kernel: [2]int{2, 2}}
	shape := []int{x.shape[0], x.shape[1], x.shape[2] / 2, x.shape[3] / 2}
	if floats && g.IntN(2) == 0 {
		g.add(AvgPool2D(x.t, g.name(), w), shape, x.bound, x)
		return
	}
	g.add(MaxPool2D(x.t, g.name(), w), shape, x.bound, x)
}

// move changes the shape of a tensor, or the order of its elements.
func (g *graph) move(x *vertex) {
	rank := len(x.shape)
	shape, name := slices.Clone(x.shape), g.name()
	switch d := g.IntN(rank); g.IntN(4) {
	case 0:
		order := g.Perm(rank)
		for i, from := range order {
			shape[i] = x.shape[from]
		}
		g.add(Transpose(x.t, name, order...), shape, x.bound, x)
	case 1:
		all := 1
		for _, n := range shape {
			all *= n
		}
		for _, n := range []int{7, 4, 3, 2, 1} {
			if all%n == 0 {
				shape = []int{all / n, n}
				break
			}
		}
		g.add(Reshape(x.t, name, dims(shape)...), shape, x.bound, x)
	case 2:
		begin := g.IntN(shape[d])
		end := begin + 1 + g.IntN(shape[d]-begin)
		shape[d] = end - begin
		g.add(Slice(x.t, name, Range{Axis: d, Begin: begin, End: end}), shape, x.bound, x)
	case 3:
		before, after := make([]int, rank), make([]int, rank)
		before[d], after[d] = g.IntN(3), g.IntN(3)
		shape[d] += before[d] + after[d]
		g.add(Pad(x.t, name, before, after), shape, x.bound, x)
	}
}

func (g *graph) join(x *vertex) {
	y := g.like(x)
	if !slices.Equal(y.shape, x.shape) {
		return
	}
	d := g.IntN(len(x.shape))
	shape := slices.Clone(x.shape)
	shape[d] *= 2
	g.add(Concat(g.name(), d, x.t, y.t), shape, max(x.bound, y.bound), x, y)
}
