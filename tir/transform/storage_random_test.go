package transform_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/tirrun"
	"tvmgo/tir"
	"tvmgo/tir/text"
)

// storageProgram builds programs that allocate. Each buffer is written completely before anything reads it, in loops of
// all kinds, so that the interpreter reports no error.
type storageProgram struct {
	*rand.Rand
	n       *tir.Var // a size that the caller sets
	names   int
	buffers []*tir.Buffer // that can be read
	frozen  int           // number of buffers that must not be written, because a parallel loop is open
	loops   []*tir.Var
	types   []tir.Type
	seen    map[string]int
}

func (p *storageProgram) name(of string) string {
	p.names++
	return fmt.Sprintf("%s%d", of, p.names)
}

func (p *storageProgram) size() tir.Expr {
	if p.IntN(5) == 0 {
		p.seen["symbolic"]++
		return p.n
	}
	return tir.I32(int32(1 + p.IntN(4)))
}

// buffer returns a buffer with up to three dimensions, sometimes with gaps between rows, and sometimes large.
func (p *storageProgram) buffer(of string) *tir.Buffer {
	t := p.types[p.IntN(len(p.types))]
	b := tir.NewBuffer(p.name(of), t)
	for range p.IntN(4) {
		b.Shape = append(b.Shape, p.size())
	}
	if len(b.Shape) < 2 && p.IntN(8) == 0 {
		b.Shape = append(b.Shape, tir.I32(int32(300+100*p.IntN(3))))
	}
	if len(b.Shape) > 0 && p.IntN(3) == 0 {
		p.seen["strides"]++
		var step tir.Expr = tir.I32(int32(1 + p.IntN(2)))
		b.Strides = make([]tir.Expr, len(b.Shape))
		for d := len(b.Shape) - 1; d >= 0; d-- {
			b.Strides[d] = step
			step = tir.Add(tir.Mul(step, b.Shape[d]), tir.I32(int32(p.IntN(3))))
		}
	}
	if p.IntN(6) == 0 {
		b.Scope = "local"
	}
	return b
}

// number returns a small value that is equal for all elements, and differs from statement to statement.
func (p *storageProgram) number(with []tir.Expr) tir.Expr {
	var e tir.Expr = tir.I32(int32(p.IntN(50)))
	for _, v := range p.loops {
		e = tir.Add(e, tir.Mul(v, tir.I32(int32(1+p.IntN(7)))))
	}
	for _, x := range with {
		e = tir.Add(e, tir.Mul(x, tir.I32(int32(1+p.IntN(5)))))
	}
	return e
}

func as(t tir.Type, e tir.Expr) tir.Expr {
	if e.DType() == t {
		return e
	}
	return tir.NewCast(t, e)
}

// value reads some buffers; the result fits every type.
func (p *storageProgram) value(with []tir.Expr) tir.Expr {
	e := p.number(with)
	for range p.IntN(3) {
		b := p.buffers[len(p.buffers)-1-p.IntN(min(len(p.buffers), 1+p.IntN(3)))]
		at := make([]tir.Expr, len(b.Shape))
		for d, n := range b.Shape {
			at[d] = tir.FloorMod(p.number(with), n)
		}
		e = tir.Add(e, as(tir.Int32, tir.BufferAt(b, at...)))
	}
	return tir.FloorMod(e, tir.I32(101))
}

