package tirrun

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	. "tvmgo/tir"
)

// module has one function, main, with buffer parameters; variable sizes are defined by the arrays.
func module(t testing.TB, body Stmt, buffers ...*Buffer) *IRModule {
	f := &PrimFunc{Name: "main", Buffers: map[*Var]*Buffer{}, Result: Void, Body: body}
	for _, b := range buffers {
		p := NewVar(b.Name+"_tensor", Handle)
		f.Params = append(f.Params, p)
		f.Buffers[p] = b
	}
	return must.Get(NewModule(f))(t)
}

// each is a loop over [0, n).
func each(kind ForKind, name string, n Expr, body func(i Expr) Stmt) *For {
	v := NewVar(name, Int32)
	s := &For{Kind: kind, Var: v, Min: I32(0), Extent: n, Body: body(v)}
	if kind == ThreadBind {
		s.Thread = name
	}
	return s
}

func store(b *Buffer, v Expr, at ...Expr) Stmt { return &BufferStore{Buffer: b, Value: v, Indices: at} }

func array[T Number](t testing.TB, dt Type, v []T, shape ...int64) *Array {
	return must.Get(From(dt, v, shape...))(t)
}

func numbers[T Number](t testing.TB, a *Array) []T {
	return must.Get(Values[T](a))(t)
}

func random(n int) []float32 {
	r := rand.New(rand.NewPCG(1, 2))
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}

func TestRun_VectorAdd(t *testing.T) {
	n := NewVar("n", Int32)
	a, b, c := NewBuffer("A", Float32, n), NewBuffer("B", Float32, n), NewBuffer("C", Float32, n)
	for _, kind := range []ForKind{Serial, Parallel, Vectorized, Unrolled} {
		m := module(t, each(kind, "i", n, func(i Expr) Stmt { return store(c, Add(BufferAt(a, i), BufferAt(b, i)), i) }),
			a, b, c)
		x, y := random(1000), random(2000)[1000:]
		out := array(t, Float32, make([]float32, 1000), 1000)
		require.NoError(t, Run(m, "main", array(t, Float32, x, 1000), array(t, Float32, y, 1000), out))
		for i, v := range numbers[float32](t, out) {
			require.Equal(t, x[i]+y[i], v)
		}
	}
}

// Each iteration computes four lanes.
func TestRun_VectorAddOfLanes(t *testing.T) {
	a, b, c := NewBuffer("A", Float32, I32(16)), NewBuffer("B", Float32, I32(16)), NewBuffer("C", Float32, I32(16))
	m := module(t, each(Parallel, "i", I32(4), func(i Expr) Stmt {
		at := &Ramp{Base: Mul(i, I32(4)), Stride: I32(1), Lanes: 4}
		return store(c, Add(BufferAt(a, at), BufferAt(b, at)), at)
	}), a, b, c)
	x, y := random(16), random(32)[16:]
	out := array(t, Float32, make([]float32, 16), 16)
	require.NoError(t, Run(m, "main", array(t, Float32, x, 16), array(t, Float32, y, 16), out))
	for i, v := range numbers[float32](t, out) {
		require.Equal(t, x[i]+y[i], v)
	}
}

// matmul is C = A*B of float32; outer is the kind of its loop over rows.
func matmul(t testing.TB, outer ForKind, n, m, k Expr) *IRModule {
	a, b, c := NewBuffer("A", Float32, n, k), NewBuffer("B", Float32, k, m), NewBuffer("C", Float32, n, m)
	return module(t, each(outer, "i", n, func(i Expr) Stmt {
		return each(Serial, "j", m, func(j Expr) Stmt {
			return Sequence(store(c, F32(0), i, j), each(Serial, "k", k, func(k Expr) Stmt {
				return store(c, Add(BufferAt(c, i, j), Mul(BufferAt(a, i, k), BufferAt(b, k, j))), i, j)
			}))
		})
	}), a, b, c)
}

