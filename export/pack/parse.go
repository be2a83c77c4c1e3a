package pack

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tvmgo/dlpack"
)

// maxParams bounds how many parameters a function has.
const maxParams = 256

// parser reads a signature.
type parser struct {
	*lexer
	sig          *Signature
	integers     map[string]bool // that an expression may use
	integerOrder []string
	later        []laterName
}

// laterName is the name of a dimension that is checked after all parameters are known.
type laterName struct {
	name string
	at   int
}

// ParseSignature parses a signature. Every error is a *SignatureError.
func ParseSignature(text string) (*Signature, error) {
	l, err := newLexer(text)
	if err != nil {
		return nil, err
	}
	p := &parser{lexer: l, sig: &Signature{}, integers: map[string]bool{}}
	if err := p.signature(); err != nil {
		return nil, err
	}
	return p.sig, nil
}

func (p *parser) signature() error {
	var err error
	if p.sig.Name, err = p.functionName("the name of the function"); err != nil {
		return err
	}
	p.sig.Symbol = p.sig.Name
	renamed, err := p.accept("=")
	if err != nil {
		return err
	}
	if renamed {
		if p.sig.Symbol, err = p.functionName("the name of the kernel"); err != nil {
			return err
		}
	}
	if err := p.params(); err != nil {
		return err
	}
	launches, err := p.accept("launch")
	if err != nil {
		return err
	}
	if launches {
		return p.launch()
	}
	if p.next.kind != endToken {
		return p.fail(`expected "launch" or the end, got %v`, p.next)
	}
	return nil
}

// reserved are the keywords of C, which are not allowed as names of kernels.
var reserved = strings.Fields(`
	auto break case char const continue default do double else enum extern float for goto if inline int long register
	restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
	_Alignas _Alignof _Atomic _Bool _Complex _Generic _Imaginary _Noreturn _Static_assert _Thread_local`)

func (p *parser) functionName(what string) (string, error) {
	name := p.next.text
	switch {
	case p.next.kind == numberToken:
		return "", p.fail("%q can't be %s: a C identifier does not begin with a digit", name, what)
	case p.next.kind != wordToken:
		return "", p.fail("expected %s, got %v", what, p.next)
	case strings.Contains(name, "."):
		return "", p.fail("%q can't be %s: a C identifier has letters, digits and _ alone", name, what)
	case slices.Contains(reserved, name):
		return "", p.fail("%q can't be %s: it is a word of C", name, what)
	case strings.HasPrefix(name, "__") || strings.HasPrefix(name, "tvmgo_") || strings.HasPrefix(name, "TVM") ||
		strings.HasPrefix(name, "_metadata_") ||
		strings.HasPrefix(name, "_doc_") || strings.HasPrefix(name, "_library_") || strings.HasPrefix(name, "_tvmgo_"):
		return "", p.fail("%q can't be %s: names that begin so are the runtime's", name, what)
	}
	_, err := p.take()
	return name, err
}

func (p *parser) params() error {
	if err := p.expect("(", "and the parameters"); err != nil {
		return err
	}
	for first := true; !p.is(")"); first = false {
		if !first {
			if err := p.expect(",", `or ")" after a parameter`); err != nil {
				return err
			}
		}
		if len(p.sig.Params) == maxParams {
			return p.fail("there are more than %d parameters", maxParams)
		}
		if err := p.param(); err != nil {
			return err
		}
	}
	for _, l := range p.later {
		if slices.ContainsFunc(p.sig.Params, func(q Param) bool { return q.Name == l.name && !isInteger(&q) }) {
			return p.failAt(l.at, "%q is a parameter that is no integer, and can't be a dimension", l.name)
		}
		p.addInteger(l.name)
	}
	_, err := p.take()
	return err
}

func (p *parser) addInteger(name string) {
	if !p.integers[name] {
		p.integers[name], p.integerOrder = true, append(p.integerOrder, name)
	}
}

func isInteger(q *Param) bool {
	return !q.Tensor && (q.Type.Code == dlpack.CodeInt || q.Type.Code == dlpack.CodeUInt)
}

