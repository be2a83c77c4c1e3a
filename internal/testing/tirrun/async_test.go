package tirrun

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/text"
	"tvmgo/tir/transform"
)

// ring copies rows of 16 numbers through three slots of shared memory, two rows ahead. Threads read the numbers of
// others.
const ring = `
func ring(a: handle, b: handle) {
  buffer A: float32[8, 16], param a
  buffer B: float32[8, 16], param b
  thread bx in range(1), thread "blockIdx.x" {
    thread t in range(4), thread "threadIdx.x" {
      alloc S: float32[3, 16], scope "shared"
      for p in range(2) {
        eval async_copy[void](address_of[handle](S[p, t * 4]), address_of[handle](A[p, t * 4]), 16)
        eval async_commit[void]()
      }
      for i in range(8) {
        eval async_wait[void](1)
        eval storage_sync[void]("shared")
        if (i < 6) {
          eval async_copy[void](address_of[handle](S[floormod(i + 2, 3), t * 4]),
            address_of[handle](A[i + 2, t * 4]), 16)
        }
        eval async_commit[void]()
        for l in range(4) {
          B[i, t * 4 + l] = S[floormod(i, 3), (3 - t) * 4 + l] * 2.0
        }
      }
    }
  }
}
`

// runRing runs a form of ring, and compares its result.
func runRing(t *testing.T, code string, seed uint64) error {
	t.Helper()
	x := make([]float32, 128)
	for i := range x {
		x[i] = float32(i + 1)
	}
	p := must.Get(Compile(must.Get(text.Parse(code))(t), Options{Seed: seed}))(t)
	b := zeros(t, tir.Float32, 8, 16)
	if _, err := p.Call("ring", array(t, tir.Float32, x, 8, 16), b); err != nil {
		return err
	}
	for i, got := range numbers[float32](t, b) {
		require.Equal(t, 2*x[i/16*16+(15-i%16)/4*4+i%4], got, "element %d", i)
	}
	return nil
}

// Asynchronous copies are visible after their thread has waited for them and the block has met at a barrier. Every way
// to read, or to write, too early is found, whatever the order of threads.
func TestAsync_Mutations(t *testing.T) {
	const (
		wait    = `eval async_wait[void](1)`
		barrier = `eval storage_sync[void]("shared")`
		later   = `S[floormod(i + 2, 3), t * 4]`
	)
	for _, m := range []struct {
		old, new string
		want     error
	}{
		{wait, wait, nil},
		{wait, `eval async_wait[void](0)`, nil},
		{wait, `eval async_wait[void](2)`, ErrRace},
		{wait, "", ErrRace},
		{barrier, "", ErrRace},
		{wait + "\n        " + barrier, barrier + "\n        " + wait, ErrRace},
		{later, `S[floormod(i + 1, 3), t * 4]`, ErrRace},                        // the slot is still filled
		{later, `S[floormod(i, 3), t * 4]`, ErrRace},                            // others read the slot
		{later, `S[floormod(i + 2, 3), t * 4 + 1]`, ErrArgument},                // not aligned
		{`A[i + 2, t * 4]`, `A[i + 3, t * 4]`, ErrBounds},                       // of A
		{`A[p, t * 4]), 16`, `A[p, t * 4]), 8`, ErrUninitialized},               // half of it is copied
		{"eval async_commit[void]()\n        for l", "for l", ErrRace},          // the group is never closed
		{"for i in range(8) {", "for i in range(6) {", ErrSync},                 // copies at the end
		{"S[floormod(i, 3), (3 - t)", "S[floormod(i + 1, 3), (3 - t)", ErrRace}, // a row that is not there yet
	} {
		require.Contains(t, ring, m.old)
		for seed := range uint64(4) {
			err := runRing(t, strings.Replace(ring, m.old, m.new, 1), seed)
			if m.want == ErrRace && errors.Is(err, ErrUninitialized) { // in this order of threads
				continue
			}
			require.ErrorIs(t, err, m.want, "%s: %v", m.new, err)
		}
	}
}

// The copies that SoftwarePipeline starts are asynchronous here too, and their barriers and waits suffice. Without one
// of them, the program fails.
func TestAsync_SoftwarePipeline(t *testing.T) {
	const n, inner = 8, 24
	a, b := te.Placeholder(te.Dims(n, inner), tir.Float16, "A"), te.Placeholder(te.Dims(inner, n), tir.Float32, "B")
	k := te.ReduceAxis(tir.I32(0), tir.I32(inner), "k")
	c := te.Compute(te.Dims(n, n), "C", func(i ...tir.Expr) tir.Expr {
		return te.Sum(tir.Mul(tir.NewCast(tir.Float32, a.At(i[0], k.Var)), b.At(k.Var, i[1])), k)
	})
	s := must.Get(te.NewSchedule(c))(t)
	local := s.CacheWrite(c, "local")
	tile := s.CacheRead(a, "shared", local)
	st := s.Stage(c)
	st.Bind(c.Axes()[0], "blockIdx.x")
	st.Bind(c.Axes()[1], "threadIdx.x")
	sums := s.Stage(local)
	sums.ComputeAt(st, c.Axes()[1])
	ko, ki := sums.Split(k, 8)
	sums.Reorder(ko, ki)
	copies := s.Stage(tile)
	copies.ComputeAt(sums, ko)
	_, lane := copies.Split(tile.Axes()[1], 8)
	copies.Bind(lane, "threadIdx.x")
	copies.PipelineAsync(3)
	m := must.Get(te.Lower(s, []any{a, b, c}, "product"))(t)
	m = must.Get(transform.SoftwarePipeline(transform.Language{})(m, nil))(t)
	m = must.Get(transform.ThreadSync(m, nil))(t)

	x, y := random(n*inner), random(inner*n)
	run := func(m *tir.IRModule, seed uint64) ([]float32, error) {
		out := zeros(t, tir.Float32, n, n)
		p := must.Get(Compile(m, Options{Seed: seed}))(t)
		_, err := p.Call("product", array(t, tir.Float16, x, n, inner), array(t, tir.Float32, y, inner, n), out)
		return numbers[float32](t, out), err
	}
	for seed := range uint64(4) {
		got, err := run(m, seed)
		require.NoError(t, err)
		for i, v := range got {
			sum := 0.0
			for k := range inner {
				sum += float64(x[i/n*inner+k]) * float64(y[k*n+i%n])
			}
			require.InDelta(t, sum, v, 1e-2)
		}
		for _, drop := range []string{"async_wait", "async_commit", "storage_sync"} {
			_, err := run(without(m, drop), seed)
			require.Error(t, err, drop)
		}
	}
}

// without removes the calls of an intrinsic, except that one async_commit stays.
func without(m *tir.IRModule, name string) *tir.IRModule {
	f, seen := *m.Funcs[0], 0
	f.Body = (&tir.Mutator{Stmt: func(s tir.Stmt) tir.Stmt {
		if e, ok := s.(*tir.Evaluate); ok {
			if call, ok := e.Value.(*tir.Call); ok && call.Name == name {
				if seen++; seen > 1 || name != "async_commit" {
					return &tir.Evaluate{Value: tir.I32(0)}
				}
			}
		}
		return s
	}}).MutateStmt(f.Body)
	return &tir.IRModule{Funcs: []*tir.PrimFunc{&f}}
}