func TestRun_Matmul(t *testing.T) {
	n, m, k := NewVar("n", Int32), NewVar("m", Int32), NewVar("k", Int64)
	for _, mod := range []*IRModule{matmul(t, Parallel, n, m, NewCast(Int32, k)),
		matmul(t, Serial, I32(7), I32(5), I32(9))} {
		x, y := random(63), random(45)
		out := array(t, Float32, make([]float32, 35), 7, 5)
		args := []any{array(t, Float32, x, 7, 9), array(t, Float32, y, 9, 5), out}
		if mod.Funcs[0].Body.(*For).Kind == Parallel { // k is a parameter here, because no dimension is k
			mod.Funcs[0].Params = append(mod.Funcs[0].Params, k)
			args = append(args, 9)
		}
		require.NoError(t, Run(mod, "main", args...))
		got := numbers[float32](t, out)
		for i := range 7 {
			for j := range 5 {
				var sum float32
				for l := range 9 {
					sum += float32(x[i*9+l] * y[l*5+j])
				}
				require.Equal(t, sum, got[i*5+j])
			}
		}
	}
}

func TestRun_Softmax(t *testing.T) {
	n, m := NewVar("n", Int32), NewVar("m", Int32)
	x, y := NewBuffer("X", Float32, n, m), NewBuffer("Y", Float32, n, m)
	top, sum := NewBuffer("top", Float32), NewBuffer("sum", Float32)
	mod := module(t, each(Parallel, "i", n, func(i Expr) Stmt {
		return &Alloc{Buffer: top, Body: &Alloc{Buffer: sum, Body: Sequence(
			store(top, F32(float32(math.Inf(-1)))), store(sum, F32(0)),
			each(Serial, "j", m, func(j Expr) Stmt { return store(top, Max(BufferAt(top), BufferAt(x, i, j))) }),
			each(Serial, "j", m, func(j Expr) Stmt {
				e := NewVar("e", Float32)
				return &LetStmt{Var: e, Value: Intrin("exp", Sub(BufferAt(x, i, j), BufferAt(top))), Body: Sequence(
					store(y, e, i, j), store(sum, Add(BufferAt(sum), e)))}
			}),
			each(Vectorized, "j", m, func(j Expr) Stmt { return store(y, Div(BufferAt(y, i, j), BufferAt(sum)), i, j) }),
		)}}
	}), x, y)
	in := random(24)
	out := array(t, Float32, make([]float32, 24), 4, 6)
	require.NoError(t, Run(mod, "main", array(t, Float32, in, 4, 6), out))
	got := numbers[float64](t, out)
	for i := range 4 {
		row := in[i*6 : i*6+6]
		total := 0.0
		for _, v := range row {
			total += math.Exp(float64(v))
		}
		for j, v := range row {
			require.InDelta(t, math.Exp(float64(v))/total, got[i*6+j], 1e-6)
		}
	}
}

// prefixSums computes the prefix sums of a block's elements by doubling distances, in shared memory; barrier is the
// statement between the steps.
func prefixSums(t testing.TB, blocks, threads int32, barrier Stmt) *IRModule {
	in, out := NewBuffer("X", Int32, I32(blocks*threads)), NewBuffer("Y", Int32, I32(blocks*threads))
	shared := NewBuffer("S", Int32, I32(threads))
	shared.Scope = "shared"
	mine := NewBuffer("v", Int32)
	mine.Scope = "local"
	return module(t, each(ThreadBind, "blockIdx.x", I32(blocks), func(b Expr) Stmt {
		return &Alloc{Buffer: shared, Body: each(ThreadBind, "threadIdx.x", I32(threads), func(i Expr) Stmt {
			at := Add(Mul(b, I32(threads)), i)
			step := NewVar("step", Int32)
			d := NewVar("d", Int32)
			return &Alloc{Buffer: mine, Body: Sequence(
				store(shared, BufferAt(in, at), i), barrier,
				&For{Var: step, Min: I32(0), Extent: I32(5), Body: &LetStmt{Var: d, Value: Intrin("shift_left", I32(1), step),
					Body: Sequence(
						store(mine, NewCall(CallIntrinsic, Int32, "if_then_else", GE(i, d),
							Add(BufferAt(shared, i), BufferAt(shared, Sub(i, d))),
							BufferAt(shared, i))),
						barrier,
						store(shared, BufferAt(mine), i),
						barrier,
					)}},
				store(out, BufferAt(shared, i), at),
			)}
		})}
	}), in, out)
}

func sync(scope string) Stmt {
	return &Evaluate{Value: NewCall(CallIntrinsic, Void, "storage_sync", Text(scope))}
}

