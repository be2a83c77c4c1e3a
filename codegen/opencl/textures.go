package opencl

import (
	"fmt"
	"slices"
	"strings"

	"tvmgo/target"
	"tvmgo/tir"
)

// Scopes of images, which lowerTextures gives to the parameters of kernels.
const (
	readImage  = "image.read"
	writeImage = "image.write"
)

// textureScopes are the scopes of parameters that are images of four channels. A shape [d0, …, 4] is an image whose
// rows are the leading dimensions (docs/abi.md E.7).
var textureScopes = []string{"global.texture", "global.texture-weight", "global.texture-nhwc"}

// textureRows returns how many leading dimensions of a texture are rows.
func textureRows(scope string, rank int) int {
	switch {
	case scope == "global.texture" && rank > 3:
		return rank - 2
	case scope == "global.texture-nhwc" && rank > 3:
		return 2
	}
	return 1
}

// limitAttr is the target's largest width and height of an image, in pixels; 0 for a device without images.
const limitAttr = "texture_spatial_limit"

// lowerTextures makes the accesses to textures those of images: a read fetches a pixel of four elements, and a store
// writes one.
func lowerTextures(m *tir.IRModule, t *target.Target) (*tir.IRModule, error) {
	out := &tir.IRModule{Attrs: m.Attrs}
	for _, f := range m.Funcs {
		changed, err := texturesOf(f, t)
		if err != nil {
			return nil, fmt.Errorf("function %s: %w", f.Name, err)
		}
		out.Funcs = append(out.Funcs, changed)
	}
	return out, nil
}

// textures is the state of lowerTextures for one kernel.
type textures struct {
	of            map[*tir.Var]*tir.Buffer // by address
	reads, writes map[*tir.Var]bool
	err           error
}

func texturesOf(f *tir.PrimFunc, t *target.Target) (*tir.PrimFunc, error) {
	x := &textures{of: map[*tir.Var]*tir.Buffer{}, reads: map[*tir.Var]bool{}, writes: map[*tir.Var]bool{}}
	for _, p := range f.BufferParams() {
		if b := f.Buffers[p]; slices.Contains(textureScopes, b.StorageScope()) {
			if err := checkTexture(b, t); err != nil {
				return nil, fmt.Errorf("texture %s: %w", b.Name, err)
			}
			x.of[b.Data] = b
		}
	}
	if len(x.of) == 0 {
		return f, nil
	}
	changed := *f
	m := &tir.Mutator{
		Expr: func(e tir.Expr) tir.Expr {
			if l, ok := e.(*tir.BufferLoad); ok && x.of[l.Buffer.Data] != nil {
				return x.load(l)
			}
			return e
		},
		Stmt: func(s tir.Stmt) tir.Stmt {
			if st, ok := s.(*tir.BufferStore); ok && x.of[st.Buffer.Data] != nil {
				return x.store(st)
			}
			return s
		},
	}
	changed.Body = m.MutateStmt(f.Body)
	changed.Buffers = map[*tir.Var]*tir.Buffer{}
	for p, b := range f.Buffers {
		changed.Buffers[p] = b
		if x.of[b.Data] == nil {
			continue
		}
		image := *b
		image.Scope = readImage
		switch {
		case x.reads[b.Data] && x.writes[b.Data]:
			x.fail(b, "the kernel reads and writes it, which OpenCL 1.2 does not allow: write to another tensor")
		case x.writes[b.Data]:
			image.Scope = writeImage
		}
		changed.Buffers[p] = &image
	}
	return &changed, x.err
}

