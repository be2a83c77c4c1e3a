package te

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/tir"
	"tvmgo/tir/text"
)

// loopsOver makes nested loops over a shape.
func loopsOver(shape []int64, body func(i ...tir.Expr) tir.Stmt) tir.Stmt {
	vars := make([]*tir.Var, len(shape))
	at := make([]tir.Expr, len(shape))
	for d := range shape {
		vars[d] = tir.NewVar("t", tir.Int32)
		at[d] = vars[d]
	}
	s := body(at...)
	for d := len(shape) - 1; d >= 0; d-- {
		s = &tir.For{Var: vars[d], Min: tir.I32(0), Extent: tir.I32(int32(shape[d])), Body: s}
	}
	return s
}

// gemmIntrin multiplies tiles of x and y, which may be transposed. uses counts its statements.
func gemmIntrin(n, m, inner int32, transposed bool, uses *int) *Intrin {
	shape := Dims(inner, m)
	if transposed {
		shape = Dims(m, inner)
	}
	x, y := Placeholder(Dims(n, inner), tir.Int32, "x"), Placeholder(shape, tir.Int32, "y")
	k := axis("k", 0, inner)
	pick := func(t func(...tir.Expr) tir.Expr, j, k tir.Expr) tir.Expr {
		if transposed {
			return t(j, k)
		}
		return t(k, j)
	}
	pattern := Compute(Dims(n, m), "tile", func(i ...tir.Expr) tir.Expr {
		return Sum(tir.Mul(x.At(i[0], k.Var), pick(y.At, i[1], k.Var)), k)
	})
	return NewIntrin("gemm", pattern, func(ins []*Tile, out *Tile) IntrinSteps {
		*uses++
		return IntrinSteps{
			Reset: loopsOver(out.Shape(), func(i ...tir.Expr) tir.Stmt { return out.Store(tir.I32(0), i...) }),
			Update: loopsOver([]int64{int64(n), int64(m), int64(inner)}, func(i ...tir.Expr) tir.Stmt {
				product := tir.Mul(ins[0].At(i[0], i[2]), pick(ins[1].At, i[1], i[2]))
				return out.Store(tir.Add(out.At(i[0], i[1]), product), i[0], i[1])
			}),
		}
	})
}

// TestTensorize_Matmul computes tiles of matrix products: with the whole reduction in a tile or a part of it, in a
// batch, transposed, and from copies in other memory.
func TestTensorize_Matmul(t *testing.T) {
	const B, N, M, K = 2, 8, 12, 8
	for name, c := range map[string]struct {
		inner      int
		transposed bool
		cache      bool
	}{
		"whole reduction": {inner: K},
		"parts":           {inner: 4},
		"transposed":      {inner: 4, transposed: true},
		"copies":          {inner: 4, cache: true},
	} {
		t.Run(name, func(t *testing.T) {
			shape := []int64{B, K, M}
			if c.transposed {
				shape = []int64{B, M, K}
			}
			a := Placeholder(Dims(B, N, K), tir.Int32, "A")
			b := Placeholder(Dims(B, int32(shape[1]), int32(shape[2])), tir.Int32, "B")
			k := axis("k", 0, K)
			out := Compute(Dims(B, N, M), "C", func(i ...tir.Expr) tir.Expr {
				y := b.At(i[0], k.Var, i[2])
				if c.transposed {
					y = b.At(i[0], i[2], k.Var)
				}
				return Sum(tir.Mul(a.At(i[0], i[1], k.Var), y), k)
			})
			s := schedule(t, out)
			st := s.Stage(out)
			var copied *Tensor
			if c.cache {
				copied = s.CacheRead(a, "local", out)
			}
			x, y, xi, yi := st.Tile(out.Axes()[1], out.Axes()[2], 4, 6)
			ko, ki := st.Split(k, c.inner)
			st.Reorder(out.Axes()[0], x, y, ko, xi, yi, ki)
			if c.cache {
				s.Stage(copied).ComputeAt(st, ko)
			}
			uses := 0
			st.Tensorize(xi, gemmIntrin(4, 6, int32(c.inner), c.transposed, &uses))
			f := lower(t, s, a, b, out)
			require.Positive(t, uses)
			A, B_, C := fill(tir.Int32, 1, B, N, K), fill(tir.Int32, 2, shape...), newMemory(tir.Int32, B, N, M)
			require.NoError(t, run(f, 1, A, B_, C), text.Print(f))
			for p := range C.vals {
				sum, batch, i, j := int64(0), p/(N*M), p/M%N, p%M
				for k := range K {
					at := batch*K*M + k*M + j
					if c.transposed {
						at = batch*K*M + j*K + k
					}
					sum += A.vals[(batch*N+i)*K+k].i * B_.vals[at].i
				}
				require.Equal(t, sum, C.vals[p].i, text.Print(f))
			}
		})
	}
}

