package te

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/tir"
)

// abc is C = max(B, 0), where B is the sum of A over its last dimension.
type abc struct {
	n       *tir.Var
	a, b, c *Tensor
	k       *tir.IterVar
	s       *Schedule
}

func newABC(t *testing.T) *abc {
	x := &abc{n: Var("n"), k: axis("k", 0, 5)}
	x.a = Placeholder(dims(x.n, tir.I32(7), tir.I32(5)), tir.Int32, "A")
	x.b = Compute(dims(x.n, tir.I32(7)), "B", func(i ...tir.Expr) tir.Expr {
		return Sum(x.a.At(i[0], i[1], x.k.Var), x.k)
	})
	x.c = Compute(dims(x.n, tir.I32(7)), "C", func(i ...tir.Expr) tir.Expr { return tir.Max(x.b.At(i...), tir.I32(0)) })
	x.s = schedule(t, x.c)
	return x
}

func TestSchedule_Errors(t *testing.T) {
	for want, do := range map[string]func(x *abc){
		"te: split of tensor C: axis i0 is split by 0: want 1 to": func(x *abc) {
			x.s.Stage(x.c).Split(x.c.Axes()[0], 0)
		},
		"te: split into parts of tensor C: axis i0 is split by -1": func(x *abc) {
			x.s.Stage(x.c).SplitParts(x.c.Axes()[0], -1)
		},
		"te: split of tensor C: the axis is nil":   func(x *abc) { x.s.Stage(x.c).Split(nil, 2) },
		"te: split of tensor A: it is an argument": func(x *abc) { x.s.Stage(x.a).Split(x.k, 2) },
		"te: split of tensor C: axis k belongs to tensor B": func(x *abc) {
			x.s.Stage(x.c).Split(x.k, 2)
		},
		"te: split of tensor C: axis z is not one of its axes [i0 i1]": func(x *abc) {
			x.s.Stage(x.c).Split(axis("z", 0, 1), 2)
		},
		"te: reorder of tensor C: axis i0 belongs to tensor B": func(x *abc) {
			x.s.Stage(x.c).Reorder(x.c.Axes()[1], x.b.Axes()[0])
		},
		"te: reorder of tensor C: axis i1 is given twice": func(x *abc) {
			x.s.Stage(x.c).Reorder(x.c.Axes()[1], x.c.Axes()[1])
		},
		"te: reorder of tensor C: axis i0 is no longer a loop: it was split into i0.outer and i0.inner": func(x *abc) {
			x.s.Stage(x.c).Split(x.c.Axes()[0], 2)
			x.s.Stage(x.c).Reorder(x.c.Axes()...)
		},
		"te: unroll of tensor C: axis i0 is no longer a loop: it was fused into i0.i1.fused": func(x *abc) {
			x.s.Stage(x.c).Fuse(x.c.Axes()[0], x.c.Axes()[1])
			x.s.Stage(x.c).Unroll(x.c.Axes()[0])
		},
		"te: fuse of tensor C: axis i0 is not directly inside axis i1: the loops are [i0 i1]": func(x *abc) {
			x.s.Stage(x.c).Fuse(x.c.Axes()[1], x.c.Axes()[0])
		},
		"te: fuse of tensor B: axis i1 has kind data, and axis k has kind reduce": func(x *abc) {
			x.s.Stage(x.b).Fuse(x.b.Axes()[1], x.k)
		},
		"te: vectorize of tensor B: axis k is a reduction axis": func(x *abc) {
			x.s.Stage(x.b).Vectorize(x.k)
		},
		"te: parallel of tensor B: axis k is a reduction axis": func(x *abc) {
			x.s.Stage(x.b).Parallel(x.k)
		},
		"te: bind of tensor B: axis k is a reduction axis, and blocks cannot combine": func(x *abc) {
			x.s.Stage(x.b).Bind(x.k, "blockIdx.x")
		},
		"te: bind of tensor C: axis i0 is already bound to threadIdx.x": func(x *abc) {
			x.s.Stage(x.c).Bind(x.c.Axes()[0], "threadIdx.x")
			x.s.Stage(x.c).Bind(x.c.Axes()[0], "threadIdx.y")
		},
		"te: bind of tensor C: axis i1: axis i0 is already bound to threadIdx.x": func(x *abc) {
			x.s.Stage(x.c).Bind(x.c.Axes()[0], "threadIdx.x")
			x.s.Stage(x.c).Bind(x.c.Axes()[1], "threadIdx.x")
		},
		"te: vectorize of tensor C: axis i0 is bound to threadIdx.x": func(x *abc) {
			x.s.Stage(x.c).Bind(x.c.Axes()[0], "threadIdx.x")
			x.s.Stage(x.c).Vectorize(x.c.Axes()[0])
		},
		"te: parallel of tensor C: axis i0 is unrolled already": func(x *abc) {
			x.s.Stage(x.c).Unroll(x.c.Axes()[0])
			x.s.Stage(x.c).Parallel(x.c.Axes()[0])
		},
		"te: split of tensor C: axis i0 is already bound to threadIdx.x: call this first": func(x *abc) {
			x.s.Stage(x.c).Bind(x.c.Axes()[0], "threadIdx.x")
			x.s.Stage(x.c).Split(x.c.Axes()[0], 2)
		},
		`te: bind of tensor C: axis i0: "threadIdx.w" is not a thread index: want one of blockIdx.x`: func(x *abc) {
			x.s.Stage(x.c).Bind(x.c.Axes()[0], "threadIdx.w")
		},
		"te: compute_at of tensor C: it is an output": func(x *abc) { x.s.Stage(x.c).ComputeAt(x.s.Stage(x.b), x.k) },
		"te: compute_at of tensor B: axis i0 belongs to the same tensor": func(x *abc) {
			x.s.Stage(x.b).ComputeAt(x.s.Stage(x.b), x.b.Axes()[0])
		},
		"te: compute_at of tensor B: tensor A.shared, which has axis i0, does not read it": func(x *abc) {
			st := x.s.Stage(x.s.CacheRead(x.a, "shared", x.b))
			x.s.Stage(x.b).ComputeAt(st, st.Axes()[0])
		},
		"te: compute_at (target) of tensor C: axis k belongs to tensor B": func(x *abc) {
			x.s.Stage(x.b).ComputeAt(x.s.Stage(x.c), x.k)
		},
		"te: split of tensor C: tensor B is computed at axis i0: call this first": func(x *abc) {
			x.s.Stage(x.b).ComputeAt(x.s.Stage(x.c), x.c.Axes()[0])
			x.s.Stage(x.c).Split(x.c.Axes()[0], 2)
		},
		"te: compute_inline of tensor B: it is a reduction": func(x *abc) { x.s.Stage(x.b).ComputeInline() },
		"te: compute_inline of tensor C: it is an output":   func(x *abc) { x.s.Stage(x.c).ComputeInline() },
		"te: compute_inline of tensor A: it is an argument": func(x *abc) { x.s.Stage(x.a).ComputeInline() },
		"te: cache_read of tensor A: reader C does not read it": func(x *abc) {
			x.s.CacheRead(x.a, "shared", x.c)
		},
		`te: cache_read of tensor A: scope "shared" and 0 readers`: func(x *abc) { x.s.CacheRead(x.a, "shared") },
		"te: cache_write of tensor B: its loops have been changed: call this first": func(x *abc) {
			x.s.Stage(x.b).Unroll(x.k)
			x.s.CacheWrite(x.b, "local")
		},
		"te: cache_write of tensor A: it is an argument": func(x *abc) {
			x.s.CacheWrite(x.a, "local")
		},
		"te: set_scope of tensor C: it is an output": func(x *abc) {
			x.s.Stage(x.c).SetScope("local")
		},
		"te: storage_align of tensor B: axis i1 is the last dimension": func(x *abc) {
			x.s.Stage(x.b).StorageAlign(x.b.Axes()[1], 8, 1)
		},
		"te: storage_align of tensor B: axis i0: factor 0 and offset 1: want": func(x *abc) {
			x.s.Stage(x.b).StorageAlign(x.b.Axes()[0], 0, 1)
		},
		"te: storage_align of tensor B: axis i0: factor 8 and offset 8: want": func(x *abc) {
			x.s.Stage(x.b).StorageAlign(x.b.Axes()[0], 8, 8)
		},
		"te: storage_align of tensor B: axis k is not one of its dimensions": func(x *abc) {
			x.s.Stage(x.b).StorageAlign(x.k, 8, 1)
		},
		"te: storage_swizzle of tensor B: axis i1 is the last dimension": func(x *abc) {
			x.s.Stage(x.b).StorageSwizzle(x.b.Axes()[1], 4, 4)
		},
		"te: storage_swizzle of tensor B: axis i0: width 3 and step 1: want a power of two": func(x *abc) {
			x.s.Stage(x.b).StorageSwizzle(x.b.Axes()[0], 3, 1)
		},
		"te: storage_swizzle of tensor B: axis i0: width 4 and step 0: want": func(x *abc) {
			x.s.Stage(x.b).StorageSwizzle(x.b.Axes()[0], 4, 0)
		},
		"te: storage_swizzle of tensor B: axis k is not one of its dimensions": func(x *abc) {
			x.s.Stage(x.b).StorageSwizzle(x.k, 4, 4)
		},
		"te: storage_swizzle of tensor B: the axis is nil": func(x *abc) { x.s.Stage(x.b).StorageSwizzle(nil, 4, 4) },
		"te: storage_swizzle of tensor C: it is an output": func(x *abc) {
			x.s.Stage(x.c).StorageSwizzle(x.c.Axes()[0], 4, 4)
		},
		"te: storage_swizzle of tensor B: axis i0: it is already swizzled, by axis i0": func(x *abc) {
			x.s.Stage(x.b).StorageSwizzle(x.b.Axes()[0], 4, 4)
			x.s.Stage(x.b).StorageSwizzle(x.b.Axes()[0], 2, 4)
		},
		`te: pragma of tensor C: axis i0, key "a": the value is a []int: want`: func(x *abc) {
			x.s.Stage(x.c).Pragma(x.c.Axes()[0], "a", []int{})
		},
		"te: stage of tensor X: the schedule has no such tensor": func(x *abc) {
			x.s.Stage(Placeholder(nil, tir.Int32, "X")).ComputeInline()
		},
		"te: stage of tensor nil: the schedule has no such tensor": func(x *abc) {
			x.s.Stage(nil).Split(x.k, 2)
		},
		"te: double_buffer of tensor A: it is an argument, whose memory is the": func(x *abc) {
			x.s.Stage(x.a).DoubleBuffer()
		},
	} {
		x := newABC(t)
		do(x)
		require.ErrorContains(t, x.s.Err(), want)
		// The first error is kept, and later calls are harmless.
		x.s.Stage(x.c).Reorder(x.s.Stage(x.c).Split(nil, 4))
		x.s.Stage(x.s.CacheWrite(x.b, "local")).ComputeAt(x.s.Stage(x.c), nil)
		require.ErrorContains(t, must.Fail(Lower(x.s, []any{x.a, x.c}, "f")), want)
	}
}