// write stores all elements, by loops of which the innermost may be vectorized or unrolled.
func (p *storageProgram) write(b *tir.Buffer, update bool) tir.Stmt {
	at := make([]tir.Expr, len(b.Shape))
	vars := make([]*tir.Var, len(b.Shape))
	for d := range at {
		vars[d] = tir.NewVar(p.name("i"), tir.Int32)
		at[d] = vars[d]
	}
	last := len(at) - 1
	lanes := 0
	if last >= 0 {
		if c, ok := b.Shape[last].(*tir.IntImm); ok && c.Value > 1 && c.Value <= 4 && p.IntN(2) == 0 && !update {
			lanes = int(c.Value)
			p.seen["vectors"]++
		}
	}
	var s tir.Stmt
	if lanes > 0 {
		x := p.value(at[:last])
		at[last] = &tir.Ramp{Base: tir.I32(0), Stride: tir.I32(1), Lanes: lanes}
		s = &tir.BufferStore{Buffer: b, Value: &tir.Broadcast{Value: as(b.DType, x), Lanes: lanes}, Indices: at}
	} else {
		x := p.value(at)
		if update {
			x = tir.FloorMod(tir.Add(x, as(tir.Int32, tir.BufferAt(b, at...))), tir.I32(103))
		}
		s = &tir.BufferStore{Buffer: b, Value: as(b.DType, x), Indices: at}
	}
	for d := last; d >= 0; d-- {
		if d == last && lanes > 0 {
			continue
		}
		kind := tir.Serial
		if _, isConst := b.Shape[d].(*tir.IntImm); isConst && p.IntN(4) == 0 {
			kind = tir.Unrolled
		}
		s = &tir.For{Kind: kind, Var: vars[d], Min: tir.I32(0), Extent: b.Shape[d], Body: s}
	}
	return s
}

// block returns a sequence of statements. Each allocation lasts until the end of its block, or for a part of it.
func (p *storageProgram) block(depth int) tir.Stmt {
	known := len(p.buffers)
	defer func() { p.buffers = p.buffers[:known] }()
	return p.statements(depth, 2+p.IntN(4))
}

func (p *storageProgram) statements(depth, count int) tir.Stmt {
	if count == 0 {
		return &tir.Seq{}
	}
	rest := func() tir.Stmt { return p.statements(depth, count-1) }
	switch p.IntN(9) {
	case 0, 1, 2, 3: // memory for all following statements
		b := p.buffer("x")
		first := p.write(b, false)
		p.buffers = append(p.buffers, b)
		value := p.value(nil)
		after := rest()
		if p.IntN(8) == 0 {
			p.seen["lets"]++
			after = &tir.LetStmt{Var: tir.NewVar(p.name("let"), tir.Int32), Value: value, Body: after}
		}
		var body tir.Stmt = tir.Sequence(first, after)
		if p.IntN(12) == 0 {
			p.seen["double buffers"]++
			body = &tir.AttrStmt{Key: "double_buffer_scope", Node: b, Value: tir.I32(1), Body: body}
		}
		return &tir.Alloc{Buffer: b, Body: body}
	case 4: // memory for some statements
		known := len(p.buffers)
		b := p.buffer("y")
		first := p.write(b, false)
		p.buffers = append(p.buffers, b)
		body := tir.Sequence(first, p.statements(depth, 1+p.IntN(2)))
		p.buffers = p.buffers[:known]
		return tir.Sequence(&tir.Alloc{Buffer: b, Body: body}, rest())
	case 5:
		if depth > 0 {
			v := tir.NewVar(p.name("k"), tir.Int32)
			p.loops = append(p.loops, v)
			body := p.block(depth - 1)
			p.loops = p.loops[:len(p.loops)-1]
			return tir.Sequence(&tir.For{Var: v, Min: tir.I32(0), Extent: tir.I32(int32(1 + p.IntN(3))), Body: body},
				rest())
		}
	case 6:
		if depth > 0 {
			s := &tir.If{Cond: tir.EQ(tir.FloorMod(p.value(nil), tir.I32(2)), tir.I32(0)), Then: p.block(depth - 1)}
			if p.IntN(2) == 0 {
				s.Else = p.block(depth - 1)
			}
			return tir.Sequence(s, rest())
		}
	case 7:
		if depth > 0 && p.frozen == 0 {
			p.seen["parallel"]++
			v := tir.NewVar(p.name("t"), tir.Int32)
			p.loops = append(p.loops, v)
			p.frozen = len(p.buffers)
			body := p.block(depth - 1)
			p.frozen = 0
			p.loops = p.loops[:len(p.loops)-1]
			return tir.Sequence(&tir.For{Kind: tir.Parallel, Var: v, Min: tir.I32(0), Extent: tir.I32(3), Body: body},
				rest())
		}
	}
	if p.frozen < len(p.buffers) {
		return tir.Sequence(p.write(p.buffers[p.frozen+p.IntN(len(p.buffers)-p.frozen)], true), rest())
	}
	return rest()
}

