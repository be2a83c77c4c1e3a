package tvmjson

import (
	"strings"

	"tvmgo/tir"
)

// call reads a call of an operator, or of another function of the module.
func (r *reader) call(n node) tir.Expr {
	op, t := n.At("op"), r.typeOf(n)
	if op.Name() == "GlobalVar" {
		name := op.TextAt("name_hint")
		if s := r.names[name]; s != "" {
			name = s
		}
		return good(n, tir.NewCall(tir.CallFunc, t, name, r.exprs(n.At("args"))...))
	}
	if op.Name() != "Op" {
		op.Unsupported("call of a %s", op.Key())
		return tir.Const(scalarOr(t), 0)
	}
	name := op.Text()
	if op.Has("name") {
		name = op.TextAt("name")
	}
	short := name[strings.LastIndexByte(name, '.')+1:]
	args := n.At("args").List()
	need := func(count int) {
		if len(args) < count {
			n.Fail("%s has %d arguments, want %d", name, len(args), count)
		}
	}
	switch short {
	case "call_extern", "call_pure_extern", "tvm_call_packed", "tvm_call_cpacked":
		need(1)
		return r.foreign(n, short, t, args)
	case "tvm_access_ptr":
		need(5)
		return r.accessPointer(n, args)
	case "buffer_data":
		need(1)
		if a := r.buffer(args[0]); a != nil {
			for a.of != nil {
				a = a.of
			}
			return a.buffer.Data
		}
	case "address_of":
		need(1)
		if load := r.expr(args[0]); args[0].Name() == "BufferLoad" || args[0].Name() == "TensorLoad" {
			return good(n, tir.NewCall(tir.CallIntrinsic, tir.Handle, "address_of", load))
		}
		n.Unsupported("the address of a %s", args[0].Key())
		return tir.I32(0)
	case "tvm_storage_sync":
		need(1)
		scope, _ := args[0].Value()
		text, ok := scope.(string)
		if text == "shared.dyn" {
			text = "shared"
		}
		if !ok {
			args[0].Fail("want the scope of a barrier")
		}
		return good(n, tir.NewCall(tir.CallIntrinsic, tir.Void, "storage_sync", tir.Text(text)))
	case "large_uint_imm":
		need(2)
		low, isLow := tir.IntValue(r.expr(args[0]))
		high, isHigh := tir.IntValue(r.expr(args[1]))
		if !isLow || !isHigh {
			n.Fail("%s has arguments that are not constant", name)
		}
		return &tir.IntImm{Type: t, Value: high<<32 | low&(1<<32-1)}
	}
	values := make([]tir.Expr, len(args))
	for i, a := range args {
		values[i] = r.expr(a)
	}
	return r.intrinsic(n, short, t, values)
}

func scalarOr(t tir.Type) tir.Type {
	if tir.IsInt(t) || tir.IsFloat(t) || tir.IsBool(t) {
		return t
	}
	return tir.Int32
}

// foreign reads a call of a function that is not part of the module.
func (r *reader) foreign(n node, op string, t tir.Type, args []node) tir.Expr {
	callee, _ := args[0].Value()
	name, ok := callee.(string)
	if !ok {
		args[0].Fail("want the name of a function")
	}
	kind := tir.CallExtern
	if strings.HasPrefix(op, "tvm_call") {
		kind = tir.CallPacked
	}
	var values []tir.Expr
	for _, a := range args[1:] {
		values = append(values, r.expr(a))
	}
	return good(n, tir.NewCall(kind, t, name, values...))
}

// accessPointer reads the address of an element: of the type of the first argument, counted from a memory's beginning.
func (r *reader) accessPointer(n node, args []node) tir.Expr {
	t := r.typeOf(args[0])
	m := r.memoryAt(r.expr(args[1]))
	offset, extent := r.expr(args[2]), r.expr(args[3])
	if m == nil {
		n.Fail("the address is that of no buffer")
	}
	b := r.flatView(n, m, t, extent)
	address := good(n, tir.NewCall(tir.CallIntrinsic, tir.Handle, "address_of", tir.BufferAt(b, offset)))
	if mask, isConst := tir.IntValue(r.expr(args[4])); isConst && mask == 1 {
		r.reads[address.(*tir.Call)] = true
	}
	return address
}