func TestLower_Errors(t *testing.T) {
	args := func(x *abc) []any { return []any{x.a, x.c} }
	for want, do := range map[string]func(x *abc) []any{
		"te: lower f: output C is not among the arguments":          func(x *abc) []any { return []any{x.a} },
		"te: lower f: tensor A is read, and is not among the argum": func(x *abc) []any { return []any{x.c} },
		"te: lower f: argument 1: tensor A is given twice":          func(x *abc) []any { return []any{x.a, x.a, x.c} },
		"te: lower f: argument 2 is a int: want a *te.Tensor":       func(x *abc) []any { return []any{x.a, x.c, 3} },
		"te: lower f: argument 0 is nil":                            func(x *abc) []any { return []any{(*Tensor)(nil)} },
		"te: lower f: argument 1: variable n is given twice":        func(x *abc) []any { return []any{x.n, x.n} },
		"te: lower f: argument 2: tensor B is not computed as a who": func(x *abc) []any {
			x.s.Stage(x.b).ComputeAt(x.s.Stage(x.c), x.c.Axes()[0])
			return []any{x.a, x.c, x.b}
		},
		"tensor C: axis i0 is vectorized, but its extent n is not constant: split it": func(x *abc) []any {
			x.s.Stage(x.c).Vectorize(x.c.Axes()[0])
			return args(x)
		},
		"tensor C: axis i0.inner is vectorized, and has 2048 iterations: want at most 1024": func(x *abc) []any {
			_, i := x.s.Stage(x.c).Split(x.c.Axes()[0], 2048)
			x.s.Stage(x.c).Vectorize(i)
			return args(x)
		},
		"compute_at of tensor B: axis i1 of tensor C is vectorized, and no tensor can be " +
			"computed inside it": func(x *abc) []any {
			x.s.Stage(x.c).Vectorize(x.c.Axes()[1])
			x.s.Stage(x.b).ComputeAt(x.s.Stage(x.c), x.c.Axes()[1])
			return args(x)
		},
		"compute_at of tensor A.shared at axis k of tensor B: tensor D reads it, but is not computed " +
			"inside that axis": func(x *abc) []any {
			d := Compute(dims(x.n, tir.I32(7)), "D", func(i ...tir.Expr) tir.Expr {
				return tir.Add(x.c.At(i...), x.a.At(i[0], i[1], tir.I32(0)))
			})
			x.s, _ = NewSchedule(d)
			copied := x.s.CacheRead(x.a, "shared", x.b, d)
			x.s.Stage(copied).ComputeAt(x.s.Stage(x.b), x.k)
			x.s.Stage(x.c).ComputeInline()
			return []any{x.a, d}
		},
		"tensor B in scope local: axis i0 is bound to threadIdx.x, and each iteration has separate " +
			"local memory": func(x *abc) []any {
			x.s.Stage(x.b).SetScope("local")
			x.s.Stage(x.b).Bind(x.b.Axes()[0], "threadIdx.x")
			return args(x)
		},
		"tensor C: axis i1 is bound to blockIdx.x inside axis i0, which is bound to threads of " +
			"a block": func(x *abc) []any {
			x.s.Stage(x.c).Bind(x.c.Axes()[0], "threadIdx.x")
			x.s.Stage(x.c).Bind(x.c.Axes()[1], "blockIdx.x")
			return args(x)
		},
		"double_buffer of tensor B: it is not inside a loop": func(x *abc) []any {
			x.s.Stage(x.b).DoubleBuffer()
			return args(x)
		},
	} {
		x := newABC(t)
		given := do(x)
		require.ErrorContains(t, must.Fail(Lower(x.s, given, "f")), want)
	}
}

