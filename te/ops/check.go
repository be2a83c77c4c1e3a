package ops

import (
	"fmt"
	"strings"

	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/arith"
	"tvmgo/tir/text"
)

// failed returns a tensor that carries an error.
func failed(name, format string, args ...any) *te.Tensor {
	err := &tir.Bad{Err: fmt.Errorf(format, args...)}
	return te.Compute(nil, name, func(...tir.Expr) tir.Expr { return err })
}

// check returns nil if no tensor is nil or carries an error, and all have the given number of dimensions; -1 allows any
// number.
func check(name string, dims int, all ...*te.Tensor) *te.Tensor {
	for i, t := range all {
		if err := t.Err(); err != nil {
			return failed(name, "operand %d: %w", i, err)
		}
		if n := len(t.ProducerShape()); dims >= 0 && n != dims {
			return failed(name, "operand %d, tensor %s, has %d dimensions: want %d", i, t.ProducerName(), n, dims)
		}
	}
	return nil
}

// class is a set of element types.
type class struct {
	has  func(tir.Type) bool
	want string
}

var (
	numbers = class{isNumber, "numbers: cast it to one of int8 to int64, uint8 to uint64, float16, bfloat16, float32 " +
		"and float64"}
	floats = class{func(t tir.Type) bool { return isNumber(t) && tir.IsFloat(t) }, "floats: cast it to float16, " +
		"bfloat16, float32 or float64"}
	ints = class{func(t tir.Type) bool { return isNumber(t) && tir.IsInt(t) }, "integers: cast it to one of " +
		"int8 to int64 and uint8 to uint64"}
	bools    = class{tir.IsBool, "bool, as returned by comparisons"}
	elements = class{func(t tir.Type) bool { return isNumber(t) || tir.IsBool(t) }, "numbers or bool"}
	stored   = class{func(t tir.Type) bool { return elements.has(t) || isSmall(t) }, "numbers or bool"}
	indexes  = class{func(t tir.Type) bool { return isNumber(t) && tir.IsInt(t) && t != tir.UInt64 },
		"integers: cast it to int32 or int64"}
)

func isNumber(t tir.Type) bool {
	switch t {
	case tir.Int8, tir.Int16, tir.Int32, tir.Int64, tir.UInt8, tir.UInt16, tir.UInt32, tir.UInt64, tir.Float16,
		tir.BFloat16, tir.Float32, tir.Float64:
		return true
	}
	return false
}

// isSmall reports whether a type is one of integers of fewer than 8 bits or floats of at most 8 bits. Tensors can have
// such elements, but formulas compute with others: cast them first.
func isSmall(t tir.Type) bool {
	return tir.CheckType(t) == nil && t.Lanes == 1 && (tir.IsInt(t) && t.Bits < 8 || tir.IsFloat(t) && t.Bits <= 8)
}

// isNarrow reports whether a type is a 16-bit float, whose formulas are computed in float32.
func isNarrow(t tir.Type) bool { return tir.IsFloat(t) && t.Bits < 32 }

// of returns nil if the element types of all tensors are in the class.
func (c class) of(name string, all ...*te.Tensor) *te.Tensor {
	for _, t := range all {
		if !c.has(t.ProducerDType()) {
			return failed(name, "tensor %s has type %s: want %s", t.ProducerName(), t.ProducerDType(), c.want)
		}
	}
	return nil
}

// sameType returns nil if all tensors have the same type.
func sameType(name string, all ...*te.Tensor) *te.Tensor {
	for _, t := range all[1:] {
		if a, b := all[0], t; a.ProducerDType() != b.ProducerDType() {
			return failed(name, "tensor %s has type %s, and tensor %s has type %s: cast one of them", a.ProducerName(),
				a.ProducerDType(), b.ProducerName(), b.ProducerDType())
		}
	}
	return nil
}

// axisOf returns the dimension for an axis, which counts from the end if it is negative.
func axisOf(name string, x *te.Tensor, axis, dims int) (int, *te.Tensor) {
	at := axis
	if at < 0 {
		at += dims
	}
	if at < 0 || at >= dims {
		return 0, failed(name, "axis %d of tensor %s does not exist: it has %d dimensions: want %d to %d", axis,
			x.ProducerName(), dims, -dims, dims-1)
	}
	return at, nil
}

