package text

import (
	"maps"
	"slices"

	"tvmgo/dlpack"
	"tvmgo/tir"
	"tvmgo/tir/internal/form"
)

// parsed is an expression that was read, and the depth of its nesting.
type parsed struct {
	e      tir.Expr
	height int
}

var infixOps = func() map[string]tir.BinaryOp {
	all := map[string]tir.BinaryOp{}
	for _, name := range tir.Names[tir.BinaryOp]() {
		if op, _ := tir.ByName[tir.BinaryOp](name); precedence(op) != precPrimary {
			all[name] = op
		}
	}
	return all
}()

// deeper counts an expression that is begun; the caller decrements the count at its end.
func (p *parser) deeper() {
	p.exprs++
	if p.exprs > 2*form.MaxExprDepth {
		p.tooDeep(p.peek())
	}
}

func (p *parser) tooDeep(t token) {
	p.fail(t, "expressions are nested more than %d deep: use let", form.MaxExprDepth)
}

// node returns an expression that was made of parts; an error is reported at the token t.
func (p *parser) node(t token, e tir.Expr, err error, parts ...parsed) parsed {
	if err == nil {
		e, err = form.Made(e)
	}
	if err != nil {
		p.fail(t, "%v", err)
	}
	height := 0
	for _, x := range parts {
		height = max(height, x.height)
	}
	if height+1 > form.MaxExprDepth {
		p.tooDeep(t)
	}
	return parsed{e, height + 1}
}

func (p *parser) expr() parsed {
	p.deeper()
	defer func() { p.exprs-- }()
	if p.peek().isWord("let") {
		return p.let()
	}
	return p.infix(precOr)
}

func (p *parser) let() parsed {
	t := p.next()
	defer p.scope()()
	v, x := p.binding()
	p.wantWord("in", "after the value of a let expression")
	p.vars.bind(v.Name, v)
	body := p.expr()
	return p.node(t, &tir.Let{Var: v, Value: x.e, Body: body.e}, nil, x, body)
}

// binding reads "x = value"; x is not visible yet.
func (p *parser) binding() (*tir.Var, parsed) {
	name, at := p.name("a variable")
	typed, t := p.skip(":"), tir.Void
	if typed {
		t = p.typ()
	}
	p.want("=", "and a value after the variable")
	x := p.expr()
	if typed {
		x.e = asType(x.e, t)
		if found := x.e.DType(); found != t {
			p.fail(at, "variable %s is of type %s, and its value of type %s: cast the value", nameText(name), form.TypeText(t),
				form.TypeText(found))
		}
	}
	return tir.NewVar(name, x.e.DType()), x
}

// infix reads operands and the operators between them whose precedence is at least prec.
func (p *parser) infix(prec int) parsed {
	left := p.unary()
	compared := false
	for {
		t := p.peek()
		op, isOp := infixOps[t.text]
		if t.kind != tokenSign || !isOp || precedence(op) < prec {
			return left
		}
		if compared && op.IsComparison() {
			p.fail(t, "comparisons are not chained: put one of them in parentheses, or join two by &&")
		}
		compared = op.IsComparison()
		p.at++
		right := p.infix(precedence(op) + 1)
		left = p.node(t, tir.NewBinary(op, left.e, right.e), nil, left, right)
	}
}

func (p *parser) unary() parsed {
	t := p.peek()
	switch {
	case t.is("!"):
		p.at++
		p.deeper()
		x := p.unary()
		p.exprs--
		return p.node(t, tir.NewNot(x.e), nil, x)
	case t.is("-") && !startsNumber(p.ahead(1)):
		p.at++
		p.deeper()
		x := p.unary()
		p.exprs--
		return p.node(t, tir.Negate(x.e), nil, x)
	}
	return p.operand()
}

func (p *parser) operand() parsed {
	t := p.peek()
	switch {
	case t.is("("):
		p.at++
		x := p.expr()
		p.want(")", "after an expression")
		return x
	case t.is("-"), startsNumber(t):
		return p.constant(t)
	case t.isWord("true"), t.isWord("false"):
		p.at++
		return p.node(t, tir.BoolConst(t.text == "true"), nil)
	case t.kind == tokenText:
		p.at++
		return p.node(t, tir.Text(t.text), nil)
	case t.isWord("intrin"), t.isWord("extern"), t.isWord("packed"), t.isWord("func"):
		p.at++
		kind, _ := tir.ByName[tir.CallKind](t.text)
		return p.call(kind)
	case p.ahead(1).is("(") && (t.isName() || t.kind == tokenWord && isTypeName(t.text)):
		return p.named(t)
	case !t.isName():
		p.fail(t, "found %s, want an expression", t)
	case p.ahead(1).is("["):
		return p.indexed(t)
	}
	p.at++
	v, known := p.vars.lookup(t.text)
	if !known && p.free != nil {
		v = p.free(t.text)
		known = v != nil
	}
	if !known {
		if _, isBuffer := p.buffers.lookup(t.text); isBuffer {
			p.fail(t, "%s is a buffer: add indices, as in %s[0]", nameText(t.text), nameText(t.text))
		}
		p.fail(t, "there is no variable %s%s", nameText(t.text), didYouMean(t.text, p.vars.names()))
	}
	return p.node(t, v, nil)
}

// args reads expressions up to a closing bracket.
func (p *parser) args(end, of string) (list []parsed) {
	for !p.skip(end) {
		if len(list) > 0 {
			if t := p.peek(); !p.skip(",") {
				p.fail(t, "found %s, want \",\" or %q %s", t, end, of)
			}
		}
		list = append(list, p.expr())
	}
	return list
}

