package te

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"tvmgo/tir"
)

// network makes a random computation of a few tensors. Equal seeds make equal computations, so that one can be rebuilt
// for each schedule.
type network struct {
	*rand.Rand
	params []*node
	nodes  []*node // all tensors, including arguments
	vars   [3]*tir.Var
	sizes  [3]int64
	device bool // loops of Extern are loops of threads
	n      int
}

// node is a tensor with a constant shape.
type node struct {
	t     *Tensor
	dims  []int // indices of the network's sizes
	small bool  // its values are few and small, so that products of them are small, too
}

// networkTypes are the element types of computations. Tensors of bool are results of comparisons.
var networkTypes = []tir.Type{tir.Int8, tir.Int16, tir.Int32, tir.Int32, tir.Int64, tir.UInt8, tir.UInt16, tir.UInt32,
	tir.UInt64, tir.Float16, tir.BFloat16, tir.Float32, tir.Float64}

// randomWorkload is the computation that a seed determines, for the CPU or for a device.
func randomWorkload(seed uint64, device bool) workload {
	one := func() (*network, []*Tensor, []any) { return newNetwork(seed, device) }
	net, outs, args := one()
	w := workload{name: fmt.Sprintf("network %d", seed)}
	for i, a := range args {
		if slices.Contains(outs, a.(*Tensor)) {
			w.results = append(w.results, i)
		}
	}
	w.build = func() ([]*Tensor, []any) {
		_, outs, args := one()
		return outs, args
	}
	w.call = func() []any {
		var given []any
		for i, a := range args {
			t := a.(*Tensor)
			if slices.Contains(w.results, i) {
				given = append(given, newMemory(t.typ, net.shape(t)...))
			} else {
				given = append(given, fill(t.typ, uint64(i)+1, net.shape(t)...))
			}
		}
		return given
	}
	return w
}

func newNetwork(seed uint64, device bool) (*network, []*Tensor, []any) {
	net := &network{Rand: rand.New(rand.NewPCG(seed, 77)), device: device}
	for d := range net.sizes {
		net.sizes[d] = []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 11}[net.IntN(10)]
		if net.IntN(30) == 0 {
			net.sizes[d] = 0
		}
		if net.IntN(2) == 0 {
			net.vars[d] = Var(fmt.Sprintf("n%d", d))
		}
	}
	t := networkTypes[net.IntN(len(networkTypes))]
	net.param(t, 0, 1)
	net.param(t, 1, 2)
	net.param(t, net.IntN(3))
	for len(net.nodes) < 5+net.IntN(5) {
		net.grow()
	}
	read := map[*Tensor]bool{}
	var outs []*Tensor
	for _, n := range net.nodes {
		if n.t.op.kind != opPlaceholder {
			for _, r := range (&Stage{op: n.t.op, bodies: n.t.op.bodies}).reads() {
				read[r] = true
			}
		}
	}
	for _, n := range net.nodes {
		if n.t.op.kind != opPlaceholder && (!read[n.t] || net.IntN(6) == 0) {
			outs = append(outs, n.t)
		}
	}
	var args []any
	for _, p := range net.params {
		args = append(args, p.t)
	}
	for _, o := range outs {
		args = append(args, o)
		for _, t := range o.op.tensors { // a tensor that is computed with an output is an output
			if t != o && !slices.Contains(outs, t) {
				outs = append(outs, t)
			}
		}
	}
	for _, o := range outs {
		if !slices.Contains(args, any(o)) {
			args = append(args, o)
		}
	}
	return net, outs, args
}

// size returns a size as an expression.
func (net *network) size(d int) tir.Expr {
	if net.vars[d] != nil {
		return net.vars[d]
	}
	return tir.I32(int32(net.sizes[d]))
}

func (net *network) exprs(dims []int) []tir.Expr {
	all := make([]tir.Expr, len(dims))
	for i, d := range dims {
		all[i] = net.size(d)
	}
	return all
}

// shape returns a tensor's shape as integers.
func (net *network) shape(t *Tensor) []int64 {
	for _, n := range net.nodes {
		if n.t.name == t.name {
			all := make([]int64, len(n.dims))
			for i, d := range n.dims {
				all[i] = net.sizes[d]
			}
			return all
		}
	}
	panic(t.name)
}

func (net *network) name(what string) string {
	net.n++
	return fmt.Sprintf("%s%d", what, net.n)
}

