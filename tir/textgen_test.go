package tir

import (
	"math"
	"math/rand/v2"

	"tvmgo/dlpack"
	"tvmgo/target"
)

// textGen makes random modules that are well formed: all types match, and variables and buffers are used where they are known.
type textGen struct {
	r       *rand.Rand
	vars    []*Var
	buffers []*Buffer
	funcs   []*PrimFunc
	left    int // nodes that may still be made in this function
}

var textGenTypes = []Type{Int8, Int16, Int32, Int32, Int32, Int64, UInt8, UInt16, UInt32, UInt64, Float16, BFloat16, Float32, Float32, Float64, Bool, Bool,
	{Code: dlpack.CodeInt, Bits: 4, Lanes: 1}, dlpack.ClassicBool, dlpack.Float8E4M3FN, dlpack.Float8E5M2, dlpack.Float4E2M1FN,
	Vector(Float32, 4), Vector(Int32, 8), Vector(Bool, 4), Vector(Int64, 2), Vector(UInt8, 16)}

var textGenNames = []string{"i", "i", "i", "j", "n", "A", "B", "i_1", "i_2", "A_1", "i.outer", "x.1", "threadIdx.x", "for", "let", "none", "inf", "nan",
	"float32", "i8", "i1", "int", "data", "range", "scope", "target", "min", "exp", "cast", "ret", "", " ", "1x", "a-b", "a..b", "a.", "é", "名前", "a\"b", "a\nb", "$", "#", "//x",
	"\xff", "\x00", "extern", "true", "kind", "count", "param", "strides", "_", "__", "X"}

func (g *textGen) name() string { return textGenNames[g.r.IntN(len(textGenNames))] }

func (g *textGen) oneIn(n int) bool { return g.r.IntN(n) == 0 }

var textGenTexts = []string{"", "global", "shared", "a \"quoted\" text", "two\nlines\t", "é 名前 \u2028", "\xff\xfe", "# no comment // here", "{}[]()", "$x", "\\", "nan"}

func (g *textGen) text() string { return textGenTexts[g.r.IntN(len(textGenTexts))] }

var textGenFloats = []float64{0, math.Copysign(0, -1), 1, -1, 0.1, float64(float32(0.1)), 1e-45, 5e-324, math.MaxFloat64, math.MaxFloat32, -math.MaxFloat32, math.Inf(1),
	math.Inf(-1), math.NaN(), math.Float64frombits(0xfff8000000000000), math.Float64frombits(0x7ff8000000000123), 65504, 1e6, 1e21, 16777217, math.Pi}

func (g *textGen) float() float64 {
	if g.oneIn(3) {
		return g.r.NormFloat64() * math.Exp(g.r.NormFloat64()*20)
	}
	return textGenFloats[g.r.IntN(len(textGenFloats))]
}

// floatOf is a value that a type of floats has.
func (g *textGen) floatOf(t Type) float64 {
	values := []float64{0, 0.5, 1, 1.5, -1, 2, 6, -6} // of all of them
	switch {
	case t == Float64:
		return g.float()
	case t == Float32:
		if v := g.float(); math.IsNaN(v) || math.IsInf(v, 0) || math.Abs(v) <= math.MaxFloat32 {
			if math.IsNaN(v) {
				return v
			}
			return float64(float32(v))
		}
	case t == Float16:
		values = append(values, 65504, 0x1p-24, -0x1p-24)
	case t == BFloat16:
		values = append(values, 0x1.fep127, 0x1p-133)
	}
	if t.Bits >= 16 {
		values = append(values, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), math.Float64frombits(0xfff8000000000000))
	}
	return values[g.r.IntN(len(values))]
}

// constant is a constant of a type of one lane.
func (g *textGen) constant(t Type) Expr {
	switch {
	case IsFloat(t):
		return &FloatImm{t, g.floatOf(t)}
	case IsBool(t):
		return &IntImm{t, int64(g.r.IntN(2))}
	case t == UInt64 && g.oneIn(4):
		return &IntImm{t, -1 - int64(g.r.IntN(3))} // beyond int64
	}
	least, greatest := intRange(t)
	values := []int64{least, greatest, 0, 1, least + 1, greatest / 2}
	if least < 0 {
		values = append(values, -1)
	}
	return &IntImm{t, values[g.r.IntN(len(values))]}
}