// exprsIn returns the expressions of parsed ones.
func exprsIn(all []parsed) []tir.Expr {
	list := make([]tir.Expr, len(all))
	for i, x := range all {
		list[i] = x.e
	}
	return list
}

// indexed reads an element of a buffer, or the call of an intrinsic with its type in brackets.
func (p *parser) indexed(t token) parsed {
	if p.ahead(2).kind == tokenWord && p.ahead(3).is("]") && p.ahead(4).is("(") {
		return p.call(tir.CallIntrinsic)
	}
	p.at += 2
	b, known := p.buffers.lookup(t.text)
	if !known {
		if _, isVar := p.vars.lookup(t.text); isVar {
			p.fail(t, "%s is a variable, not a buffer%s", nameText(t.text), didYouMean(t.text, p.buffers.names()))
		}
		p.fail(t, "there is no buffer %s%s", nameText(t.text), didYouMean(t.text, p.buffers.names()))
	}
	indices := p.args("]", "after an index")
	return p.node(t, tir.BufferAt(b, exprsIn(indices)...), nil, indices...)
}

// named reads an operand that begins with a word and has arguments in parentheses.
func (p *parser) named(t token) parsed {
	if t.kind == tokenWord && builtins[t.text] {
		return p.builtin()
	}
	if nt := genericType(t.text); nt != nil && t.kind == tokenWord {
		if nt.IsStmt {
			p.fail(t, "found statement %s, want an expression", t)
		}
		e, parts := p.generic(t, nt)
		return p.node(t, e.(tir.Expr), nil, parts...)
	}
	if _, known := tir.LookupIntrinsic(t.text); known || t.kind == tokenName {
		return p.call(tir.CallIntrinsic)
	}
	dt, err := dlpack.ParseDataType(t.text)
	if err == nil {
		err = tir.CheckType(dt)
	}
	if err != nil || dt == tir.Void {
		names := append(intrinsicNames(), slices.Collect(maps.Keys(builtins))...)
		p.fail(t, "there is no intrinsic %s%s; to call a C function, write extern %s(…)", form.Clip(t.text),
			didYouMeanWord(t.text, names), form.Clip(t.text))
	}
	p.at += 2
	after := 0
	if p.ahead(0).is("-") {
		after = 1
	}
	if startsNumber(p.ahead(after)) && (p.ahead(after+1).is(")") || p.ahead(after).isWord("nan")) {
		return p.typedConstant(t, dt)
	}
	x := p.expr()
	p.want(")", "after a value that is cast")
	return p.node(t, tir.NewExplicitCast(dt, x.e), nil, x)
}

// call reads a call, from its name on.
func (p *parser) call(kind tir.CallKind) parsed {
	t := p.peek()
	name, _ := p.name("what is called")
	typed, dt := p.skip("["), tir.Void
	if typed {
		dt = p.typ()
		p.want("]", "after a call's type")
	}
	p.want("(", "before the arguments of a call")
	args := p.args(")", "after an argument")
	if _, known := tir.LookupIntrinsic(name); kind == tir.CallIntrinsic && !known {
		p.fail(t, "there is no intrinsic %s%s", nameText(name), didYouMean(name, intrinsicNames()))
	}
	list := exprsIn(args)
	if !typed && kind == tir.CallIntrinsic {
		dt = intrinsicType(name, list)
	}
	return p.node(t, tir.NewCall(kind, dt, name, list...), nil, args...)
}

// builtin reads a node that is written like a call.
func (p *parser) builtin() parsed {
	t := p.next()
	p.want("(", "")
	comma := func() { p.want(",", "and the next argument of "+t.text) }
	end := func() { p.want(")", "after the arguments of "+t.text) }
	switch t.text {
	case "cast":
		dt := p.typ()
		comma()
		x := p.expr()
		end()
		return p.node(t, tir.NewExplicitCast(dt, x.e), nil, x)
	case "select":
		cond := p.expr()
		comma()
		then := p.expr()
		comma()
		other := p.expr()
		end()
		return p.node(t, tir.NewSelect(cond.e, then.e, other.e), nil, cond, then, other)
	case "ramp":
		base := p.expr()
		comma()
		stride := p.expr()
		comma()
		lanes := p.whole("the number of lanes")
		end()
		return p.node(t, tir.NewRamp(base.e, stride.e, lanes), nil, base, stride)
	case "broadcast":
		x := p.expr()
		comma()
		lanes := p.whole("the number of lanes")
		end()
		return p.node(t, tir.NewBroadcast(x.e, lanes), nil, x)
	case "shuffle":
		p.want("[", "before the vectors of a shuffle")
		vectors := p.args("]", "after a vector")
		comma()
		p.want("[", "before the indices of a shuffle")
		var indices []int
		for !p.skip("]") {
			if len(indices) > 0 {
				p.want(",", "or \"]\" after an index")
			}
			indices = append(indices, p.whole("an index"))
		}
		end()
		return p.node(t, tir.NewShuffle(exprsIn(vectors), indices), nil, vectors...)
	}
	a := p.expr()
	comma()
	b := p.expr()
	end()
	op, _ := tir.ByName[tir.BinaryOp](t.text)
	return p.node(t, tir.NewBinary(op, a.e, b.e), nil, a, b)
}

// asType converts a constant to another type if that can represent it, and broadcasts a scalar constant to a vector
// type.
func asType(e tir.Expr, t tir.Type) tir.Expr {
	if e.DType() == t {
		return e
	}
	if c := tir.ConstantAs(e, t); c != nil {
		return c
	}
	return e
}

func intrinsicNames() (names []string) {
	for _, in := range tir.Intrinsics() {
		names = append(names, in.Name)
	}
	return names
}
