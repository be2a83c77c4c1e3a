package explain

import (
	"tvmgo/tir"
)

// lanes is the value of an integer or a truth value in each thread of a warp.
type lanes struct {
	known bool
	one   int64   // the value of all threads, if each is nil
	each  []int64 // otherwise the value of each

	// If unit is not 0, the value is that of one or each plus a multiple of unit, which is unknown, but the same for all
	// threads; known is false.
	unit int64
}

func same(n int64) lanes { return lanes{known: true, one: n} }

func (v lanes) at(thread int) int64 {
	if v.each != nil {
		return v.each[thread]
	}
	return v.one
}

// of returns the combination of two values by a function, thread by thread.
func of(a, b lanes, threads int, f func(a, b int64) (int64, bool)) lanes {
	if !a.known || !b.known {
		return lanes{}
	}
	if a.each == nil && b.each == nil {
		n, ok := f(a.one, b.one)
		return lanes{known: ok, one: n}
	}
	out := lanes{known: true, each: make([]int64, threads)}
	for i := range out.each {
		n, ok := f(a.at(i), b.at(i))
		if !ok {
			n = 0 // of a thread that does not use it; dividing by 0 is undefined
		}
		out.each[i] = n
	}
	return out
}

// eval returns the value of an expression; lane selects one of a vector. Floats and values of memory are unknown.
func (w *warp) eval(e tir.Expr, lane int) lanes {
	switch e := e.(type) {
	case *tir.IntImm:
		return same(e.Value)
	case *tir.Var:
		return w.env[e]
	case *tir.Binary:
		return w.binary(e, lane)
	case *tir.Not:
		return of(w.eval(e.A, lane), same(0), w.threads, func(a, _ int64) (int64, bool) { return btoi(a == 0), true })
	case *tir.Select:
		return w.choose(e.Cond, e.Then, e.Else, lane)
	case *tir.Cast:
		return w.cast(e, lane)
	case *tir.Ramp:
		step := same(int64(lane))
		return w.combined(tir.OpAdd, w.eval(e.Base, 0), w.combined(tir.OpMul, w.eval(e.Stride, 0), step))
	case *tir.Broadcast:
		return w.eval(e.Value, 0)
	case *tir.Shuffle:
		return w.shuffle(e, lane)
	case *tir.Let:
		old, had := w.env[e.Var]
		w.env[e.Var] = w.eval(e.Value, 0)
		v := w.eval(e.Body, lane)
		if delete(w.env, e.Var); had {
			w.env[e.Var] = old
		}
		return v
	case *tir.Call:
		return w.call(e, lane)
	case *tir.BufferLoad:
		return w.loaded(e)
	}
	return lanes{}
}

