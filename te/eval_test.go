package te

import (
	"fmt"
	"math"
	"slices"

	"tvmgo/tir"
)

// memory is a buffer's elements while a function is run. Each remembers whether it has been written.
type memory struct {
	shape, strides []int64
	vals           []number
	set            []bool
	typ            tir.Type
}

type number struct {
	i int64
	f float64
}

// machine runs functions without devices: the turns of loops that may be run in any order, in reverse. Reads beyond a buffer, and of what has
// not been written, are errors.
type machine struct {
	vars map[*tir.Var]number
	mems map[*tir.Buffer]*memory
}

type fault struct{ msg string }

func (m *machine) fail(format string, args ...any) { panic(fault{fmt.Sprintf(format, args...)}) }

// run calls a function with memory for its tensors and numbers for its variables.
func run(f *tir.PrimFunc, args ...any) (err error) {
	m := &machine{map[*tir.Var]number{}, map[*tir.Buffer]*memory{}}
	defer func() {
		if r := recover(); r != nil {
			x, ok := r.(fault)
			if !ok {
				panic(r)
			}
			err = fmt.Errorf("%s", x.msg)
		}
	}()
	for i, p := range f.Params {
		b := f.Buffers[p]
		if b == nil {
			m.vars[p] = number{i: args[i].(int64)}
			continue
		}
		mem := args[i].(*memory)
		m.mems[b] = mem
		for d, n := range b.Shape {
			if v, ok := n.(*tir.Var); ok {
				m.vars[v] = number{i: mem.shape[d]}
			}
		}
	}
	for b, mem := range m.mems {
		for d, n := range b.Shape {
			if got := m.eval(n).i; got != mem.shape[d] {
				m.fail("argument %s: dimension %d is %d, want %d", b.Name, d, mem.shape[d], got)
			}
		}
	}
	m.stmt(f.Body)
	return nil
}

func newMemory(t tir.Type, shape ...int64) *memory {
	m := &memory{shape: shape, strides: make([]int64, len(shape)), typ: t}
	n := int64(1)
	for d := len(shape) - 1; d >= 0; d-- {
		m.strides[d] = n
		n *= shape[d]
	}
	m.vals, m.set = make([]number, n), make([]bool, n)
	return m
}

func (m *machine) stmt(s tir.Stmt) {
	switch s := s.(type) {
	case *tir.Seq:
		for _, x := range s.Stmts {
			m.stmt(x)
		}
	case *tir.For:
		lo, n := m.eval(s.Min).i, m.eval(s.Extent).i
		if _, shadow := m.vars[s.Var]; shadow {
			m.fail("loop %s is within a loop of the same variable", s.Var.Name)
		}
		for k := range n {
			if s.Kind == tir.Parallel || s.Kind == tir.ThreadBind || s.Kind == tir.Vectorized {
				k = n - 1 - k
			}
			m.vars[s.Var] = number{i: lo + k}
			m.stmt(s.Body)
		}
		delete(m.vars, s.Var)
	case *tir.If:
		if m.eval(s.Cond).i != 0 {
			m.stmt(s.Then)
		} else if s.Else != nil {
			m.stmt(s.Else)
		}
	case *tir.LetStmt:
		m.vars[s.Var] = m.eval(s.Value)
		m.stmt(s.Body)
		delete(m.vars, s.Var)
	case *tir.AttrStmt:
		m.stmt(s.Body)
	case *tir.Alloc:
		shape := make([]int64, len(s.Buffer.Shape))
		for d, n := range s.Buffer.Shape {
			if shape[d] = m.eval(n).i; shape[d] < 0 || shape[d] > 1<<20 {
				m.fail("alloc %s: dimension %d is %d", s.Buffer.Name, d, shape[d])
			}
		}
		mem := newMemory(s.Buffer.DType, shape...)
		if s.Buffer.Strides != nil {
			size := int64(1)
			for d, n := range s.Buffer.Strides {
				mem.strides[d] = m.eval(n).i
				size = max(size, mem.strides[d]*shape[d])
			}
			mem.vals, mem.set = make([]number, size), make([]bool, size)
		}
		m.mems[s.Buffer] = mem
		m.stmt(s.Body)
		delete(m.mems, s.Buffer)
	case *tir.BufferStore:
		v := m.eval(s.Value)
		mem, at := m.at(s.Buffer, s.Indices)
		if got := s.Value.DType(); got != mem.typ {
			m.fail("store of %s to %s of type %s", got, s.Buffer.Name, mem.typ)
		}
		mem.vals[at], mem.set[at] = v, true
	case *tir.Evaluate:
		m.eval(s.Value)
	default:
		m.fail("statement %T", s)
	}
}

