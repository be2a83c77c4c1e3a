package passes

import (
	"math"
	"slices"

	"tvmgo/graph"
)

// formulas are the rules of formulas that exporters write for an operator.
var formulas = []rewrite{activation, normalization, normScale, normBias}

// product is a constant times factors.
type product struct {
	c       float64
	factors []*graph.Value
}

// product returns the factors of a value, whose order does not matter: it looks through multiplications, divisions by
// constants, negations and small powers.
func (e *edit) product(v *graph.Value) product { return e.productOf(v, deepest) }

// deepest limits the nodes that product looks through, one behind the other: a value may have itself as a factor twice,
// and so on.
const deepest = 8

func (e *edit) productOf(v *graph.Value, depth int) product {
	one := product{1, []*graph.Value{v}}
	n := e.from(v, "mul", "div", "neg", "pow")
	if depth--; n == nil || !isFloat(v) || depth < 0 {
		return one
	}
	a := n.Inputs[0]
	if n.Op.Name == "neg" {
		p := e.productOf(a, depth)
		return product{-p.c, p.factors}
	}
	b := n.Inputs[1]
	c, known := number(b)
	switch {
	case n.Op.Name == "pow" && known && (c == 2 || c == 3):
		p := e.productOf(a, depth)
		if len(p.factors)*int(c) > 4 {
			return one
		}
		return product{math.Pow(p.c, c), slices.Repeat(p.factors, int(c))}
	case n.Op.Name == "pow", n.Op.Name == "div" && (!known || c == 0):
		return one
	case n.Op.Name == "div":
		p := e.productOf(a, depth)
		return product{p.c / c, p.factors}
	case known:
		p := e.productOf(a, depth)
		return product{p.c * c, p.factors}
	}
	if c, ok := number(a); ok {
		p := e.productOf(b, depth)
		return product{p.c * c, p.factors}
	}
	p, q := e.productOf(a, depth), e.productOf(b, depth)
	if len(p.factors)+len(q.factors) > 4 {
		return one
	}
	return product{p.c * q.c, append(slices.Clone(p.factors), q.factors...)}
}

// is reports whether a product is a constant times factors that are all the same value.
func (p product) is(c float64, x *graph.Value, times int) bool {
	other := func(v *graph.Value) bool { return v != x }
	return about(p.c, c) && len(p.factors) == times && !slices.ContainsFunc(p.factors, other)
}

// about compares constants that exporters write with a few digits.
func about(a, b float64) bool { return math.Abs(a-b) <= 1e-5*math.Abs(b) }

// plus returns the value to which a constant is added; nil if a value is no such sum.
func (e *edit) plus(v *graph.Value, c float64) *graph.Value {
	n := e.from(v, "add")
	if n == nil {
		return nil
	}
	for k := range 2 {
		if x, ok := number(n.Inputs[1-k]); ok && about(x, c) {
			return n.Inputs[k]
		}
	}
	return nil
}

// activation finds activations that are written as formulas.
func activation(e *edit) *graph.Value {
	if !e.is("mul", "div") || !isFloat(e.n.Outputs[0]) {
		return nil
	}
	p := e.product(e.n.Outputs[0])
	if len(p.factors) != 2 {
		return nil
	}
	for k, x := range p.factors {
		g := p.factors[1-k]
		switch {
		case about(p.c, 0.5):
			if v := e.gelu(x, e.plus(g, 1)); v != nil {
				return v
			}
		case about(p.c, 1.0/6):
			if n := e.from(g, "clip"); n != nil && e.plus(n.Inputs[0], 3) == x && isNumber(operand(n, 1), 0) &&
				isNumber(operand(n, 2), 6) {
				return e.add("hard_swish", nil, x)
			}
		case about(p.c, 1):
			if v := e.gated(x, g); v != nil {
				return v
			}
		}
	}
	return nil
}

func isNumber(v *graph.Value, c float64) bool {
	x, ok := number(v)
	return ok && x == c
}

// gelu returns gelu(x) if 0.5·x·(1 + h) is that.
func (e *edit) gelu(x, h *graph.Value) *graph.Value {
	if n := e.from(h, "erf"); n != nil && e.product(n.Inputs[0]).is(math.Sqrt(0.5), x, 1) {
		return e.add("gelu", nil, x)
	}
	n := e.from(h, "tanh")
	if n == nil {
		return nil
	}
	p := e.product(n.Inputs[0])
	if !about(p.c, math.Sqrt(2/math.Pi)) {
		return nil
	}
	const cubic = 0.044715
	switch last := len(p.factors) - 1; {
	case last == 0: // x + 0.044715·x³
		sum := e.from(p.factors[0], "add")
		for k := 0; sum != nil && k < 2; k++ {
			if sum.Inputs[k] == x && e.product(sum.Inputs[1-k]).is(cubic, x, 3) {
				return e.add("gelu", graph.Attrs{"approximate": "tanh"}, x)
			}
		}
	case last == 1: // x·(1 + 0.044715·x²)
		for k := range 2 {
			if rest := e.plus(p.factors[1-k], 1); p.factors[k] == x && rest != nil && e.product(rest).is(cubic, x, 2) {
				return e.add("gelu", graph.Attrs{"approximate": "tanh"}, x)
			}
		}
	}
	return nil
}

// gated returns an activation that is x·g.
func (e *edit) gated(x, g *graph.Value) *graph.Value {
	n := e.from(g, "sigmoid", "hard_sigmoid", "tanh")
	if n == nil {
		return nil
	}
	switch in := n.Inputs[0]; n.Op.Name {
	case "sigmoid":
		if p := e.product(in); len(p.factors) == 1 && p.factors[0] == x {
			return e.add("swish", graph.Attrs{"alpha": p.c}, x)
		}
	case "hard_sigmoid":
		if in == x && about(n.Attr("alpha").(float64), 1.0/6) && n.Attr("beta") == 0.5 {
			return e.add("hard_swish", nil, x)
		}
	case "tanh":
		if s := e.from(in, "softplus"); s != nil && s.Inputs[0] == x {
			return e.add("mish", nil, x)
		}
		if s := e.from(in, "log"); s != nil { // log(1 + exp(x))
			if p := e.from(e.plus(s.Inputs[0], 1), "exp"); p != nil && p.Inputs[0] == x {
				return e.add("mish", nil, x)
			}
		}
	}
	return nil
}