// TestTensorize_Strided tensorizes a product along a row of a convolution with stride 2: index 2*w + k.
func TestTensorize_Strided(t *testing.T) {
	x, w := Placeholder(Dims(4), tir.Int32, "x"), Placeholder(Dims(2), tir.Int32, "w")
	rk := axis("k", 0, 2)
	pattern := Compute(Dims(2), "tile", func(i ...tir.Expr) tir.Expr {
		return Sum(tir.Mul(x.At(tir.Add(tir.Mul(i[0], tir.I32(2)), rk.Var)), w.At(rk.Var)), rk)
	})
	in := NewIntrin("row", pattern, func(ins []*Tile, out *Tile) IntrinSteps {
		return IntrinSteps{Compute: loopsOver([]int64{2}, func(i ...tir.Expr) tir.Stmt {
			at := tir.Mul(i[0], tir.I32(2))
			return out.Store(tir.Add(tir.Mul(ins[0].At(at), ins[1].At(tir.I32(0))),
				tir.Mul(ins[0].At(tir.Add(at, tir.I32(1))), ins[1].At(tir.I32(1)))), i[0])
		})}
	})
	data, weight := Placeholder(Dims(3, 17), tir.Int32, "data"), Placeholder(Dims(3, 2), tir.Int32, "weight")
	k := axis("k", 0, 2)
	out := Compute(Dims(3, 8), "out", func(i ...tir.Expr) tir.Expr {
		return Sum(tir.Mul(data.At(i[0], tir.Add(tir.Mul(i[1], tir.I32(2)), k.Var)), weight.At(i[0], k.Var)), k)
	})
	s := schedule(t, out)
	st := s.Stage(out)
	o, i := st.Split(out.Axes()[1], 2)
	st.Parallel(o)
	st.Tensorize(i, in)
	f := lower(t, s, data, weight, out)
	D, W, O := fill(tir.Int32, 1, 3, 17), fill(tir.Int32, 2, 3, 2), newMemory(tir.Int32, 3, 8)
	require.NoError(t, run(f, 1, D, W, O), text.Print(f))
	for p := range O.vals {
		r, c := p/8, p%8
		require.Equal(t, D.vals[r*17+2*c].i*W.vals[r*2].i+D.vals[r*17+2*c+1].i*W.vals[r*2+1].i, O.vals[p].i)
	}
}

// TestTensorize_Tile checks addresses and strides, with padded memory.
func TestTensorize_Tile(t *testing.T) {
	p := Placeholder(Dims(2, 4), tir.Int32, "p")
	pattern := Compute(Dims(2, 4), "tile", func(i ...tir.Expr) tir.Expr { return p.At(i...) })
	var from, to *Tile
	in := NewIntrin("copy", pattern, func(ins []*Tile, out *Tile) IntrinSteps {
		from, to = ins[0], out
		return IntrinSteps{Compute: &tir.Evaluate{Value: tir.NewCall(tir.CallExtern, tir.Int32, "copy", ins[0].Address(),
			out.Address(), ins[0].Stride(0))}}
	})
	a := Placeholder(Dims(8, 8), tir.Int32, "A")
	mid := Compute(Dims(8, 8), "mid", func(i ...tir.Expr) tir.Expr { return a.At(i...) })
	out := Compute(Dims(8, 8), "out", func(i ...tir.Expr) tir.Expr { return mid.At(i...) })
	s := schedule(t, out)
	s.Stage(mid).StorageAlign(mid.Axes()[0], 16, 2)
	st := s.Stage(out)
	x, y, xi, _ := st.Tile(out.Axes()[0], out.Axes()[1], 2, 4)
	_, _ = x, y
	st.Tensorize(xi, in)
	f := lower(t, s, a, out)
	require.Contains(t, text.Print(f), `copy[int32](address_of[handle](mid[i0.outer * 2, i1.outer * 4]), `+
		`address_of[handle](out[i0.outer * 2, i1.outer * 4]), 18)`)
	require.Equal(t, "global", to.Scope())
	require.Equal(t, tir.Int32, from.DType())
	require.ErrorContains(t, from.Stride(2).(*tir.Bad).Err, "there is no dimension 2 of 2")
	require.ErrorContains(t, from.At(tir.I32(0)).(*tir.Bad).Err, "1 indices for 2 dimensions")
	require.Equal(t, []int64{2, 4}, to.Shape())
}