func TestRun_PrefixSumsOfThreads(t *testing.T) {
	for seed := range uint64(5) {
		for _, scope := range []string{"shared", "warp"} {
			p := must.Get(Compile(prefixSums(t, 3, 32, sync(scope)), Options{Seed: seed}))(t)
			x := make([]int32, 96)
			for i := range x {
				x[i] = int32(i*i%17 - 5)
			}
			out := array(t, Int32, make([]int32, 96), 96)
			must.Get(p.Call("main", array(t, Int32, x, 96), out))(t)
			sum := int32(0)
			for i, v := range numbers[int32](t, out) {
				if i%32 == 0 {
					sum = 0
				}
				sum += x[i]
				require.Equal(t, sum, v, i)
			}
		}
	}
	// Without barriers a thread finds nothing in the memory of its neighbour.
	none := array(t, Int32, make([]int32, 32), 32)
	require.ErrorIs(t, Run(prefixSums(t, 1, 32, nil), "main", none, array(t, Int32, make([]int32, 32), 32)),
		ErrUninitialized)
}

// The number of Collatz steps, counted by a while loop; attributes have no effect.
func TestRun_WhileAndAttributes(t *testing.T) {
	x, y := NewBuffer("X", Int32, I32(4)), NewBuffer("Y", Int32, I32(4))
	v := NewBuffer("v", Int32)
	m := module(t, &AttrStmt{Key: "pragma", Value: NewVar("nowhere", Int32),
		Body: each(Parallel, "i", I32(4), func(i Expr) Stmt {
			return &Alloc{Buffer: v, Body: Sequence(store(v, BufferAt(x, i)), store(y, I32(0), i),
				&While{Cond: NE(BufferAt(v), I32(1)), Body: Sequence(
					&If{Cond: EQ(FloorMod(BufferAt(v), I32(2)), I32(0)), Then: store(v, FloorDiv(BufferAt(v), I32(2))),
						Else: store(v, Add(Mul(BufferAt(v), I32(3)), I32(1)))},
					store(y, Add(BufferAt(y, i), I32(1)), i),
				)})}
		})}, x, y)
	out := array(t, Int32, make([]int, 4), 4)
	require.NoError(t, Run(m, "main", array(t, Int32, []int{1, 6, 7, 27}, 4), out))
	require.Equal(t, []int{0, 8, 16, 111}, numbers[int](t, out))
}

// Several goroutines run the same program concurrently.
func TestProgram_Concurrently(t *testing.T) {
	p := must.Get(Compile(prefixSums(t, 2, 32, sync("shared")), Options{Seed: 3}))(t)
	errs := make(chan error)
	for g := range 4 {
		go func() {
			x, _ := From(Int32, slices.Repeat([]int{g}, 64), 64)
			y, _ := New(Int32, 64)
			_, err := p.Call("main", x, y)
			if v, _ := Values[int](y); err == nil && v[63] != 32*g {
				err = fmt.Errorf("sum %d of %d", v[63], g)
			}
			errs <- err
		}()
	}
	for range 4 {
		require.NoError(t, <-errs)
	}
}

func BenchmarkRun_VectorAdd(b *testing.B) {
	n := NewVar("n", Int32)
	x, y, z := NewBuffer("A", Float32, n), NewBuffer("B", Float32, n), NewBuffer("C", Float32, n)
	for name, kind := range map[string]ForKind{"serial": Serial, "parallel": Parallel} {
		b.Run(name, func(b *testing.B) {
			m := module(b, each(kind, "i", n, func(i Expr) Stmt { return store(z, Add(BufferAt(x, i), BufferAt(y, i)), i) }),
				x, y, z)
			p, err := Compile(m, Options{})
			require.NoError(b, err)
			const size = 1 << 16
			v := array(b, Float32, make([]float32, size), size)
			out := array(b, Float32, make([]float32, size), size)
			for b.Loop() {
				_, err := p.Call("main", v, v, out)
				require.NoError(b, err)
			}
			b.ReportMetric(float64(size)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Melements/s")
		})
	}
}

func BenchmarkRun_Matmul64(b *testing.B) {
	p, err := Compile(matmul(b, Serial, I32(64), I32(64), I32(64)), Options{})
	require.NoError(b, err)
	x, out := array(b, Float32, random(4096), 64, 64), array(b, Float32, random(4096), 64, 64)
	for b.Loop() {
		_, err := p.Call("main", x, x, out)
		require.NoError(b, err)
	}
	b.ReportMetric(64*64*64*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mfma/s")
}