func (g *textGen) pickVar(t Type) Expr {
	var fit []*Var
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

func (g *textGen) pickBuffer(fits func(*Buffer) bool) *Buffer {
	var fit []*Buffer
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

func (g *textGen) anyType() Type { return textGenTypes[g.r.IntN(len(textGenTypes))] }

// leaf is an expression without parts, or with few.
func (g *textGen) leaf(t Type) Expr {
	if v := g.pickVar(t); v != nil && !g.oneIn(3) {
		return v
	}
	switch {
	case t == Handle:
		return &Cast{t, g.constant(Int64)}
	case t.Lanes > 1:
		return &Broadcast{g.leaf(Element(t)), int(t.Lanes)}
	}
	return g.constant(t)
}

func (g *textGen) exprs(t Type, n, depth int) []Expr {
	list := make([]Expr, n)
	for i := range list {
		list[i] = g.expr(t, depth)
	}
	return list
}

// indices are those of a buffer's element; with lanes, the last one has so many.
func (g *textGen) indices(b *Buffer, lanes, depth int) []Expr {
	list := make([]Expr, len(b.Shape))
	for i := range list {
		t := []Type{Int32, Int64}[g.r.IntN(2)]
		if i == len(list)-1 {
			t = Vector(t, lanes)
		}
		list[i] = g.expr(t, depth)
	}
	return list
}

func (g *textGen) expr(t Type, depth int) Expr {
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

// tryExpr makes one of the nodes, if it can be of the type.
func (g *textGen) tryExpr(t Type, depth int) Expr {
	number := (IsInt(t) || IsFloat(t)) && t != Handle
	switch g.r.IntN(16) {
	case 0, 1, 2:
		if number {
			return &Binary{Op: BinaryOp(g.r.IntN(int(OpMax) + 1)), A: g.expr(t, depth), B: g.expr(t, depth)}
		}
		if IsBool(t) {
			from := Vector(g.anyType(), int(t.Lanes))
			op := OpEQ + BinaryOp(g.r.IntN(6))
			if IsBool(from) && op > OpNE {
				op = OpAnd + BinaryOp(g.r.IntN(2))
			}
			return &Binary{Op: op, A: g.expr(from, depth), B: g.expr(from, depth)}
		}
	case 3:
		if IsBool(t) {
			return &Not{A: g.expr(t, depth)}
		}
	case 4:
		if IsBool(t) {
			return &Binary{Op: OpAnd + BinaryOp(g.r.IntN(2)), A: g.expr(t, depth), B: g.expr(t, depth)}
		}
	case 5:
		return &Select{Cond: g.expr(Vector(Bool, int(t.Lanes)), depth), Then: g.expr(t, depth), Else: g.expr(t, depth)}
	case 6:
		if t == Handle {
			return &Cast{t, g.expr(Int64, depth)}
		}
		return &Cast{t, g.expr(Vector(g.anyType(), int(t.Lanes)), depth)}
	case 7, 8:
		lanes := 1
		b := g.pickBuffer(func(b *Buffer) bool { return b.DType == t })
		if b == nil {
			lanes = int(t.Lanes)
			b = g.pickBuffer(func(b *Buffer) bool { return b.DType == Element(t) && len(b.Shape) > 0 })
		}
		if b != nil {
			return &BufferLoad{Buffer: b, Indices: g.indices(b, lanes, depth)}
		}
	case 9:
		if number && t.Lanes > 1 {
			return &Ramp{g.expr(Element(t), depth), g.expr(Element(t), depth), int(t.Lanes)}
		}
	case 10:
		if t.Lanes > 1 {
			return &Broadcast{g.expr(Element(t), depth), int(t.Lanes)}
		}
	case 11:
		if t != Handle {
			lanes := 1 + g.r.IntN(4)
			s := &Shuffle{Vectors: g.exprs(Vector(t, lanes), 1+g.r.IntN(3), depth)}
			for range t.Lanes {
				s.Indices = append(s.Indices, g.r.IntN(lanes*len(s.Vectors)))
			}
			return s
		}
	case 12:
		from := g.anyType()
		v := NewVar(g.name(), from)
		x := g.expr(from, depth)
		known := len(g.vars)
		g.vars = append(g.vars, v)
		body := g.expr(t, depth)
		g.vars = g.vars[:known]
		return &Let{Var: v, Value: x, Body: body}
	case 13, 14:
		return g.call(t, depth)
	}
	return g.leaf(t)
}

func (g *textGen) call(t Type, depth int) Expr {
	if g.oneIn(2) {
		c := &Call{CallKind(1 + g.r.IntN(3)), g.name() + "f", t, nil}
		for range g.r.IntN(4) {
			c.Args = append(c.Args, g.arg(depth))
		}
		return c
	}
	var fit []Intrinsic
	for _, i := range Intrinsics() {
		switch {
		case i.Name == "ret_none" || i.Name == "clear_reports" || i.Name == "check_reports": // which give nothing
		case i.Name == "check_index":
			if IsInt(t) {
				fit = append(fit, i)
			}
		case i.Name == "report_index":
			if t == Bool {
				fit = append(fit, i)
			}
		case i.Name == "likely" || i.Name == "isnan" || i.Name == "isinf" || i.Name == "isfinite":
			if IsBool(t) && t.Bits == 8 {
				fit = append(fit, i)
			}
		case i.sort == sortFloat && IsFloat(t) || i.sort == sortBits && IsInt(t) || i.sort == sortAny:
			fit = append(fit, i)
		}
	}
	i := fit[g.r.IntN(len(fit))]
	c := &Call{CallIntrinsic, i.Name, t, nil}
	switch i.Name {
	case "isnan", "isinf", "isfinite":
		c.Args = g.exprs(Vector([]Type{Float16, Float32, Float64}[g.r.IntN(3)], int(t.Lanes)), 1, depth)
	case "reinterpret":
		from := t
		if t.Bits == 32 {
			from = Vector([]Type{Float32, Int32, UInt32}[g.r.IntN(3)], int(t.Lanes))
		}
		c.Args = g.exprs(from, 1, depth)
	case "if_then_else":
		c.Args = append(g.exprs(Bool, 1, depth), g.exprs(t, 2, depth)...)
	case "tvm_struct_get", "tvm_struct_set", "storage_sync", "prefetch":
		for range g.r.IntN(4) {
			c.Args = append(c.Args, g.arg(depth))
		}
	case "report_index":
		c.Args = append(append(g.exprs(Handle, 1, depth), g.exprs(Int32, 1, depth)...), g.exprs(Int64, 2, depth)...)
	case "check_index":
		c.Args = append(g.exprs(t, 1, depth), append(g.exprs(Int64, 1, depth), Text("A"), I32(0))...)
	case "address_of":
		c.Args = g.exprs(g.anyType(), 1, depth)
	default:
		c.Args = g.exprs(t, i.Args, depth)
	}
	return c
}

// arg is what calls take, and attributes have as their values.
func (g *textGen) arg(depth int) Expr {
	if g.oneIn(4) {
		return &StringImm{g.text()}
	}
	return g.expr(g.argType(), depth)
}

func (g *textGen) argType() Type {
	if g.oneIn(4) {
		return Handle
	}
	return g.anyType()
}

func (g *textGen) buffer(data *Var) *Buffer {
	b := &Buffer{Name: g.name(), Data: data, DType: g.anyType()}
	for range g.r.IntN(4) {
		b.Shape = append(b.Shape, g.expr([]Type{Int32, Int64}[g.r.IntN(2)], 1))
	}
	if data == nil {
		b.Data = NewVar(b.Name, Handle)
		if g.oneIn(4) {
			b.Data.Name = g.name()
		}
	}
	if g.oneIn(3) {
		b.Strides = g.exprs(Int32, len(b.Shape), 1)
	}
	if g.oneIn(4) {
		b.Offset = g.expr(Int32, 1)
	}
	if g.oneIn(3) {
		b.Scope = g.text()
	}
	if g.oneIn(3) {
		b.Alignment = 1 << g.r.IntN(10)
	}
	return b
}

func (g *textGen) attrs() map[string]any {
	m := map[string]any{}
	for range g.r.IntN(4) {
		switch g.r.IntN(5) {
		case 0:
			m[g.name()] = []int64{0, 1, -1, math.MinInt64, math.MaxInt64}[g.r.IntN(5)]
		case 1:
			m[g.name()] = g.float()
		case 2:
			m[g.name()] = g.oneIn(2)
		case 3:
			m[g.name()] = g.text()
		case 4:
			m[g.name()] = textGenTargets[g.r.IntN(len(textGenTargets))]
		}
	}
	return m
}

var textGenTargets = func() (all []*target.Target) {
	for _, s := range []string{"c", "llvm -mcpu=skylake", `{"kind":"cuda","arch":"sm_90","host":"llvm"}`} {
		t, err := target.New(s)
		if err != nil {
			panic(err)
		}
		all = append(all, t)
	}
	return all
}()

// within makes a statement in which more is known.
func (g *textGen) within(v *Var, b *Buffer, depth int) Stmt {
	vars, buffers := len(g.vars), len(g.buffers)
	if v != nil {
		g.vars = append(g.vars, v)
	}
	if b != nil {
		g.buffers = append(g.buffers, b)
		if g.oneIn(2) {
			g.vars = append(g.vars, b.Data)
		}
	}
	s := g.stmt(depth)
	g.vars, g.buffers = g.vars[:vars], g.buffers[:buffers]
	return s
}

func (g *textGen) stmt(depth int) Stmt {
	g.left--
	if depth <= 0 || g.left <= 0 {
		if b := g.pickBuffer(func(*Buffer) bool { return true }); b != nil && !g.oneIn(3) {
			return &BufferStore{b, g.expr(b.DType, 1), g.indices(b, 1, 1)}
		}
		if g.oneIn(20) {
			return &Evaluate{&Call{CallIntrinsic, "ret_none", Void, nil}}
		}
		return &Evaluate{g.expr(g.argType(), 1)}
	}
	depth--
	switch g.r.IntN(14) {
	case 0, 1, 2:
		t := []Type{Int32, Int64, UInt32}[g.r.IntN(3)]
		f := &For{Kind: ForKind(g.r.IntN(int(numForKinds))), Var: NewVar(g.name(), t), Min: &IntImm{t, 0}, Extent: g.expr(t, 2)}
		if g.oneIn(3) {
			f.Min = g.expr(t, 2)
		}
		if f.Kind == ThreadBind {
			f.Thread = "blockIdx.x"
		}
		if g.oneIn(3) {
			f.Annotations = g.attrs()
		}
		f.Body = g.within(f.Var, nil, depth)
		return f
	case 3:
		return &While{g.expr(Bool, 3), g.stmt(depth)}
	case 4:
		s := &If{Cond: g.expr(Bool, 3), Then: g.stmt(depth)}
		if g.oneIn(2) {
			s.Else = g.stmt(depth)
		}
		return s
	case 5:
		t := g.argType()
		v := NewVar(g.name(), t)
		return &LetStmt{v, g.expr(t, 3), g.within(v, nil, depth)}
	case 6:
		return &Assert{g.expr(Bool, 3), []string{"ValueError", "TypeError", "odd error", ""}[g.r.IntN(4)], g.text()}
	case 7:
		b := g.buffer(nil)
		return &Alloc{b, g.within(nil, b, depth)}
	case 8:
		return g.attr(depth)
	case 9, 10:
		s := &Seq{}
		for range g.r.IntN(5) {
			s.Stmts = append(s.Stmts, g.stmt(depth))
		}
		return s
	case 11: // memory that nothing here allocates
		if v, ok := g.pickVar(Handle).(*Var); ok {
			return g.within(nil, g.buffer(v), depth)
		}
	}
	return g.stmt(0)
}

func (g *textGen) attr(depth int) Stmt {
	s := &AttrStmt{Key: g.text()}
	if !g.oneIn(4) {
		s.Value = g.arg(2)
	}
	var bound *Var
	switch g.r.IntN(4) {
	case 0:
		if v, ok := g.pickVar(Int32).(*Var); ok {
			s.Node = v
		}
	case 1:
		if b := g.pickBuffer(func(*Buffer) bool { return true }); b != nil {
			s.Node = b
		}
	case 2:
		x := &IterVar{Var: NewVar(g.name(), Int32), Kind: IterKind(g.r.IntN(int(numIterKinds))), Thread: g.text()}
		bound = x.Var
		if v, ok := g.pickVar(Int32).(*Var); ok && g.oneIn(3) {
			x.Var, bound = v, nil
		}
		if g.oneIn(2) {
			x.Min, x.Extent = g.expr(Int32, 1), g.expr(Int32, 1)
		}
		s.Node = x
	}
	s.Body = g.within(bound, nil, depth)
	return s
}

func (g *textGen) function(name string) *PrimFunc {
	g.vars, g.buffers, g.left = nil, nil, 20+g.r.IntN(200)
	f := &PrimFunc{Name: name, Result: Void, Buffers: map[*Var]*Buffer{}, Attrs: g.attrs()}
	if g.oneIn(3) {
		f.Result = g.argType()
	}
	known := map[string]bool{}
	for range g.r.IntN(5) {
		v := NewVar(g.name(), g.argType())
		if !known[v.Name] || g.oneIn(2) {
			f.Params = append(f.Params, v)
		}
		known[v.Name] = true
	}
	g.vars = append(g.vars, f.Params...)
	for range g.r.IntN(3) { // sizes that are found in shapes
		g.vars = append(g.vars, NewVar(g.name(), Int32))
	}
	for _, v := range f.Params {
		if v.Type == Handle && !g.oneIn(3) {
			f.Buffers[v] = g.buffer(nil)
			g.buffers = append(g.buffers, f.Buffers[v])
		}
	}
	f.Body = g.stmt(2 + g.r.IntN(5))
	return f
}

// module makes the module of a seed.
func textGenModule(seed uint64) *IRModule {
	g := &textGen{r: rand.New(rand.NewPCG(seed, 1))}
	m := &IRModule{Attrs: g.attrs()}
	for range g.r.IntN(3) + 1 {
		name := g.name() + "g"
		if m.Func(name) == nil {
			m.Funcs = append(m.Funcs, g.function(name))
		}
	}
	return m
}
