package tirnodes

import (
	"math"
	"math/rand/v2"
	"strings"

	"tvmgo/dlpack"
	"tvmgo/tir"
)

// moduleMaker makes random modules that are well formed: all types match, and variables and buffers are used only in
// their scope.
type moduleMaker struct {
	r       *rand.Rand
	vars    []*tir.Var
	buffers []*tir.Buffer
	funcs   []*tir.PrimFunc
	left    int // nodes that may still be made in this function
}

var textGenTypes = []tir.Type{tir.Int8, tir.Int16, tir.Int32, tir.Int32, tir.Int32, tir.Int64, tir.UInt8, tir.UInt16,
	tir.UInt32, tir.UInt64, tir.Float16, tir.BFloat16, tir.Float32, tir.Float32, tir.Float64, tir.Bool, tir.Bool,
	{Code: dlpack.CodeInt, Bits: 4, Lanes: 1}, dlpack.ClassicBool, dlpack.Float8E4M3FN, dlpack.Float8E5M2,
	dlpack.Float4E2M1FN,
	tir.Vector(tir.Float32, 4), tir.Vector(tir.Int32, 8), tir.Vector(tir.Bool, 4), tir.Vector(tir.Int64, 2),
	tir.Vector(tir.UInt8, 16)}

var textGenNames = []string{"i", "i", "i", "j", "n", "A", "B", "i_1", "i_2", "A_1", "i.outer", "x.1", "threadIdx.x",
	"for", "let", "none", "inf", "nan",
	"float32", "i8", "i1", "int", "data", "range", "scope", "target", "min", "exp", "cast", "ret", "", " ", "1x", "a-b",
	"a..b", "a.", "é", "名前", "a\"b", "a\nb", "$", "#", "//x",
	"\xff", "\x00", "extern", "true", "kind", "count", "param", "strides", "_", "__", "X"}

func (g *moduleMaker) name() string { return textGenNames[g.r.IntN(len(textGenNames))] }

func (g *moduleMaker) oneIn(n int) bool { return g.r.IntN(n) == 0 }

var textGenTexts = []string{"", "global", "shared", "a \"quoted\" text", "two\nlines\t", "é 名前 \u2028", "\xff\xfe",
	"# no comment // here", "{}[]()", "$x", "\\", "nan"}

func (g *moduleMaker) text() string { return textGenTexts[g.r.IntN(len(textGenTexts))] }

var textGenFloats = []float64{0, math.Copysign(0, -1), 1, -1, 0.1, float64(float32(0.1)), 1e-45, 5e-324,
	math.MaxFloat64, math.MaxFloat32, -math.MaxFloat32, math.Inf(1),
	math.Inf(-1), math.NaN(), math.Float64frombits(0xfff8000000000000), math.Float64frombits(0x7ff8000000000123), 65504,
	1e6, 1e21, 16777217, math.Pi}

func (g *moduleMaker) float() float64 {
	if g.oneIn(3) {
		return g.r.NormFloat64() * math.Exp(g.r.NormFloat64()*20)
	}
	return textGenFloats[g.r.IntN(len(textGenFloats))]
}

// floatOf returns a value of a float type.
func (g *moduleMaker) floatOf(t tir.Type) float64 {
	values := []float64{0, 0.5, 1, 1.5, -1, 2, 6, -6} // values of all float types
	switch {
	case t == tir.Float64:
		return g.float()
	case t == tir.Float32:
		if v := g.float(); math.IsNaN(v) || math.IsInf(v, 0) || math.Abs(v) <= math.MaxFloat32 {
			if math.IsNaN(v) {
				return v
			}
			return float64(float32(v))
		}
	case t == tir.Float16:
		values = append(values, 65504, 0x1p-24, -0x1p-24)
	case t == tir.BFloat16:
		values = append(values, 0x1.fep127, 0x1p-133)
	}
	if t.Bits >= 16 {
		values = append(values, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(),
			math.Float64frombits(0xfff8000000000000))
	}
	return values[g.r.IntN(len(values))]
}

// constant makes a constant of a type with one lane.
func (g *moduleMaker) constant(t tir.Type) tir.Expr {
	switch {
	case tir.IsFloat(t):
		return &tir.FloatImm{Type: t, Value: g.floatOf(t)}
	case tir.IsBool(t):
		return &tir.IntImm{Type: t, Value: int64(g.r.IntN(2))}
	case t == tir.UInt64 && g.oneIn(4):
		return &tir.IntImm{Type: t, Value: -1 - int64(g.r.IntN(3))} // its bits as uint64 exceed int64
	}
	least, greatest := int64(-1)<<(t.Bits-1), int64(1)<<(t.Bits-1)-1
	if !tir.IsSigned(t) {
		least, greatest = 0, int64(1)<<min(t.Bits, 63)-1
	}
	values := []int64{least, greatest, 0, 1, least + 1, greatest / 2}
	if least < 0 {
		values = append(values, -1)
	}
	return &tir.IntImm{Type: t, Value: values[g.r.IntN(len(values))]}
}