func (m *machine) at(b *tir.Buffer, indices []tir.Expr) (*memory, int64) {
	mem := m.mems[b]
	if mem == nil {
		m.fail("buffer %s has no memory here", b.Name)
	}
	at, where := int64(0), []int64{}
	for d, x := range indices {
		i := m.eval(x).i
		where = append(where, i)
		if i < 0 || i >= mem.shape[d] {
			m.fail("%s%v is out of bounds %v", b.Name, where, mem.shape)
		}
		at += i * mem.strides[d]
	}
	return mem, at
}

func truth(b bool) number {
	if b {
		return number{i: 1}
	}
	return number{}
}

func (m *machine) eval(e tir.Expr) number {
	switch e := e.(type) {
	case *tir.Var:
		v, ok := m.vars[e]
		if !ok {
			m.fail("variable %s has no value here", e.Name)
		}
		return v
	case *tir.IntImm:
		return number{i: e.Value}
	case *tir.FloatImm:
		return number{f: e.Value}
	case *tir.Binary:
		a := m.eval(e.A)
		if e.Op == tir.OpAnd && a.i == 0 || e.Op == tir.OpOr && a.i != 0 {
			return a
		}
		if tir.IsFloat(e.A.DType()) {
			return floatOp(e.Op, a.f, m.eval(e.B).f, e.A.DType())
		}
		return m.intOp(e.Op, a.i, m.eval(e.B).i)
	case *tir.Not:
		return truth(m.eval(e.A).i == 0)
	case *tir.Select:
		c, a, b := m.eval(e.Cond), m.eval(e.Then), m.eval(e.Else)
		if c.i != 0 {
			return a
		}
		return b
	case *tir.Cast:
		v := m.eval(e.Value)
		from, to := e.Value.DType(), e.Type
		switch {
		case tir.IsFloat(from) && tir.IsInt(to):
			return number{i: int64(v.f)}
		case tir.IsFloat(from):
			return number{f: round(v.f, to)}
		case tir.IsFloat(to):
			return number{f: round(float64(v.i), to)}
		}
		return v
	case *tir.BufferLoad:
		mem, at := m.at(e.Buffer, e.Indices)
		if !mem.set[at] {
			m.fail("%s is read at element %d before it is written", e.Buffer.Name, at)
		}
		return mem.vals[at]
	case *tir.Let:
		m.vars[e.Var] = m.eval(e.Value)
		defer delete(m.vars, e.Var)
		return m.eval(e.Body)
	case *tir.Call:
		switch e.Name {
		case "if_then_else":
			if m.eval(e.Args[0]).i != 0 {
				return m.eval(e.Args[1])
			}
			return m.eval(e.Args[2])
		case "likely":
			return m.eval(e.Args[0])
		case "exp":
			return number{f: round(math.Exp(m.eval(e.Args[0]).f), e.Type)}
		}
	}
	m.fail("expression %T", e)
	return number{}
}

func round(v float64, t tir.Type) float64 {
	if t == tir.Float32 {
		return float64(float32(v))
	}
	return v
}

func floatOp(op tir.BinaryOp, a, b float64, t tir.Type) number {
	switch op {
	case tir.OpAdd:
		return number{f: round(a+b, t)}
	case tir.OpSub:
		return number{f: round(a-b, t)}
	case tir.OpMul:
		return number{f: round(a*b, t)}
	case tir.OpDiv:
		return number{f: round(a/b, t)}
	case tir.OpMin:
		return number{f: min(a, b)}
	case tir.OpMax:
		return number{f: max(a, b)}
	}
	return compare(op, a, b)
}

func compare[T int64 | float64](op tir.BinaryOp, a, b T) number {
	return truth(map[tir.BinaryOp]bool{tir.OpEQ: a == b, tir.OpNE: a != b, tir.OpLT: a < b, tir.OpLE: a <= b, tir.OpGT: a > b, tir.OpGE: a >= b}[op])
}

func (m *machine) intOp(op tir.BinaryOp, a, b int64) number {
	if b == 0 && slices.Contains([]tir.BinaryOp{tir.OpDiv, tir.OpMod, tir.OpFloorDiv, tir.OpFloorMod}, op) {
		m.fail("division by 0")
	}
	switch op {
	case tir.OpAdd:
		return number{i: a + b}
	case tir.OpSub:
		return number{i: a - b}
	case tir.OpMul:
		return number{i: a * b}
	case tir.OpDiv:
		return number{i: a / b}
	case tir.OpMod:
		return number{i: a % b}
	case tir.OpFloorDiv:
		return number{i: floorDivInt(a, b)}
	case tir.OpFloorMod:
		return number{i: a - b*floorDivInt(a, b)}
	case tir.OpMin:
		return number{i: min(a, b)}
	case tir.OpMax:
		return number{i: max(a, b)}
	case tir.OpAnd, tir.OpOr:
		return truth(b != 0)
	}
	return compare(op, a, b)
}
