package te

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/tir"
	"tvmgo/tir/text"
)

// before returns the element of a state a number of steps ago.
func before(s *Tensor, steps int32, at ...tir.Expr) tir.Expr {
	return s.At(append([]tir.Expr{tir.Sub(at[0], tir.I32(steps))}, at[1:]...)...)
}

// sums makes cumulative sums of x over its first dimension.
func sums(x *Tensor) (next, result *Tensor) {
	s := State(x.shape, x.typ, "s")
	first := Compute(append([]tir.Expr{tir.I32(1)}, x.shape[1:]...), "first", func(i ...tir.Expr) tir.Expr {
		return x.At(i...)
	})
	next = Compute(x.shape, "next", func(i ...tir.Expr) tir.Expr { return tir.Add(before(s, 1, i...), x.At(i...)) })
	return next, Scan([]*Tensor{first}, []*Tensor{next}, []*Tensor{s}, "sums")[0]
}

func requireSums(t *testing.T, s *Schedule, x, result *Tensor, n, m int) {
	f := lower(t, s, x, result)
	in, out := fill(tir.Int32, 1, int64(n), int64(m)), newMemory(tir.Int32, int64(n), int64(m))
	require.NoError(t, run(f, 1, in, out), text.Print(f))
	for j := range m {
		sum := int64(0)
		for i := range n {
			sum += in.vals[i*m+j].i
			require.Equal(t, sum, out.vals[i*m+j].i, text.Print(f))
		}
	}
}

// TestScan_Sums computes cumulative sums by schedules of the loops over time and space.
func TestScan_Sums(t *testing.T) {
	const n, m = 7, 10
	for name, apply := range map[string]func(s *Schedule, next *Stage, first *Stage){
		"serial": func(*Schedule, *Stage, *Stage) {},
		"time in the middle": func(_ *Schedule, next, _ *Stage) {
			o, i := next.Split(next.Axes()[1], 3)
			next.Reorder(o, next.Axes()[0], i)
			next.Parallel(o)
			next.Vectorize(i)
		},
		"time split": func(_ *Schedule, next, _ *Stage) {
			o, i := next.Split(next.Axes()[0], 4)
			next.Reorder(o, i, next.Axes()[1])
			next.Unroll(i)
		},
		"threads outside": func(_ *Schedule, next, first *Stage) {
			for _, st := range []*Stage{next, first} {
				o, i := st.Split(st.Axes()[1], 4)
				st.Bind(o, "blockIdx.x")
				st.Bind(i, "threadIdx.x")
				st.Reorder(o, i, st.Axes()[0])
			}
		},
		"a kernel per step": func(_ *Schedule, next, first *Stage) {
			for _, st := range []*Stage{next, first} {
				o, i := st.Split(st.Axes()[1], 4)
				st.Bind(o, "blockIdx.x")
				st.Bind(i, "threadIdx.x")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			x := Placeholder(Dims(n, m), tir.Int32, "x")
			next, result := sums(x)
			s := schedule(t, result)
			first := s.Stage(result).reads()[0]
			apply(s, s.Stage(next), s.Stage(first))
			require.NoError(t, s.Err())
			requireSums(t, s, x, result, n, m)
		})
	}
	x := Placeholder([]tir.Expr{Var("n"), Var("m")}, tir.Int32, "x")
	_, result := sums(x)
	requireSums(t, schedule(t, result), x, result, n, m)
	_, result = sums(x)
	requireSums(t, schedule(t, result), x, result, 1, m) // no step beyond the first one
}

// TestScan_Used reads the result of a scan that is no argument.
func TestScan_Used(t *testing.T) {
	x := Placeholder(Dims(5, 3), tir.Int32, "x")
	_, result := sums(x)
	twice := Compute(Dims(5, 3), "twice", func(i ...tir.Expr) tir.Expr {
		return tir.Add(result.At(i...), result.At(i...))
	})
	f := lower(t, schedule(t, twice), x, twice)
	in, out := fill(tir.Int32, 1, 5, 3), newMemory(tir.Int32, 5, 3)
	require.NoError(t, run(f, 1, in, out), text.Print(f))
	require.Equal(t, 2*(in.vals[0].i+in.vals[3].i+in.vals[6].i), out.vals[6].i)
}

