package arith

import (
	"fmt"
	"maps"
	"math"
	"math/big"

	"tvmgo/dlpack"
	"tvmgo/tir"
)

// evaluate computes an expression of integers and bools with big integers, one per lane. Overflow of int32 or int64 is
// an error, and so is division by zero; other types wrap. If strict is false, int32 and int64 wrap in sums.
type evaluation struct {
	values map[*tir.Var]int64
	memory func(b *tir.Buffer, indices []int64) int64
	strict bool
}

type undefined struct{ what string }

func (v evaluation) run(e tir.Expr) (result []int64, err error) {
	defer func() {
		if p := recover(); p != nil {
			u, ok := p.(undefined)
			if !ok {
				panic(p)
			}
			err = fmt.Errorf("%s", u.what)
		}
	}()
	for _, x := range v.eval(e) {
		result = append(result, new(big.Int).Set(x).Int64())
	}
	return result, nil
}

func (v evaluation) wrap(x *big.Int, t tir.Type, sum bool) *big.Int {
	t.Lanes = 1
	n := uint(t.Bits)
	low, high := new(big.Int), new(big.Int)
	if t.Code == dlpack.CodeInt {
		high.Lsh(big.NewInt(1), n-1)
		low.Neg(high)
	} else {
		high.Lsh(big.NewInt(1), n)
	}
	if x.Cmp(low) >= 0 && x.Cmp(high) < 0 {
		return x
	}
	if (t == tir.Int32 || t == tir.Int64) && (v.strict || !sum) {
		panic(undefined{"overflow"})
	}
	size := new(big.Int).Lsh(big.NewInt(1), n)
	r := new(big.Int).Mod(x, size)
	if r.Cmp(high) >= 0 {
		r.Sub(r, size)
	}
	return r
}

func (v evaluation) eval(e tir.Expr) []*big.Int {
	t := e.DType()
	one := func(x int64) []*big.Int { return []*big.Int{big.NewInt(x)} }
	switch e := e.(type) {
	case *tir.Var:
		x, ok := v.values[e]
		if !ok {
			panic("no value for " + e.Name)
		}
		return one(x)
	case *tir.IntImm:
		return one(e.Value)
	case *tir.Binary:
		x, opT := v.eval(e.A), e.A.DType()
		if e.Op == tir.OpAnd || e.Op == tir.OpOr {
			if len(x) == 1 && (x[0].Sign() != 0) == (e.Op == tir.OpOr) {
				return x
			}
		}
		y := v.eval(e.B)
		out := make([]*big.Int, len(x))
		for i := range x {
			out[i] = v.binary(e.Op, x[i], y[i], opT)
		}
		return out
	case *tir.Not:
		x := v.eval(e.A)
		for i := range x {
			x[i] = big.NewInt(1 - x[i].Int64())
		}
		return x
	case *tir.Select:
		c, x, y := v.eval(e.Cond), v.eval(e.Then), v.eval(e.Else)
		out := make([]*big.Int, len(x))
		for i := range x {
			out[i] = y[i]
			if c[i].Sign() != 0 {
				out[i] = x[i]
			}
		}
		return out
	case *tir.Cast:
		x := v.eval(e.Value)
		for i := range x {
			if tir.IsBool(t) {
				x[i] = big.NewInt(int64(x[i].CmpAbs(new(big.Int))))
			} else {
				loose := v
				loose.strict = false
				x[i] = loose.wrap(x[i], t, true)
			}
		}
		return x
	case *tir.Ramp:
		b, s := v.eval(e.Base)[0], v.eval(e.Stride)[0]
		out := make([]*big.Int, e.Lanes)
		for i := range out {
			out[i] = v.wrap(new(big.Int).Add(b, new(big.Int).Mul(s, big.NewInt(int64(i)))), t, true)
		}
		return out
	case *tir.Broadcast:
		x := v.eval(e.Value)[0]
		out := make([]*big.Int, e.Lanes)
		for i := range out {
			out[i] = x
		}
		return out
	case *tir.Let:
		inner := v
		inner.values = map[*tir.Var]int64{}
		maps.Copy(inner.values, v.values)
		inner.values[e.Var] = v.eval(e.Value)[0].Int64()
		return inner.eval(e.Body)
	case *tir.BufferLoad:
		var at []int64
		for _, x := range e.Indices {
			at = append(at, v.eval(x)[0].Int64())
		}
		return one(v.memory(e.Buffer, at))
	case *tir.Call:
		return v.call(e)
	}
	panic(fmt.Sprintf("cannot evaluate %T", e))
}

