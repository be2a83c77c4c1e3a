//go:build cgo

package te

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/tir"
	"tvmgo/tir/arith"
	"tvmgo/tir/text"
	"tvmgo/tir/transform"
)

// deviceForm returns a function after the passes that change the kernels of every device, before host and device are
// split, so that the interpreter runs it as a whole.
func deviceForm(f *tir.PrimFunc) (*tir.PrimFunc, error) {
	m, err := tir.NewModule(f)
	if err != nil {
		return nil, err
	}
	for _, pass := range []transform.Pass{transform.SoftwarePipeline(transform.Language{}), transform.LegalizeTypes,
		arith.Simplify, transform.ThreadSync,
		transform.ReuseStorage, transform.Vectorize, transform.Unroll, arith.Simplify} {
		if m, err = pass(m, nil); err != nil {
			return nil, err
		}
		if err = tir.Check(m); err != nil {
			return nil, err
		}
	}
	return m.Funcs[0], nil
}

// tiles are the parameters of a matrix product for a GPU.
type tiles struct {
	block, vthread, thread [2]int // of rows and columns
	k                      int
}

// gemm is the classic matrix product of a GPU: block tiles, virtual threads, thread tiles, and copies of the operands
// in shared and local memory.
func gemm(t *testing.T, n, m, k int32, p tiles) (*Schedule, []any) {
	a, b := Placeholder(Dims(n, k), tir.Float32, "A"), Placeholder(Dims(k, m), tir.Float32, "B")
	r := axis("k", 0, k)
	c := Compute(Dims(n, m), "C", func(i ...tir.Expr) tir.Expr {
		return Sum(tir.Mul(a.At(i[0], r.Var), b.At(r.Var, i[1])), r)
	})
	s := schedule(t, c)
	acc := s.CacheWrite(c, "local")
	as, bs := s.CacheRead(a, "shared", acc), s.CacheRead(b, "shared", acc)
	al, bl := s.CacheRead(as, "local", acc), s.CacheRead(bs, "local", acc)
	st := s.Stage(c)
	var blocks, virtual, threads, inner []*tir.IterVar
	for d, x := range c.Axes() {
		o, i := st.Split(x, p.block[d])
		v, i := st.SplitParts(i, p.vthread[d])
		th, i := st.SplitParts(i, p.block[d]/p.vthread[d]/p.thread[d])
		blocks, virtual, threads, inner = append(blocks, o), append(virtual, v), append(threads, th), append(inner, i)
		name := []string{"y", "x"}[d]
		st.Bind(o, "blockIdx."+name)
		st.Bind(v, "vthread."+name)
		st.Bind(th, "threadIdx."+name)
	}
	st.Reorder(append(append(append(blocks, virtual...), threads...), inner...)...)
	ls := s.Stage(acc)
	ls.ComputeAt(st, threads[1])
	ko, ki := ls.Split(r, p.k)
	ls.Reorder(ko, ki, ls.Axes()[0], ls.Axes()[1])
	for _, x := range ls.Axes() {
		ls.Unroll(x)
	}
	for _, x := range []*Tensor{as, bs} {
		x := s.Stage(x)
		x.ComputeAt(ls, ko)
		f := x.Fuse(x.Axes()[0], x.Axes()[1])
		f, vec := x.Split(f, 4)
		f, tx := x.Split(f, p.block[1]/p.vthread[1]/p.thread[1])
		_, ty := x.Split(f, p.block[0]/p.vthread[0]/p.thread[0])
		x.Bind(ty, "threadIdx.y")
		x.Bind(tx, "threadIdx.x")
		x.Vectorize(vec)
	}
	for _, x := range []*Tensor{al, bl} {
		x := s.Stage(x)
		x.ComputeAt(ls, ki)
		for _, a := range x.Axes() {
			x.Unroll(a)
		}
	}
	return s, []any{a, b, c}
}

