package cuda_test

import (
	"testing"

	"tvmgo/internal/testing/must"
	"tvmgo/te"
	"tvmgo/tir"
)

func scheduled(t testing.TB, name string, args []any, outs ...*te.Tensor) func(func(*te.Schedule)) *tir.IRModule {
	return func(how func(*te.Schedule)) *tir.IRModule {
		t.Helper()
		s := must.Get(te.NewSchedule(outs...))(t)
		how(s)
		return must.Get(te.Lower(s, args, name))(t)
	}
}

// vadd is a sum of vectors of any length, times a number.
func vadd(t testing.TB, typ tir.Type, threads int) *tir.IRModule {
	t.Helper()
	n, by := te.Var("n"), tir.NewVar("by", typ)
	a, b := te.Placeholder([]tir.Expr{n}, typ, "A"), te.Placeholder([]tir.Expr{n}, typ, "B")
	c := te.Compute([]tir.Expr{n}, "C",
		func(i ...tir.Expr) tir.Expr { return tir.Mul(tir.Add(a.At(i...), b.At(i...)), by) })
	return scheduled(t, "vadd", []any{a, b, c, by}, c)(func(s *te.Schedule) {
		st := s.Stage(c)
		bx, tx := st.Split(c.Axes()[0], threads)
		st.Bind(bx, "blockIdx.x")
		st.Bind(tx, "threadIdx.x")
	})
}

// tiles is a matrix product whose blocks load tiles together into shared memory.
func tiles(t testing.TB, rows, inner, cols int32, typ tir.Type) *tir.IRModule {
	t.Helper()
	a, b := te.Placeholder(te.Dims(rows, inner), typ, "A"), te.Placeholder(te.Dims(inner, cols), typ, "B")
	k := te.ReduceAxis(tir.I32(0), tir.I32(inner), "k")
	c := te.Compute(te.Dims(rows, cols), "C",
		func(i ...tir.Expr) tir.Expr { return te.Sum(tir.Mul(a.At(i[0], k.Var), b.At(k.Var, i[1])), k) })
	return scheduled(t, "tiles", []any{a, b, c}, c)(func(s *te.Schedule) {
		local := s.CacheWrite(c, "local")
		as, bs := s.CacheRead(a, "shared", local), s.CacheRead(b, "shared", local)
		st := s.Stage(c)
		by, bx, ty, tx := st.Tile(c.Axes()[0], c.Axes()[1], 8, 8)
		tx, xi := st.Split(tx, 2)
		st.Reorder(by, bx, ty, tx, xi)
		st.Bind(by, "blockIdx.y")
		st.Bind(bx, "blockIdx.x")
		st.Bind(ty, "threadIdx.y")
		st.Bind(tx, "threadIdx.x")
		lst := s.Stage(local)
		lst.ComputeAt(st, tx)
		ko, ki := lst.Split(k, 4)
		lst.Reorder(ko, ki, lst.Axes()[0], lst.Axes()[1])
		for _, x := range []*te.Tensor{as, bs} {
			cs := s.Stage(x)
			cs.ComputeAt(lst, ko)
			f := cs.Fuse(cs.Axes()[0], cs.Axes()[1])
			fo, fi := cs.Split(f, 8)
			cs.Bind(fo, "threadIdx.x")
			cs.Bind(fi, "threadIdx.y")
		}
	})
}

// everything uses numbers of all types, control flow, barriers, both kinds of shared memory, shuffles and copies.
const everything = `
func everything(a: handle, b: handle, c: handle, d: handle, n: int32, x: float32) {
  buffer A: float16[64], param a
  buffer B: bfloat16[64], param b
  buffer C: int32[64], param c
  buffer D: float64[64], param d
  thread bx in range(n), thread "blockIdx.x" {
    thread t in range(64), thread "threadIdx.x" {
      alloc S: float16[64], scope "shared"
      alloc R: float32[64], scope "shared.dyn"
      alloc T: int32[64], scope "shared"
      alloc L: int8[4], scope "local"
      eval async_copy[void](address_of[handle](T[t]), address_of[handle](C[t]), 4)
      eval async_commit[void]()
      S[t] = A[t] + A[t] * cast(float16, n) - float16(inf)
      for i in range(4) {
        L[i] = cast(int8, floordiv(C[t], i - 2)) + cast(int8, x)
      }
      eval async_wait[void](0)
      eval storage_sync[void]("shared")
      R[t] = exp(cast(float32, S[63 - t])) + rsqrt(x) + cast(float32, T[63 - t])
      B[t] = max(cast(bfloat16, R[t]) / bfloat16(3.0), exp(B[t]))
      eval storage_sync[void]("warp")
      B[t] = warp_shuffle_xor[bfloat16](B[t], 1)
      C[t] = cast(int32, warp_shuffle_down[int8](L[3], 2)) + popcount(warp_shuffle[int32](C[t], 31 - t))
      D[t] = warp_shuffle_xor[float64](D[t], 16)
      if t < 32 {
        D[t] = floor(D[t]) + cast(float64, cast(float16, D[t + 1]))
      } else {
        D[t] = cast(float64, cast(bfloat16, cast(int64, D[t]))) + cast(float64, clz(cast(uint8, L[0])))
        C[t] = reinterpret[int32](x) + cast(int32, reinterpret[uint16](A[t])) + shift_left(C[t], n)
      }
    }
  }
}
`
