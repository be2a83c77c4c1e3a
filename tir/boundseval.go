package tir

import "math/bits"

// eval computes a scalar expression of integers and truth values. The result is false if the expression reads something
// unknown, is undefined, or overflows.
func (p *indexProof) eval(e Expr, env values) (int64, bool) {
	if e == nil || !p.w.spend() {
		return 0, false
	}
	switch e := e.(type) {
	case *IntImm:
		return e.Value, true
	case *Var:
		n, ok := env[e]
		if !ok {
			if value, is := p.w.lets[e]; is {
				return p.eval(value, env)
			}
		}
		return n, ok
	case *Not:
		n, ok := p.eval(e.A, env)
		return 1 - n, ok
	case *Cast:
		from := e.Value.DType()
		if !IsInt(from) && !IsBool(from) {
			return 0, false
		}
		n, ok := p.eval(e.Value, env)
		if IsBool(e.Type) && n != 0 {
			n = 1
		}
		return fitted(n, e.Type, ok)
	case *Select:
		return p.evalBranch(e.Cond, e.Then, e.Else, env)
	case *Call:
		return p.evalCall(e, env)
	case *Binary:
		return p.evalBinary(e, env)
	}
	return 0, false
}

func (p *indexProof) evalBranch(cond, then, other Expr, env values) (int64, bool) {
	c, ok := p.eval(cond, env)
	switch {
	case !ok:
		return 0, false
	case c != 0:
		return p.eval(then, env)
	}
	return p.eval(other, env)
}

func (p *indexProof) evalCall(e *Call, env values) (int64, bool) {
	if e.Kind != CallIntrinsic {
		return 0, false
	}
	switch e.Name {
	case "likely":
		return p.eval(e.Args[0], env)
	case "if_then_else":
		return p.evalBranch(e.Args[0], e.Args[1], e.Args[2], env)
	case "bitwise_and", "bitwise_or", "bitwise_xor", "shift_left", "shift_right":
		x, ok := p.eval(e.Args[0], env)
		y, fine := p.eval(e.Args[1], env)
		if !ok || !fine || !IsInt(e.Type) {
			return 0, false
		}
		switch e.Name {
		case "bitwise_and":
			return x & y, true
		case "bitwise_or":
			return x | y, true
		case "bitwise_xor":
			return fitted(x^y, e.Type, true)
		}
		if y < 0 || y >= int64(e.Type.Bits) || x < 0 {
			return 0, false
		}
		if e.Name == "shift_right" {
			return x >> y, true
		}
		return fitted(x<<y, e.Type, bits.Len64(uint64(x))+int(y) < 63)
	}
	return 0, false
}

// fitted converts a number to a type. Index types must not overflow, which gives false; other types wrap around.
func fitted(n int64, t Type, ok bool) (int64, bool) {
	if !ok || IsBool(t) {
		return n, ok
	}
	r := typeSpan(t)
	switch {
	case !IsInt(t):
		return 0, false
	case t.Bits >= 62:
		return n, n > -infinite && n < infinite && (IsSigned(t) || n >= 0)
	case n >= r.lo && n <= r.hi:
		return n, true
	case t == Int32:
		return 0, false
	case IsSigned(t):
		shift := 64 - t.Bits
		return n << shift >> shift, true
	}
	return n & r.hi, true
}

func truth(b bool) (int64, bool) {
	if b {
		return 1, true
	}
	return 0, true
}

func (p *indexProof) evalBinary(e *Binary, env values) (int64, bool) {
	from := e.A.DType()
	if !IsInt(from) && !IsBool(from) || from.Lanes != 1 {
		return 0, false
	}
	x, ok := p.eval(e.A, env)
	if !ok {
		return 0, false
	}
	if e.Op == OpAnd && x == 0 || e.Op == OpOr && x != 0 {
		return x, true
	}
	y, ok := p.eval(e.B, env)
	if !ok || (x >= infinite || x <= -infinite || y >= infinite || y <= -infinite) {
		return 0, false
	}
	switch e.Op {
	case OpAnd, OpOr:
		return y, true
	case OpEQ:
		return truth(x == y)
	case OpNE:
		return truth(x != y)
	case OpLT:
		return truth(x < y)
	case OpLE:
		return truth(x <= y)
	case OpGT:
		return truth(x > y)
	case OpGE:
		return truth(x >= y)
	case OpMin:
		return min(x, y), true
	case OpMax:
		return max(x, y), true
	case OpAdd:
		return fitted(x+y, from, true)
	case OpSub:
		return fitted(x-y, from, true)
	case OpMul:
		n := satMul(x, y)
		return fitted(n, from, n < infinite && n > -infinite)
	}
	if y == 0 {
		return 0, false
	}
	q, r := x/y, x%y
	switch e.Op {
	case OpDiv:
		return fitted(q, from, true)
	case OpMod:
		return r, true
	case OpFloorDiv:
		if r != 0 && (r < 0) != (y < 0) {
			q--
		}
		return fitted(q, from, true)
	case OpFloorMod:
		if r != 0 && (r < 0) != (y < 0) {
			r += y
		}
		return r, true
	}
	return 0, false
}