func (g *moduleMaker) pickVar(t tir.Type) tir.Expr {
	var fit []*tir.Var
	for _, v := range g.vars {
		if v.Type == t {
			fit = append(fit, v)
		}
	}
	if len(fit) == 0 {
		return nil
	}
	return fit[g.r.IntN(len(fit))]
}

func (g *moduleMaker) pickBuffer(fits func(*tir.Buffer) bool) *tir.Buffer {
	var fit []*tir.Buffer
	for _, b := range g.buffers {
		if fits(b) {
			fit = append(fit, b)
		}
	}
	if len(fit) == 0 {
		return nil
	}
	return fit[g.r.IntN(len(fit))]
}

func (g *moduleMaker) anyType() tir.Type { return textGenTypes[g.r.IntN(len(textGenTypes))] }

// leaf makes an expression with few or no operands.
func (g *moduleMaker) leaf(t tir.Type) tir.Expr {
	if v := g.pickVar(t); v != nil && !g.oneIn(3) {
		return v
	}
	switch {
	case t == tir.Handle:
		return &tir.Cast{Type: t, Value: g.constant(tir.Int64)}
	case t.Lanes > 1:
		return &tir.Broadcast{Value: g.leaf(tir.Element(t)), Lanes: int(t.Lanes)}
	}
	return g.constant(t)
}

func (g *moduleMaker) exprs(t tir.Type, n, depth int) []tir.Expr {
	list := make([]tir.Expr, n)
	for i := range list {
		list[i] = g.expr(t, depth)
	}
	return list
}

// indices makes the indices of an element of a buffer. The last one has the given number of lanes.
func (g *moduleMaker) indices(b *tir.Buffer, lanes, depth int) []tir.Expr {
	list := make([]tir.Expr, len(b.Shape))
	for i := range list {
		t := []tir.Type{tir.Int32, tir.Int64}[g.r.IntN(2)]
		if i == len(list)-1 {
			t = tir.Vector(t, lanes)
		}
		list[i] = g.expr(t, depth)
	}
	return list
}

func (g *moduleMaker) expr(t tir.Type, depth int) tir.Expr {
	g.left--
	if depth <= 0 || g.left <= 0 {
		return g.leaf(t)
	}
	depth--
	for {
		if e := g.tryExpr(t, depth); e != nil {
			return e
		}
	}
}

// tryExpr makes a random node of the type, or returns nil if the node cannot have it.
func (g *moduleMaker) tryExpr(t tir.Type, depth int) tir.Expr {
	number := (tir.IsInt(t) || tir.IsFloat(t)) && t != tir.Handle
	switch g.r.IntN(16) {
	case 0, 1, 2:
		if number {
			return &tir.Binary{Op: tir.BinaryOp(g.r.IntN(int(tir.OpMax) + 1)), A: g.expr(t, depth), B: g.expr(t, depth)}
		}
		if tir.IsBool(t) {
			from := tir.Vector(g.anyType(), int(t.Lanes))
			op := tir.OpEQ + tir.BinaryOp(g.r.IntN(6))
			if tir.IsBool(from) && op > tir.OpNE {
				op = tir.OpAnd + tir.BinaryOp(g.r.IntN(2))
			}
			return &tir.Binary{Op: op, A: g.expr(from, depth), B: g.expr(from, depth)}
		}
	case 3:
		if tir.IsBool(t) {
			return &tir.Not{A: g.expr(t, depth)}
		}
	case 4:
		if tir.IsBool(t) {
			return &tir.Binary{Op: tir.OpAnd + tir.BinaryOp(g.r.IntN(2)), A: g.expr(t, depth), B: g.expr(t, depth)}
		}
	case 5:
		return &tir.Select{Cond: g.expr(tir.Vector(tir.Bool, int(t.Lanes)), depth), Then: g.expr(t, depth), Else: g.expr(t,
			depth)}
	case 6:
		if t == tir.Handle {
			return &tir.Cast{Type: t, Value: g.expr(tir.Int64, depth)}
		}
		return &tir.Cast{Type: t, Value: g.expr(tir.Vector(g.anyType(), int(t.Lanes)), depth)}
	case 7, 8:
		lanes := 1
		b := g.pickBuffer(func(b *tir.Buffer) bool { return b.DType == t })
		if b == nil {
			lanes = int(t.Lanes)
			b = g.pickBuffer(func(b *tir.Buffer) bool { return b.DType == tir.Element(t) && len(b.Shape) > 0 })
		}
		if b != nil {
			return &tir.BufferLoad{Buffer: b, Indices: g.indices(b, lanes, depth)}
		}
	case 9:
		if number && t.Lanes > 1 {
			return &tir.Ramp{Base: g.expr(tir.Element(t), depth), Stride: g.expr(tir.Element(t), depth), Lanes: int(t.Lanes)}
		}
	case 10:
		if t.Lanes > 1 {
			return &tir.Broadcast{Value: g.expr(tir.Element(t), depth), Lanes: int(t.Lanes)}
		}
	case 11:
		if t != tir.Handle {
			lanes := 1 + g.r.IntN(4)
			s := &tir.Shuffle{Vectors: g.exprs(tir.Vector(t, lanes), 1+g.r.IntN(3), depth)}
			for range t.Lanes {
				s.Indices = append(s.Indices, g.r.IntN(lanes*len(s.Vectors)))
			}
			return s
		}
	case 12:
		from := g.anyType()
		v := tir.NewVar(g.name(), from)
		x := g.expr(from, depth)
		known := len(g.vars)
		g.vars = append(g.vars, v)
		body := g.expr(t, depth)
		g.vars = g.vars[:known]
		return &tir.Let{Var: v, Value: x, Body: body}
	case 13, 14:
		return g.call(t, depth)
	}
	return g.leaf(t)
}

