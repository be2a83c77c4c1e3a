package te

import (
	"errors"
	"fmt"
	"slices"

	"tvmgo/tir"
)

// Intrin is the computation of a small tile, and the statements by which a device's instructions perform it. See
// [NewIntrin].
type Intrin struct {
	name    string
	pattern *operation
	emit    func(ins []*Tile, out *Tile) IntrinSteps
	err     error
}

// IntrinSteps are the statements of an intrinsic for one tile. For a formula only Compute is used. A reduction needs
// Reset, which sets the tile to the reducer's identity, and Update, which accumulates; Compute, which may be nil, does
// both, and is used if the intrinsic covers all iterations of the reduction.
type IntrinSteps struct{ Compute, Reset, Update tir.Stmt }

// NewIntrin declares an intrinsic. pattern computes what it does: a tensor of constant shape, computed from
// placeholders of constant shapes. emit returns the statements for the parts of the buffers that stand for the
// placeholders, in the order in which the pattern first reads them, and for the result. [Stage.Tensorize] uses it.
func NewIntrin(name string, pattern *Tensor, emit func(ins []*Tile, out *Tile) IntrinSteps) *Intrin {
	in := &Intrin{name: name, emit: emit}
	switch {
	case pattern == nil:
		in.err = fmt.Errorf("the pattern is nil")
	case pattern.op.err != nil:
		in.err = pattern.op.err
	case pattern.op.kind != opCompute || len(pattern.op.tensors) > 1:
		in.err = fmt.Errorf("the pattern %s: want a tensor made by Compute", pattern.name)
	case emit == nil:
		in.err = fmt.Errorf("the function that makes its statements is nil")
	default:
		in.pattern = pattern.op
		in.err = in.check()
	}
	if in.err != nil {
		in.err = fmt.Errorf("intrinsic %s: %w", name, in.err)
	}
	return in
}

func (in *Intrin) check() error {
	for _, t := range append(readsOf(in.pattern.bodies), in.pattern.tensors...) {
		if t.op.kind != opPlaceholder && t.op != in.pattern {
			return fmt.Errorf("its pattern reads tensor %s, which is computed: want placeholders", t.name)
		}
		for d, n := range t.shape {
			if _, ok := constant(n); !ok {
				return fmt.Errorf("dimension %d of tensor %s is not constant", d, t.name)
			}
		}
	}
	for _, x := range in.pattern.reduce {
		_, extent := constant(x.Extent)
		if lo, ok := constant(x.Min); !ok || lo != 0 || !extent {
			return fmt.Errorf("axis %s of its reduction does not run from 0 to a constant", x.Var.Name)
		}
	}
	return nil
}

// Tile is the part of a buffer that an intrinsic reads or writes. Its dimensions are those of the pattern's tensor.
type Tile struct {
	buffer *tir.Buffer
	base   []tir.Expr // the indices of its first element
	dims   []int      // the dimension of the buffer for each dimension of the tile
	shape  []int64

	place func(at []tir.Expr) []tir.Expr // the position in memory of an element; nil: storage_swizzle is not used
}

// Shape returns the number of elements in each dimension.
func (t *Tile) Shape() []int64 { return slices.Clone(t.shape) }

// DType returns the type of an element.
func (t *Tile) DType() tir.Type { return t.buffer.DType }

// Scope returns the memory of the tile: "global", "shared", "local", ….
func (t *Tile) Scope() string { return t.buffer.StorageScope() }

// indices returns the indices of an element in the buffer.
func (t *Tile) indices(at []tir.Expr) ([]tir.Expr, error) {
	if len(at) != len(t.shape) {
		return nil, fmt.Errorf("te: tile of tensor %s: %d indices for %d dimensions", t.buffer.Name, len(at), len(t.shape))
	}
	all := slices.Clone(t.base)
	for d, x := range at {
		i := t.dims[d]
		all[i] = tir.Add(all[i], widen(x, all[i].DType()))
	}
	if t.place != nil {
		all = t.place(all)
	}
	return all, nil
}

// At reads an element.
func (t *Tile) At(at ...tir.Expr) tir.Expr {
	all, err := t.indices(at)
	if err != nil {
		return &tir.Bad{Err: err}
	}
	return tir.BufferAt(t.buffer, all...)
}

// Store writes an element.
func (t *Tile) Store(value tir.Expr, at ...tir.Expr) tir.Stmt {
	all, err := t.indices(at)
	if err != nil {
		return &tir.Evaluate{Value: &tir.Bad{Err: err}}
	}
	return &tir.BufferStore{Buffer: t.buffer, Value: value, Indices: all}
}

