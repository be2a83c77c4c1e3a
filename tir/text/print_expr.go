package text

import (
	"fmt"
	"strconv"

	"tvmgo/tir"
	"tvmgo/tir/internal/form"
)

// The precedence of operators, lowest first. Operators on one line associate to the left; comparisons are not chained.
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

// precedence returns the precedence of an operation; precPrimary if it is written as a call.
func precedence(op tir.BinaryOp) int {
	switch {
	case op == tir.OpOr:
		return precOr
	case op == tir.OpAnd:
		return precAnd
	case op.IsComparison():
		return precCompare
	case op == tir.OpAdd || op == tir.OpSub:
		return precAdd
	case op == tir.OpMul || op == tir.OpDiv || op == tir.OpMod:
		return precMul
	}
	return precPrimary
}

// expr prints an expression, in parentheses if its precedence is lower than prec.
func (p *writer) expr(e tir.Expr, prec int) {
	if tir.IsNil(e) {
		p.write("<nil>")
		return
	}
	switch e := e.(type) {
	case *tir.Binary:
		p.binary(e, prec)
	case *tir.Not:
		p.write("!")
		p.expr(e.A, precUnary)
	case *tir.Let:
		p.let(e, prec)
	case *tir.Var:
		p.write(p.varName(e))
	case *tir.IntImm:
		p.write(intText(e.Type, e.Value))
	case *tir.FloatImm:
		p.write(floatText(e.Type, e.Value))
	case *tir.StringImm:
		p.write(strconv.Quote(e.Value))
	case *tir.Select:
		p.call("select", e.Cond, e.Then, e.Else)
	case *tir.Cast:
		p.write("cast(", form.TypeText(e.Type), ", ")
		p.expr(e.Value, precLet)
		p.write(")")
	case *tir.BufferLoad:
		p.write(p.bufferName(e.Buffer))
		p.list("[", "]", e.Indices)
	case *tir.Ramp:
		p.write("ramp(")
		p.expr(e.Base, precLet)
		p.write(", ")
		p.expr(e.Stride, precLet)
		p.write(", ", strconv.Itoa(e.Lanes), ")")
	case *tir.Broadcast:
		p.write("broadcast(")
		p.expr(e.Value, precLet)
		p.write(", ", strconv.Itoa(e.Lanes), ")")
	case *tir.Shuffle:
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
	case *tir.Call:
		p.callNode(e)
	case *tir.ProducerLoad:
		name := "<nil>"
		if e.Producer != nil {
			name = e.Producer.ProducerName()
		}
		p.write("tensor ", nameText(name))
		p.list("[", "]", e.Indices)
	case *tir.Reduce:
		p.reduce(e)
	case *tir.Bad:
		p.write("<bad: ", fmt.Sprint(e.Err), ">")
	default:
		p.generic(e)
	}
}

func (p *writer) binary(e *tir.Binary, prec int) {
	own := precedence(e.Op)
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

func (p *writer) open(parentheses bool) {
	if parentheses {
		p.write("(")
	}
}

func (p *writer) close(parentheses bool) {
	if parentheses {
		p.write(")")
	}
}

func (p *writer) let(e *tir.Let, prec int) {
	p.open(prec > precLet)
	value, undo := p.binding(e.Var, e.Value)
	p.write("let ", value, " in ")
	p.expr(e.Body, precLet)
	undo()
	p.close(prec > precLet)
}

// binding returns "x = value", with x's type if it differs from that of the value. x is bound only after the value.
func (p *writer) binding(v *tir.Var, value tir.Expr) (text string, undo func()) {
	right := p.aside(func() { p.expr(value, precLet) })
	name, undo := p.bindVar(v)
	if tir.IsNil(value) || printedType(value) != typeOfVar(v) {
		name += ": " + form.TypeText(typeOfVar(v))
	}
	return name + " = " + right, undo
}

// list prints expressions between brackets.
func (p *writer) list(open, end string, all []tir.Expr) {
	p.write(open)
	for i, e := range all {
		if i > 0 {
			p.write(", ")
		}
		p.expr(e, precLet)
	}
	p.write(end)
}

func (p *writer) call(name string, args ...tir.Expr) {
	p.write(name)
	p.list("(", ")", args)
}

// callNode prints a call, with its type in brackets unless that follows from the arguments.
func (p *writer) callNode(e *tir.Call) {
	inferred := tir.Void
	switch {
	case e.Kind == tir.CallIntrinsic:
		inferred = intrinsicType(e.Name, e.Args)
		if !isPlainName(e.Name) || builtins[e.Name] {
			p.write(e.Kind.String(), " ")
		}
	default:
		p.write(e.Kind.String(), " ")
	}
	p.write(nameText(e.Name))
	if e.Type != inferred {
		p.write("[", form.TypeText(e.Type), "]")
	}
	p.list("(", ")", e.Args)
}

// builtins are the nodes that are written like calls.
var builtins = map[string]bool{"select": true, "cast": true, "ramp": true, "broadcast": true, "shuffle": true,
	"floordiv": true, "floormod": true, "min": true, "max": true}

// intrinsicType returns the type of an intrinsic's call without an explicit type, as [Intrin] determines it.
func intrinsicType(name string, args []tir.Expr) tir.Type {
	if len(args) == 0 {
		return tir.Void
	}
	return tir.IntrinsicType(name, printedType(args[len(args)-1]))
}

// reduce prints a reduction, for people only.
func (p *writer) reduce(e *tir.Reduce) {
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
		for i, v := range append(append([]*tir.Var{}, c.Left...), c.Right...) {
			if i > 0 {
				p.write(", ")
			}
			p.write(p.varName(v))
		}
		p.write(") => ")
		p.list("[", "]", c.Results)
		p.list(" from [", "]", c.Identity)
	}
	if !tir.IsNil(e.Cond) {
		p.write(", where ")
		p.expr(e.Cond, precLet)
	}
	p.write(")[", strconv.Itoa(e.Value), "]")
}
