package tirrun

import (
	"testing"

	"github.com/stretchr/testify/require"

	. "tvmgo/tir"
)

// A race is found in any order of two or three iterations, and for the reader and the writer.
func TestRaces_ReaderBeforeWriter(t *testing.T) {
	y := NewBuffer("Y", Int32, I32(16))
	wide := &Buffer{Name: "wide", Data: y.Data, DType: Int64, Shape: []Expr{I32(8)}}
	read := &Evaluate{Value: BufferAt(y, I32(0))}
	for _, n := range []int32{2, 3, 4} {
		runSeeds(t, each(Parallel, "i", I32(n), func(i Expr) Stmt {
			return &If{Cond: EQ(i, I32(1)), Then: store(y, I32(1), I32(0)), Else: read}
		}), y, 16, func(_ *Array, err error) { require.ErrorIs(t, err, ErrRace) })
	}
	// An element of 8 bytes overlaps two of 4.
	for at := range int32(4) {
		runSeeds(t, each(Parallel, "i", I32(2), func(i Expr) Stmt {
			return &If{Cond: EQ(i, I32(1)), Then: store(wide, I64(1), I32(1)), Else: store(y, I32(1), I32(at))}
		}), y, 16, func(_ *Array, err error) {
			if at >= 2 {
				require.ErrorIs(t, err, ErrRace)
			} else {
				require.NoError(t, err)
			}
		})
	}
	// After the loop all elements may be read.
	runSeeds(t, Sequence(each(Parallel, "i", I32(16), func(i Expr) Stmt { return store(y, I32(1), i) }),
		each(Serial, "j", I32(16), func(j Expr) Stmt { return store(y, Add(BufferAt(y, j), I32(1)), j) })), y, 16,
		func(_ *Array, err error) { require.NoError(t, err) })
}

func TestRaces_AfterBarriers(t *testing.T) {
	y := NewBuffer("Y", Int32, I32(16))
	runSeeds(t, threads("threadIdx.x", 4, func(i Expr) Stmt {
		return Sequence(sync("shared"), store(y, I32(1), I32(0)), sync("shared"))
	}), y, 16, func(_ *Array, err error) { require.ErrorIs(t, err, ErrRace) })
	// Accesses of the block after its threads are not those of its last thread.
	runSeeds(t, threads("blockIdx.x", 1, func(Expr) Stmt {
		return Sequence(threads("threadIdx.x", 1, func(Expr) Stmt { return store(y, I32(1), I32(0)) }),
			store(y, I32(1), I32(0)))
	}), y, 16, func(_ *Array, err error) { require.ErrorContains(t, err, "what blockIdx.x=0 threadIdx.x=0 wrote") })
}

// A thread that has read an element may write it only if no other thread has read it.
func TestRaces_WriterAmongReaders(t *testing.T) {
	y := NewBuffer("Y", Int32, I32(1))
	read := func(Expr) Stmt { return &Evaluate{Value: BufferAt(y, I32(0))} }
	runSeeds(t, threads("blockIdx.x", 1, func(Expr) Stmt {
		return Sequence(threads("threadIdx.x", 2, read), threads("threadIdx.x", 2, func(i Expr) Stmt {
			return &If{Cond: EQ(i, I32(0)), Then: store(y, I32(1), I32(0))}
		}))
	}), y, 1, func(_ *Array, err error) {
		require.ErrorIs(t, err, ErrRace)
		require.ErrorContains(t, err, "writes what others read")
	})
}

// Variables of a thread keep their values while other threads run.
func TestThreads_VariablesAcrossBarriers(t *testing.T) {
	y := NewBuffer("Y", Float32, I32(4))
	f, k := NewVar("f", Float32), NewVar("k", Int32)
	runSeeds(t, threads("threadIdx.x", 4, func(i Expr) Stmt {
		return &LetStmt{Var: f, Value: NewCast(Float32, i), Body: &LetStmt{Var: k, Value: Mul(i, I32(2)), Body: Sequence(
			sync("shared"), store(y, Add(f, NewCast(Float32, k)), i))}}
	}), y, 4, func(a *Array, err error) {
		require.NoError(t, err)
		require.Equal(t, []int{0, 3, 6, 9}, numbers[int](t, a))
	})
}

// A block sees no state of another block, and an iteration none of another iteration.
func TestThreads_NothingIsLeft(t *testing.T) {
	y := NewBuffer("Y", Int32, I32(2))
	l, s := scoped(NewBuffer("L", Int32), "local"), scoped(NewBuffer("S", Int32), "shared")
	firstWrites := func(b *Buffer, at Expr) Stmt {
		return &If{Cond: EQ(at, I32(0)), Then: store(b, I32(1)), Else: store(y, BufferAt(b), at)}
	}
	one := func(s Stmt) Stmt { return threads("threadIdx.x", 1, func(Expr) Stmt { return s }) }
	for name, body := range map[string]Stmt{
		"shared, allocated around blocks": &Alloc{Buffer: s, Body: threads("blockIdx.x", 2, func(b Expr) Stmt {
			return one(firstWrites(s, b))
		})},
		"local, allocated around blocks": &Alloc{Buffer: l, Body: threads("blockIdx.x", 2, func(b Expr) Stmt {
			return one(firstWrites(l, b))
		})},
		"shared, allocated in threads": threads("blockIdx.x", 2, func(b Expr) Stmt {
			return one(&Alloc{Buffer: s, Body: firstWrites(s, b)})
		}),
		"local, allocated in a loop": threads("blockIdx.x", 1, func(Expr) Stmt {
			return each(Serial, "k", I32(2), func(k Expr) Stmt { return &Alloc{Buffer: l, Body: one(firstWrites(l, k))} })
		}),
	} {
		runSeeds(t, body, y, 2, func(_ *Array, err error) { require.ErrorIs(t, err, ErrUninitialized, name) })
	}
}

func TestRun_OutOfConstantBounds(t *testing.T) {
	a := NewBuffer("A", Float32, I32(2), I32(3))
	fails(t, ErrBounds, "store A[-1, 2]: index 0 is -1, the bound is 2", module(t, store(a, F32(1), I32(-1), I32(2)), a),
		zeros(t, Float32, 2, 3))
	fails(t, ErrBounds, "store A[2, 0]: index 0 is 2, the bound is 2", module(t, store(a, F32(1), I32(2), I32(0)), a),
		zeros(t, Float32, 2, 3))
}
