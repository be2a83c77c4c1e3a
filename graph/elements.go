package graph

import (
	"encoding/binary"
	"maps"
	"math"

	"tvmgo/dlpack"
	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/arith"
)

// Elements returns the elements in row-major order if they are known when the model is compiled, else nil. The result
// must not be changed.
func (v *Value) Elements() []tir.Expr {
	if v.elems == nil && v.Const != nil {
		if n, ok := v.size(knownLimit); ok {
			v.elems = decode(v.DType, v.Const.Data, int(n))
		}
	}
	return v.elems
}

// decode returns the elements of a constant; nil for types that have no constants.
func decode(t tir.Type, data []byte, n int) []tir.Expr {
	if size, ok := dataSize(t, n); !ok || size != len(data) {
		return nil
	}
	out := make([]tir.Expr, 0, n)
	for i := range n {
		e := decodeOne(t, bitsAt(data, i, int(t.Bits)))
		if e == nil {
			return nil
		}
		out = append(out, e)
	}
	return out
}

// dataSize returns the number of bytes of elements; ok is false for types that have no constants.
func dataSize(t tir.Type, n int) (size int, ok bool) {
	if t.Bits == 0 || t.Bits == 1 || t.Bits < 8 && 8%t.Bits != 0 || t.Bits > 64 {
		return 0, false
	}
	bytes, err := dlpack.DataSize([]int64{int64(n)}, t)
	return int(bytes), err == nil
}

// bitsAt returns the bits of an element. Elements of fewer than 8 bits share bytes, the first one has the lowest bits.
func bitsAt(data []byte, i, width int) uint64 {
	if width < 8 {
		return uint64(data[i*width/8]>>(i*width%8)) & (1<<width - 1)
	}
	var bits uint64
	for k, b := range data[i*width/8 : (i+1)*width/8] {
		bits |= uint64(b) << (8 * k)
	}
	return bits
}

// setBits sets the bits of an element, which are 0.
func setBits(data []byte, i, width int, bits uint64) {
	if width < 8 {
		data[i*width/8] |= byte(bits&(1<<width-1)) << (i * width % 8)
		return
	}
	for k := range width / 8 {
		data[i*width/8+k] = byte(bits >> (8 * k))
	}
}

func decodeOne(t tir.Type, bits uint64) tir.Expr {
	switch {
	case tir.IsBool(t):
		return tir.BoolConst(bits != 0)
	case t == tir.Float32:
		return &tir.FloatImm{Type: t, Value: float64(math.Float32frombits(uint32(bits)))}
	case t == tir.Float64:
		return &tir.FloatImm{Type: t, Value: math.Float64frombits(bits)}
	case t == tir.Float16:
		return &tir.FloatImm{Type: t, Value: float64(dlpack.Float16Bits(bits).Float32())}
	case t == tir.BFloat16:
		return &tir.FloatImm{Type: t, Value: float64(dlpack.BFloat16Bits(bits).Float32())}
	case tir.IsFloat(t) && t.Bits <= 8:
		return &tir.FloatImm{Type: t, Value: tir.FloatOfBits(t, uint8(bits))}
	case tir.IsInt(t) && tir.IsSigned(t):
		shift := 64 - t.Bits
		return &tir.IntImm{Type: t, Value: int64(bits<<shift) >> shift}
	case tir.IsInt(t):
		return &tir.IntImm{Type: t, Value: int64(bits)}
	}
	return nil
}

// AsConst returns the constant that the value is: its own, or one made of elements that are all constants; nil if it is
// not constant.
func (v *Value) AsConst() *Const {
	if v.Const != nil || v.elems == nil || v.folded != nil {
		if v.Const == nil {
			return v.folded
		}
		return v.Const
	}
	data, ok := encode(v.DType, v.elems...)
	if !ok {
		return nil
	}
	v.folded = &Const{Data: data}
	return v.folded
}

// encode returns the data of elements; ok is false if one is not constant, or of a type that has no constants.
func encode(t tir.Type, elems ...tir.Expr) (data []byte, ok bool) {
	size, ok := dataSize(t, len(elems))
	if !ok {
		return nil, false
	}
	data = make([]byte, size)
	for i, e := range elems {
		bits, ok := encodeOne(t, e)
		if !ok {
			return nil, false
		}
		setBits(data, i, int(t.Bits), bits)
	}
	return data, true
}

func encodeOne(t tir.Type, e tir.Expr) (bits uint64, ok bool) {
	switch e := e.(type) {
	case *tir.IntImm:
		return uint64(e.Value), true
	case *tir.FloatImm:
		switch t {
		case tir.Float64:
			return math.Float64bits(e.Value), true
		case tir.Float32:
			return uint64(math.Float32bits(float32(e.Value))), true
		case tir.Float16:
			return uint64(dlpack.Float16Of(e.Value)), true
		case tir.BFloat16:
			return uint64(dlpack.BFloat16Of(e.Value)), true
		}
		code, ok := tir.BitsOfFloat(t, e.Value)
		return uint64(code), ok
	}
	return 0, false
}