// TestTensorize_Errors names the stage, the axis, the intrinsic and the difference.
func TestTensorize_Errors(t *testing.T) {
	uses := 0
	gemm := gemmIntrin(4, 4, 4, false, &uses)
	a, b := Placeholder(Dims(8, 8), tir.Int32, "A"), Placeholder(Dims(8, 8), tir.Int32, "B")
	wide := Placeholder(Dims(8, 8), tir.Int64, "W")
	product := func(f func(i, j, k tir.Expr) tir.Expr) (*Tensor, *tir.IterVar) {
		k := axis("k", 0, 8)
		return Compute(Dims(8, 8), "C", func(i ...tir.Expr) tir.Expr { return Sum(f(i[0], i[1], k.Var), k) }), k
	}
	plain := func(i, j, k tir.Expr) tir.Expr { return tir.Mul(a.At(i, k), b.At(k, j)) }
	copyOf := Placeholder(Dims(4), tir.Int32, "p")
	elementwise := NewIntrin("copy", Compute(Dims(4), "tile", func(i ...tir.Expr) tir.Expr { return copyOf.At(i...) }),
		func([]*Tile, *Tile) IntrinSteps { return IntrinSteps{} })
	for want, c := range map[string]struct {
		f       func(i, j, k tir.Expr) tir.Expr
		in      *Intrin
		factors [3]int
		more    func(st *Stage, xi, yi, ki *tir.IterVar)
	}{
		"tensorize of tensor C: axis i0.inner: intrinsic gemm: a tile has 2 values of axis i1": {factors: [3]int{4, 2, 4}},
		"not every tile is whole: elements need the condition": {factors: [3]int{4, 3, 4},
			in: gemmIntrin(4, 3, 4, false, &uses)},
		"index i0.outer * 4 + i0 of dimension 1 of tensor A differs from tensor x[i0, k] of the pattern": {
			f: func(i, j, k tir.Expr) tir.Expr { return tir.Mul(a.At(k, i), b.At(k, j)) }},
		"the tensor is computed by a reduction of (tensor A[": {
			f: func(i, j, k tir.Expr) tir.Expr { return tir.Mul(tir.Add(a.At(i, k), tir.I32(1)), b.At(k, j)) }},
		"its result has type int32, and the tensor int64": {
			f: func(i, j, k tir.Expr) tir.Expr { return tir.Mul(wide.At(i, k), wide.At(k, j)) }},
		"one of the tensor and the pattern is a reduction, the other a formula": {in: NewIntrin("one",
			Compute(Dims(4, 4), "tile", func(i ...tir.Expr) tir.Expr { return tir.I32(1) }),
			func([]*Tile, *Tile) IntrinSteps { return IntrinSteps{} }), factors: [3]int{4, 4, 1}},
		"axis i1.inner inside it is vectorized": {more: func(st *Stage, _, yi, _ *tir.IterVar) { st.Vectorize(yi) }},
		"a tile is not contiguous": {more: func(st *Stage, xi, yi, ki *tir.IterVar) {
			st.Reorder(ki, xi, yi, st.Leaves()[2]) // the outer loop of the reduction is inside the tile, the inner one is not
		}},
		"te: tensorize of tensor C: axis i0.inner: the intrinsic is nil": {more: func(st *Stage, xi, _, _ *tir.IterVar) {
			st.Tensorize(xi, nil)
		}},
		"intrinsic gemm already computes the loops inside axis i0.inner": {more: func(st *Stage, _, yi, _ *tir.IterVar) {
			st.Tensorize(yi, gemm)
		}},
		"intrinsic bad: the pattern is nil": {more: func(st *Stage, xi, _, _ *tir.IterVar) {
			st.Tensorize(xi, NewIntrin("bad", nil, nil))
		}},
		"needs the statements Reset and Update": {in: NewIntrin("gemm", gemm.pattern.tensors[0],
			func([]*Tile, *Tile) IntrinSteps { return IntrinSteps{} })},
		"the pattern has axes of [4], and the tile lacks axis": {in: elementwise, factors: [3]int{1, 1, 1}},
	} {
		if c.f == nil {
			c.f = plain
		}
		if c.in == nil {
			c.in = gemm
		}
		if c.factors[0] == 0 {
			c.factors = [3]int{4, 4, 4}
		}
		out, k := product(c.f)
		s := schedule(t, out)
		st := s.Stage(out)
		x, y, xi, yi := st.Tile(out.Axes()[0], out.Axes()[1], c.factors[0], c.factors[1])
		ko, ki := st.Split(k, c.factors[2])
		st.Reorder(x, y, ko, xi, yi, ki)
		if want[:3] != "te:" && want != "intrinsic bad: the pattern is nil" {
			st.Tensorize(xi, c.in)
		}
		if c.more != nil {
			c.more(st, xi, yi, ki)
		}
		args := []any{a, b, out}
		if out.typ == tir.Int64 {
			args = []any{wide, out}
		}
		_, err := Lower(s, args, "f")
		require.ErrorContains(t, err, want)
	}
	n := Var("n")
	for want, pattern := range map[string]*Tensor{
		"dimension 0 of tensor tile is not constant": Compute([]tir.Expr{n}, "tile",
			func(i ...tir.Expr) tir.Expr { return i[0] }),
		"its pattern reads tensor mid, which is computed": Compute(Dims(4), "tile", func(i ...tir.Expr) tir.Expr {
			return Compute(Dims(4), "mid", func(i ...tir.Expr) tir.Expr { return i[0] }).At(i...)
		}),
		"want a tensor made by Compute": copyOf,
	} {
		require.ErrorContains(t, NewIntrin("bad", pattern, elementwise.emit).err, want)
	}
	require.ErrorContains(t, NewIntrin("bad", elementwise.pattern.tensors[0], nil).err, "is nil")
}

