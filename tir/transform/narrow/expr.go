package narrow

import "tvmgo/tir"

// expr replaces expressions that have narrow types or operands of narrow types.
func (l *legalizer) expr(e tir.Expr) (tir.Expr, bool) {
	m := &l.mutator
	t := e.DType()
	switch e := e.(type) {
	case *tir.Var:
		if v := l.vars[e]; v != nil {
			return v, true
		}
		if b := l.own[e]; b != nil {
			l.fail("the address of buffer %s of type %s is given away, and here its elements have a byte each: pass a "+
				"tensor, or store bytes", b.Name, b.DType)
		}
	case *tir.IntImm:
		if !l.legal(t) {
			return &tir.IntImm{Type: l.wideType(t), Value: e.Value}, true
		}
	case *tir.FloatImm:
		if !l.legal(t) {
			return l.floatConstant(e), true
		}
	case *tir.Binary:
		if of := e.A.DType(); !l.legal(of) {
			return l.binary(e.Op, of, m.MutateExpr(e.A), m.MutateExpr(e.B)), true
		}
	case *tir.Cast:
		if from := e.Value.DType(); !l.legal(t) || !l.legal(from) {
			return l.castNarrow(t, from, m.MutateExpr(e.Value)), true
		}
	case *tir.BufferLoad:
		if n := l.storage[e.Buffer]; n != nil {
			indices := make([]tir.Expr, len(e.Indices))
			for i, x := range e.Indices {
				indices[i] = m.MutateExpr(x)
			}
			return l.read(n, indices), true
		}
	case *tir.Ramp:
		if !l.legal(t) {
			return l.fit(t, &tir.Ramp{Base: m.MutateExpr(e.Base), Stride: m.MutateExpr(e.Stride), Lanes: e.Lanes}), true
		}
	case *tir.Let:
		value := m.MutateExpr(e.Value)
		v := l.bindVar(e.Var)
		body := m.MutateExpr(e.Body)
		if v == e.Var && value == e.Value && body == e.Body {
			return e, true
		}
		return &tir.Let{Var: v, Value: value, Body: body}, true
	case *tir.Call:
		return l.call(e)
	case *tir.Not, *tir.Select, *tir.Broadcast, *tir.Shuffle, *tir.StringImm, *tir.Bad:
	default:
		if !l.legal(t) {
			l.fail("%w", tir.NotKnown(e, "is of type "+t.String()))
		}
		l.other(e)
	}
	return nil, false
}

// other rejects a node of another type that computes with a narrow type, or names a variable or buffer of one.
func (l *legalizer) other(node any) {
	exprs, _ := tir.Parts(node)
	for _, e := range exprs {
		if t := e.DType(); !l.legal(t) {
			l.fail("%w", tir.NotKnown(node, "computes with type "+t.String()))
		}
	}
	vars, buffers := tir.Named(node)
	own, ownBuffers := tir.Bound(node)
	for _, v := range append(vars, own...) {
		if !l.legal(v.Type) || l.own[v] != nil {
			l.fail("%w", tir.NotKnown(node, "names variable "+v.Name+" of a narrow type"))
		}
	}
	for _, b := range append(buffers, ownBuffers...) {
		if !l.legal(b.DType) {
			l.fail("%w", tir.NotKnown(node, "names buffer "+b.Name+" of type "+b.DType.String()))
		}
	}
}

// floatConstant returns a constant, rounded to its type.
func (l *legalizer) floatConstant(e *tir.FloatImm) tir.Expr {
	value := e.Value
	if c, ok := tir.Const(e.Type, value).(*tir.FloatImm); ok {
		value = c.Value
	} else {
		l.fail("constant %v is not of type %s", value, e.Type)
	}
	return &tir.FloatImm{Type: l.wideType(e.Type), Value: value}
}

// binary returns an operation on values of a narrow type.
func (l *legalizer) binary(op tir.BinaryOp, t tir.Type, a, b tir.Expr) tir.Expr {
	switch {
	case op.IsComparison():
		return tir.NewBinary(op, a, b)
	case op == tir.OpFloorDiv && tir.IsFloat(t): // the floor of the quotient after rounding to the type
		return l.fit(t, tir.Intrin("floor", l.fit(t, tir.Div(a, b))))
	case op == tir.OpMin || op == tir.OpMax:
		return tir.NewBinary(op, a, b)
	}
	return l.fit(t, tir.NewBinary(op, a, b))
}

// castNarrow converts the wide form of a value of one type to the wide form of another type.
func (l *legalizer) castNarrow(to, from tir.Type, e tir.Expr) tir.Expr {
	lanes := int(to.Lanes)
	if to == from {
		return e
	}
	if !tir.IsFloat(to) || l.legal(to) {
		return l.fit(to, tir.NewCast(l.wideType(to), e))
	}
	target := l.wideType(to)
	r := real32
	if source := e.DType(); tir.IsFloat(source) && source.Bits < 32 {
		e = tir.NewCast(tir.Vector(tir.Float32, lanes), e)
	} else if !tir.IsFloat(source) {
		if source.Bits == 64 && tir.IsInt(source) {
			e = leading(e)
		}
		e = tir.NewCast(tir.Vector(tir.Float64, lanes), e)
	}
	if realOf(to) == real64 {
		e = tir.NewCast(target, e)
	}
	if e.DType().Bits == 64 {
		r = real64
	}
	return tir.NewCast(target, narrowFloatOf(to).round(e, r))
}

