package tvmjson

import (
	"math"

	"tvmgo/tir"
)

var binaries = map[string]tir.BinaryOp{"Add": tir.OpAdd, "Sub": tir.OpSub, "Mul": tir.OpMul, "Div": tir.OpDiv,
	"Mod": tir.OpMod, "FloorDiv": tir.OpFloorDiv, "FloorMod": tir.OpFloorMod, "Min": tir.OpMin, "Max": tir.OpMax,
	"EQ": tir.OpEQ, "NE": tir.OpNE, "LT": tir.OpLT, "LE": tir.OpLE, "GT": tir.OpGT, "GE": tir.OpGE, "And": tir.OpAnd,
	"Or": tir.OpOr}

// bitOperators are operations on bits that newer files have as nodes, older ones as calls.
var bitOperators = map[string]string{"BitwiseAnd": "bitwise_and", "BitwiseOr": "bitwise_or",
	"BitwiseXor": "bitwise_xor", "BitwiseNot": "bitwise_not", "LShift": "shift_left", "RShift": "shift_right"}

// exprs reads a list of expressions.
func (r *reader) exprs(n node) []tir.Expr {
	list := n.List()
	out := make([]tir.Expr, len(list))
	for i, e := range list {
		out[i] = r.expr(e)
	}
	return out
}

// expr reads an expression.
func (r *reader) expr(n node) tir.Expr {
	name := n.Name()
	if op, ok := binaries[name]; ok {
		return good(n, tir.NewBinary(op, r.expr(n.At("a")), r.expr(n.At("b"))))
	}
	if call, ok := bitOperators[name]; ok {
		args := []tir.Expr{r.expr(n.At("a"))}
		if n.Has("b") {
			args = append(args, r.expr(n.At("b")))
		}
		return r.intrinsic(n, call, r.typeOf(n), args)
	}
	switch name {
	case "Var", "SizeVar":
		return r.variable(n)
	case "IntImm":
		return r.integer(n)
	case "FloatImm":
		return r.float(n)
	case "StringImm":
		text, _ := n.Value()
		s, _ := text.(string)
		return tir.Text(s)
	case "BufferLoad", "TensorLoad":
		return r.load(n)
	case "Cast":
		return good(n, tir.NewCast(r.typeOf(n), r.expr(n.At("value"))))
	case "Not":
		return good(n, tir.NewNot(r.expr(n.At("a"))))
	case "Select":
		return good(n, tir.NewSelect(r.expr(n.At("condition")), r.expr(n.At("true_value")), r.expr(n.At("false_value"))))
	case "Ramp":
		return good(n, tir.NewRamp(r.expr(n.At("base")), r.expr(n.At("stride")), int(r.typeOf(n).Lanes)))
	case "Broadcast":
		return good(n, tir.NewBroadcast(r.expr(n.At("value")), int(r.typeOf(n).Lanes)))
	case "Shuffle":
		return r.shuffle(n)
	case "Let":
		return r.let(n)
	case "Call":
		return r.call(n)
	case "":
		n.Fail("an expression is null")
	}
	n.Unsupported("node %s", n.Key())
	return tir.I32(0)
}

func (r *reader) variable(n node) tir.Expr {
	if e := r.vars[n.Index()]; e != nil {
		return e
	}
	if m := r.memories[n.Index()]; m != nil { // the address of a buffer
		return m.data
	}
	name := nameOf(n)
	if !r.sizes {
		n.Fail("variable %s is used outside of its scope", name)
	}
	v := tir.NewVar(name, r.typeOf(n))
	r.bind(n, v)
	return v
}

func (r *reader) integer(n node) tir.Expr {
	t, v := r.typeOf(n), n.IntImm()
	switch {
	case tir.IsBool(t) && v != 0 && v != 1:
		n.Fail("%d is no truth value", v)
	case !tir.IsBool(t) && !tir.IsInt(t):
		n.Fail("an integer of type %s", tir.TypeName(t))
	case t.Lanes != 1 || t.Bits < 64 && !fits(t, v):
		n.Fail("%d is outside of the range of type %s", v, t)
	}
	return &tir.IntImm{Type: t, Value: v}
}

func fits(t tir.Type, v int64) bool {
	if tir.IsSigned(t) {
		limit := int64(1) << (t.Bits - 1)
		return v >= -limit && v < limit
	}
	return v >= 0 && v < int64(1)<<t.Bits
}

func (r *reader) float(n node) tir.Expr {
	t, v := r.typeOf(n), n.Float("value")
	if !tir.IsFloat(t) || t.Lanes != 1 {
		n.Fail("a float of type %s", tir.TypeName(t))
	}
	if t == tir.Float32 && !math.IsInf(v, 0) && math.Abs(v) > math.MaxFloat32 {
		v = math.Inf(int(math.Copysign(1, v)))
	}
	return good(n, tir.Const(t, v))
}

func (r *reader) load(n node) tir.Expr {
	source := "buffer"
	if n.Has("source") {
		source = "source"
	}
	if p, ok := n.Maybe("predicate"); ok {
		p.Unsupported("loads with a predicate")
	}
	b, indices := r.buffer(n.At(source)).at(n, r.exprs(n.At("indices")))
	if len(indices) != len(b.Shape) {
		n.Fail("%d indices for buffer %s, which has %d dimensions", len(indices), b.Name, len(b.Shape))
	}
	return good(n, tir.BufferAt(b, indices...))
}

func (r *reader) shuffle(n node) tir.Expr {
	var indices []int
	for _, x := range n.At("indices").List() {
		i, ok := tir.IntValue(r.expr(x))
		if !ok || i < 0 || i > 1<<20 {
			x.Fail("want the constant number of a lane")
		}
		indices = append(indices, int(i))
	}
	return good(n, tir.NewShuffle(r.exprs(n.At("vectors")), indices))
}

func (r *reader) let(n node) (e tir.Expr) {
	x := n.At("var")
	v, value := tir.NewVar(nameOf(x), r.typeOf(x)), r.expr(n.At("value"))
	if value.DType() != v.Type {
		n.Fail("variable %s of type %s gets a value of type %s", v.Name, tir.TypeName(v.Type), tir.TypeName(value.DType()))
	}
	r.within(x, v, func() { e = &tir.Let{Var: v, Value: value, Body: r.expr(n.At("body"))} })
	return e
}