func TestLower_ClassicGEMM(t *testing.T) {
	for _, c := range []struct {
		n, m, k int32
		tiles
		stages, barriers int // barriers in the text of the kernel
		async            bool
	}{
		{n: 32, m: 32, k: 16, tiles: tiles{[2]int{16, 16}, [2]int{2, 2}, [2]int{2, 4}, 8}, barriers: 2},
		{n: 13, m: 11, k: 10, tiles: tiles{[2]int{8, 8}, [2]int{2, 2}, [2]int{2, 2}, 4}, barriers: 2},
		{n: 32, m: 32, k: 24, tiles: tiles{[2]int{16, 16}, [2]int{2, 1}, [2]int{2, 4}, 8}, stages: 2, barriers: 1},
		{n: 13, m: 11, k: 30, tiles: tiles{[2]int{8, 8}, [2]int{1, 2}, [2]int{2, 2}, 4}, stages: 2, barriers: 1},
		{n: 16, m: 16, k: 30, tiles: tiles{[2]int{8, 8}, [2]int{1, 1}, [2]int{2, 2}, 4}, stages: 4, barriers: 1},
		{n: 16, m: 16, k: 8, tiles: tiles{[2]int{8, 8}, [2]int{1, 1}, [2]int{2, 2}, 4}, stages: 5, barriers: 1},
	} {
		t.Run(fmt.Sprintf("%d %d %d, %v, %d stages", c.n, c.m, c.k, c.tiles, c.stages), func(t *testing.T) {
			s, args := gemm(t, c.n, c.m, c.k, c.tiles)
			for _, st := range s.Stages() {
				if st.scope == "shared" && c.stages > 0 {
					st.Pipeline(c.stages)
				}
			}
			f := lower(t, s, args...)
			g := must.Get(deviceForm(f))(t)
			for i, f := range []*tir.PrimFunc{f, g} {
				run := []func(*tir.PrimFunc, uint64, ...any) error{run, runAsIs}[i]
				n, m, k := int64(c.n), int64(c.m), int64(c.k)
				x, y, z := fill(tir.Float32, 1, n, k), fill(tir.Float32, 2, k, m), newMemory(tir.Float32, n, m)
				require.NoError(t, run(f, 1, x, y, z), text.Print(f))
				for at, got := range z.vals {
					sum := 0.0
					for l := range k {
						sum += x.vals[int64(at)/m*k+l].f * y.vals[l*m+int64(at)%m].f
					}
					require.Equal(t, sum, got.f, at)
				}
			}
			require.Equal(t, c.barriers, strings.Count(text.Print(g), "storage_sync"), text.Print(g))
		})
	}
}

// Virtual threads execute one part of a reduction of several values together, the others one after the other: also
// values that are the same for all virtual threads are added once.
func TestBind_VirtualThreadsOfSeveralValues(t *testing.T) {
	const n, m, depth = 5, 6, 4
	a, b := Placeholder(Dims(n, depth), tir.Float32, "A"), Placeholder(Dims(depth, m), tir.Float32, "B")
	k := axis("k", 0, depth)
	both := NewReducer(func(l, r []tir.Expr) []tir.Expr { return []tir.Expr{tir.Add(l[0], r[0]), tir.Add(l[1], r[1])} },
		func([]tir.Type) []tir.Expr { return []tir.Expr{tir.F32(0), tir.F32(0)} })
	sums := ComputeMulti(Dims(n, m), "S", func(i ...tir.Expr) []tir.Expr {
		x := a.At(i[0], k.Var)
		return both.Over([]tir.Expr{x, tir.Mul(x, b.At(k.Var, i[1]))}, k)
	})
	c := Compute(Dims(n, m), "C", func(i ...tir.Expr) tir.Expr { return tir.Sub(sums[1].At(i...), sums[0].At(i...)) })
	s := schedule(t, c)
	st := s.Stage(c)
	virtual, thread := st.Split(c.Axes()[1], 3)
	st.Reorder(virtual, thread, c.Axes()[0])
	st.Bind(virtual, "vthread")
	st.Bind(thread, "threadIdx.x")
	s.Stage(sums[0]).ComputeAt(st, thread)
	x, y, z := fill(tir.Float32, 1, n, depth), fill(tir.Float32, 2, depth, m), newMemory(tir.Float32, n, m)
	runBoth(t, lower(t, s, a, b, c), func() {
		for at, got := range z.vals {
			want := 0.0
			for l := range depth {
				v := x.vals[at/m*depth+l].f
				want += v*y.vals[l*m+at%m].f - v
			}
			require.Equal(t, want, got.f, at)
		}
	}, x, y, z)
}