// axesOf returns, for each dimension of a tensor, whether it is among the axes; nil axes stand for all of them.
func axesOf(name string, x *te.Tensor, axes []int) ([]bool, *te.Tensor) {
	in := make([]bool, len(x.ProducerShape()))
	for d := range in {
		in[d] = axes == nil
	}
	for _, axis := range axes {
		d, bad := axisOf(name, x, axis, len(in))
		if bad != nil {
			return nil, bad
		}
		if in[d] {
			return nil, failed(name, "axis %d of tensor %s is given twice", axis, x.ProducerName())
		}
		in[d] = true
	}
	return in, nil
}

// reduced checks the operand of a reduction, whose elements must be in the class, and returns its axes as axesOf does.
func (c class) reduced(name string, x *te.Tensor, axes []int) ([]bool, *te.Tensor) {
	if bad := check(name, -1, x); bad != nil {
		return nil, bad
	}
	if bad := c.of(name, x); bad != nil {
		return nil, bad
	}
	return axesOf(name, x, axes)
}

func isOne(n tir.Expr) bool { return isConst(n, 1) }

func isConst(n tir.Expr, v int64) bool {
	c, ok := n.(*tir.IntImm)
	return ok && c.Value == v
}

// constSize returns the value of a constant size.
func constSize(n tir.Expr) (int64, bool) {
	if c, ok := n.(*tir.IntImm); ok {
		return c.Value, true
	}
	return 0, false
}

// plus returns n + c, folded if n is constant.
func plus(n tir.Expr, c int) tir.Expr {
	if k, ok := n.(*tir.IntImm); ok {
		return tir.IntConst(k.Type, k.Value+int64(c))
	}
	if c == 0 {
		return n
	}
	return tir.Add(n, tir.IntConst(n.DType(), int64(c)))
}

// like returns a constant with the type of an index.
func like(e tir.Expr, v int) tir.Expr { return tir.IntConst(e.DType(), int64(v)) }

// simplified returns the simplified index or size.
func simplified(e tir.Expr) tir.Expr {
	if _, bad := e.(*tir.Bad); bad {
		return e
	}
	return arith.NewAnalyzer().Simplify(e)
}

// reduceAxis returns an axis over a whole dimension.
func reduceAxis(n tir.Expr, name string) *tir.IterVar {
	return te.ReduceAxis(tir.IntConst(n.DType(), 0), n, name)
}

// holds returns the conjunction of conditions; nil if there are none.
func holds(conds []tir.Expr) tir.Expr {
	var all tir.Expr
	for _, c := range conds {
		if all == nil {
			all = c
		} else {
			all = tir.And(all, c)
		}
	}
	return all
}

// where returns value where all conditions hold, else other. value is only evaluated where they hold.
func where(conds []tir.Expr, value, other tir.Expr) tir.Expr {
	if len(conds) == 0 {
		return value
	}
	return tir.Intrin("if_then_else", holds(conds), value, other)
}

// wide computes a formula of a 16-bit float in float32.
func wide(f func(tir.Expr) tir.Expr) func(tir.Expr) tir.Expr {
	return func(e tir.Expr) tir.Expr {
		if t := e.DType(); isNarrow(t) {
			return tir.NewCast(t, f(tir.NewCast(tir.Float32, e)))
		}
		return f(e)
	}
}

// workType returns the type in which sums of a type are computed.
func workType(t tir.Type) tir.Type {
	if isNarrow(t) {
		return tir.Float32
	}
	return t
}

// isNaN returns the condition that a value is NaN; nil for types without NaN.
func isNaN(e tir.Expr) tir.Expr {
	if !tir.IsFloat(e.DType()) {
		return nil
	}
	return tir.NE(e, e)
}

// shapeText formats a shape for error messages.
func shapeText(shape []tir.Expr) string {
	parts := make([]string, len(shape))
	for i, n := range shape {
		parts[i] = text.Print(n)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