// checkTexture returns an error if a parameter cannot be an image.
func checkTexture(b *tir.Buffer, t *target.Target) error {
	if t != nil {
		if limit, ok := t.Attrs()[limitAttr].(int64); ok && limit < 1 {
			return fmt.Errorf("the target has no images (%s=%d): pass an array in global memory", limitAttr, limit)
		}
	}
	rank := len(b.Shape)
	switch rows := textureRows(b.StorageScope(), rank); {
	case rank < 3 || rows > rank-2:
		return fmt.Errorf("it has %d dimensions: scope %s wants at least %d, for rows, columns and four channels", rank,
			b.StorageScope(), max(3, rows+2))
	case b.Strides != nil || !isZero(b.Offset):
		return fmt.Errorf("it has strides or an offset: an image has neither")
	}
	if n, ok := b.Shape[rank-1].(*tir.IntImm); !ok || n.Value != 4 {
		return fmt.Errorf("its last dimension is not 4, the number of channels of a pixel")
	}
	if _, ok := pixelType(b.DType); !ok {
		return fmt.Errorf("it has elements of type %s: want float32, float16, or integers of 8 to 32 bits", b.DType)
	}
	if t == nil {
		return nil
	}
	limit, ok := t.Attrs()[limitAttr].(int64)
	rows := textureRows(b.StorageScope(), rank)
	size := [2]int64{1, 1}
	for d, n := range b.Shape[:rank-1] {
		c, constant := n.(*tir.IntImm)
		if !constant {
			return nil
		}
		which := 0
		if d < rows {
			which = 1
		}
		size[which] *= c.Value
	}
	if ok && max(size[0], size[1]) > limit {
		return fmt.Errorf("it is an image of %d by %d pixels, and the target has at most %d (%s): use another texture scope "+
			"or shape", size[0], size[1], limit, limitAttr)
	}
	return nil
}

func isZero(e tir.Expr) bool {
	n, ok := e.(*tir.IntImm)
	return e == nil || ok && n.Value == 0
}

// pixelType returns the type of a pixel as OpenCL reads it.
func pixelType(t tir.Type) (tir.Type, bool) {
	switch {
	case t == tir.Float32 || t == tir.Float16:
		return tir.Vector(tir.Float32, 4), true
	case tir.IsInt(t) && (t.Bits == 8 || t.Bits == 16 || t.Bits == 32) && tir.IsSigned(t):
		return tir.Vector(tir.Int32, 4), true
	case tir.IsInt(t) && (t.Bits == 8 || t.Bits == 16 || t.Bits == 32):
		return tir.Vector(tir.UInt32, 4), true
	}
	return tir.Type{}, false
}

func (x *textures) fail(b *tir.Buffer, format string, args ...any) {
	if x.err == nil {
		x.err = fmt.Errorf("texture %s: %w", b.Name, fmt.Errorf(format, args...))
	}
}

// position returns the column and the row of a pixel.
func position(b *tir.Buffer, indices []tir.Expr) (column, row tir.Expr) {
	flat := func(from, to int) tir.Expr {
		var sum tir.Expr = tir.I32(0)
		for d := from; d < to; d++ {
			sum = tir.Add(tir.Mul(sum, tir.NewCast(tir.Int32, b.Shape[d])), tir.NewCast(tir.Int32, indices[d]))
		}
		return sum
	}
	rows := textureRows(b.StorageScope(), len(b.Shape))
	return flat(rows, len(indices)-1), flat(0, rows)
}

// load reads elements: a pixel, or some of its channels, or channels of several pixels.
func (x *textures) load(l *tir.BufferLoad) tir.Expr {
	b := l.Buffer
	x.reads[b.Data] = true
	pixel := func(indices []tir.Expr) tir.Expr {
		t, _ := pixelType(b.DType)
		column, row := position(b, indices)
		return tir.NewCall(tir.CallIntrinsic, t, "texture2d_load", b.Data, column, row)
	}
	t := l.DType()
	last := l.Indices[len(l.Indices)-1]
	if !slices.ContainsFunc(l.Indices[:len(l.Indices)-1], func(e tir.Expr) bool { return e.DType().Lanes > 1 }) {
		if isPixel(last) {
			return cast(t, pixel(l.Indices))
		}
	}
	lanes := make([]tir.Expr, max(1, int(t.Lanes)))
	which := make([]int, len(lanes))
	for i := range lanes {
		at := make([]tir.Expr, len(l.Indices))
		for d, e := range l.Indices {
			if at[d] = laneOf(e, i); at[d] == nil {
				x.fail(b, "it is read at a vector of computed positions: do not vectorize that loop")
				return l
			}
		}
		lanes[i], which[i] = channel(pixel(at), at[len(at)-1]), i
	}
	if len(lanes) == 1 {
		return tir.NewCast(t, lanes[0])
	}
	return tir.NewCast(t, tir.NewShuffle(lanes, which))
}

