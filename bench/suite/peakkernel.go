package suite

import (
	"fmt"

	"tvmgo/bench"
	"tvmgo/runtime"
	"tvmgo/tir"
)

// A peak kernel consists of chains of multiply-adds that depend on nothing but registers. Each work item has some
// chains of vectors, and each chain computes x = a·x + b over and over, with b from period. The results are stored in
// the end.
//
// With a = -1 and small integers, each step is exact in every type, with and without rounding between multiplication
// and addition. The order of b makes two steps of the period add 1 or -1, and a whole period adds drift: a step that is
// lost or executed twice changes the result.
type peakKernel struct {
	t       tir.Type // of an element
	width   int      // elements of a vector
	chains  int      // of a work item, independent of each other
	periods int      // of each chain
	unroll  int      // periods of an iteration of the loop; it divides periods
	threads int      // work items of a group; 0: a group is an iteration of a parallel loop of the CPU
	single  bool     // one result of each work item, as clpeak: the sum of the elements of its vectors
	madd    multiplyAdd
}

// multiplyAdd is the way to write a·x + b.
type multiplyAdd string

const (
	fused   multiplyAdd = "fma"   // one rounding
	mad     multiplyAdd = "mad"   // OpenCL C's function, as clpeak has it
	product multiplyAdd = "a*x+b" // two operations that a compiler may fuse

	// dot is CUDA's instruction for int8: an int32 is a vector of four, and x becomes x + a·b.
	dot multiplyAdd = "__dp4a"
)

// period lists which b the steps of a period add: 0 or 1. With a = -1, two steps (i, j) change x by b[j] - b[i].
var period = [16]int{0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 0, 1}

// drift is the change of x in a period if a = -1 and b[1] - b[0] = 1.
const drift = 2

// steps returns the multiply-adds of each element of a chain.
func (p *peakKernel) steps() int { return p.periods * len(period) }

// items returns the number of work items of a group.
func (p *peakKernel) items() int { return max(p.threads, 1) }

// ops returns the operations of a group: two of each multiply-add, of which a dot product has four.
func (p *peakKernel) ops() float64 {
	each := 2.0
	if p.madd == dot {
		each = 8
	}
	return each * float64(p.items()) * float64(p.chains) * float64(p.width) * float64(p.steps())
}

// initial returns the number of elements with which the chains of a group begin.
func (p *peakKernel) initial() int { return p.items() * p.chains * p.width }

// results returns the number of elements that a group stores: see stores.
func (p *peakKernel) results() int { return p.items() * p.stores() }

// stores returns the number of elements that a work item stores: the sums of its chains.
func (p *peakKernel) stores() int {
	if p.single {
		return 1
	}
	return p.width
}

func (p *peakKernel) block() runtime.Dim3 { return runtime.Dim3{p.items()} }

func (p *peakKernel) types() (in, out tir.Type) { return p.t, p.t }

func (p *peakKernel) inputs() (coefficients, initial []float64) { return p.coefficients(), p.begins() }

func (p *peakKernel) facts() bench.Facts {
	return bench.Facts{"vector width": p.width, "chains": p.chains, "multiply-adds": p.steps()}
}

