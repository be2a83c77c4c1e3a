package tirrun

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	. "tvmgo/tir"
)

func shuffled(name string, v Expr, operand Expr) Expr {
	return NewCall(CallIntrinsic, v.DType(), name, v, operand)
}

// runWarps runs a function with warps of 8 threads in several orders of threads.
func runWarps(t *testing.T, body Stmt, out *Buffer, size int64, check func(y *Array, err error)) {
	t.Helper()
	for seed := range uint64(6) {
		p := must.Get(Compile(module(t, body, out), Options{Seed: seed, Warp: 8}))(t)
		y := zeros(t, out.DType, size)
		_, err := p.Call("main", y)
		check(y, err)
	}
}

func TestShuffle_MovesValuesWithinAWarp(t *testing.T) {
	for name, want := range map[string]func(i int) int{
		"warp_shuffle":      func(i int) int { return 10 * (i/8*8 + 3) },
		"warp_shuffle_xor":  func(i int) int { return 10 * (i ^ 3) },
		"warp_shuffle_down": func(i int) int { return 10 * (i + 3) },
	} {
		y := NewBuffer("Y", Int32, I32(32))
		runWarps(t, threads("threadIdx.y", 2, func(j Expr) Stmt {
			return threads("threadIdx.x", 16, func(i Expr) Stmt {
				at := Add(Mul(j, I32(16)), i)
				return store(y, shuffled(name, Mul(at, I32(10)), I32(3)), at)
			})
		}), y, 32, func(a *Array, err error) {
			require.NoError(t, err)
			for i, v := range numbers[int](t, a) {
				if name == "warp_shuffle_down" && i%8 >= 5 {
					require.Equal(t, int(int32(0x5a5a5a5a)), v, "a lane beyond the warp")
				} else {
					require.Equal(t, want(i), v, "%s of thread %d", name, i)
				}
			}
		})
	}
}

// A warp consists of neighbors in threadIdx.x, then of threadIdx.y, whatever the order of the loops.
func TestShuffle_WarpOfSeveralRows(t *testing.T) {
	y := NewBuffer("Y", Float32, I32(12))
	l := scoped(NewBuffer("L", Float32), "local")
	runWarps(t, threads("threadIdx.x", 4, func(i Expr) Stmt {
		return threads("threadIdx.y", 3, func(j Expr) Stmt {
			at := Add(Mul(j, I32(4)), i)
			var steps []Stmt
			for _, mask := range []int32{4, 2, 1} {
				v := NewVar("v", Float32)
				steps = append(steps, &LetStmt{Var: v, Value: shuffled("warp_shuffle_xor", BufferAt(l), I32(mask)),
					Body: store(l, Add(BufferAt(l), v))})
			}
			return &Alloc{Buffer: l, Body: Sequence(store(l, NewCast(Float32, at)), Sequence(steps...),
				store(y, BufferAt(l), at))}
		})
	}), y, 12, func(a *Array, err error) {
		require.NoError(t, err)
		for i, v := range numbers[float64](t, a) {
			if i < 8 {
				require.Equal(t, 28.0, v)
			} else {
				require.True(t, math.IsNaN(v), "half of the second warp does not exist: %v", v)
			}
		}
	})
}

// Warps may be in different code, and meet at barriers.
func TestShuffle_WarpsAreIndependent(t *testing.T) {
	y := NewBuffer("Y", Int32, I32(16))
	s := scoped(NewBuffer("S", Int32, I32(16)), "shared")
	runWarps(t, &Alloc{Buffer: s, Body: threads("threadIdx.x", 16, func(i Expr) Stmt {
		return Sequence(&If{Cond: LT(i, I32(8)), Then: store(s, shuffled("warp_shuffle_xor", i, I32(1)), i),
			Else: store(s, Mul(i, I32(2)), i)}, sync("shared"), store(y, BufferAt(s, Sub(I32(15), i)), i))
	})}, y, 16, func(a *Array, err error) {
		require.NoError(t, err)
		require.Equal(t, []int{30, 28, 26, 24, 22, 20, 18, 16, 6, 7, 4, 5, 2, 3, 0, 1}, numbers[int](t, a))
	})
}

func TestShuffle_Divergent(t *testing.T) {
	y := NewBuffer("Y", Int32, I32(16))
	get := func(i Expr) Stmt { return store(y, shuffled("warp_shuffle_xor", i, I32(1)), i) }
	for text, body := range map[string]func(i Expr) Stmt{
		"which another thread of its warp does not reach, such as iteration": func(i Expr) Stmt {
			return &If{Cond: LT(i, I32(5)), Then: get(i)}
		},
		"threads of a warp are at different calls, warp_shuffle_xor and warp_shuffle_xor": func(i Expr) Stmt {
			return &If{Cond: LT(i, I32(5)), Then: get(i), Else: get(i)}
		},
		"waits at warp_shuffle_xor, which another": func(i Expr) Stmt {
			return &If{Cond: LT(i, I32(5)), Then: get(i), Else: sync("shared")}
		},
	} {
		runWarps(t, threads("threadIdx.x", 16, body), y, 16, func(_ *Array, err error) {
			require.ErrorIs(t, err, ErrSync)
			require.ErrorContains(t, err, text)
		})
	}
	runWarps(t, get(I32(0)), y, 16, func(_ *Array, err error) {
		require.ErrorContains(t, err, "outside of blocks and threads")
	})
}