func encodeInts(values []int64) []byte {
	var data []byte
	for _, v := range values {
		data = binary.LittleEndian.AppendUint64(data, uint64(v))
	}
	return data
}

// Size returns an integer as an expression of type int32.
func Size(e tir.Expr) tir.Expr {
	switch e := e.(type) {
	case *tir.IntImm:
		if e.Value >= math.MinInt32 && e.Value <= math.MaxInt32 {
			return tir.I32(int32(e.Value))
		}
		if e.Value > 0 { // ends of slices: as far as possible
			return tir.I32(math.MaxInt32)
		}
		return tir.I32(math.MinInt32)
	case *tir.Cast:
		if e.Value.DType() == tir.Int32 || tir.IsInt(e.Value.DType()) && e.Value.DType().Bits <= e.Type.Bits {
			return Size(e.Value)
		}
	case *tir.Binary:
		if e.DType() == tir.Int32 {
			return e
		}
		if tir.IsInt(e.DType()) && !e.Op.IsComparison() && !e.Op.IsLogical() {
			return tir.NewBinary(e.Op, Size(e.A), Size(e.B))
		}
	case *tir.Select:
		return tir.NewSelect(e.Cond, Size(e.Then), Size(e.Else))
	case *tir.Call:
		if e.Name == "if_then_else" && len(e.Args) == 3 {
			return tir.NewSelect(e.Args[0], Size(e.Args[1]), Size(e.Args[2]))
		}
	}
	if e.DType() == tir.Int32 {
		return e
	}
	return tir.NewCast(tir.Int32, e)
}

// evaluator computes elements of tensors as expressions of sizes.
type evaluator struct {
	values map[*te.Tensor]*Value // of placeholders
	memo   map[element]tir.Expr
	steps  int
	a      *arith.Analyzer
}

type element struct {
	t  *te.Tensor
	at int64
}

const evaluationLimit = 20000 // expressions that are visited for one value

// largestElement is the size from which on an element counts as unknown: an expression that mentions another one twice,
// again and again, grows without end.
const largestElement = 1000

// IsLarge reports whether an expression has more than n nodes.
func IsLarge(e tir.Expr, n int) bool {
	nodes := 0
	tir.Walk(e, func(any) bool { nodes++; return nodes <= n })
	return nodes > n
}

// all returns the elements of a tensor; nil if it is too large, or if one depends on data.
func (e *evaluator) all(t *te.Tensor, v *Value) []tir.Expr {
	n, ok := v.size(knownLimit)
	if !ok {
		return nil
	}
	if e.memo == nil {
		e.memo, e.a = map[element]tir.Expr{}, arith.NewAnalyzer()
	}
	shape, _ := v.StaticShape()
	out := make([]tir.Expr, n)
	for i := range out {
		if out[i] = e.element(t, shape, int64(i)); out[i] == nil {
			return nil
		}
	}
	return out
}

// element returns the element at a position in row-major order, or nil.
func (e *evaluator) element(t *te.Tensor, shape []int64, at int64) tir.Expr {
	key := element{t, at}
	if x, ok := e.memo[key]; ok {
		return x
	}
	e.memo[key] = nil
	var x tir.Expr
	if v := e.values[t]; v != nil {
		if elems := v.Elements(); elems != nil && at < int64(len(elems)) {
			x = elems[at]
		}
	} else if bodies, axes := t.Bodies(), t.Axes(); len(bodies) == 1 {
		point := map[*tir.Var]tir.Expr{}
		for d := len(axes) - 1; d >= 0; d-- {
			point[axes[d].Var] = tir.IntConst(axes[d].Var.Type, at%shape[d])
			at /= shape[d]
		}
		if x = e.expr(bodies[0], point); x != nil {
			x = e.a.Simplify(x)
		}
	}
	e.memo[key] = x
	return x
}

// expr returns an expression with variables replaced and tensors read; nil if it depends on data.
func (e *evaluator) expr(x tir.Expr, vars map[*tir.Var]tir.Expr) tir.Expr {
	if e.steps++; e.steps > evaluationLimit {
		return nil
	}
	switch x := x.(type) {
	case *tir.Var:
		if to, ok := vars[x]; ok {
			return to
		}
		return x
	case *tir.ProducerLoad:
		return e.load(x, vars)
	case *tir.Select:
		return e.choose(x.Cond, x.Then, x.Else, vars)
	case *tir.Call:
		if x.Name == "if_then_else" && len(x.Args) == 3 {
			return e.choose(x.Args[0], x.Args[1], x.Args[2], vars)
		}
	case *tir.Binary:
		if x.Op.IsLogical() {
			return e.logical(x, vars)
		}
	case *tir.Reduce:
		return e.reduce(x, vars)
	case *tir.Let:
		return e.let(x, vars)
	}
	known := true
	out := tir.MapExpr(x, func(p tir.Expr) tir.Expr {
		if !known {
			return p
		}
		q := e.expr(p, vars)
		if q == nil {
			known = false
			return p
		}
		return q
	})
	if !known {
		return nil
	}
	return e.simple(out)
}

