package pack

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"tvmgo/codegen/abi"
)

// Expr is an integer expression over integer parameters and names of dimensions.
type Expr struct {
	Op    string // "" for a number or a name; "+", "-", "*", "/", "%", "ceildiv", "min", "max"
	Value int64
	Name  string
	Args  []*Expr
}

// precedence of the operators that are written between their arguments.
var precedence = map[string]int{"+": 1, "-": 1, "*": 2, "/": 2, "%": 2}

// functionNames of expressions, of two arguments each.
var functionNames = []string{"ceildiv", "min", "max"}

func isFunctionName(word string) bool {
	return slices.Contains(functionNames, word)
}

// String returns the expression with only the necessary parentheses.
func (e *Expr) String() string {
	switch {
	case e.Op == "" && e.Name != "":
		return e.Name
	case e.Op == "":
		return strconv.FormatInt(e.Value, 10)
	case precedence[e.Op] == 0:
		return fmt.Sprintf("%s(%v, %v)", e.Op, e.Args[0], e.Args[1])
	}
	own := precedence[e.Op]
	return fmt.Sprintf("%s%s%s", e.Args[0].inside(own), e.Op, e.Args[1].inside(own+1))
}

// inside returns the text of an operand of an operator with this precedence.
func (e *Expr) inside(binding int) string {
	if own := precedence[e.Op]; own != 0 && own < binding {
		return "(" + e.String() + ")"
	}
	return e.String()
}

// c returns the expression in C. Variables get a prefix. The functions that it calls are snippets; on failure they set
// bits of the variable wrong.
func (e *Expr) c(prefix string, need *abi.Set) string {
	name, known := map[string]string{"+": "add", "-": "sub", "*": "mul", "/": "div", "%": "mod"}[e.Op]
	switch {
	case e.Op == "" && e.Name != "":
		return prefix + e.Name
	case e.Op == "":
		return fmt.Sprintf("INT64_C(%d)", e.Value)
	case !known:
		name = e.Op
	}
	need.Add(name)
	return fmt.Sprintf("tvmgo_%s(%s, %s, &wrong)", name, e.Args[0].c(prefix, need), e.Args[1].c(prefix, need))
}

// maxDepth is the largest nesting depth of an expression.
const maxDepth = 64

// expression parses operators of at least this precedence.
func (p *parser) expression(binding, depth int) (*Expr, error) {
	if depth > maxDepth {
		return nil, p.fail("the expression nests too deep")
	}
	left, err := p.operand(depth)
	if err != nil {
		return nil, err
	}
	for terms := 0; ; terms++ {
		own := precedence[p.next.text]
		if p.next.kind != signToken || own < binding || own == 0 {
			return left, nil
		}
		if terms > maxDepth {
			return nil, p.fail("the expression has too many terms")
		}
		op, err := p.take()
		if err != nil {
			return nil, err
		}
		at := p.next.at
		right, err := p.expression(own+1, depth+1)
		if err != nil {
			return nil, err
		}
		left = &Expr{Op: op.text, Args: []*Expr{left, right}}
		if err := p.checkConstant(left, at); err != nil {
			return nil, err
		}
	}
}

func (p *parser) operand(depth int) (*Expr, error) {
	switch {
	case p.next.kind == numberToken:
		n, err := p.number()
		return &Expr{Value: n}, err
	case p.is("("):
		if _, err := p.take(); err != nil {
			return nil, err
		}
		e, err := p.expression(1, depth+1)
		if err != nil {
			return nil, err
		}
		return e, p.expect(")", "after the expression")
	case p.next.kind == wordToken && isFunctionName(p.next.text):
		return p.functionCall(depth)
	case p.next.kind == wordToken:
		if !p.integers[p.next.text] {
			return nil, p.fail("%q is neither an integer parameter nor a dimension of a tensor%s", p.next.text, p.known())
		}
		t, err := p.take()
		return &Expr{Name: t.text}, err
	}
	return nil, p.fail("expected a number, a name or (, got %v", p.next)
}

func (p *parser) functionCall(depth int) (*Expr, error) {
	name, err := p.take()
	if err != nil {
		return nil, err
	}
	e, at := &Expr{Op: name.text, Args: make([]*Expr, 2)}, 0
	for i, sign := range []string{"(", ","} {
		if err := p.expect(sign, "in "+name.text+"(a, b)"); err != nil {
			return nil, err
		}
		at = p.next.at
		if e.Args[i], err = p.expression(1, depth+1); err != nil {
			return nil, err
		}
	}
	if err := p.expect(")", "after the arguments of "+name.text); err != nil {
		return nil, err
	}
	return e, p.checkConstant(e, at)
}

// checkConstant returns an error for an expression that fails for all values of its names. at is the position of its
// second operand.
func (p *parser) checkConstant(e *Expr, at int) error {
	_, _, wrong := e.constant()
	if wrong != "" {
		return p.failAt(at, "%v %s whenever the function is called", e, wrong)
	}
	return nil
}

// constant returns the value of an expression that depends on no name; if it has no value, wrong is the reason.
func (e *Expr) constant() (value int64, known bool, wrong string) {
	if e.Op == "" {
		return e.Value, e.Name == "", ""
	}
	a, hasA, wrong := e.Args[0].constant()
	if wrong != "" {
		return 0, false, wrong
	}
	b, hasB, wrong := e.Args[1].constant()
	divides := e.Op == "/" || e.Op == "%" || e.Op == "ceildiv"
	switch {
	case wrong != "":
		return 0, false, wrong
	case divides && hasB && b == 0:
		return 0, false, "divides by zero"
	case e.Op == "*" && (hasA && a == 0 || hasB && b == 0):
		return 0, true, ""
	case !hasA || !hasB:
		return 0, false, ""
	}
	x, y, z := big.NewInt(a), big.NewInt(b), new(big.Int)
	switch e.Op {
	case "+":
		z.Add(x, y)
	case "-":
		z.Sub(x, y)
	case "*":
		z.Mul(x, y)
	case "/":
		z.Quo(x, y)
	case "%":
		z.Rem(x, y)
	case "ceildiv":
		rest := new(big.Int)
		if z.QuoRem(x, y, rest); rest.Sign()*y.Sign() > 0 {
			z.Add(z, big.NewInt(1))
		}
	case "min":
		z.SetInt64(min(a, b))
	case "max":
		z.SetInt64(max(a, b))
	}
	if !z.IsInt64() {
		return 0, false, "does not fit 64 bits"
	}
	return z.Int64(), true, ""
}

func (p *parser) number() (int64, error) {
	n, err := strconv.ParseInt(p.next.text, 10, 64)
	if err != nil {
		return 0, p.fail("%q is no integer of 64 bits", p.next.text)
	}
	_, err = p.take()
	return n, err
}

// known lists the names that an expression may use.
func (p *parser) known() string {
	if len(p.integerOrder) == 0 {
		return ": there are none; give dimensions names, as in a: float32[n]"
	}
	return "; there is: " + strings.Join(p.integerOrder, ", ")
}