func (net *network) param(t tir.Type, dims ...int) {
	p := &node{Placeholder(net.exprs(dims), t, net.name("P")), dims, true}
	net.params, net.nodes = append(net.params, p), append(net.nodes, p)
}

func (net *network) add(dims []int, small bool, tensors ...*Tensor) {
	for _, t := range tensors {
		if t.op.err != nil {
			panic(t.op.err)
		}
		net.nodes = append(net.nodes, &node{t, dims, small})
	}
}

// like returns the tensors of a type and, unless dims is nil, of these dimensions.
func (net *network) like(t tir.Type, dims []int) *node {
	all := slices.DeleteFunc(slices.Clone(net.nodes), func(n *node) bool {
		return n.t.typ != t || dims != nil && !slices.Equal(n.dims, dims)
	})
	if len(all) == 0 {
		return nil
	}
	return all[net.IntN(len(all))]
}

// exact are bounds of 16-bit floats of which sums of 121 squares are exact.
var exact = map[tir.Type]float64{tir.Float16: 4, tir.BFloat16: 1}

// tame bounds a value, so that sums of floats are exact, and therefore the same in every order.
func tame(e tir.Expr) tir.Expr {
	t := e.DType()
	switch {
	case tir.IsFloat(t):
		most := 50.0
		if bound, ok := exact[t]; ok {
			most = bound
		}
		return tir.Max(tir.Min(e, tir.Const(t, most)), tir.Const(t, -most))
	case tir.IsSigned(t):
		return tir.FloorMod(e, tir.IntConst(t, 41))
	}
	return tir.Mod(e, tir.IntConst(t, 41))
}

func (net *network) value(n *node, at ...tir.Expr) tir.Expr {
	e := n.t.At(at...)
	if _, narrow := exact[n.t.typ]; n.small && !narrow {
		return e
	}
	return tame(e)
}

