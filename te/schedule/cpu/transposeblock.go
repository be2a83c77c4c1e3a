package cpu

import (
	"fmt"
	"slices"

	"tvmgo/te"
	"tvmgo/te/schedule"
	"tvmgo/tir"
)

// lineBytes is the size of a cache line.
const lineBytes = 64

// shortestVector is the size in bytes of the vectors that all CPUs have.
const shortestVector = 16

// beside is the number of squares side by side that are transposed one after the other.
const beside = 4

// mostRows limits the rows of a square that is transposed in registers.
const mostRows = 16

// scheduleSquares schedules a copy whose last dimension is read in strides, and whose elements along another one are
// adjacent in what is read: squares of elements are transposed in vector registers. It returns false, without a
// change, for others.
func scheduleSquares(g *schedule.Group, v simd) bool {
	st := g.Schedule.Stage(g.Root)
	axes := st.Axes()
	if g.Result != g.Root || len(g.Parts()) > 0 || len(st.ReduceAxes()) > 0 || len(axes) < 2 {
		return false
	}
	last := axes[len(axes)-1]
	inner := transposedWith(g.Schedule, st)
	if inner == nil {
		return false
	}
	t := g.Root.ProducerDType()
	n := v.square(t, last, inner)
	if n == 0 {
		return false
	}
	var outer []*tir.IterVar
	for _, a := range axes {
		if a != inner && a != last {
			outer = append(outer, a)
		}
	}
	if line := lineBytes * 8 / int(t.Bits); n == mostRows && line > n && atLeast(last, line) && atLeast(inner, line) {
		scheduleLines(g.Schedule, g.Root, outer, inner, n, line)
		return g.Schedule.Err() == nil
	}
	down, row := st.Split(inner, n)
	columns, column := st.Split(last, n)
	// What is read is read in order: processors fetch that ahead, while stores wait for nothing. If a square has whole
	// cache lines, a few of them side by side touch each page more often.
	if n*int(t.Bits)/8 == lineBytes && sizeOf(last)%int64(beside*n) == 0 {
		several, one := st.Split(columns, beside)
		st.Reorder(append(slices.Clone(outer), several, down, one, row, column)...)
		columns = several
	} else {
		st.Reorder(append(slices.Clone(outer), columns, down, row, column)...)
	}
	st.TensorizeWhole(row, square(t, n))
	schedule.NonTemporal(g.Schedule, g.Root)
	if pointsOf(st) >= parallelFrom {
		fuseAll(st, append(outer, columns))
	}
	return g.Schedule.Err() == nil
}

func atLeast(a *tir.IterVar, n int) bool { return sizeOf(a) < 0 || sizeOf(a) >= int64(n) }

// scheduleLines transposes squares of whole cache lines of short elements: by way of a copy of the square, and of
// its transposition, so that each line is read and written once.
func scheduleLines(s *te.Schedule, root *te.Tensor, outer []*tir.IterVar, inner *tir.IterVar, n, line int) {
	st := s.Stage(root)
	axes := st.Axes()
	last := axes[len(axes)-1]
	from := st.Reads()[0]
	parallel := pointsOf(st) >= parallelFrom
	turned := s.CacheWrite(root, "local")
	copied := s.CacheRead(from, "local", turned)
	down, row := st.Split(inner, line)
	columns, column := st.Split(last, line)
	st.Reorder(append(slices.Clone(outer), columns, down, row, column)...)
	for _, t := range []*te.Tensor{turned, copied} {
		s.Stage(t).ComputeAt(st, down)
	}
	st.Vectorize(column)
	schedule.NonTemporal(s, root)
	c := s.Stage(copied).Axes()
	_, lane := s.Stage(copied).Split(c[len(c)-1], line)
	s.Stage(copied).Vectorize(lane)
	at := s.Stage(turned)
	own := at.Axes()
	var middle []*tir.IterVar
	var innerOwn *tir.IterVar
	for i, a := range own[:len(own)-1] {
		if axes[i] == inner {
			innerOwn = a
		} else {
			middle = append(middle, a)
		}
	}
	r, rr := at.Split(innerOwn, n)
	k, kk := at.Split(own[len(own)-1], n)
	at.Reorder(append(middle, r, k, rr, kk)...)
	at.TensorizeWhole(rr, square(root.ProducerDType(), n))
	if parallel {
		fuseAll(st, append(outer, columns))
	}
}