// cast converts a pixel to the type of elements, channel by channel if OpenCL lacks vectors of it.
func cast(t tir.Type, pixel tir.Expr) tir.Expr {
	if t == tir.Vector(tir.Element(t), 4) && tir.Element(t) != tir.Float16 {
		return tir.NewCast(t, pixel)
	}
	v := tir.NewVar("pixel", pixel.DType())
	lanes := make([]tir.Expr, t.Lanes)
	which := make([]int, t.Lanes)
	for i := range lanes {
		lanes[i], which[i] = tir.NewCast(tir.Element(t), tir.NewShuffle([]tir.Expr{v}, []int{i})), i
	}
	return &tir.Let{Var: v, Value: pixel, Body: tir.NewShuffle(lanes, which)}
}

// isPixel reports whether an index covers the four channels of a pixel in order.
func isPixel(e tir.Expr) bool {
	r, ok := e.(*tir.Ramp)
	return ok && r.Lanes == 4 && isZero(r.Base) && !isZero(r.Stride) && isOne(r.Stride)
}

func isOne(e tir.Expr) bool {
	n, ok := e.(*tir.IntImm)
	return ok && n.Value == 1
}

// laneOf returns a lane of an index; nil if it is not known.
func laneOf(e tir.Expr, i int) tir.Expr {
	switch e := e.(type) {
	case *tir.Ramp:
		return tir.Add(e.Base, tir.Mul(e.Stride, tir.IntConst(e.Base.DType(), int64(i))))
	case *tir.Broadcast:
		return e.Value
	}
	if e.DType().Lanes > 1 {
		return nil
	}
	return e
}

// channel returns one channel of a pixel.
func channel(pixel, index tir.Expr) tir.Expr {
	v := tir.NewVar("pixel", pixel.DType())
	if n, ok := index.(*tir.IntImm); ok && n.Value >= 0 && n.Value < 4 {
		return &tir.Let{Var: v, Value: pixel, Body: tir.NewShuffle([]tir.Expr{v}, []int{int(n.Value)})}
	}
	picked := tir.NewShuffle([]tir.Expr{v}, []int{3})
	for c := 2; c >= 0; c-- {
		picked = tir.NewSelect(tir.EQ(index, tir.IntConst(index.DType(), int64(c))), tir.NewShuffle([]tir.Expr{v},
			[]int{c}), picked)
	}
	return &tir.Let{Var: v, Value: pixel, Body: picked}
}

// store writes a pixel.
func (x *textures) store(s *tir.BufferStore) tir.Stmt {
	b := s.Buffer
	x.writes[b.Data] = true
	t, _ := pixelType(b.DType)
	if !isPixel(s.Indices[len(s.Indices)-1]) || s.Value.DType().Lanes != 4 {
		x.fail(b, "a store writes a part of a pixel: vectorize the loop over its last dimension")
		return s
	}
	column, row := position(b, s.Indices)
	return &tir.Evaluate{Value: tir.NewCall(tir.CallIntrinsic, tir.Void, "texture2d_store", b.Data, column, row,
		tir.NewCast(t, s.Value))}
}

// imageCall returns OpenCL's function for an intrinsic of images.
func imageCall(call *tir.Call, args []string) string {
	t := call.Type
	if call.Name == "texture2d_store" {
		t = call.Args[3].DType()
	}
	suffix := "f"
	if tir.IsInt(t) {
		suffix = map[bool]string{true: "i", false: "ui"}[tir.IsSigned(t)]
	}
	at := fmt.Sprintf("(int2)(%s, %s)", args[1], args[2])
	if call.Name == "texture2d_store" {
		return fmt.Sprintf("write_image%s(%s, %s, %s)", suffix, args[0], at, args[3])
	}
	return fmt.Sprintf("read_image%s(%s, tvmgo_pixels, %s)", suffix, args[0], at)
}

// sampler declares how kernels read images.
const sampler = "__constant sampler_t tvmgo_pixels = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | " +
	"CLK_FILTER_NEAREST;\n"

// usesImages reports whether a kernel reads an image.
func usesImages(m *tir.IRModule) bool {
	return tir.Contains(m, func(node any) bool {
		call, ok := node.(*tir.Call)
		return ok && call.Kind == tir.CallIntrinsic && strings.HasPrefix(call.Name, "texture2d_")
	})
}