// grow adds a tensor, or several that are computed together.
func (net *network) grow() {
	a := net.nodes[net.IntN(len(net.nodes))]
	if net.IntN(3) > 0 {
		a = net.nodes[len(net.nodes)-1]
	}
	b := net.like(a.t.typ, a.dims)
	rank := len(a.dims)
	shape, t := net.exprs(a.dims), a.t.typ
	if tir.IsBool(t) {
		net.choose(a)
		return
	}
	first := func(i []tir.Expr) []tir.Expr { return i[:rank] }
	switch maker := net.IntN(17); {
	case maker == 0:
		op := []tir.BinaryOp{tir.OpAdd, tir.OpSub, tir.OpMul, tir.OpMin, tir.OpMax}[net.IntN(5)]
		net.add(a.dims, false, Compute(shape, net.name("two"), func(i ...tir.Expr) tir.Expr {
			return tir.NewBinary(op, net.value(a, i...), net.value(b, i...))
		}))
	case maker == 1:
		net.add(a.dims, false, Compute(shape, net.name("pick"), func(i ...tir.Expr) tir.Expr {
			return tir.NewSelect(tir.LT(a.t.At(i...), b.t.At(i...)), net.value(a, i...),
				tir.Add(net.value(b, i...), tir.Const(t, 1)))
		}))
	case maker == 2 && rank == 2:
		net.add([]int{a.dims[1], a.dims[0]}, a.small, Compute([]tir.Expr{shape[1], shape[0]}, net.name("turned"),
			func(i ...tir.Expr) tir.Expr { return a.t.At(i[1], i[0]) }))
	case maker == 3 && rank == 1:
		d := net.IntN(3)
		if c := net.like(t, []int{d}); c != nil {
			net.add([]int{a.dims[0], d}, false, Compute([]tir.Expr{shape[0], net.size(d)}, net.name("outer"),
				func(i ...tir.Expr) tir.Expr {
					return tir.Mul(net.value(a, i[0]), net.value(c, i[1]))
				}))
		}
	case maker == 4:
		back := int32(net.IntN(3) - 1)
		net.add(a.dims, false, Compute(shape, net.name("window"), func(i ...tir.Expr) tir.Expr {
			l, r := slices.Clone(first(i)), slices.Clone(first(i))
			l[0], r[rank-1] = tir.Sub(l[0], tir.I32(1)), tir.Add(r[rank-1], tir.I32(back))
			return tir.Add(tame(guardedAt(a.t, l...)), tame(guardedAt(a.t, r...)))
		}))
	case maker == 5:
		d := net.IntN(rank)
		net.add(a.dims, a.small, Compute(shape, net.name("back"), func(i ...tir.Expr) tir.Expr {
			at := slices.Clone(first(i))
			at[d] = tir.Sub(tir.Sub(shape[d], tir.I32(1)), at[d])
			return a.t.At(at...)
		}))
	case maker <= 8 && rank == 2:
		net.reduce(a)
	case maker == 9:
		net.add(a.dims, false, ComputeMulti(shape, net.name("both"), func(i ...tir.Expr) []tir.Expr {
			x, y := net.value(a, i...), net.value(b, i...)
			return []tir.Expr{tir.Add(x, y), tir.Sub(x, y)}
		})...)
	case maker == 10 && tir.IsInt(t):
		to := []tir.Type{tir.Int32, tir.Int64, tir.Float32, tir.Int16, tir.Int8}[net.IntN(5)]
		net.add(a.dims, true, Compute(shape, net.name("cast"), func(i ...tir.Expr) tir.Expr {
			return tir.NewCast(to, tame(a.t.At(i...)))
		}))
	case maker == 11 && rank == 1 && net.sizes[a.dims[0]] > 0:
		if at := net.like(tir.Int32, nil); at != nil {
			net.add(at.dims, a.small, Compute(net.exprs(at.dims), net.name("gather"), func(i ...tir.Expr) tir.Expr {
				return a.t.At(tir.Max(tir.Min(at.t.At(i...), tir.Sub(shape[0], tir.I32(1))), tir.I32(0)))
			}))
		}
	case maker == 12 && rank == 2:
		if c := net.like(t, []int{a.dims[1], net.IntN(3)}); c != nil {
			k := ReduceAxis(tir.I32(0), shape[1], "k")
			net.add([]int{a.dims[0], c.dims[1]}, false, Compute([]tir.Expr{shape[0], net.size(c.dims[1])}, net.name("product"),
				func(i ...tir.Expr) tir.Expr {
					return Sum(tir.Mul(net.value(a, i[0], k.Var), net.value(c, k.Var, i[1])), k)
				}))
		}
	case maker == 13 && rank == 1:
		net.add(a.dims, a.small, Extern([]ExternResult{{shape, t}}, []*Tensor{a.t}, net.name("extern"),
			func(ins, outs []*tir.Buffer) tir.Stmt {
				i := tir.NewVar("i", tir.Int32)
				copies := &tir.For{Var: i, Min: tir.I32(0), Extent: shape[0], Body: &tir.BufferStore{Buffer: outs[0],
					Indices: []tir.Expr{i}, Value: tir.BufferAt(ins[0], i)}}
				if net.device {
					copies.Kind, copies.Thread = tir.ThreadBind, "blockIdx.x"
				}
				return copies
			})...)
	case maker == 15:
		op := []tir.BinaryOp{tir.OpLT, tir.OpNE}[net.IntN(2)]
		net.add(a.dims, false, Compute(shape, net.name("compared"), func(i ...tir.Expr) tir.Expr {
			return tir.NewBinary(op, a.t.At(i...), b.t.At(i...))
		}))
	case maker == 16 && net.sizes[a.dims[0]] > 1 && net.vars[a.dims[0]] == nil:
		net.steps(a)
	case maker == 14 && rank == 2 && net.vars[a.dims[0]] == nil && net.vars[a.dims[1]] == nil && net.sizes[a.dims[1]] > 0:
		// read through the indices of a reshape, and back
		cols := tir.I32(int32(net.sizes[a.dims[1]]))
		flat := Compute([]tir.Expr{tir.I32(int32(net.sizes[a.dims[0]] * net.sizes[a.dims[1]]))}, net.name("flat"),
			func(i ...tir.Expr) tir.Expr {
				return a.t.At(tir.FloorDiv(i[0], cols), tir.FloorMod(i[0], cols))
			})
		net.add(a.dims, a.small, Compute(shape, net.name("shaped"), func(i ...tir.Expr) tir.Expr {
			return flat.At(tir.Add(tir.Mul(i[0], cols), i[1]))
		}))
	}
}

