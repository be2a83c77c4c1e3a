package relax

import (
	"fmt"
	"slices"
	"strings"

	"tvmgo/graph"
	"tvmgo/graph/onnx"
	"tvmgo/internal/relaxjson"
	"tvmgo/tir"
)

// parameter makes the parameters for a variable of a type.
func (i *importer) parameter(s *scope, name string, t relaxjson.Type) value {
	switch t := t.(type) {
	case *relaxjson.TensorType:
		return i.tensorParameter(s, name, t)
	case *relaxjson.TupleType:
		out := tuple{}
		for k, f := range t.Fields {
			out = append(out, i.parameter(s, fmt.Sprintf("%s.%d", name, k), f))
		}
		return out
	case *relaxjson.ShapeType:
		if t.NDim < 0 {
			fail("parameter %s is a shape of any number of sizes: declare the number", name)
		}
		v := i.fn.Param(name, tir.Int64, tir.I32(int32(t.NDim)))
		sizes := i.read(s, v)
		if t.Dims == nil {
			return sizes
		}
		return s.define(t.Dims, sizes)
	case *relaxjson.PrimType:
		if !tir.IsInt(t.DType) {
			return i.fn.Param(name, elementType(t.DType))
		}
		return scalar{i.read(s, i.fn.Param(name, t.DType))[0]}
	}
	fail("parameter %s is no tensor, shape, integer, or tuple of these: such values are not supported", name)
	return nil
}

// read returns the elements of a value as sizes, which are read when the model runs unless they are known.
func (i *importer) read(s *scope, v *graph.Value) shape {
	elems := v.Elements()
	if elems == nil {
		known, err := s.fn.Elements(v)
		check(err)
		elems = known.Elements()
	}
	out := make(shape, len(elems))
	for k, e := range elems {
		out[k] = graph.Size(e)
	}
	return out
}

func (i *importer) tensorParameter(s *scope, name string, t *relaxjson.TensorType) value {
	given, isGiven := i.options.Inputs[name]
	dt := t.DType
	if given.DType != (tir.Type{}) {
		dt = given.DType
	}
	if dt == tir.Void {
		fail("the module does not say the type of parameter %s: give it, as in --input %s=float32[2,3]", name, name)
	}
	elementType(dt)
	var dims shape
	switch {
	case isGiven:
		for _, d := range given.Dims {
			dims = append(dims, i.dim(d))
		}
		if t.Dims != nil {
			s.define(t.Dims, dims)
		}
	case t.Dims != nil:
		i.open(s, t.Dims)
		dims = s.sizesOf(t.Dims)
	case t.NDim < 0:
		fail("the module does not say the number of dimensions of parameter %s: give the shape, as in --input %s=%s[2,3]",
			name, name, tir.TypeName(dt))
	default:
		for d := range t.NDim {
			dims = append(dims, i.dim(onnx.Dim{Name: fmt.Sprintf("%s_%d", name, d)}))
		}
	}
	if c := i.options.Constants[name]; c != nil {
		v := i.given(name, c.Dims, dt, func() ([]byte, error) { return c.Bytes(nil) })
		s.define(dims, v.Shape)
		return v
	}
	return i.fn.Param(name, dt, dims...)
}

// given makes a constant for a parameter.
func (i *importer) given(name string, dims []int64, dt tir.Type, bytes func() ([]byte, error)) *graph.Value {
	data, err := bytes()
	check(err)
	v, err := i.fn.Const(name, dt, dims, data)
	check(err)
	return v
}

// reserve makes the symbols of a type, so that no new one gets their names.
func reserve(fn *graph.Function, t relaxjson.Type) {
	var dims []tir.Expr
	switch t := t.(type) {
	case *relaxjson.TensorType:
		dims = t.Dims
	case *relaxjson.ShapeType:
		dims = t.Dims
	case *relaxjson.TupleType:
		for _, f := range t.Fields {
			reserve(fn, f)
		}
	}
	for _, e := range dims {
		tir.Walk(e, func(n any) bool {
			if v, ok := n.(*tir.Var); ok {
				fn.Symbol(symbolName(v.Name))
			}
			return true
		})
	}
}

// open gives the variables of declared dimensions sizes: those of the options, or symbols.
func (i *importer) open(s *scope, dims []tir.Expr) {
	for _, e := range dims {
		tir.Walk(e, func(n any) bool {
			if v, ok := n.(*tir.Var); ok && s.sizeOf(v) == nil {
				s.sizes[v] = i.dim(onnx.Dim{Name: v.Name})
			}
			return true
		})
	}
}

// dim returns a size of a parameter.
func (i *importer) dim(d onnx.Dim) tir.Expr {
	if d.Name != "" && !slices.Contains(i.dims, d.Name) {
		i.dims = append(i.dims, d.Name)
	}
	size := d.Size
	if d.Name != "" {
		given, ok := i.options.Dims[d.Name]
		if !ok || given.Min != given.Max {
			v := i.fn.Symbol(symbolName(d.Name))
			if ok {
				check(i.fn.SetRange(v, given))
			}
			return v
		}
		size = given.Min
	}
	if size < 0 || size > 1<<31-1 {
		fail("a dimension is %d: want 0 to %d", size, 1<<31-1)
	}
	return tir.I32(int32(size))
}

// symbolName makes a name that the text of an expression can contain.
func symbolName(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '_'
	}, s)
}