func (p *parser) param() error {
	var q Param
	if p.next.kind == wordToken && strings.HasPrefix(strings.TrimLeft(p.text[p.next.at+len(p.next.text):], " \t\r\n"),
		":") {
		if err := p.paramName(&q); err != nil {
			return err
		}
	}
	at, err := p.markers(&q)
	if err != nil {
		return err
	}
	if err := p.paramType(&q); err != nil {
		return err
	}
	if at >= 0 && !q.Tensor {
		return p.failAt(at, "only a tensor can be %q", p.text[at:at+strings.IndexAny(p.text[at:]+" ", " \t\r\n")])
	}
	if isInteger(&q) && q.Name != "" {
		p.addInteger(q.Name)
	}
	p.sig.Params = append(p.sig.Params, q)
	return nil
}

func (p *parser) paramName(q *Param) error {
	name := p.next.text
	switch {
	case strings.Contains(name, "."):
		return p.fail("%q can't be the name of a parameter: use letters, digits and _", name)
	case isFunctionName(name):
		return p.fail("%q can't be the name of a parameter: it is a function of expressions", name)
	case name == "_":
		return p.fail("_ stands for any dimension, and can't be the name of a parameter")
	case slices.ContainsFunc(p.sig.Params, func(other Param) bool { return other.Name == name }):
		return p.fail("there are two parameters %q", name)
	}
	q.Name = name
	if _, err := p.take(); err != nil {
		return err
	}
	_, err := p.take() // the colon
	return err
}

// markers reads the words before a type, and returns where the first one is, -1 for none.
func (p *parser) markers(q *Param) (first int, err error) {
	first = -1
	for {
		i := slices.IndexFunc(markers, func(m struct {
			word  string
			set   func(*Param)
			isSet func(*Param) bool
		}) bool {
			return p.is(m.word)
		})
		if i < 0 {
			return first, nil
		}
		switch word := markers[i].word; {
		case markers[i].isSet(q):
			return 0, p.fail("%q occurs twice", word)
		case (word == "out" || word == "inout") && (q.Role != Unspecified || q.Const), word == "const" &&
			q.Role != Unspecified:
			return 0, p.fail("a parameter can be one of const, out and inout")
		}
		markers[i].set(q)
		if first < 0 {
			first = p.next.at
		}
		if _, err := p.take(); err != nil {
			return 0, err
		}
	}
}

// scalars are the types of scalar parameters.
var scalars = []dlpack.DataType{dlpack.Bool, dlpack.Int8, dlpack.Int16, dlpack.Int32, dlpack.Int64, dlpack.UInt8,
	dlpack.UInt16,
	dlpack.UInt32, dlpack.UInt64, dlpack.Float32, dlpack.Float64}

func (p *parser) paramType(q *Param) error {
	if p.next.kind != wordToken {
		return p.fail("expected the type of a parameter, got %v", p.next)
	}
	at, word := p.next.at, p.next.text
	if word == "handle" {
		q.Tensor, q.Any = true, true
		_, err := p.take()
		if err == nil && p.is("[") {
			return p.fail("a handle is a tensor of any shape: write a type such as float32 to say more")
		}
		return err
	}
	var err error
	if q.Type, err = dlpack.ParseDataType(word); err != nil || q.Type.IsVoid() || strings.HasPrefix(word, "handle") ||
		!hasWidth(q.Type) {
		return p.fail("%q is no type: write handle, or one such as float32 or int64%s", word, p.hint(word))
	}
	if _, err := p.take(); err != nil {
		return err
	}
	if p.is("[") {
		q.Tensor = true
		return p.dims(q)
	}
	if !slices.Contains(scalars, q.Type) {
		return p.failAt(at, "a scalar can't be %s: it can be bool, an int or uint of 8, 16, 32 or 64 bits, float32 or "+
			"float64; a tensor has "+
			"its dimensions after the type, as in %s[n]", word, word)
	}
	return nil
}

