package tirrun

import (
	"fmt"
	"math"
	"reflect"
	"slices"

	"tvmgo/tir"
)

// bindArgs assigns arguments to parameters, and binds the variables of buffers to the shapes of arrays.
func (f *frame) bindArgs(fn *function, args []any) {
	if len(args) != len(fn.params) {
		f.fail(nil, ErrArgument, "%d arguments for %d parameters", len(args), len(fn.params))
	}
	for n, p := range fn.params {
		if err := f.set(p.v, p.slot, args[n]); err != nil {
			f.fail(nil, ErrArgument, "parameter %s: %v", p.v.Name, err)
		}
	}
	for _, bind := range fn.bind {
		bind(f)
	}
	for _, check := range fn.check {
		check(f)
	}
}

// set assigns a Go value to a variable.
func (f *frame) set(v *tir.Var, slot int, value any) error {
	lanes := int(v.Type.Lanes)
	if tir.IsHandle(v.Type) {
		switch a := value.(type) {
		case *Array:
			if err := a.check(); err != nil {
				return err
			}
			value = &pointer{m: f.x.memoryOf(v.Name, a), array: a}
		case *pointer, string, nil:
		default:
			return fmt.Errorf("found %T: want *tirrun.Array for a tensor", value)
		}
		f.h[slot] = value
		return nil
	}
	values := []any{value}
	if lanes > 1 {
		s := reflect.ValueOf(value)
		if s.Kind() != reflect.Slice || s.Len() != lanes {
			return fmt.Errorf("found %T: want a slice of %d values for %s", value, lanes, v.Type)
		}
		values = values[:0]
		for i := range lanes {
			values = append(values, s.Index(i).Interface())
		}
	}
	for i, one := range values {
		n, x, err := fromGo(tir.Element(v.Type), one)
		if err != nil {
			return err
		}
		if tir.IsFloat(v.Type) {
			f.f[slot+i] = x
		} else {
			f.i[slot+i] = n
		}
	}
	return nil
}

// fromGo converts a Go value to a type. Floats are rounded; other values must be representable.
func fromGo(t tir.Type, value any) (int64, float64, error) {
	v := reflect.ValueOf(value)
	wrong := fmt.Errorf("found %v (%T): want a value of type %s", value, value, t)
	switch {
	case !v.IsValid():
	case v.Kind() == reflect.Bool:
		if tir.IsBool(t) {
			return b2i(v.Bool()), 0, nil
		}
	case tir.IsBool(t):
	case v.CanFloat():
		if tir.IsFloat(t) {
			return 0, roundTo(t, v.Float()), nil
		}
	case v.CanInt():
		switch {
		case tir.IsFloat(t):
			return 0, intToFloat(tir.Int64, t, v.Int()), nil
		case tir.IsInt(t) && (tir.IsSigned(t) || v.Int() >= 0) && wrap(t, v.Int()) == v.Int():
			return v.Int(), 0, nil
		}
	case v.CanUint():
		u := int64(v.Uint())
		switch {
		case tir.IsFloat(t):
			return 0, intToFloat(tir.UInt64, t, u), nil
		case tir.IsInt(t) && (u >= 0 || t == tir.UInt64) && wrap(t, u) == u:
			return u, 0, nil
		}
	}
	return 0, 0, wrong
}

func roundTo(t tir.Type, x float64) float64 {
	if r := rounder(t); r != nil {
		return r(x)
	}
	return x
}

// memoryOf returns the memory of an array. Arrays that start at the same byte share it.
func (x *run) memoryOf(name string, a *Array) *memory {
	unit := max(int(a.DType.Bits)/8*int(a.DType.Lanes), 1)
	if len(a.Data) == 0 {
		return &memory{name: name, unit: unit}
	}
	m := x.known[&a.Data[0]]
	if m == nil || len(m.data) < len(a.Data) {
		if m != nil { // the longer one replaces it
			unit = min(unit, m.unit)
		}
		m = &memory{name: name, data: a.Data, unit: unit}
		x.known[&a.Data[0]] = m
	}
	return m
}

// buffers compiles the checks of tensor parameters. A dimension that is a variable without a value defines the
// variable.
func (c *compiler) buffers(f *tir.PrimFunc) {
	for v, b := range f.Buffers {
		if v == nil || b == nil || !slices.Contains(f.Params, v) {
			c.fail("the function has a buffer that belongs to none of its parameters")
		}
	}
	for _, p := range f.Params {
		b := f.Buffers[p]
		if b == nil {
			continue
		}
		if !tir.IsHandle(p.Type) {
			c.fail("parameter %s: type %s cannot refer to a buffer: want %s", p.Name, p.Type, tir.Handle)
		}
		c.address(b)
		from := c.slot(p)
		to := from
		if b.Data != p {
			to = c.define(b.Data)
		}
		c.fn.bind = append(c.fn.bind, func(f *frame) {
			ptr, ok := f.h[from].(*pointer)
			if !ok {
				f.fail(nil, ErrArgument, "parameter %s: found nothing, want an array for buffer %s", p.Name, b.Name)
			}
			if a := ptr.array; a != nil {
				if a.DType != b.DType {
					f.fail(nil, ErrArgument, "parameter %s: array of %s for buffer %s of %s", p.Name, a.DType, b.Name, b.DType)
				}
				if len(a.Shape) != len(b.Shape) {
					f.fail(nil, ErrArgument, "parameter %s: array of shape %v for buffer %s of %d dimensions", p.Name,
						a.Shape, b.Name, len(b.Shape))
				}
			}
			f.h[to] = ptr
		})
		if b.Strides != nil && len(b.Strides) != len(b.Shape) {
			c.fail("buffer %s has %d strides for %d dimensions", b.Name, len(b.Strides), len(b.Shape))
		}
		for d := range b.Shape {
			c.bindSize(p, from, b.Shape[d], fmt.Sprintf("buffer %s: shape[%d]", b.Name, d), func(a *Array) int64 {
				return a.Shape[d]
			})
		}
		for d := range b.Strides {
			c.bindSize(p, from, b.Strides[d], fmt.Sprintf("buffer %s: strides[%d]", b.Name, d), func(a *Array) int64 {
				return a.strides()[d]
			})
		}
		if b.Offset != nil {
			c.bindSize(p, from, b.Offset, "buffer "+b.Name+": offset", func(a *Array) int64 { return a.Offset })
		}
		c.fn.check = append(c.fn.check, compactCheck(p, b, from))
	}
	// Sizes that are computed from variables are checked when all variables have values.
	for _, late := range c.late {
		late()
	}
	c.late = nil
}