func TestCompute_Errors(t *testing.T) {
	n := Var("n")
	a := Placeholder(dims(n, tir.I32(8)), tir.Int32, "A")
	k, nine := axis("k", 0, 8), axis("nine", 0, 9)
	one := func(e tir.Expr) func(...tir.Expr) tir.Expr { return func(...tir.Expr) tir.Expr { return e } }
	for want, made := range map[string]*Tensor{
		"te: compute C: tir: tensor A has 2 dimensions, and 1 indices": Compute(dims(n), "C", func(i ...tir.Expr) tir.Expr {
			return a.At(i...)
		}),
		"te: compute C: dimension 1 of tensor A is read from 0 to 8, and has 8 elements": Compute(dims(n), "C",
			func(i ...tir.Expr) tir.Expr {
				return Sum(a.At(i[0], nine.Var), nine)
			}),
		"te: compute C: dimension 0 of tensor A is read from 0 to n, and has n elements": Compute(
			dims(tir.Add(n, tir.I32(1))), "C", func(i ...tir.Expr) tir.Expr {
				return a.At(i[0], tir.I32(0))
			}),
		"te: compute C: the body is nil":           Compute(dims(n), "C", one(nil)),
		"te: compute C: the body returns no value": Compute(dims(n), "C", nil),
		"te: compute : a tensor has no name":       Compute(dims(n), "", one(tir.I32(1))),
		"te: compute C: the body: a reduction is inside a formula": Compute(dims(n), "C",
			one(tir.Add(Sum(k.Var, k), tir.I32(1)))),
		"te: compute C: the body: elements have type boolx4: want one lane": Compute(dims(n), "C",
			one(&tir.Broadcast{Value: tir.BoolConst(true), Lanes: 4})),
		"te: compute C: dimension 0: the size has type float32: want int32": Compute(dims(tir.F32(1)), "C",
			one(tir.I32(1))),
		"te: compute C: dimension 0: the size is -1: want 0 or more": Compute(dims(tir.I32(-1)), "C",
			one(tir.I32(1))),
		"te: placeholder P: dimension 0: the size is nil":                       Placeholder(dims(nil), tir.Int32, "P"),
		"te: placeholder P: elements have no type":                              Placeholder(nil, tir.Void, "P"),
		"te: placeholder P: elements have type handle: want integers or floats": Placeholder(nil, tir.Handle, "P"),
		"te: compute C: reduction: no axis is given":                            Compute(dims(n), "C", one(Sum(tir.I32(1)))),
		"te: compute C: reduction: axis k is given twice": Compute(dims(n), "C",
			one(Sum(tir.I32(1), k, k))),
		"te: compute C: reduction: axis i0 has kind data": Compute(dims(n), "C",
			one(Sum(tir.I32(1), Compute(dims(n), "D", one(tir.I32(1))).Axes()[0]))),
		"te: compute C: value 1 and value 0 are not results of one reduction": ComputeMulti(dims(n), "C",
			func(...tir.Expr) []tir.Expr {
				return []tir.Expr{Sum(k.Var, k), Sum(k.Var, k)}
			})[0],
		"te: extern E: there are no results": Extern(nil, nil, "E", nil)[0],
		"te: extern E: the body is nil":      Extern([]ExternResult{{dims(n), tir.Int32}}, []*Tensor{a}, "E", nil)[0],
		"te: extern E: input 0 is nil":       Extern([]ExternResult{{dims(n), tir.Int32}}, []*Tensor{nil}, "E", nil)[0],
		"te: compute D: compute C: the b": Compute(dims(n), "D", func(i ...tir.Expr) tir.Expr {
			return Compute(dims(n), "C", one(nil)).At(i...)
		}),
	} {
		require.ErrorContains(t, made.Err(), want)
		require.Error(t, must.Fail(NewSchedule(made)))
		require.IsType(t, &tir.Bad{}, made.At(tir.I32(0)))
	}
	other := axis("other", 0, 3)
	c := Compute(dims(n), "C", one(tir.Add(other.Var, a.At(tir.I32(0), tir.I32(0)))))
	_, err := Lower(schedule(t, c), []any{a, c}, "f")
	require.ErrorContains(t, err, "no argument defines variable other, and it is none of the "+
		"tensor's axes [i0]")
	m := Var("m")
	c = Compute(dims(tir.Add(m, tir.I32(1))), "C", one(a.At(tir.I32(0), tir.I32(0))))
	_, err = Lower(schedule(t, c), []any{a, c}, "f")
	require.ErrorContains(t, err, "no argument defines variable m, a size of tensor C")
	require.ErrorContains(t, must.Fail(NewSchedule()), "there is no tensor")
	require.ErrorContains(t, must.Fail(NewSchedule(a)), "tensor A is a placeholder")
}