// TestScan_Lags is a recurrence over two steps, whose initial value is an argument.
func TestScan_Lags(t *testing.T) {
	first := Placeholder(Dims(2), tir.Int64, "first")
	s := State(Dims(20), tir.Int64, "s")
	next := Compute(Dims(20), "next", func(i ...tir.Expr) tir.Expr {
		return tir.Add(before(s, 1, i...), before(s, 2, i...))
	})
	fib := Scan([]*Tensor{first}, []*Tensor{next}, []*Tensor{s}, "fib")[0]
	f := lower(t, schedule(t, fib), first, fib)
	in, out := newMemory(tir.Int64, 2), newMemory(tir.Int64, 20)
	in.vals[0].i, in.vals[1].i = 0, 1
	require.NoError(t, run(f, 1, in, out), text.Print(f))
	require.EqualValues(t, 4181, out.vals[19].i)
}

// TestScan_Recurrent is a recurrent network with two states, whose products read the whole of the previous step.
func TestScan_Recurrent(t *testing.T) {
	const steps, n = 4, 6
	for _, threads := range []bool{false, true} {
		x, w := Placeholder(Dims(steps, n), tir.Int32, "x"), Placeholder(Dims(n, n), tir.Int32, "w")
		h, c := State(Dims(steps, n), tir.Int32, "h"), State(Dims(steps, n), tir.Int32, "c")
		k := axis("k", 0, n)
		product := Compute(Dims(steps, n), "product", func(i ...tir.Expr) tir.Expr {
			return Sum(tir.Mul(w.At(i[1], k.Var), h.At(tir.Sub(i[0], tir.I32(1)), k.Var)), k)
		})
		next := ComputeMulti(Dims(steps, n), "next", func(i ...tir.Expr) []tir.Expr {
			cell := tir.Add(before(c, 1, i...), x.At(i...))
			return []tir.Expr{tir.Add(product.At(i...), cell), cell}
		})
		zero := Compute(Dims(1, n), "zero", func(i ...tir.Expr) tir.Expr { return tir.Add(i[1], tir.I32(1)) })
		out := Scan([]*Tensor{zero, zero}, next, []*Tensor{h, c}, "rnn")
		s := schedule(t, out...)
		st := s.Stage(next[0])
		s.Stage(product).ComputeAt(st, st.Axes()[0])
		if threads {
			s.Stage(product).SetScope("global")
			for _, o := range s.Stages() {
				if o.IsPlaceholder() || len(o.Axes()) == 0 || o.op.kind == opScan {
					continue
				}
				b, i := o.Split(o.Axes()[1], 4)
				o.Bind(b, "blockIdx.x")
				o.Bind(i, "threadIdx.x")
			}
		}
		require.NoError(t, s.Err())
		f := lower(t, s, x, w, out[0], out[1])
		X, W := fill(tir.Int32, 1, steps, n), fill(tir.Int32, 2, n, n)
		H, C := newMemory(tir.Int32, steps, n), newMemory(tir.Int32, steps, n)
		require.NoError(t, run(f, 1, X, W, H, C), text.Print(f))
		for step := range steps {
			for i := range n {
				hidden, cell := int64(i+1), int64(i+1)
				if step > 0 {
					cell = C.vals[(step-1)*n+i].i + X.vals[step*n+i].i
					hidden = cell
					for k := range n {
						hidden += W.vals[i*n+k].i * H.vals[(step-1)*n+k].i
					}
				}
				require.Equal(t, cell, C.vals[step*n+i].i)
				require.Equal(t, hidden, H.vals[step*n+i].i, text.Print(f))
			}
		}
	}
}

