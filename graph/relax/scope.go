package relax

import (
	"errors"
	"fmt"

	"tvmgo/graph"
	"tvmgo/internal/relaxjson"
	"tvmgo/internal/tvmnodes"
	"tvmgo/tir"
	"tvmgo/tir/arith"
)

// value is what an expression is: *graph.Value, shape, scalar, tuple, text, tir.Type, or *closure.
type value any

type (
	shape   []tir.Expr              // a shape as a value; sizes of type int32
	scalar  struct{ expr tir.Expr } // a number: a size of type int32, or a constant
	tuple   []value                 // values
	text    string                  // text
	closure struct {                // a function that is a value
		fn    *relaxjson.Function
		scope *scope
	}
)

// failure is the panic by which conversion ends.
type failure struct{ err error }

func fail(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

// check ends conversion if there is an error.
func check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// placed is an error that names its place already, as those of nodes of package graph do.
type placed struct{ error }

func (p placed) Unwrap() error { return p.error }

// added returns what a function of package graph returns that adds nodes.
func added[T any](v T, err error) T {
	if err != nil {
		panic(failure{placed{err}})
	}
	return v
}

// at names the place of an error, unless it has one.
func at(where string, err error) error {
	if p := (placed{}); errors.As(err, &p) {
		return err
	}
	return placed{fmt.Errorf("%s: %w", where, err)}
}

// catch sets an error if conversion ended by fail, by a wrong attribute, or because a rule does not expect the
// operands: input must not end the process.
func catch(err *error, wrap func(error) error) {
	p := recover()
	if p == nil {
		return
	}
	if f, ok := p.(failure); ok {
		*err = wrap(f.err)
		return
	}
	var e error
	func() {
		defer func() {
			if q := recover(); q != nil {
				e = fmt.Errorf("%v: check the numbers and types of the operands, and the attributes", q)
			}
		}()
		defer tvmnodes.Catch(&e)
		panic(p)
	}()
	*err = wrap(e)
}

// scope holds what variables stand for.
type scope struct {
	outer    *scope
	fn       *graph.Function // that nodes are added to
	function string          // the name of the Relax function, for errors
	values   map[*relaxjson.Var]value
	sizes    map[*tir.Var]tir.Expr // of type int32
}

func newScope(outer *scope, fn *graph.Function, function string) *scope {
	return &scope{outer, fn, function, map[*relaxjson.Var]value{}, map[*tir.Var]tir.Expr{}}
}

func (s *scope) find(v *relaxjson.Var) value {
	for ; s != nil; s = s.outer {
		if x, ok := s.values[v]; ok {
			return x
		}
	}
	return nil
}

func (s *scope) sizeOf(v *tir.Var) tir.Expr {
	for ; s != nil; s = s.outer {
		if e, ok := s.sizes[v]; ok {
			return e
		}
	}
	return nil
}

// size returns a size of the module as one of the graph.
func (s *scope) size(e tir.Expr) tir.Expr {
	if bad, ok := e.(*tir.Bad); ok {
		fail("a size: %w", bad.Err)
	}
	if !tir.IsInt(e.DType()) {
		fail("a size is of type %s: want an integer", e.DType())
	}
	known := map[*tir.Var]tir.Expr{}
	tir.Walk(e, func(n any) bool {
		if v, ok := n.(*tir.Var); ok && known[v] == nil {
			at := s.sizeOf(v)
			if at == nil {
				fail("size %s is not known here: no shape defines it before", v.Name)
			}
			known[v] = tir.NewCast(v.Type, at)
		}
		return true
	})
	return graph.Size(arith.NewAnalyzer().Simplify(tir.Substitute(e, known)))
}

func (s *scope) sizesOf(dims []tir.Expr) shape {
	out := make(shape, len(dims))
	for d, e := range dims {
		out[d] = s.size(e)
	}
	return out
}

// number returns a scalar of the module.
func (s *scope) number(e tir.Expr) scalar {
	if _, ok := e.(*tir.FloatImm); ok || tir.IsBool(e.DType()) {
		return scalar{e}
	}
	if c, ok := e.(*tir.IntImm); ok {
		return scalar{c}
	}
	return scalar{s.size(e)}
}

// define gives variables of declared sizes, which are not known yet, the sizes that a value has, and returns the
// declared sizes. It ends the conversion if they certainly differ.
func (s *scope) define(declared []tir.Expr, actual []tir.Expr) shape {
	if len(declared) != len(actual) {
		fail("%d dimensions are declared, and the value has %d", len(declared), len(actual))
	}
	for d, e := range declared {
		if v, ok := e.(*tir.Var); ok && s.sizeOf(v) == nil {
			s.sizes[v] = actual[d]
		}
	}
	want := s.sizesOf(declared)
	for d := range want {
		m, ok1 := tir.IntValue(want[d])
		n, ok2 := tir.IntValue(actual[d])
		if ok1 && ok2 && m != n {
			fail("dimension %d is declared as %d, and is %d", d, m, n)
		}
	}
	return want
}

// bind makes a variable stand for a value.
func (i *importer) bind(s *scope, v *relaxjson.Var, x value) {
	if t, ok := x.(*graph.Value); ok && t.Name == "" && t.Node != nil {
		t.Name = v.Name
	}
	s.values[v] = x
	size, ok := v.Size.(*tir.Var)
	if !ok {
		return
	}
	if n, ok := x.(scalar); ok {
		s.sizes[size] = graph.Size(n.expr)
	}
}

// matches reports whether two shapes are certainly equal.
func matches(a, b []tir.Expr) bool {
	if len(a) != len(b) {
		return false
	}
	for d := range a {
		if !arith.ProveEqual(a[d], b[d]) {
			return false
		}
	}
	return true
}

// accept returns a value that has to be of a type, with the sizes of the type. Variables of the type that are not known
// yet get the sizes of the value.
func (i *importer) accept(s *scope, x value, t relaxjson.Type) value {
	switch t := t.(type) {
	case *relaxjson.TensorType:
		v, ok := x.(*graph.Value)
		if !ok {
			fail("the value is %s: want a tensor", kindOf(x))
		}
		if t.DType != tir.Void && t.DType != v.DType {
			fail("the value has elements of type %s: want %s", v.DType, t.DType)
		}
		if t.NDim >= 0 && t.NDim != len(v.Shape) {
			fail("the value has %d dimensions: want %d", len(v.Shape), t.NDim)
		}
		if t.Dims == nil {
			return v
		}
		if want := s.define(t.Dims, v.Shape); !matches(want, v.Shape) {
			return i.reshape(s, v, want)
		}
		return v
	case *relaxjson.ShapeType:
		v, ok := x.(shape)
		if !ok {
			fail("the value is %s: want a shape", kindOf(x))
		}
		if t.NDim >= 0 && t.NDim != len(v) {
			fail("the shape has %d sizes: want %d", len(v), t.NDim)
		}
		if t.Dims == nil {
			return v
		}
		return s.define(t.Dims, v)
	case *relaxjson.TupleType:
		v, ok := x.(tuple)
		if !ok || len(v) != len(t.Fields) {
			fail("the value is %s: want a tuple of %d", kindOf(x), len(t.Fields))
		}
		out := make(tuple, len(v))
		for k := range v {
			out[k] = i.accept(s, v[k], t.Fields[k])
		}
		return out
	case *relaxjson.PrimType:
		if v, ok := x.(scalar); ok && t.Value != nil && tir.IsInt(t.DType) {
			s.define([]tir.Expr{t.Value}, []tir.Expr{graph.Size(v.expr)})
		}
	}
	return x
}

// kindOf names a value in errors.
func kindOf(x value) string {
	switch x := x.(type) {
	case *graph.Value:
		return "a tensor"
	case shape:
		return "a shape"
	case scalar:
		return "a scalar"
	case tuple:
		return fmt.Sprintf("a tuple of %d", len(x))
	case text:
		return "a text"
	case tir.Type:
		return "a type"
	case *closure:
		return "a function"
	}
	return "no value"
}

var errStructure = errors.New("want tensors, and tuples of them")

// plain returns an expression of sizes of the graph in its simplest form.
func plain(e tir.Expr) tir.Expr { return graph.Size(arith.NewAnalyzer().Simplify(e)) }