// program returns peak(coefficients, initial, results): a, b[0] and b[1]; what the chains of any group begin with; and
// what each group stores.
func (p *peakKernel) program() (*tir.IRModule, error) {
	coefficients := tir.NewBuffer("coefficients", p.t, tir.I32(3))
	initial := tir.NewBuffer("initial", p.t, tir.I32(int32(p.initial())))
	groups := tir.NewVar("groups", tir.Int32)
	results := tir.NewBuffer("results", p.t, tir.Mul(groups, tir.I32(int32(p.results()))))
	chains := tir.NewBuffer("chains", p.t, tir.I32(int32(p.chains*p.width)))
	chains.Scope = "local"

	part := func(base tir.Expr, width int) tir.Expr {
		if width == 1 {
			return base
		}
		return tir.NewRamp(base, tir.I32(1), width)
	}
	vector := func(base tir.Expr) tir.Expr { return part(base, p.width) }
	spread := func(v tir.Expr) tir.Expr {
		if p.width == 1 {
			return v
		}
		return tir.NewBroadcast(v, p.width)
	}
	group, item := tir.NewVar("group", tir.Int32), tir.Expr(tir.I32(0))
	thread := tir.NewVar("item", tir.Int32)
	if p.threads > 0 {
		item = thread
	}
	chain := func(n int) tir.Expr { return vector(tir.I32(int32(n * p.width))) }
	from := func(n int) tir.Expr {
		return vector(tir.Add(tir.Mul(item, tir.I32(int32(p.chains*p.width))), tir.I32(int32(n*p.width))))
	}
	a := tir.NewVar("a", tir.Vector(p.t, p.width))
	b := [2]*tir.Var{tir.NewVar("b", tir.Vector(p.t, p.width)), tir.NewVar("c", tir.Vector(p.t, p.width))}
	var begin, loop []tir.Stmt
	for n := range p.chains {
		begin = append(begin, &tir.BufferStore{Buffer: chains, Indices: []tir.Expr{chain(n)},
			Value: tir.BufferAt(initial, from(n))})
	}
	for step := range p.unroll * len(period) {
		which := period[step%len(period)]
		for n := range p.chains {
			loop = append(loop, &tir.BufferStore{Buffer: chains, Indices: []tir.Expr{chain(n)},
				Value: p.step(a, tir.BufferAt(chains, chain(n)), b[which])})
		}
	}
	sum := tir.BufferAt(chains, part(tir.I32(0), p.stores()))
	for n := 1; n < p.chains; n++ {
		sum = tir.Add(sum, tir.BufferAt(chains, chain(n)))
	}
	to := tir.Add(tir.Mul(group, tir.I32(int32(p.results()))), tir.Mul(item, tir.I32(int32(p.stores()))))
	var end []tir.Stmt
	if p.single && p.width > 1 { // add pairs of elements, as clpeak, and then the two
		pair := func(n int) tir.Expr { return part(tir.I32(int32(2*n)), 2) }
		for n := 1; n < p.width/2; n++ {
			end = append(end, &tir.BufferStore{Buffer: chains, Indices: []tir.Expr{pair(0)},
				Value: tir.Add(tir.BufferAt(chains, pair(0)), tir.BufferAt(chains, pair(n)))})
		}
		sum = tir.Add(sum, tir.BufferAt(chains, tir.I32(1)))
	}
	end = append(end, &tir.BufferStore{Buffer: results, Indices: []tir.Expr{part(to, p.stores())}, Value: sum})
	body := tir.Sequence(tir.Sequence(begin...),
		&tir.For{Var: tir.NewVar("step", tir.Int32), Min: tir.I32(0), Extent: tir.I32(int32(p.periods / p.unroll)),
			Body: tir.Sequence(loop...)},
		tir.Sequence(end...))
	for n, v := range []*tir.Var{a, b[0], b[1]} {
		body = &tir.LetStmt{Var: v, Value: spread(tir.BufferAt(coefficients, tir.I32(int32(n)))), Body: body}
	}
	body = &tir.Alloc{Buffer: chains, Body: body}
	if p.threads > 0 {
		body = &tir.For{Kind: tir.ThreadBind, Thread: "threadIdx.x", Var: thread, Min: tir.I32(0),
			Extent: tir.I32(int32(p.threads)), Body: body}
		body = &tir.For{Kind: tir.ThreadBind, Thread: "blockIdx.x", Var: group, Min: tir.I32(0), Extent: groups, Body: body}
	} else {
		body = &tir.For{Kind: tir.Parallel, Var: group, Min: tir.I32(0), Extent: groups, Body: body}
	}
	return programOf("peak", body, []*tir.Var{groups}, coefficients, initial, results)
}

// step returns a·x + b, or x + a·b.
func (p *peakKernel) step(a, x, b tir.Expr) tir.Expr {
	switch p.madd {
	case fused:
		return tir.NewCall(tir.CallIntrinsic, x.DType(), "fma", a, x, b)
	case mad:
		return tir.NewCall(tir.CallExtern, x.DType(), "mad", a, x, b)
	case dot:
		return tir.NewCall(tir.CallExtern, x.DType(), string(dot), a, b, x)
	}
	return tir.Add(tir.Mul(a, x), b)
}

// programOf returns a program with one function of arrays and numbers, whose kernel has the name that [kernelName]
// returns.
func programOf(name string, body tir.Stmt, numbers []*tir.Var, arrays ...*tir.Buffer) (*tir.IRModule, error) {
	f := &tir.PrimFunc{Name: name, Result: tir.Void, Buffers: map[*tir.Var]*tir.Buffer{}, Body: body}
	for _, b := range arrays {
		v := tir.NewVar(b.Name+"_handle", tir.Handle)
		f.Params, f.Buffers[v] = append(f.Params, v), b
	}
	f.Params = append(f.Params, numbers...)
	m, err := tir.NewModule(f)
	if err == nil {
		err = tir.Check(m)
	}
	if err != nil {
		return nil, fmt.Errorf("program %s: %w", name, err)
	}
	return m, nil
}