// TestTensorizeWhole transposes a matrix by tiles that do not divide it: an intrinsic computes whole tiles, loops the
// others. The intrinsic adds 100, to tell them apart.
func TestTensorizeWhole(t *testing.T) {
	for _, size := range [][2]int64{{8, 12}, {10, 9}, {3, 9}, {9, 3}, {1, 1}} {
		for _, open := range []bool{false, true} {
			rows, columns := size[0], size[1]
			if !open && min(rows, columns) < 4 {
				continue
			}
			shape := Dims(int32(rows), int32(columns))
			if open {
				shape = []tir.Expr{Var("n"), Var("m")}
			}
			a := Placeholder(shape, tir.Int32, "A")
			out := Compute([]tir.Expr{shape[1], shape[0]}, "T", func(i ...tir.Expr) tir.Expr { return a.At(i[1], i[0]) })
			s := schedule(t, out)
			st := s.Stage(out)
			_, _, row, _ := st.Tile(out.Axes()[0], out.Axes()[1], 4, 4)
			from := Placeholder(Dims(4, 4), tir.Int32, "from")
			pattern := Compute(Dims(4, 4), "to", func(i ...tir.Expr) tir.Expr { return from.At(i[1], i[0]) })
			st.TensorizeWhole(row, NewIntrin("transpose", pattern, func(ins []*Tile, to *Tile) IntrinSteps {
				return IntrinSteps{Compute: loopsOver(to.Shape(), func(i ...tir.Expr) tir.Stmt {
					return to.Store(tir.Add(ins[0].At(i[1], i[0]), tir.I32(100)), i...)
				})}
			}))
			f := lower(t, s, a, out)
			A, T := fill(tir.Int32, 1, rows, columns), newMemory(tir.Int32, columns, rows)
			require.NoError(t, run(f, 1, A, T), text.Print(f))
			for p := range T.vals {
				i, j := int64(p)/rows, int64(p)%rows
				want := A.vals[j*columns+i].i
				if i < columns/4*4 && j < rows/4*4 {
					want += 100
				}
				require.Equal(t, want, T.vals[p].i, "%v, element %d, %d\n%s", size, i, j, text.Print(f))
			}
		}
	}
}
