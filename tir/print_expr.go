package tir

import (
	"fmt"
	"strconv"
)

// How tightly operators bind, loosest first. Of one line, the left ones come first; comparisons are not chained.
const (
	precLet = iota
	precOr
	precAnd
	precCompare
	precAdd
	precMul
	precUnary
	precPrimary
)

// precedence is how tightly an operation binds; precPrimary if it is written as a call.
func (op BinaryOp) precedence() int {
	switch {
	case op == OpOr:
		return precOr
	case op == OpAnd:
		return precAnd
	case op.IsComparison():
		return precCompare
	case op == OpAdd || op == OpSub:
		return precAdd
	case op == OpMul || op == OpDiv || op == OpMod:
		return precMul
	}
	return precPrimary
}

// expr writes an expression where nothing looser than prec may stand without parentheses.
func (p *printer) expr(e Expr, prec int) {
	if isNil(e) {
		p.write("<nil>")
		return
	}
	switch e := e.(type) {
	case *Binary:
		p.binary(e, prec)
	case *Not:
		p.write("!")
		p.expr(e.A, precUnary)
	case *Let:
		p.let(e, prec)
	case *Var:
		p.write(p.varName(e))
	case *IntImm:
		p.write(intText(e.Type, e.Value))
	case *FloatImm:
		p.write(floatText(e.Type, e.Value))
	case *StringImm:
		p.write(strconv.Quote(e.Value))
	case *Select:
		p.call("select", e.Cond, e.Then, e.Else)
	case *Cast:
		p.write("cast(", typeText(e.Type), ", ")
		p.expr(e.Value, precLet)
		p.write(")")
	case *BufferLoad:
		p.write(p.bufferName(e.Buffer))
		p.list("[", "]", e.Indices)
	case *Ramp:
		p.write("ramp(")
		p.expr(e.Base, precLet)
		p.write(", ")
		p.expr(e.Stride, precLet)
		p.write(", ", strconv.Itoa(e.Lanes), ")")
	case *Broadcast:
		p.write("broadcast(")
		p.expr(e.Value, precLet)
		p.write(", ", strconv.Itoa(e.Lanes), ")")
	case *Shuffle:
		p.write("shuffle(")
		p.list("[", "]", e.Vectors)
		p.write(", [")
		for i, x := range e.Indices {
			if i > 0 {
				p.write(", ")
			}
			p.write(strconv.Itoa(x))
		}
		p.write("])")
	case *Call:
		p.callNode(e)
	case *ProducerLoad:
		name := "<nil>"
		if e.Producer != nil {
			name = e.Producer.ProducerName()
		}
		p.write("tensor ", nameText(name))
		p.list("[", "]", e.Indices)
	case *Reduce:
		p.reduce(e)
	case *Bad:
		p.write("<bad: ", fmt.Sprint(e.Err), ">")
	default:
		p.write(fmt.Sprintf("<%T>", e))
	}
}

func (p *printer) binary(e *Binary, prec int) {
	own := e.Op.precedence()
	if own == precPrimary {
		p.call(e.Op.String(), e.A, e.B)
		return
	}
	left := own
	if own == precCompare {
		left++
	}
	p.open(own < prec)
	p.expr(e.A, left)
	p.write(" ", e.Op.String(), " ")
	p.expr(e.B, own+1)
	p.close(own < prec)
}

func (p *printer) open(parentheses bool) {
	if parentheses {
		p.write("(")
	}
}

func (p *printer) close(parentheses bool) {
	if parentheses {
		p.write(")")
	}
}

func (p *printer) let(e *Let, prec int) {
	p.open(prec > precLet)
	value, undo := p.binding(e.Var, e.Value)
	p.write("let ", value, " in ")
	p.expr(e.Body, precLet)
	undo()
	p.close(prec > precLet)
}

// binding is "x = value", with x's type where that is not the value's. x is bound only after it.
func (p *printer) binding(v *Var, value Expr) (text string, undo func()) {
	right := p.aside(func() { p.expr(value, precLet) })
	name, undo := p.bindVar(v)
	if isNil(value) || printedType(value) != varType(v) {
		name += ": " + typeText(varType(v))
	}
	return name + " = " + right, undo
}

// list writes expressions between brackets.
func (p *printer) list(open, end string, all []Expr) {
	p.write(open)
	for i, e := range all {
		if i > 0 {
			p.write(", ")
		}
		p.expr(e, precLet)
	}
	p.write(end)
}

func (p *printer) call(name string, args ...Expr) {
	p.write(name)
	p.list("(", ")", args)
}

// callNode writes a call: its type stands in brackets where it is not the one that the arguments give.
func (p *printer) callNode(e *Call) {
	inferred := Void
	switch {
	case e.Kind == CallIntrinsic:
		inferred = intrinsicType(e.Name, e.Args)
		if !isPlainName(e.Name) || builtins[e.Name] {
			p.write(e.Kind.String(), " ")
		}
	default:
		p.write(e.Kind.String(), " ")
	}
	p.write(nameText(e.Name))
	if e.Type != inferred {
		p.write("[", typeText(e.Type), "]")
	}
	p.list("(", ")", e.Args)
}

// builtins are the words that are written as calls, and are none.
var builtins = map[string]bool{"select": true, "cast": true, "ramp": true, "broadcast": true, "shuffle": true,
	"floordiv": true, "floormod": true, "min": true, "max": true}

// intrinsicType is the type that an intrinsic's call has where none is said, as [Intrin] has it.
func intrinsicType(name string, args []Expr) Type {
	if len(args) == 0 {
		return Void
	}
	t := printedType(args[len(args)-1])
	switch name {
	case "isnan", "isinf", "isfinite":
		return Vector(Bool, int(t.Lanes))
	}
	return t
}

// reduce writes a reduction for people.
func (p *printer) reduce(e *Reduce) {
	p.write("reduce(")
	p.list("[", "]", e.Sources)
	p.write(", over [")
	for i, x := range e.Axes {
		if i > 0 {
			p.write(", ")
		}
		p.iter(x)
	}
	p.write("]")
	if c := e.Combiner; c != nil {
		p.write(", by (")
		for i, v := range append(append([]*Var{}, c.Left...), c.Right...) {
			if i > 0 {
				p.write(", ")
			}
			p.write(p.varName(v))
		}
		p.write(") => ")
		p.list("[", "]", c.Results)
		p.list(" from [", "]", c.Identity)
	}
	if !isNil(e.Cond) {
		p.write(", where ")
		p.expr(e.Cond, precLet)
	}
	p.write(")[", strconv.Itoa(e.Value), "]")
}