// simple simplifies an expression of results; nil if it is large.
func (e *evaluator) simple(x tir.Expr) tir.Expr {
	if IsLarge(x, largestElement) {
		return nil
	}
	return e.a.Simplify(x)
}

func (e *evaluator) choose(cond, then, otherwise tir.Expr, vars map[*tir.Var]tir.Expr) tir.Expr {
	c := e.expr(cond, vars)
	if c == nil {
		return nil
	}
	if n, ok := tir.IntValue(c); ok {
		if n != 0 {
			return e.expr(then, vars)
		}
		return e.expr(otherwise, vars)
	}
	a, b := e.expr(then, vars), e.expr(otherwise, vars)
	if a == nil || b == nil {
		return nil
	}
	return e.simple(tir.NewSelect(c, a, b))
}

func (e *evaluator) logical(x *tir.Binary, vars map[*tir.Var]tir.Expr) tir.Expr {
	a := e.expr(x.A, vars)
	if a == nil {
		return nil
	}
	if n, ok := tir.IntValue(a); ok && (n != 0) == (x.Op == tir.OpOr) {
		return a
	}
	b := e.expr(x.B, vars)
	if b == nil {
		return nil
	}
	return e.simple(tir.NewBinary(x.Op, a, b))
}

// let evaluates an expression with a name for a constant, or for an expression that is small: others, in which names
// stand for names, would be large.
func (e *evaluator) let(x *tir.Let, vars map[*tir.Var]tir.Expr) tir.Expr {
	v := e.expr(x.Value, vars)
	if v == nil {
		return nil
	}
	_, isInt := tir.IntValue(v)
	_, isFloat := v.(*tir.FloatImm)
	if !isInt && !isFloat && IsLarge(v, largestNamed) {
		return nil
	}
	inner := maps.Clone(vars)
	inner[x.Var] = v
	return e.expr(x.Body, inner)
}

const largestNamed = 50

func (e *evaluator) load(x *tir.ProducerLoad, vars map[*tir.Var]tir.Expr) tir.Expr {
	t, ok := x.Producer.(*te.Tensor)
	if !ok {
		return nil
	}
	place := int64(0)
	shape := make([]int64, len(x.Indices))
	for d, index := range x.Indices {
		i := e.expr(index, vars)
		if i == nil {
			return nil
		}
		at, ok := tir.IntValue(i)
		n, fixed := tir.IntValue(t.ProducerShape()[d])
		if !ok || !fixed || at < 0 || at >= n {
			return nil
		}
		shape[d] = n
		place = place*n + at
	}
	return e.element(t, shape, place)
}

// reduce computes a reduction over constant axes.
func (e *evaluator) reduce(x *tir.Reduce, vars map[*tir.Var]tir.Expr) tir.Expr {
	c := x.Combiner
	acc := append([]tir.Expr{}, c.Identity...)
	point := map[*tir.Var]tir.Expr{}
	for v, to := range vars {
		point[v] = to
	}
	var over func(axis int) bool
	over = func(axis int) bool {
		if axis == len(x.Axes) {
			return e.combine(x, acc, point)
		}
		iv := x.Axes[axis]
		lo, n := e.expr(iv.Min, point), e.expr(iv.Extent, point)
		if lo == nil || n == nil {
			return false
		}
		first, ok1 := tir.IntValue(lo)
		count, ok2 := tir.IntValue(n)
		if !ok1 || !ok2 || count > evaluationLimit {
			return false
		}
		for i := range count {
			point[iv.Var] = tir.IntConst(iv.Var.Type, first+i)
			if !over(axis + 1) {
				return false
			}
		}
		return true
	}
	if !over(0) {
		return nil
	}
	return acc[x.Value]
}

// combine adds one point of a reduction to the accumulated values.
func (e *evaluator) combine(x *tir.Reduce, acc []tir.Expr, point map[*tir.Var]tir.Expr) bool {
	if x.Cond != nil {
		c := e.expr(x.Cond, point)
		if c == nil {
			return false
		}
		if n, ok := tir.IntValue(c); !ok || n == 0 {
			return ok
		}
	}
	args := map[*tir.Var]tir.Expr{}
	for k, s := range x.Sources {
		v := e.expr(s, point)
		if v == nil {
			return false
		}
		args[x.Combiner.Left[k]], args[x.Combiner.Right[k]] = acc[k], v
	}
	for k, r := range x.Combiner.Results {
		v := e.expr(r, args)
		if v == nil {
			return false
		}
		acc[k] = v
	}
	return true
}
