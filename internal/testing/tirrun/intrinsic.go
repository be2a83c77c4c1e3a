package tirrun

import (
	"math"
	"math/bits"

	"tvmgo/tir"
)

// floats1 are the functions of one float, computed in float64.
var floats1 = map[string]func(float64) float64{
	"exp": math.Exp, "exp2": math.Exp2, "log": math.Log, "log2": math.Log2, "log10": math.Log10, "log1p": math.Log1p,
	"sqrt": math.Sqrt,
	"sin":  math.Sin, "cos": math.Cos, "tan": math.Tan, "asin": math.Asin, "acos": math.Acos, "atan": math.Atan,
	"sinh": math.Sinh,
	"cosh": math.Cosh, "tanh": math.Tanh, "asinh": math.Asinh, "acosh": math.Acosh, "atanh": math.Atanh, "erf": math.Erf,
	"floor": math.Floor, "ceil": math.Ceil, "trunc": math.Trunc, "round": math.Round, "nearbyint": math.RoundToEven,
	"fabs":    math.Abs,
	"exp10":   func(x float64) float64 { return math.Pow(10, x) },
	"rsqrt":   func(x float64) float64 { return 1 / math.Sqrt(x) },
	"sigmoid": func(x float64) float64 { return 1 / (1 + math.Exp(-x)) },
}

var floats2 = map[string]func(a, b float64) float64{
	"pow": math.Pow, "fmod": math.Mod, "atan2": math.Atan2, "hypot": math.Hypot, "copysign": math.Copysign,
}

// ints1 are the functions of one integer; the result wraps.
var ints1 = map[string]func(t tir.Type, v int64) int64{
	"bitwise_not": func(_ tir.Type, v int64) int64 { return ^v },
	"popcount":    func(t tir.Type, v int64) int64 { return int64(bits.OnesCount64(uint64(v) & width(t))) },
	"clz": func(t tir.Type, v int64) int64 {
		return int64(bits.LeadingZeros64(uint64(v)&width(t))) - 64 + int64(t.Bits)
	},
	"abs": func(t tir.Type, v int64) int64 {
		if tir.IsSigned(t) && v < 0 {
			return -v
		}
		return v
	},
}

var ints2 = map[string]func(t tir.Type, a, b int64) int64{
	"bitwise_and": func(_ tir.Type, a, b int64) int64 { return a & b },
	"bitwise_or":  func(_ tir.Type, a, b int64) int64 { return a | b },
	"bitwise_xor": func(_ tir.Type, a, b int64) int64 { return a ^ b },
	"dot4":        func(_ tir.Type, a, b int64) int64 { return int64(tir.DotOfBytes(int32(a), int32(b))) },
	"shift_left":  func(_ tir.Type, a, b int64) int64 { return a << uint64(b) },
	"shift_right": func(t tir.Type, a, b int64) int64 {
		if tir.IsSigned(t) {
			return a >> uint64(b)
		}
		return int64(uint64(a) >> uint64(b))
	},
}

// predicates are the bool functions of one float.
var predicates = map[string]func(float64) bool{
	"isnan":    math.IsNaN,
	"isinf":    func(x float64) bool { return math.IsInf(x, 0) },
	"isfinite": func(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) },
}

// width returns a mask with all bits of a type.
func width(t tir.Type) uint64 { return math.MaxUint64 >> (64 - t.Bits) }

// intrinsic compiles a call of an intrinsic with a value.
func (c *compiler) intrinsic(e *tir.Call) value {
	info, ok := tir.LookupIntrinsic(e.Name)
	switch {
	case !ok:
		c.fail("intrinsic %q does not exist", e.Name)
	case info.Args >= 0 && len(e.Args) != info.Args:
		c.fail("intrinsic %s takes %d arguments, found %d", e.Name, info.Args, len(e.Args))
	}
	switch e.Name {
	case "if_then_else":
		return c.ifThenElse(e)
	case "likely":
		return c.expr(e.Args[0])
	case "reinterpret":
		return c.reinterpret(e.Type, c.expr(e.Args[0]))
	case "address_of":
		return c.addressOf(e)
	case "storage_sync":
		return c.barrier(e)
	case "async_copy", "async_commit", "async_wait":
		return c.async(e)
	case "warp_shuffle", "warp_shuffle_xor", "warp_shuffle_down":
		return c.warpShuffle(e)
	case "fragment_fill", "fragment_load", "fragment_mma", "fragment_store":
		return c.fragments(e)
	case "prefetch":
		return value{t: tir.Void, i: func(*frame) int64 { return 0 }}
	case "tvm_struct_get", "tvm_struct_set":
		return c.outside(e)
	case "ret", "ret_none":
		c.fail("%s is part of an expression: want it as a statement", e.Name)
	}
	args := make([]value, len(e.Args))
	for n, a := range e.Args {
		args[n] = c.expr(a)
	}
	if p := predicates[e.Name]; p != nil {
		return c.predicate(p, args[0])
	}
	for n, a := range args {
		if a.t != e.Type {
			c.fail("intrinsic %s of type %s: argument %d has type %s", e.Name, e.Type, n, a.t)
		}
	}
	if tir.IsFloat(e.Type) {
		return c.floatCall(e, args)
	}
	if !tir.IsInt(e.Type) {
		c.fail("intrinsic %s of type %s", e.Name, e.Type)
	}
	return c.intCall(e, args)
}