// transposedWith returns the axis along which a stage that only copies reads adjacent elements, if it is not the last
// one, and the index of another dimension runs along the last one; nil for other stages.
func transposedWith(s *te.Schedule, st *te.Stage) *tir.IterVar {
	load, ok := st.Formulas()[0].(*tir.ProducerLoad)
	if !ok || len(st.Formulas()) != 1 || len(load.Indices) < 2 {
		return nil
	}
	if from, ok := load.Producer.(*te.Tensor); !ok || s.Stage(from).IsInlined() {
		return nil
	}
	axes := st.Axes()
	last := axes[len(axes)-1]
	var inner *tir.IterVar
	for _, a := range axes[:len(axes)-1] {
		if load.Indices[len(load.Indices)-1] == tir.Expr(a.Var) {
			inner = a
		}
	}
	if inner == nil {
		return nil
	}
	along := 0
	for _, x := range load.Indices[:len(load.Indices)-1] {
		switch {
		case x == tir.Expr(last.Var):
			along++
		case uses(x, last.Var) || uses(x, inner.Var):
			return nil
		}
	}
	if along != 1 {
		return nil
	}
	return inner
}

// square returns the number of rows and columns of squares that are transposed in registers; 0 if there are none.
func (v simd) square(t tir.Type, axes ...*tir.IterVar) int {
	n := mostRows
	switch {
	case tir.IsBool(t) || tir.IsHandle(t) || t.Lanes != 1:
		return 0
	case tir.IsFloat(t) && t != tir.Float32 && t != tir.Float64: // their vectors are not those of C
		return 0
	case int(t.Bits)/8*n > v.bytes:
		n = v.bytes / (int(t.Bits) / 8)
	}
	for ; n >= 4 && n*int(t.Bits)/8 >= shortestVector; n /= 2 {
		fits := true
		for _, a := range axes {
			size := sizeOf(a)
			fits = fits && (size < 0 || size%int64(n) == 0 || size >= 32*int64(n))
		}
		if fits {
			return n
		}
	}
	return 0
}

// square is the transposition of n × n elements: each of log2(n) steps interleaves the halves of the list of vectors.
func square(t tir.Type, n int) *te.Intrin {
	from := te.Placeholder(te.Dims(int32(n), int32(n)), t, "from")
	pattern := te.Compute(te.Dims(int32(n), int32(n)), "to", func(i ...tir.Expr) tir.Expr { return from.At(i[1], i[0]) })
	return te.NewIntrin("square", pattern, func(ins []*te.Tile, out *te.Tile) te.IntrinSteps {
		type binding struct {
			v     *tir.Var
			value tir.Expr
		}
		var all []binding
		bind := func(name string, k int, value tir.Expr) *tir.Var {
			v := tir.NewVar(fmt.Sprintf("%s%d", name, k), tir.Vector(t, n))
			all = append(all, binding{v, value})
			return v
		}
		vectors := make([]*tir.Var, n)
		for k := range vectors {
			vectors[k] = bind("row", k, ins[0].Row(n, tir.I32(int32(k)), tir.I32(0)))
		}
		low, high := make([]int, n), make([]int, n)
		for k := range n {
			low[k] = k/2 + k%2*n
			high[k] = low[k] + n/2
		}
		for step := 1; step < n; step *= 2 {
			next := make([]*tir.Var, n)
			for k := range n / 2 {
				pair := []tir.Expr{vectors[k], vectors[k+n/2]}
				next[2*k] = bind("low", k, tir.NewShuffle(pair, low))
				next[2*k+1] = bind("high", k, tir.NewShuffle(pair, high))
			}
			vectors = next
		}
		var stores []tir.Stmt
		for k, v := range vectors {
			stores = append(stores, out.StoreRow(v, tir.I32(int32(k)), tir.I32(0)))
		}
		body := tir.Sequence(stores...)
		for k := len(all) - 1; k >= 0; k-- {
			body = &tir.LetStmt{Var: all[k].v, Value: all[k].value, Body: body}
		}
		return te.IntrinSteps{Compute: body}
	})
}
