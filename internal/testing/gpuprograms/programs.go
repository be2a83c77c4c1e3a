// Package gpuprograms has the programs with kernels on which the tests of all generators for devices agree: sums,
// matrix products in tiles of shared memory, a softmax, random schedules of a product; and a harness that runs them on
// devices and compares the results with the interpreter.
package gpuprograms

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/text"
)

// Scheduled returns a function that schedules outs and lowers them, with args as parameters, to a program.
func Scheduled(t testing.TB, name string, args []any, outs ...*te.Tensor) func(func(*te.Schedule)) *tir.IRModule {
	return func(how func(*te.Schedule)) *tir.IRModule {
		t.Helper()
		s := must.Get(te.NewSchedule(outs...))(t)
		how(s)
		return must.Get(te.Lower(s, args, name))(t)
	}
}

// VAdd is a sum of vectors of any length, times a number.
func VAdd(t testing.TB, typ tir.Type, threads int) *tir.IRModule {
	t.Helper()
	n, by := te.Var("n"), tir.NewVar("by", typ)
	a, b := te.Placeholder([]tir.Expr{n}, typ, "A"), te.Placeholder([]tir.Expr{n}, typ, "B")
	c := te.Compute([]tir.Expr{n}, "C",
		func(i ...tir.Expr) tir.Expr { return tir.Mul(tir.Add(a.At(i...), b.At(i...)), by) })
	return Scheduled(t, "vadd", []any{a, b, c, by}, c)(func(s *te.Schedule) {
		st := s.Stage(c)
		bx, tx := st.Split(c.Axes()[0], threads)
		st.Bind(bx, "blockIdx.x")
		st.Bind(tx, "threadIdx.x")
	})
}

// Plane is exp(A) - B in blocks of two dimensions.
func Plane(t testing.TB, h, w int32) *tir.IRModule {
	t.Helper()
	a, b := te.Placeholder(te.Dims(h, w), tir.Float32, "A"), te.Placeholder(te.Dims(h, w), tir.Float32, "B")
	c := te.Compute(te.Dims(h, w), "C",
		func(i ...tir.Expr) tir.Expr { return tir.Sub(tir.Intrin("exp", a.At(i...)), b.At(i...)) })
	return Scheduled(t, "plane", []any{a, b, c}, c)(func(s *te.Schedule) {
		st := s.Stage(c)
		y, x, ty, tx := st.Tile(c.Axes()[0], c.Axes()[1], 4, 8)
		st.Bind(y, "blockIdx.y")
		st.Bind(x, "blockIdx.x")
		st.Bind(ty, "threadIdx.y")
		st.Bind(tx, "threadIdx.x")
	})
}

// Tiles is a matrix product whose blocks load tiles together into shared memory.
func Tiles(t testing.TB, rows, inner, cols int32, typ tir.Type) *tir.IRModule {
	t.Helper()
	a, b := te.Placeholder(te.Dims(rows, inner), typ, "A"), te.Placeholder(te.Dims(inner, cols), typ, "B")
	k := te.ReduceAxis(tir.I32(0), tir.I32(inner), "k")
	c := te.Compute(te.Dims(rows, cols), "C",
		func(i ...tir.Expr) tir.Expr { return te.Sum(tir.Mul(a.At(i[0], k.Var), b.At(k.Var, i[1])), k) })
	return Scheduled(t, "tiles", []any{a, b, c}, c)(func(s *te.Schedule) {
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

// Softmax of rows: one block per row, whose threads compute the maximum and the sum together in shared memory, as a
// tree. The text has no barriers, because ThreadSync inserts them.
const Softmax = `
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

func Parsed(t testing.TB, source string) *tir.IRModule {
	t.Helper()
	m := must.Get(text.Parse(source))(t)
	require.NoError(t, tir.Check(m))
	return m
}

// Vectorized is a kernel of 5 threads, each with a vector: X and Y stand for its elements of A and B.
func Vectorized(t testing.TB, value string, typ tir.Type, lanes int) *tir.IRModule {
	t.Helper()
	n := 5 * lanes
	value = strings.ReplaceAll(value, "X", "A[t * L + i]")
	value = strings.ReplaceAll(value, "Y", "B[t * L + i]")
	value = strings.ReplaceAll(value, "C(", typ.String()+"(")
	text := fmt.Sprintf(`
func v(a: handle, b: handle, c: handle) {
  buffer A: %[1]s[%[2]d], param a
  buffer B: %[1]s[%[2]d], param b
  buffer C: %[1]s[%[2]d], param c
  thread t in range(5), thread "threadIdx.x" {
    vectorized i in range(%[3]d) {
      C[t * L + i] = %[4]s
    }
  }
}
`, typ, n, lanes, value)
	return Parsed(t, strings.ReplaceAll(text, "L", fmt.Sprint(lanes)))
}

// Mixed has a function with threads, one without, and a host function that calls both: with a tensor on the device, and
// with one on the CPU.
const Mixed = `
func scale(A: handle, n: int32) {
  buffer a: float32[n], param A
  thread block in range(n / 4), thread "blockIdx.x" {
    thread i in range(4), thread "threadIdx.x" { a[block * 4 + i] = a[block * 4 + i] * 3.0 }
  }
}
func add(A: handle, n: int32) {
  buffer a: float32[n], param A
  for i in range(n) { a[i] = a[i] + 1.0 }
}
func both(D: handle, H: handle, n: int32) {
  buffer d: float32[n], param D
  buffer h: float32[n], param H
  packed scale(D, n)
  func add(H, n)
  packed scale(D, n)
}
`