func (c *compiler) floatCall(e *tir.Call, args []value) value {
	r := func(x float64) float64 { return roundTo(tir.Element(e.Type), x) }
	if tir.Element(e.Type) == tir.Float32 {
		r = func(x float64) float64 { return float64(float32(x)) }
	}
	one, two := floats1[e.Name], floats2[e.Name]
	t := tir.Element(e.Type)
	if e.Name != "fma" && one == nil && two == nil {
		c.fail("intrinsic %s does not take floats", e.Name)
	}
	if e.Type.Lanes > 1 {
		return c.zip(e.Type, args, func(f *frame, out int, in []int) {
			switch {
			case one != nil:
				f.f[out] = r(one(f.f[in[0]]))
			case two != nil:
				f.f[out] = r(two(f.f[in[0]], f.f[in[1]]))
			default:
				f.f[out] = fma(t, f.f[in[0]], f.f[in[1]], f.f[in[2]])
			}
		})
	}
	x := args[0].x
	switch {
	case one != nil:
		return floatValue(e.Type, func(f *frame) float64 { return r(one(x(f))) })
	case two != nil:
		y := args[1].x
		return floatValue(e.Type, func(f *frame) float64 { return r(two(x(f), y(f))) })
	}
	y, z := args[1].x, args[2].x
	return floatValue(e.Type, func(f *frame) float64 { return fma(t, x(f), y(f), z(f)) })
}

func (c *compiler) intCall(e *tir.Call, args []value) value {
	one, two := ints1[e.Name], ints2[e.Name]
	t := tir.Element(e.Type)
	w, at := wrapper(t), c.at
	shift := e.Name == "shift_left" || e.Name == "shift_right"
	do := func(f *frame, a, b int64) int64 {
		if one != nil {
			return w(one(t, a))
		}
		if shift && uint64(b) >= uint64(t.Bits) {
			f.fail(at, ErrArithmetic, "%s of %s by %d: want 0 to %d", e.Name, t, b, t.Bits-1)
		}
		return w(two(t, a, b))
	}
	if one == nil && two == nil {
		c.fail("intrinsic %s does not take integers", e.Name)
	}
	if e.Type.Lanes > 1 {
		return c.zip(e.Type, args, func(f *frame, out int, in []int) {
			f.i[out] = do(f, f.i[in[0]], f.i[in[len(in)-1]])
		})
	}
	x, y := args[0].i, args[len(args)-1].i
	if one != nil {
		return intValue(e.Type, func(f *frame) int64 { return do(f, x(f), 0) })
	}
	return intValue(e.Type, func(f *frame) int64 { return do(f, x(f), y(f)) })
}

func (c *compiler) predicate(p func(float64) bool, a value) value {
	if !tir.IsFloat(a.t) {
		c.fail("a function of floats is applied to %s", a.t)
	}
	t := tir.Vector(tir.Bool, int(a.t.Lanes))
	if a.vector() {
		return c.zip(t, []value{a}, func(f *frame, out int, in []int) { f.i[out] = b2i(p(f.f[in[0]])) })
	}
	return intValue(t, func(f *frame) int64 { return b2i(p(a.x(f))) })
}