// address fails for a buffer that cannot be in memory.
func (c *compiler) address(b *tir.Buffer) {
	switch {
	case b == nil:
		c.fail("a buffer is nil")
	case b.Data == nil:
		c.fail("buffer %s has no address", b.Name)
	case b.Data.Type != tir.Handle:
		c.fail("buffer %s: its address has type %s, want %s", b.Name, b.Data.Type, tir.Handle)
	case tir.IsHandle(b.DType) || !validType(b.DType):
		c.fail("buffer %s: type %s can't be in memory", b.Name, b.DType)
	}
}

// bindSize defines the variable e by a number of the array if it has no value yet, and else compares the two.
func (c *compiler) bindSize(p *tir.Var, slot int, e tir.Expr, what string, get func(*Array) int64) {
	if v, ok := e.(*tir.Var); ok && !c.bound[v] {
		if !tir.IsInt(v.Type) || v.Type.Lanes != 1 {
			c.fail("%s is variable %s of type %s: want an integer", what, v.Name, v.Type)
		}
		to := c.define(v)
		c.fn.bind = append(c.fn.bind, func(f *frame) {
			a := f.h[slot].(*pointer).array
			if a == nil {
				f.fail(nil, ErrArgument, "parameter %s: an address has no %s, which must be %s: pass the tensor",
					p.Name, what, v.Name)
			}
			n := get(a)
			if wrap(v.Type, n) != n {
				f.fail(nil, ErrArgument, "parameter %s: %s is %d, which is not a value of type %s", p.Name, what, n, v.Type)
			}
			f.i[to] = n
		})
		return
	}
	c.late = append(c.late, func() {
		x := c.size(e, what)
		c.fn.check = append(c.fn.check, func(f *frame) {
			a := f.h[slot].(*pointer).array
			if a == nil {
				return
			}
			if got, want := get(a), x.i(f); got != want {
				f.fail(nil, ErrArgument, "parameter %s: %s is %d, want %d", p.Name, what, got, want)
			}
		})
	})
}

// compactCheck checks that an array is compact if the buffer has no strides and no offset.
func compactCheck(p *tir.Var, b *tir.Buffer, slot int) func(*frame) {
	return func(f *frame) {
		a := f.h[slot].(*pointer).array
		if a == nil {
			return
		}
		if b.Offset == nil && a.Offset != 0 {
			f.fail(nil, ErrArgument, "parameter %s: the array has offset %d, want 0: buffer %s has none", p.Name,
				a.Offset, b.Name)
		}
		if b.Strides != nil || a.Strides == nil {
			return
		}
		want := int64(1)
		for d := len(a.Shape) - 1; d >= 0; d-- {
			if a.Shape[d] > 1 && a.Strides[d] != want {
				f.fail(nil, ErrArgument, "parameter %s: the array of shape %v has strides %v, want compact ones: "+
					"buffer %s has none", p.Name, a.Shape, a.Strides, b.Name)
			}
			want *= max(a.Shape[d], 1)
		}
	}
}

// size compiles an integer expression of a buffer.
func (c *compiler) size(e tir.Expr, what string) value {
	x := c.expr(e)
	if !tir.IsInt(x.t) || x.t.Lanes != 1 {
		c.fail("%s has type %s: want an integer", what, x.t)
	}
	return x
}

// toGo converts a value to Go.
func toGo(t tir.Type, i int64, x float64) any {
	switch {
	case tir.IsFloat(t):
		return x
	case tir.IsBool(t):
		return i != 0
	case tir.IsSigned(t):
		return i
	}
	return uint64(i)
}

// wrap reduces a number modulo the width of the type.
func wrap(t tir.Type, v int64) int64 { return wrapper(t)(v) }

func wrapper(t tir.Type) func(int64) int64 {
	signed := tir.IsSigned(t)
	switch {
	case tir.IsBool(t):
		return func(v int64) int64 { return b2i(v != 0) }
	case t.Bits == 64:
		return func(v int64) int64 { return v }
	case t.Bits == 32 && signed:
		return func(v int64) int64 { return int64(int32(v)) }
	case signed:
		shift := 64 - t.Bits
		return func(v int64) int64 { return v << shift >> shift }
	}
	mask := int64(uint64(math.MaxUint64) >> (64 - t.Bits))
	return func(v int64) int64 { return v & mask }
}