// leading returns a 64-bit integer without the bits after its first 53 significant ones, which no narrow type
// distinguishes.
func leading(e tir.Expr) tir.Expr {
	return let("whole", e, func(x tir.Expr) tir.Expr {
		large := tir.GE(x, constantLike(x, 1<<53))
		if tir.IsSigned(x.DType()) {
			large = tir.NewBinary(tir.OpOr, large, tir.LE(x, constantLike(x, -1<<53)))
		}
		return tir.NewSelect(large, bitwise("bitwise_and", x, -1<<11), x)
	})
}

// call replaces calls of intrinsics. Functions of the module take and return the wide types.
func (l *legalizer) call(e *tir.Call) (tir.Expr, bool) {
	narrow := !l.legal(e.Type)
	for _, a := range e.Args {
		narrow = narrow || !l.legal(a.DType())
	}
	if e.Kind == tir.CallIntrinsic && e.Name == "address_of" && len(e.Args) > 0 {
		if load, ok := e.Args[0].(*tir.BufferLoad); ok && l.storage[load.Buffer] != nil {
			return l.address(e, load), true
		}
	}
	if !narrow {
		return nil, false
	}
	if e.Kind == tir.CallExtern || e.Kind == tir.CallPacked {
		for i, a := range e.Args {
			if !l.legal(a.DType()) {
				l.fail("the call of %s passes argument %d of type %s, which functions cannot take: cast it to a wider one, or "+
					"pass a tensor", e.Name, i, a.DType())
			}
		}
		if !l.legal(e.Type) {
			l.fail("the call of %s returns type %s, which functions cannot return: return a wider type, and "+
				"cast the result", e.Name, e.Type)
		}
		return e, true
	}
	args := make([]tir.Expr, len(e.Args))
	for i, a := range e.Args {
		args[i] = l.mutator.MutateExpr(a)
	}
	call := &tir.Call{Kind: e.Kind, Name: e.Name, Type: l.wideType(e.Type), Args: args}
	if e.Kind != tir.CallIntrinsic {
		return call, true
	}
	switch e.Name {
	case "if_then_else", "likely", "ret", "isnan", "isinf", "isfinite", "warp_shuffle", "warp_shuffle_xor",
		"warp_shuffle_down":
		return call, true
	case "reinterpret":
		return l.reinterpret(e.Type, e.Args[0].DType(), args[0]), true
	case "fma":
		return l.fma(e.Type, args), true
	case "popcount":
		return wrapInt(e.Type, tir.Intrin("popcount", bitsAnd(args[0], 1<<e.Type.Bits-1))), true
	case "clz":
		n := tir.Intrin("clz", bitsAnd(args[0], 1<<e.Type.Bits-1))
		return wrapInt(e.Type, tir.Sub(n, constantLike(n, int64(32-e.Type.Bits)))), true
	}
	return l.fit(e.Type, call), true
}

// fma rounds once: in 64 bits the sum of products of narrow values is exact.
func (l *legalizer) fma(t tir.Type, args []tir.Expr) tir.Expr {
	for i, a := range args {
		args[i] = tir.NewCast(tir.Vector(tir.Float64, int(t.Lanes)), a)
	}
	exact := tir.Intrin("fma", args...)
	return tir.NewCast(l.wideType(t), narrowFloatOf(t).round(exact, real64))
}

// reinterpret converts bytes: a narrow value to its bits, or bits to a narrow value.
func (l *legalizer) reinterpret(to, from tir.Type, e tir.Expr) tir.Expr {
	if to.Lanes != from.Lanes || to.Bits != from.Bits {
		l.fail("reinterpret of %s as %s: with narrow types as many lanes of as many bits are wanted", from, to)
		return e
	}
	if !l.legal(from) {
		e = code(from, e)
	} else {
		e = reinterpret(tir.UInt8, e)
	}
	if !l.legal(to) {
		return value(to, e)
	}
	return reinterpret(tir.Element(to), e)
}

// address returns the address of an element in memory.
func (l *legalizer) address(e *tir.Call, load *tir.BufferLoad) tir.Expr {
	n := l.storage[load.Buffer]
	if tir.SharesBytes(load.Buffer.DType) {
		l.fail("the address of an element of buffer %s of type %s: several elements share a byte where others see them: "+
			"pass the tensor, or store bytes",
			load.Buffer.Name, load.Buffer.DType)
		return e
	}
	indices := make([]tir.Expr, len(load.Indices))
	for i, x := range load.Indices {
		indices[i] = l.mutator.MutateExpr(x)
	}
	args := append([]tir.Expr{&tir.BufferLoad{Buffer: n.bytes, Indices: indices}}, e.Args[1:]...)
	return &tir.Call{Kind: e.Kind, Name: e.Name, Type: e.Type, Args: args}
}