// flatView returns a buffer of one dimension over memory.
func (r *reader) flatView(n node, m *memory, t tir.Type, extent tir.Expr) *tir.Buffer {
	const suffix = ".flat"
	for _, b := range m.views {
		if b.DType == t && len(b.Shape) == 1 && b.Offset == nil && strings.HasSuffix(b.Name, suffix) {
			return b
		}
	}
	b := &tir.Buffer{Name: m.data.Name + suffix, Data: m.data, DType: t, Shape: []tir.Expr{extent}}
	if m.base != nil {
		b.Scope = m.base.Scope
		size := tir.Expr(tir.I32(1))
		for _, s := range m.base.Shape {
			size = times(n, size, s)
		}
		if m.base.Strides == nil && m.base.Offset == nil && m.base.DType == t {
			b.Shape = []tir.Expr{size}
		}
	}
	m.views = append(m.views, b)
	return b
}

// intrinsic makes a call of an operator that package tir has, by this name or another.
func (r *reader) intrinsic(n node, name string, t tir.Type, args []tir.Expr) tir.Expr {
	call := func(name string, t tir.Type, args ...tir.Expr) tir.Expr {
		return good(n, tir.NewCall(tir.CallIntrinsic, t, name, args...))
	}
	need := func(count int) {
		if len(args) < count {
			n.Fail("operator %s has %d arguments, want %d", name, len(args), count)
		}
	}
	switch name {
	case "likely":
		need(1)
		if !tir.IsBool(args[0].DType()) {
			return args[0]
		}
		return call(name, args[0].DType(), args[0])
	case "if_then_else":
		need(3)
		return call(name, t, good(n, tir.NewCast(tir.Bool, args[0])), args[1], args[2])
	case "isnan", "isinf", "isfinite":
		need(1)
		return call(name, tir.Vector(tir.Bool, int(t.Lanes)), args[0])
	case "reinterpret":
		need(1)
		return call(name, t, args[0])
	case "ret":
		if len(args) == 0 {
			return call("ret_none", tir.Void)
		}
		return call(name, t, args[0])
	case "popcount", "clz":
		need(1)
		return good(n, tir.NewCast(t, call(name, args[0].DType(), args[0])))
	case "fabs", "abs":
		need(1)
		if tir.IsFloat(t) {
			return call("fabs", t, args[0])
		}
		return call("abs", t, args[0])
	case "vectorlow", "vectorhigh":
		need(1)
		half := int(args[0].DType().Lanes) / 2
		indices := make([]int, half)
		for i := range indices {
			indices[i] = i
			if name == "vectorhigh" {
				indices[i] += half
			}
		}
		return good(n, tir.NewShuffle(args[:1], indices))
	case "vectorcombine":
		need(2)
		indices := make([]int, int(args[0].DType().Lanes)+int(args[1].DType().Lanes))
		for i := range indices {
			indices[i] = i
		}
		return good(n, tir.NewShuffle(args[:2], indices))
	case "tvm_warp_shuffle", "tvm_warp_shuffle_xor", "tvm_warp_shuffle_down":
		need(3)
		return call(strings.TrimPrefix(name, "tvm_"), t, args[1], good(n, tir.NewCast(tir.Int32, args[2])))
	case "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not":
		if tir.IsBool(t) {
			return r.logical(n, name, args)
		}
	}
	i, known := tir.LookupIntrinsic(name)
	if !known || i.Takes == tir.TakesAny || i.Args != len(args) {
		n.Unsupported("operator %s with %d arguments", name, len(args))
		return tir.Const(scalarOr(t), 0)
	}
	return call(name, t, args...)
}

// logical makes an operation on the bits of truth values.
func (r *reader) logical(n node, name string, args []tir.Expr) tir.Expr {
	op := map[string]tir.BinaryOp{"bitwise_and": tir.OpAnd, "bitwise_or": tir.OpOr, "bitwise_xor": tir.OpNE}
	switch {
	case name == "bitwise_not" && len(args) == 1:
		return good(n, tir.NewNot(args[0]))
	case len(args) != 2:
		n.Fail("operator %s has %d arguments", name, len(args))
	}
	return good(n, tir.NewBinary(op[name], args[0], args[1]))
}
