package tirrun

import (
	"math"

	"tvmgo/tir"
)

// intOp returns an operation on integers or bools of a type; the divisor is not 0.
func intOp(op tir.BinaryOp, t tir.Type) func(a, b int64) int64 {
	w := wrapper(t)
	big := tir.IsInt(t) && !tir.IsSigned(t) && t.Bits == 64 // all narrower types fit into int64
	switch op {
	case tir.OpAdd:
		return func(a, b int64) int64 { return w(a + b) }
	case tir.OpSub:
		return func(a, b int64) int64 { return w(a - b) }
	case tir.OpMul:
		return func(a, b int64) int64 { return w(a * b) }
	case tir.OpDiv:
		if big {
			return func(a, b int64) int64 { return int64(uint64(a) / uint64(b)) }
		}
		return func(a, b int64) int64 { return w(a / b) }
	case tir.OpMod:
		if big {
			return func(a, b int64) int64 { return int64(uint64(a) % uint64(b)) }
		}
		return func(a, b int64) int64 { return w(a % b) }
	case tir.OpFloorDiv:
		if big {
			return func(a, b int64) int64 { return int64(uint64(a) / uint64(b)) }
		}
		return func(a, b int64) int64 {
			q := a / b
			if a%b != 0 && (a < 0) != (b < 0) {
				q--
			}
			return w(q)
		}
	case tir.OpFloorMod:
		if big {
			return func(a, b int64) int64 { return int64(uint64(a) % uint64(b)) }
		}
		return func(a, b int64) int64 {
			r := a % b
			if r != 0 && (r < 0) != (b < 0) {
				r += b
			}
			return w(r)
		}
	}
	less := func(a, b int64) bool { return a < b }
	if big {
		less = func(a, b int64) bool { return uint64(a) < uint64(b) }
	}
	switch op {
	case tir.OpMin:
		return func(a, b int64) int64 {
			if less(a, b) {
				return a
			}
			return b
		}
	case tir.OpMax:
		return func(a, b int64) int64 {
			if less(b, a) {
				return a
			}
			return b
		}
	case tir.OpEQ:
		return func(a, b int64) int64 { return b2i(a == b) }
	case tir.OpNE:
		return func(a, b int64) int64 { return b2i(a != b) }
	case tir.OpLT:
		return func(a, b int64) int64 { return b2i(less(a, b)) }
	case tir.OpLE:
		return func(a, b int64) int64 { return b2i(!less(b, a)) }
	case tir.OpGT:
		return func(a, b int64) int64 { return b2i(less(b, a)) }
	case tir.OpGE:
		return func(a, b int64) int64 { return b2i(!less(a, b)) }
	}
	panic(&Fault{Func: "?", Sort: ErrInvalid, Text: "operation " + op.String() + " does not exist"})
}

// fastInt is intOp with special closures for the most frequent operations on indices.
func fastInt(op tir.BinaryOp, t tir.Type, do func(a, b int64) int64, a, b value) func(*frame) int64 {
	p, q := a.i, b.i
	n := b.n
	switch {
	case t == tir.Int32 && op == tir.OpAdd && a.isVar && b.isVar:
		i, j := a.off, b.off
		return func(f *frame) int64 { return int64(int32(f.i[i] + f.i[j])) }
	case t == tir.Int32 && op == tir.OpAdd && b.isConst:
		return func(f *frame) int64 { return int64(int32(p(f) + n)) }
	case t == tir.Int32 && op == tir.OpMul && b.isConst:
		return func(f *frame) int64 { return int64(int32(p(f) * n)) }
	case t == tir.Int32 && op == tir.OpAdd:
		return func(f *frame) int64 { return int64(int32(p(f) + q(f))) }
	case t == tir.Int32 && op == tir.OpMul:
		return func(f *frame) int64 { return int64(int32(p(f) * q(f))) }
	case t == tir.Int64 && op == tir.OpAdd:
		return func(f *frame) int64 { return p(f) + q(f) }
	case t == tir.Int64 && op == tir.OpMul:
		return func(f *frame) int64 { return p(f) * q(f) }
	case op == tir.OpLT && (tir.IsSigned(t) || t.Bits < 64):
		return func(f *frame) int64 { return b2i(p(f) < q(f)) }
	}
	return func(f *frame) int64 { return do(p(f), q(f)) }
}

// floatOp returns an operation on floats of a type.
func floatOp(op tir.BinaryOp, t tir.Type) func(a, b float64) float64 {
	r := rounder(t)
	if r == nil {
		r = func(x float64) float64 { return x }
	}
	switch op {
	case tir.OpAdd:
		return func(a, b float64) float64 { return r(a + b) }
	case tir.OpSub:
		return func(a, b float64) float64 { return r(a - b) }
	case tir.OpMul:
		return func(a, b float64) float64 { return r(a * b) }
	case tir.OpDiv:
		return func(a, b float64) float64 { return r(a / b) }
	case tir.OpMod:
		return func(a, b float64) float64 { return r(math.Mod(a, b)) }
	case tir.OpFloorDiv:
		return func(a, b float64) float64 { return r(math.Floor(r(a / b))) }
	case tir.OpFloorMod:
		return func(a, b float64) float64 {
			m := math.Mod(a, b)
			if m != 0 && (m < 0) != (b < 0) {
				m += b
			}
			return r(m)
		}
	case tir.OpMin:
		return func(a, b float64) float64 {
			if a < b {
				return a
			}
			return b
		}
	case tir.OpMax:
		return func(a, b float64) float64 {
			if a > b {
				return a
			}
			return b
		}
	}
	panic(&Fault{Func: "?", Sort: ErrInvalid, Text: "operation " + op.String() + " does not exist"})
}

// fastFloat is floatOp with special closures for the most frequent operations of kernels.
func fastFloat(op tir.BinaryOp, t tir.Type, do func(a, b float64) float64, p,
	q func(*frame) float64) func(*frame) float64 {
	if t == tir.Float32 {
		switch op {
		case tir.OpAdd:
			return func(f *frame) float64 { return float64(float32(p(f) + q(f))) }
		case tir.OpSub:
			return func(f *frame) float64 { return float64(float32(p(f) - q(f))) }
		case tir.OpMul:
			return func(f *frame) float64 { return float64(float32(p(f) * q(f))) }
		}
	}
	return func(f *frame) float64 { return do(p(f), q(f)) }
}

func compareFloats(op tir.BinaryOp) func(a, b float64) bool {
	switch op {
	case tir.OpEQ:
		return func(a, b float64) bool { return a == b }
	case tir.OpNE:
		return func(a, b float64) bool { return a != b }
	case tir.OpLT:
		return func(a, b float64) bool { return a < b }
	case tir.OpLE:
		return func(a, b float64) bool { return a <= b }
	case tir.OpGT:
		return func(a, b float64) bool { return a > b }
	}
	return func(a, b float64) bool { return a >= b }
}
