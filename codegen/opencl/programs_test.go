package opencl_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	_ "tvmgo/codegen/opencl"
	"tvmgo/internal/testing/must"
	"tvmgo/target"
	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/text"
)

func device(t testing.TB, source string) *target.Target {
	t.Helper()
	return must.Get(target.New(source))(t)
}

// clTarget is the target of the tests: OpenCL, with C for the host.
func clTarget(t testing.TB) *target.Target {
	return device(t, `{"kind": "opencl", "host": {"kind": "c"}}`)
}

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

// plane is exp(A) - B in blocks of two dimensions.
func plane(t testing.TB, h, w int32) *tir.IRModule {
	t.Helper()
	a, b := te.Placeholder(te.Dims(h, w), tir.Float32, "A"), te.Placeholder(te.Dims(h, w), tir.Float32, "B")
	c := te.Compute(te.Dims(h, w), "C",
		func(i ...tir.Expr) tir.Expr { return tir.Sub(tir.Intrin("exp", a.At(i...)), b.At(i...)) })
	return scheduled(t, "plane", []any{a, b, c}, c)(func(s *te.Schedule) {
		st := s.Stage(c)
		y, x, ty, tx := st.Tile(c.Axes()[0], c.Axes()[1], 4, 8)
		st.Bind(y, "blockIdx.y")
		st.Bind(x, "blockIdx.x")
		st.Bind(ty, "threadIdx.y")
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

// softmax of rows: one block per row, whose threads compute the maximum and the sum together in shared memory, as a
// tree. The text has no barriers, because ThreadSync inserts them.
const softmax = `
func softmax(a: handle, b: handle) {
  var rows: int32
  buffer A: float32[rows, 37], param a
  buffer B: float32[rows, 37], param b
  thread row in range(rows), thread "blockIdx.x" {
    alloc best: float32[16], scope "shared"
    alloc total: float32[16], scope "shared"
    alloc own: float32[1], scope "local"
    thread t in range(16), thread "threadIdx.x" {
      own[0] = -inf
      for i in range(3) {
        if i * 16 + t < 37 {
          own[0] = max(own[0], A[row, i * 16 + t])
        }
      }
      best[t] = own[0]
    }
    for s in range(4) {
      thread t in range(16), thread "threadIdx.x" {
        if t < shift_right(8, s) {
          best[t] = max(best[t], best[t + shift_right(8, s)])
        }
      }
    }
    thread t in range(16), thread "threadIdx.x" {
      own[0] = 0.0
      for i in range(3) {
        if i * 16 + t < 37 {
          own[0] = own[0] + exp(A[row, i * 16 + t] - best[0])
        }
      }
      total[t] = own[0]
    }
    for s in range(4) {
      thread t in range(16), thread "threadIdx.x" {
        if t < shift_right(8, s) {
          total[t] = total[t] + total[t + shift_right(8, s)]
        }
      }
    }
    thread t in range(16), thread "threadIdx.x" {
      for i in range(3) {
        if i * 16 + t < 37 {
          B[row, i * 16 + t] = exp(A[row, i * 16 + t] - best[0]) / total[0]
        }
      }
    }
  }
}
`

func parsed(t testing.TB, source string) *tir.IRModule {
	t.Helper()
	m := must.Get(text.Parse(source))(t)
	require.NoError(t, tir.Check(m))
	return m
}