func (v evaluation) call(e *tir.Call) []*big.Int {
	switch e.Name {
	case "likely":
		return v.eval(e.Args[0])
	case "if_then_else":
		if v.eval(e.Args[0])[0].Sign() != 0 {
			return v.eval(e.Args[1])
		}
		return v.eval(e.Args[2])
	}
	x := v.eval(e.Args[0])[0]
	if e.Name == "abs" {
		return []*big.Int{v.wrap(new(big.Int).Abs(x), e.Type, false)}
	}
	if e.Name == "popcount" {
		mask := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(e.Type.Bits)), big.NewInt(1))
		n := int64(0)
		for _, c := range new(big.Int).And(x, mask).Text(2) {
			if c == '1' {
				n++
			}
		}
		return []*big.Int{big.NewInt(n)}
	}
	y := v.eval(e.Args[1])[0]
	r := new(big.Int)
	switch e.Name {
	case "bitwise_and":
		r.And(x, y)
	case "bitwise_or":
		r.Or(x, y)
	case "bitwise_xor":
		r.Xor(x, y)
	case "shift_left":
		r.Lsh(x, uint(y.Uint64()))
	case "shift_right":
		r.Rsh(x, uint(y.Uint64()))
	default:
		panic("cannot evaluate " + e.Name)
	}
	return []*big.Int{v.wrap(r, e.Type, false)}
}

func (v evaluation) binary(op tir.BinaryOp, x, y *big.Int, t tir.Type) *big.Int {
	r := new(big.Int)
	truth := func(b bool) *big.Int {
		if b {
			return r.SetInt64(1)
		}
		return r.SetInt64(0)
	}
	switch op {
	case tir.OpAdd:
		return v.wrap(r.Add(x, y), t, true)
	case tir.OpSub:
		return v.wrap(r.Sub(x, y), t, true)
	case tir.OpMul:
		return v.wrap(r.Mul(x, y), t, true)
	case tir.OpMin:
		if x.Cmp(y) < 0 {
			return x
		}
		return y
	case tir.OpMax:
		if x.Cmp(y) > 0 {
			return x
		}
		return y
	case tir.OpEQ:
		return truth(x.Cmp(y) == 0)
	case tir.OpNE:
		return truth(x.Cmp(y) != 0)
	case tir.OpLT:
		return truth(x.Cmp(y) < 0)
	case tir.OpLE:
		return truth(x.Cmp(y) <= 0)
	case tir.OpGT:
		return truth(x.Cmp(y) > 0)
	case tir.OpGE:
		return truth(x.Cmp(y) >= 0)
	case tir.OpAnd, tir.OpOr:
		if (x.Sign() != 0) == (op == tir.OpAnd) {
			return y
		}
		return x
	}
	if y.Sign() == 0 {
		panic(undefined{"division by zero"})
	}
	quotient, rest := new(big.Int), new(big.Int)
	quotient.QuoRem(x, y, rest)
	if op == tir.OpFloorDiv || op == tir.OpFloorMod {
		if rest.Sign() != 0 && (rest.Sign() < 0) != (y.Sign() < 0) {
			quotient.Sub(quotient, big.NewInt(1))
			rest.Add(rest, y)
		}
	}
	if op == tir.OpDiv || op == tir.OpFloorDiv {
		return v.wrap(quotient, t, false)
	}
	return v.wrap(rest, t, false)
}

// textOf formats expressions as in the table of simplifications.
func textOf(e tir.Expr) string {
	switch e := e.(type) {
	case *tir.Var:
		return e.Name
	case *tir.IntImm:
		switch {
		case tir.IsBool(e.Type) && e.Value == 1:
			return "true"
		case tir.IsBool(e.Type):
			return "false"
		}
		return fmt.Sprint(e.Value)
	case *tir.FloatImm:
		if e.Value == 0 && math.Signbit(e.Value) {
			return "-0.0"
		}
		return fmt.Sprintf("%gf", e.Value)
	case *tir.Binary:
		switch e.Op {
		case tir.OpMin, tir.OpMax:
			return fmt.Sprintf("%s(%s, %s)", e.Op, textOf(e.A), textOf(e.B))
		case tir.OpFloorDiv:
			return fmt.Sprintf("(%s//%s)", textOf(e.A), textOf(e.B))
		case tir.OpFloorMod:
			return fmt.Sprintf("(%s%%%%%s)", textOf(e.A), textOf(e.B))
		case tir.OpMul:
			return fmt.Sprintf("%s*%s", textOf(e.A), textOf(e.B))
		}
		return fmt.Sprintf("(%s %s %s)", textOf(e.A), e.Op, textOf(e.B))
	case *tir.Not:
		return "!" + textOf(e.A)
	case *tir.Select:
		return fmt.Sprintf("select(%s, %s, %s)", textOf(e.Cond), textOf(e.Then), textOf(e.Else))
	case *tir.Cast:
		return fmt.Sprintf("%s(%s)", e.Type, textOf(e.Value))
	case *tir.Ramp:
		return fmt.Sprintf("ramp(%s, %s, %d)", textOf(e.Base), textOf(e.Stride), e.Lanes)
	case *tir.Broadcast:
		return fmt.Sprintf("broadcast(%s, %d)", textOf(e.Value), e.Lanes)
	case *tir.Let:
		return fmt.Sprintf("let(%s, %s, %s)", e.Var.Name, textOf(e.Value), textOf(e.Body))
	case *tir.BufferLoad:
		s := e.Buffer.Name + "["
		for i, x := range e.Indices {
			if i > 0 {
				s += ", "
			}
			s += textOf(x)
		}
		return s + "]"
	case *tir.Call:
		s := e.Name + "("
		for i, x := range e.Args {
			if i > 0 {
				s += ", "
			}
			s += textOf(x)
		}
		return s + ")"
	}
	return fmt.Sprintf("%T", e)
}