func btoi(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func plus(a, b int64) (int64, bool)     { return a + b, true }
func multiply(a, b int64) (int64, bool) { return a * b, true }

// binaries computes operations; the second result is false for a division by 0.
var binaries = map[tir.BinaryOp]func(a, b int64) (int64, bool){
	tir.OpAdd: plus,
	tir.OpSub: func(a, b int64) (int64, bool) { return a - b, true },
	tir.OpMul: multiply,
	tir.OpDiv: func(a, b int64) (int64, bool) {
		if b == 0 {
			return 0, false
		}
		return a / b, true
	},
	tir.OpMod: func(a, b int64) (int64, bool) {
		if b == 0 {
			return 0, false
		}
		return a % b, true
	},
	tir.OpFloorDiv: func(a, b int64) (int64, bool) {
		if b == 0 {
			return 0, false
		}
		return floorDiv(a, b), true
	},
	tir.OpFloorMod: func(a, b int64) (int64, bool) {
		if b == 0 {
			return 0, false
		}
		return a - floorDiv(a, b)*b, true
	},
	tir.OpMin: func(a, b int64) (int64, bool) { return min(a, b), true },
	tir.OpMax: func(a, b int64) (int64, bool) { return max(a, b), true },
	tir.OpEQ:  func(a, b int64) (int64, bool) { return btoi(a == b), true },
	tir.OpNE:  func(a, b int64) (int64, bool) { return btoi(a != b), true },
	tir.OpLT:  func(a, b int64) (int64, bool) { return btoi(a < b), true },
	tir.OpLE:  func(a, b int64) (int64, bool) { return btoi(a <= b), true },
	tir.OpGT:  func(a, b int64) (int64, bool) { return btoi(a > b), true },
	tir.OpGE:  func(a, b int64) (int64, bool) { return btoi(a >= b), true },
	tir.OpAnd: func(a, b int64) (int64, bool) { return btoi(a != 0 && b != 0), true },
	tir.OpOr:  func(a, b int64) (int64, bool) { return btoi(a != 0 || b != 0), true },
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

func (w *warp) binary(e *tir.Binary, lane int) lanes {
	a, b := w.eval(e.A, lane), w.eval(e.B, lane)
	if e.Op.IsLogical() && a.known != b.known { // one of them may decide
		if !a.known {
			a = b
		}
		decides := btoi(e.Op == tir.OpOr)
		if a.each == nil && btoi(a.one != 0) == decides {
			return same(decides)
		}
		return lanes{}
	}
	return w.combined(e.Op, a, b)
}

// choose returns the value of one of two expressions, thread by thread.
func (w *warp) choose(cond, then, otherwise tir.Expr, lane int) lanes {
	c := w.eval(cond, lane)
	a, b := w.eval(then, lane), w.eval(otherwise, lane)
	if !c.known {
		return lanes{}
	}
	if c.each == nil {
		if c.one != 0 {
			return a
		}
		return b
	}
	if !a.known || !b.known {
		return lanes{}
	}
	out := lanes{known: true, each: make([]int64, w.threads)}
	for i := range out.each {
		if c.each[i] != 0 {
			out.each[i] = a.at(i)
		} else {
			out.each[i] = b.at(i)
		}
	}
	return out
}

// cast wraps an integer around to a narrower type.
func (w *warp) cast(e *tir.Cast, lane int) lanes {
	from := e.Value.DType()
	if !tir.IsInt(from) && !tir.IsBool(from) || !tir.IsInt(e.Type) && !tir.IsBool(e.Type) {
		return lanes{}
	}
	bits, signed := uint(e.Type.Bits), tir.IsSigned(e.Type)
	value := w.eval(e.Value, lane)
	switch {
	case value.unit > 0 && tir.IsSigned(from) && signed && e.Type.Bits >= from.Bits:
		return value
	case value.unit > 0 && value.uniform():
		return unknownOf(1)
	}
	return of(value, same(0), w.threads, func(a, _ int64) (int64, bool) {
		switch {
		case tir.IsBool(e.Type):
			return btoi(a != 0), true
		case bits >= 64:
			return a, true
		case signed:
			return a << (64 - bits) >> (64 - bits), true
		}
		return a & (1<<bits - 1), true
	})
}

func (w *warp) shuffle(e *tir.Shuffle, lane int) lanes {
	if lane >= len(e.Indices) {
		return lanes{}
	}
	at := e.Indices[lane]
	for _, v := range e.Vectors {
		n := max(int(v.DType().Lanes), 1)
		if at < n {
			return w.eval(v, at)
		}
		at -= n
	}
	return lanes{}
}

// call computes the intrinsics that occur in indices.
func (w *warp) call(e *tir.Call, lane int) lanes {
	if e.Kind != tir.CallIntrinsic {
		return lanes{}
	}
	two := func(f func(a, b int64) int64) lanes {
		return of(w.eval(e.Args[0], lane), w.eval(e.Args[1], lane), w.threads,
			func(a, b int64) (int64, bool) { return f(a, b), true })
	}
	switch e.Name {
	case "likely":
		return w.eval(e.Args[0], lane)
	case "if_then_else":
		return w.choose(e.Args[0], e.Args[1], e.Args[2], lane)
	case "bitwise_and":
		return two(func(a, b int64) int64 { return a & b })
	case "bitwise_or":
		return two(func(a, b int64) int64 { return a | b })
	case "bitwise_xor":
		return two(func(a, b int64) int64 { return a ^ b })
	case "shift_left":
		return two(func(a, b int64) int64 { return a << (uint64(b) & 63) })
	case "shift_right":
		return two(func(a, b int64) int64 { return a >> (uint64(b) & 63) })
	}
	return lanes{}
}