// choose adds a tensor that a tensor of bool, the result of a comparison, decides.
func (net *network) choose(a *node) {
	b := net.nodes[net.IntN(len(net.nodes))]
	if tir.IsBool(b.t.typ) || !slices.Equal(a.dims, b.dims) {
		net.add(a.dims, true, Compute(net.exprs(a.dims), net.name("number"), func(i ...tir.Expr) tir.Expr {
			return tir.NewCast(net.nodes[0].t.typ, a.t.At(i...))
		}))
		return
	}
	net.add(a.dims, b.small, Compute(net.exprs(a.dims), net.name("choice"), func(i ...tir.Expr) tir.Expr {
		return tir.NewSelect(a.t.At(i...), b.t.At(i...), tir.Const(b.t.typ, 1))
	}))
}

// steps adds the results of a scan over the first dimension: sums of up to two steps and an element.
func (net *network) steps(a *node) {
	rows, shape := tir.Expr(tir.I32(1+int32(net.IntN(2)))), net.exprs(a.dims)
	back, _ := tir.IntValue(rows)
	state := State(shape, a.t.typ, net.name("state"))
	first := Compute(append([]tir.Expr{rows}, shape[1:]...), net.name("first"), func(i ...tir.Expr) tir.Expr {
		return net.value(a, i...)
	})
	flip := net.IntN(4) == 0 && len(shape) == 2
	next := Compute(shape, net.name("next"), func(i ...tir.Expr) tir.Expr {
		at := append([]tir.Expr{tir.Sub(i[0], tir.I32(int32(back)))}, i[1:len(shape)]...)
		if flip { // reads what other iterations wrote
			at[1] = tir.Sub(tir.Sub(shape[1], tir.I32(1)), at[1])
		}
		return tir.Add(tame(state.At(at...)), net.value(a, i...))
	})
	net.add(a.dims, false, Scan([]*Tensor{first}, []*Tensor{next}, []*Tensor{state}, net.name("scan"))...)
}

// reduce reduces one dimension, or both, by a random combiner.
func (net *network) reduce(a *node) {
	over := net.IntN(3) // 0: the first dimension, 1: the second, 2: both
	shape := net.exprs(a.dims)
	var axes []*tir.IterVar
	at := make([]tir.Expr, 2)
	dims := []int{a.dims[over%2]}
	for d := range at {
		if over == 2 || over != d {
			k := ReduceAxis(tir.I32(0), shape[d], fmt.Sprintf("k%d", d))
			axes, at[d] = append(axes, k), k.Var
		}
	}
	if over == 2 {
		dims = []int{a.dims[0]} // the other cases have the same result shape
	}
	read := func(i []tir.Expr) tir.Expr {
		from := slices.Clone(at)
		if over < 2 {
			from[over] = i[0]
		}
		return net.value(a, from...)
	}
	t := a.t.typ
	name, out := net.name("reduced"), net.exprs(dims)
	single := func(f func(e tir.Expr) tir.Expr) {
		net.add(dims, false, Compute(out, name, func(i ...tir.Expr) tir.Expr { return f(read(i)) }))
	}
	switch net.IntN(8) {
	case 0, 1:
		single(func(e tir.Expr) tir.Expr { return Sum(e, axes...) })
	case 2:
		single(func(e tir.Expr) tir.Expr { return Max(e, axes...) })
	case 3:
		single(func(e tir.Expr) tir.Expr { return Min(e, axes...) })
	case 4:
		single(func(e tir.Expr) tir.Expr { // of -1, 0, 1 and 2, so that floats stay exact
			return Prod(tir.Max(tir.Min(e, tir.Const(t, 2)), tir.Const(t, 1)), axes...)
		})
	case 5:
		net.add(dims, false, ComputeMulti(out, name, func(i ...tir.Expr) []tir.Expr { return ArgMax(read(i), axes...) })...)
	case 6:
		net.add(dims, false, ComputeMulti(out, name, func(i ...tir.Expr) []tir.Expr { return ArgMin(read(i), axes...) })...)
	case 7: // a user-defined reducer: sum, and sum of squares, of the values that are not 3
		both := NewReducer(func(l, r []tir.Expr) []tir.Expr { return []tir.Expr{tir.Add(l[0], r[0]), tir.Add(l[1], r[1])} },
			func(types []tir.Type) []tir.Expr { return []tir.Expr{tir.Const(types[0], 0), tir.Const(types[1], 0)} })
		net.add(dims, false, ComputeMulti(out, name, func(i ...tir.Expr) []tir.Expr {
			e := read(i)
			return both.OverWhere(tir.NE(e, tir.Const(t, 3)), []tir.Expr{e, tir.Mul(e, e)}, axes...)
		})...)
	}
}