// hasWidth reports whether a type has a usual number of bits, so that a misspelled float32 is an error.
func hasWidth(t dlpack.DataType) bool {
	switch t.Code {
	case dlpack.CodeFloat:
		return slices.Contains([]uint8{16, 32, 64}, t.Bits)
	case dlpack.CodeInt, dlpack.CodeUInt:
		return slices.Contains([]uint8{1, 2, 4, 8, 16, 32, 64}, t.Bits)
	case dlpack.CodeBFloat:
		return t.Bits == 16
	}
	return true
}

// hint returns advice for users who omit the colon after a name, or write types of C.
func (p *parser) hint(word string) string {
	rest := strings.TrimLeft(p.text[p.next.at+len(word):], " \t")
	switch {
	case slices.Contains([]string{"float", "double", "int", "long", "char", "short", "unsigned", "int32_t", "int64_t",
		"size_t"}, word):
		return "; types are written as in NumPy"
	case rest != "" && isLetter(rest[0]):
		return fmt.Sprintf("; if it is a name, put a colon behind it, else one of %s may stand before a type", markerNames())
	}
	return ""
}

func (p *parser) dims(q *Param) error {
	const maxDims = 32
	if _, err := p.take(); err != nil {
		return err
	}
	q.Dims = []Dim{}
	for first := true; !p.is("]"); first = false {
		if !first {
			if err := p.expect(",", `or "]" after a dimension`); err != nil {
				return err
			}
		}
		var d Dim
		var err error
		switch {
		case len(q.Dims) == maxDims:
			return p.fail("there are more than %d dimensions", maxDims)
		case p.next.kind == numberToken:
			d.Size, err = p.number()
		case p.is("_"):
			d.Any = true
			_, err = p.take()
		case p.next.kind == wordToken && strings.Contains(p.next.text, "."), p.next.kind == wordToken &&
			isFunctionName(p.next.text):
			return p.fail("%q can't be the name of a dimension", p.next.text)
		case p.next.kind == wordToken:
			d.Name = p.next.text
			p.later = append(p.later, laterName{d.Name, p.next.at})
			_, err = p.take()
		default:
			return p.fail("expected a dimension (a number, a name, or _ for any), got %v", p.next)
		}
		if err != nil {
			return err
		}
		q.Dims = append(q.Dims, d)
	}
	_, err := p.take()
	return err
}

func (p *parser) launch() error {
	for first := true; ; first = false {
		if !first {
			more, err := p.accept(",")
			if err != nil {
				return err
			}
			if !more {
				break
			}
		}
		if err := p.launchTag(); err != nil {
			return err
		}
	}
	if p.next.kind != endToken {
		return p.fail(`expected "=", "," or the end after a launch parameter, got %v`, p.next)
	}
	return nil
}

func (p *parser) launchTag() error {
	tag, known := tags[p.next.text]
	switch {
	case p.next.kind != wordToken:
		return p.fail("expected a launch parameter, got %v: they are %s", p.next, tagNames)
	case !known:
		return p.fail("%q is no launch parameter: they are %s", p.next.text, tagNames)
	case slices.ContainsFunc(p.sig.Launch, func(l Launch) bool { return l.Tag == tag }):
		return p.fail("%s occurs twice", p.next.text)
	case len(p.sig.Launch) > 0 && p.sig.Launch[len(p.sig.Launch)-1].Tag == dynamicShared:
		return p.fail("the bytes of dynamic shared memory must be the last launch parameter")
	}
	if _, err := p.take(); err != nil {
		return err
	}
	l := Launch{Tag: tag}
	computed, err := p.accept("=")
	if err != nil {
		return err
	}
	if computed {
		at := p.next.at
		if l.Expr, err = p.expression(1, 0); err != nil {
			return err
		}
		if n, known, _ := l.Expr.constant(); known && (n < 0 || n > math.MaxUint32) {
			return p.failAt(at, "%s is always %d: an extent is from 0 to %d", tag, n, uint32(math.MaxUint32))
		}
	}
	p.sig.Launch = append(p.sig.Launch, l)
	return nil
}