func (g *moduleMaker) call(t tir.Type, depth int) tir.Expr {
	if g.oneIn(2) {
		c := &tir.Call{Kind: tir.CallKind(1 + g.r.IntN(3)), Name: g.name() + "f", Type: t, Args: nil}
		for range g.r.IntN(4) {
			c.Args = append(c.Args, g.arg(depth))
		}
		return c
	}
	var fit []tir.Intrinsic
	for _, i := range tir.Intrinsics() {
		switch {
		case i.Name == "ret_none" || i.Name == "clear_reports" || i.Name == "check_reports" ||
			strings.HasPrefix(i.Name, "async_") || strings.HasPrefix(i.Name, "fragment_") ||
			i.Name == "texture2d_store": // which have no value
		case i.Name == "dot4":
			if tir.Element(t) == tir.Int32 {
				fit = append(fit, i)
			}
		case i.Name == "texture2d_load":
			if t.Lanes == 4 {
				fit = append(fit, i)
			}
		case strings.HasPrefix(i.Name, "warp_"):
			if t.Lanes == 1 && !tir.IsHandle(t) {
				fit = append(fit, i)
			}
		case i.Name == "check_index":
			if tir.IsInt(t) {
				fit = append(fit, i)
			}
		case i.Name == "report_index":
			if t == tir.Bool {
				fit = append(fit, i)
			}
		case i.Name == "likely" || i.Name == "isnan" || i.Name == "isinf" || i.Name == "isfinite":
			if tir.IsBool(t) && t.Bits == 8 {
				fit = append(fit, i)
			}
		case i.Takes == tir.TakesFloats && tir.IsFloat(t) || i.Takes == tir.TakesInts && tir.IsInt(t) ||
			i.Takes == tir.TakesAny:
			fit = append(fit, i)
		}
	}
	i := fit[g.r.IntN(len(fit))]
	c := &tir.Call{Kind: tir.CallIntrinsic, Name: i.Name, Type: t, Args: nil}
	switch i.Name {
	case "isnan", "isinf", "isfinite":
		c.Args = g.exprs(tir.Vector([]tir.Type{tir.Float16, tir.Float32, tir.Float64}[g.r.IntN(3)], int(t.Lanes)), 1, depth)
	case "reinterpret":
		from := t
		if t.Bits == 32 {
			from = tir.Vector([]tir.Type{tir.Float32, tir.Int32, tir.UInt32}[g.r.IntN(3)], int(t.Lanes))
		}
		c.Args = g.exprs(from, 1, depth)
	case "if_then_else":
		c.Args = append(g.exprs(tir.Bool, 1, depth), g.exprs(t, 2, depth)...)
	case "tvm_struct_get", "tvm_struct_set", "storage_sync", "prefetch":
		for range g.r.IntN(4) {
			c.Args = append(c.Args, g.arg(depth))
		}
	case "report_index":
		c.Args = append(append(g.exprs(tir.Handle, 1, depth), g.exprs(tir.Int32, 1, depth)...), g.exprs(tir.Int64, 2,
			depth)...)
	case "check_index":
		c.Args = append(g.exprs(t, 1, depth), append(g.exprs(tir.Int64, 1, depth), tir.Text("A"), tir.I32(0))...)
	case "warp_shuffle", "warp_shuffle_xor", "warp_shuffle_down":
		c.Args = append(g.exprs(t, 1, depth), g.exprs(tir.Int32, 1, depth)...)
	case "texture2d_load":
		c.Args = append(g.exprs(tir.Handle, 1, depth), g.exprs(tir.Int32, 2, depth)...)
	case "address_of":
		c.Args = g.exprs(g.anyType(), 1, depth)
	default:
		c.Args = g.exprs(t, i.Args, depth)
	}
	return c
}

// arg makes an argument of a call, or the value of an attribute.
func (g *moduleMaker) arg(depth int) tir.Expr {
	if g.oneIn(4) {
		return &tir.StringImm{Value: g.text()}
	}
	return g.expr(g.argType(), depth)
}

func (g *moduleMaker) argType() tir.Type {
	if g.oneIn(4) {
		return tir.Handle
	}
	return g.anyType()
}