// Row reads lanes consecutive elements of the last dimension, which must be contiguous in memory, from an element on.
func (t *Tile) Row(lanes int, at ...tir.Expr) tir.Expr {
	all, err := t.row(lanes, at)
	if err != nil {
		return &tir.Bad{Err: err}
	}
	return tir.BufferAt(t.buffer, all...)
}

// StoreRow writes a vector to consecutive elements of the last dimension, as Row reads them.
func (t *Tile) StoreRow(value tir.Expr, at ...tir.Expr) tir.Stmt {
	all, err := t.row(int(value.DType().Lanes), at)
	if err != nil {
		return &tir.Evaluate{Value: &tir.Bad{Err: err}}
	}
	return &tir.BufferStore{Buffer: t.buffer, Value: value, Indices: all}
}

func (t *Tile) row(lanes int, at []tir.Expr) ([]tir.Expr, error) {
	all, err := t.indices(at)
	if err != nil {
		return nil, err
	}
	last := len(all) - 1
	if t.place != nil || last < 0 || len(t.dims) == 0 || t.dims[len(t.dims)-1] != last || len(t.buffer.Strides) > 0 {
		return nil, fmt.Errorf("te: tile of tensor %s: %w",
			t.buffer.Name, errStrided)
	}
	all[last] = tir.NewRamp(all[last], tir.IntConst(all[last].DType(), 1), lanes)
	return all, nil
}

// Address returns the address of the first element. The elements of swizzled memory ([Stage.StorageSwizzle]) have no
// strides: for them it returns an error, and At and Store find the elements.
func (t *Tile) Address() tir.Expr {
	if t.place != nil {
		return &tir.Bad{Err: fmt.Errorf("te: tile of tensor %s: the address of its first element does not lead to the "+
			"others, because of storage_swizzle: use At and Store, or storage_align", t.buffer.Name)}
	}
	return tir.NewCall(tir.CallIntrinsic, tir.Handle, "address_of", tir.BufferAt(t.buffer, t.base...))
}

// Stride returns the distance of elements that are neighbours in dimension d, in elements.
func (t *Tile) Stride(d int) tir.Expr {
	if d < 0 || d >= len(t.shape) {
		return &tir.Bad{Err: fmt.Errorf("te: tile of tensor %s: there is no dimension %d of %d", t.buffer.Name, d,
			len(t.shape))}
	}
	if len(t.buffer.Strides) > 0 {
		return t.buffer.Strides[t.dims[d]]
	}
	var stride tir.Expr = tir.IntConst(t.base[t.dims[d]].DType(), 1)
	for _, n := range t.buffer.Shape[t.dims[d]+1:] {
		stride = tir.Mul(stride, widen(n, stride.DType()))
	}
	return stride
}

// Tensorize replaces the loop over axis and all loops inside it by an intrinsic. They must compute what the intrinsic's
// pattern computes, for a whole tile, with no tensor attached inside; Lower compares the formulas.
func (st *Stage) Tensorize(axis *tir.IterVar, in *Intrin) { st.tensorize(axis, in, false) }

// TensorizeWhole is Tensorize for tiles that are whole: the loops compute the others, at the edges of tensors whose
// sizes the tile does not divide. The tensor must not be a reduction.
func (st *Stage) TensorizeWhole(axis *tir.IterVar, in *Intrin) {
	if len(st.reduce) > 0 {
		st.fail("tensorize", "axis %s: a reduction has no loops for the edges", axis.Var.Name)
		return
	}
	st.tensorize(axis, in, true)
}

func (st *Stage) tensorize(axis *tir.IterVar, in *Intrin, edges bool) {
	const primitive = "tensorize"
	switch i := st.leaf(primitive, axis); {
	case i < 0:
	case in == nil:
		st.fail(primitive, "axis %s: the intrinsic is nil", axis.Var.Name)
	case in.err != nil:
		st.fail(primitive, "axis %s: %w", axis.Var.Name, in.err)
	case st.intrin != nil:
		st.fail(primitive, "axis %s: intrinsic %s already computes the loops inside axis %s", axis.Var.Name, st.intrin.name,
			st.intrinAxis.Var.Name)
	case len(st.op.tensors) > 1:
		st.fail(primitive, "axis %s: it is computed together with other tensors: want a single tensor", axis.Var.Name)
	default:
		st.intrin, st.intrinAxis, st.intrinEdges = in, axis, edges
	}
}

// errStrided says that an intrinsic wants contiguous elements of a tensor whose memory has them apart.
var errStrided = errors.New("the elements of its last dimension are not contiguous")