// ifThenElse evaluates only the selected operand, separately for each lane.
func (c *compiler) ifThenElse(e *tir.Call) value {
	cond := c.truth(e.Args[0], "if_then_else")
	if cond.vector() {
		return c.eachLane(e, cond)
	}
	a, b := c.expr(e.Args[1]), c.expr(e.Args[2])
	if a.t != b.t || a.t != e.Type {
		c.fail("if_then_else of type %s: values of types %s and %s", e.Type, a.t, b.t)
	}
	switch {
	case a.vector():
		out := c.reserve(a.t)
		p, q := a.store(out), b.store(out)
		return value{t: a.t, off: out, v: func(f *frame) {
			if cond.i(f) != 0 {
				p(f)
			} else {
				q(f)
			}
		}}
	case a.x != nil:
		return floatValue(a.t, func(f *frame) float64 {
			if cond.i(f) != 0 {
				return a.x(f)
			}
			return b.x(f)
		})
	case a.h != nil:
		return value{t: a.t, h: func(f *frame) any {
			if cond.i(f) != 0 {
				return a.h(f)
			}
			return b.h(f)
		}}
	}
	return intValue(a.t, func(f *frame) int64 {
		if cond.i(f) != 0 {
			return a.i(f)
		}
		return b.i(f)
	})
}

// eachLane is ifThenElse with a vector as the condition.
func (c *compiler) eachLane(e *tir.Call, cond value) value {
	lanes := int(cond.t.Lanes)
	a, b := e.Args[1].DType(), e.Args[2].DType()
	if a != e.Type || b != e.Type || int(e.Type.Lanes) != lanes {
		c.fail("if_then_else of type %s by %d lanes: values of types %s and %s", e.Type, lanes, a, b)
	}
	out := c.reserve(e.Type)
	var then, other []func(*frame)
	for l := range lanes {
		then = append(then, c.expr(lane(e.Args[1], l)).store(out+l))
		other = append(other, c.expr(lane(e.Args[2], l)).store(out+l))
	}
	return value{t: e.Type, off: out, v: func(f *frame) {
		cond.v(f)
		for l := range lanes {
			if f.i[cond.off+l] != 0 {
				then[l](f)
			} else {
				other[l](f)
			}
		}
	}}
}

// reinterpret takes the bits of all lanes, the first in the lowest bits, as those of another type.
func (c *compiler) reinterpret(t tir.Type, v value) value {
	c.valid("reinterpret", t)
	if tir.IsHandle(t) || tir.IsHandle(v.t) || int(t.Bits)*int(t.Lanes) != int(v.t.Bits)*int(v.t.Lanes) {
		c.fail("reinterpret of %s as %s: want types of the same size", v.t, t)
	}
	from, to := tir.Element(v.t), tir.Element(t)
	in, out := v.off, c.reserve(t)
	compute := v.v
	if !v.vector() {
		in = c.reserve(v.t)
		compute = v.store(in)
	}
	read, _ := codecOf(to)
	write, _ := codecOf(from)
	// Both sides are packed here, even uint1, which occupies a byte in memory.
	get, _ := bitAccess(int64(to.Bits))
	_, put := bitAccess(int64(from.Bits))
	size := int(t.Bits)*int(t.Lanes)/8 + 8
	wrap := func(n int64) int64 { return n }
	if !read.float {
		wrap = wrapper(to)
	}
	do := func(f *frame) {
		compute(f)
		buf := make([]byte, size)
		for l := range int(v.t.Lanes) {
			var b uint64
			if write.float {
				b = floatBits(from, f.f[in+l])
			} else {
				b = uint64(f.i[in+l])
			}
			put(buf, int64(l)*int64(from.Bits), b)
		}
		for l := range int(t.Lanes) {
			b := get(buf, int64(l)*int64(to.Bits))
			if read.float {
				f.f[out+l] = floatOf(to, b)
			} else {
				f.i[out+l] = wrap(int64(b))
			}
		}
	}
	switch {
	case t.Lanes > 1:
		return value{t: t, off: out, v: do}
	case read.float:
		return floatValue(t, func(f *frame) float64 { do(f); return f.f[out] })
	}
	return intValue(t, func(f *frame) int64 { do(f); return f.i[out] })
}

// addressOf returns the address of an element.
func (c *compiler) addressOf(e *tir.Call) value {
	if len(e.Args) != 1 {
		c.fail("address_of takes an element of a buffer, found %d arguments", len(e.Args))
	}
	load, ok := e.Args[0].(*tir.BufferLoad)
	if !ok {
		c.fail("address_of takes an element of a buffer, found %T", e.Args[0])
	}
	a := c.access(load.Buffer, load.Indices, false)
	if a.last.vector() {
		c.fail("address_of takes one element of buffer %s, found a vector", load.Buffer.Name)
	}
	return value{t: tir.Handle, h: func(f *frame) any {
		m, bit := a.locate(f)
		if bit%8 != 0 {
			f.fail(a.at, ErrArgument, "address of %s: it does not begin at a byte", a.text(f, 0))
		}
		return &pointer{m: m, base: bit / 8}
	}}
}