// TestScan_Errors names the tensor and the axis.
func TestScan_Errors(t *testing.T) {
	x := Placeholder(Dims(5, 4), tir.Int32, "x")
	s := State(Dims(5, 4), tir.Int32, "s")
	first := Compute(Dims(1, 4), "first", func(i ...tir.Expr) tir.Expr { return x.At(i...) })
	compute := func(body func(i ...tir.Expr) tir.Expr) *Tensor { return Compute(Dims(5, 4), "next", body) }
	one := func(init, update, state *Tensor) *Tensor {
		return Scan([]*Tensor{init}, []*Tensor{update}, []*Tensor{state}, "scan")[0]
	}
	zeros := func(shape ...int32) *Tensor {
		return Compute(Dims(shape...), "f", func(...tir.Expr) tir.Expr { return tir.I32(0) })
	}
	good := compute(func(i ...tir.Expr) tir.Expr { return before(s, 1, i...) })
	for want, tensor := range map[string]*Tensor{
		"there are 1 initial values, 0 updates and 1 states": Scan([]*Tensor{first}, nil, []*Tensor{s}, "scan")[0],
		"there are 0 initial values":                         Scan(nil, nil, nil, "scan")[0],
		"state 0 is nil":                                     one(first, good, nil),
		"initial value 0 is nil":                             one(nil, good, s),
		"tensor next is no state: make it by State":          one(first, good, good),
		"want equal numbers":                                 one(zeros(1), good, s),
		"want one type": one(Compute(Dims(1, 4), "f",
			func(...tir.Expr) tir.Expr { return tir.F32(0) }), good, s),
		"dimension 1 of state s":         one(zeros(1, 3), good, s),
		"has 6 steps, and state s has 5": one(zeros(6, 4), good, s),
		"update next reads steps t-0 to t-0: want steps from t-1": one(first, compute(func(i ...tir.Expr) tir.Expr {
			return s.At(i...)
		}), s),
		"reads steps t-2 to t-2": one(first, compute(func(i ...tir.Expr) tir.Expr { return before(s, 2, i...) }), s),
		"reads s at a time that is not its own first index minus a constant": one(first,
			compute(func(i ...tir.Expr) tir.Expr { return s.At(tir.FloorDiv(i[0], tir.I32(2)), i[1]) }), s),
	} {
		require.ErrorContains(t, tensor.Err(), want)
		require.ErrorContains(t, tensor.Err(), "te: scan scan: ")
	}
	require.ErrorContains(t, must.Fail(NewSchedule(one(first, good, nil))), "state 0 is nil")

	shifted := compute(func(i ...tir.Expr) tir.Expr {
		return s.At(tir.Sub(i[0], tir.I32(1)), tir.FloorMod(tir.Add(i[1], tir.I32(1)), tir.I32(4)))
	})
	read := Compute(Dims(5, 4), "read", func(i ...tir.Expr) tir.Expr { return before(s, 1, i...) })
	through := compute(func(i ...tir.Expr) tir.Expr { return tir.Add(read.At(i...), read.At(i...)) })
	for want, c := range map[string]struct {
		update *Tensor
		apply  func(s *Schedule, next *Stage, result *Tensor)
		args   []any
	}{
		"axis i0 over time is parallel, but each step reads earlier ones": {update: good,
			apply: func(_ *Schedule, next *Stage, _ *Tensor) { next.Parallel(next.Axes()[0]) }},
		"axis i0 over time is bound to threadIdx.x": {update: good,
			apply: func(_ *Schedule, next *Stage, _ *Tensor) { next.Bind(next.Axes()[0], "threadIdx.x") }},
		"axis i0.i1.fused fuses the time with another axis": {update: good,
			apply: func(_ *Schedule, next *Stage, _ *Tensor) { next.Fuse(next.Axes()[0], next.Axes()[1]) }},
		"axis i0.inner over time is outside of axis i0.outer": {update: good,
			apply: func(_ *Schedule, next *Stage, _ *Tensor) {
				o, i := next.Split(next.Axes()[0], 2)
				next.Reorder(i, o)
			}},
		"axis i1 is outside of the time, but a step reads elements of other iterations": {update: shifted,
			apply: func(_ *Schedule, next *Stage, _ *Tensor) { next.Reorder(next.Axes()[1], next.Axes()[0]) }},
		"tensor read depends on earlier steps: compute it at axis i0 of tensor next": {update: through},
		"te: split of tensor scan: it is a scan, whose loops are those of its update next": {update: good,
			apply: func(s *Schedule, _ *Stage, r *Tensor) { s.Stage(r).Split(good.Axes()[0], 2) }},
		"tensor next: it is stored in the memory of the result": {update: good,
			apply: func(_ *Schedule, next *Stage, _ *Tensor) { next.SetScope("shared") }},
		"tensor next: it is inlined": {update: good,
			apply: func(_ *Schedule, next *Stage, _ *Tensor) { next.ComputeInline() }},
		"tensor next: it is an argument":                                      {update: good, args: []any{good}},
		"argument 2: tensor s is the state of a scan: pass the scan's result": {update: good, args: []any{s}},
	} {
		result := one(first, c.update, s)
		sch := schedule(t, result)
		if c.apply != nil {
			c.apply(sch, sch.Stage(c.update), result)
		}
		_, err := Lower(sch, append([]any{x, result}, c.args...), "f")
		require.ErrorContains(t, err, want)
	}
	result := one(first, good, s)
	reader := Compute(Dims(5, 4), "reader", func(i ...tir.Expr) tir.Expr { return good.At(i...) })
	_, err := Lower(schedule(t, result, reader), []any{x, result, reader}, "f")
	require.ErrorContains(t, err, "tensor next: tensor reader reads it, too")
	_, err = Lower(schedule(t, good), []any{x, good}, "f")
	require.ErrorContains(t, err, "state s is read, and no scan that the outputs depend on has it")
}