// function has an input with strides and an offset that the caller sets, and stores sums of its buffers in its result.
func (p *storageProgram) function(name string) *tir.PrimFunc {
	p.n = tir.NewVar("n", tir.Int32)
	step, offset := tir.NewVar("step", tir.Int32), tir.NewVar("offset", tir.Int32)
	in := tir.NewBuffer("in", tir.Float32, p.n, tir.I32(5))
	in.Strides, in.Offset = []tir.Expr{step, tir.I32(2)}, offset
	out := tir.NewBuffer("out", tir.Int32, tir.I32(3), p.n)
	x, y := tir.NewVar("in_tensor", tir.Handle), tir.NewVar("out_tensor", tir.Handle)
	p.buffers, p.loops, p.frozen = []*tir.Buffer{in, out}, nil, 0
	zero := p.write(out, false)
	p.buffers = []*tir.Buffer{out, in}
	p.frozen = 0
	body := tir.Sequence(zero, p.top())
	return &tir.PrimFunc{Name: name, Params: []*tir.Var{x, y}, Buffers: map[*tir.Var]*tir.Buffer{x: in, y: out},
		Result: tir.Void, Body: body}
}

// top returns a block in which in is never written: it precedes the statements that may write it.
func (p *storageProgram) top() tir.Stmt {
	in := p.buffers[1]
	p.buffers = []*tir.Buffer{in, p.buffers[0]}
	out := p.buffers[1]
	var list []tir.Stmt
	for range 3 {
		b := p.buffer("v")
		p.buffers = []*tir.Buffer{in}
		first := p.write(b, false)
		p.buffers = []*tir.Buffer{in, b}
		p.frozen = 0
		body := p.inner(in, b, out)
		list = append(list, &tir.Alloc{Buffer: b, Body: tir.Sequence(first, body)})
	}
	return tir.Sequence(list...)
}

// inner uses b and adds some of its elements to the result.
func (p *storageProgram) inner(in, b, out *tir.Buffer) tir.Stmt {
	p.buffers = []*tir.Buffer{b}
	s := p.statements(2, 3+p.IntN(4))
	p.buffers = []*tir.Buffer{in, b}
	return tir.Sequence(s, p.write(out, true))
}

// storageArguments returns arguments of function: the input is a view of a larger array.
func storageArguments(t testing.TB, n int64) []any {
	values := make([]float32, 400)
	for i := range values {
		values[i] = float32(i*37%91) / 4
	}
	in := must.Get(tirrun.From(tir.Float32, values, 400))(t)
	in.Shape, in.Strides, in.Offset = []int64{n, 5}, []int64{13, 2}, 7
	out := must.Get(tirrun.New(tir.Int32, 3, n))(t)
	return []any{in, out}
}

// results runs a function, and returns its output.
func results(t testing.TB, f *tir.PrimFunc, n int64) []int32 {
	t.Helper()
	p, err := tirrun.Compile(&tir.IRModule{Funcs: []*tir.PrimFunc{f}}, tirrun.Options{Seed: uint64(n)})
	require.NoError(t, err, text.Print(f))
	args := storageArguments(t, n)
	_, err = p.Call(f.Name, args...)
	require.NoError(t, err, text.Print(f))
	return must.Get(tirrun.Values[int32](args[1].(*tirrun.Array)))(t)
}
