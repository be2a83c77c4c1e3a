package tirrun

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	. "tvmgo/tir"
)

func scoped(b *Buffer, scope string) *Buffer {
	b.Scope = scope
	return b
}

// threads is a loop over an index of threads or blocks.
func threads(name string, n int32, body func(i Expr) Stmt) Stmt {
	return each(ThreadBind, name, I32(n), body)
}

// runSeeds runs a function on new zeros in several orders of threads.
func runSeeds(t *testing.T, body Stmt, out *Buffer, size int64, check func(y *Array, err error)) {
	t.Helper()
	for seed := range uint64(10) {
		p := must.Get(Compile(module(t, body, out), Options{Seed: seed}))(t)
		y := zeros(t, out.DType, size)
		_, err := p.Call("main", y)
		check(y, err)
	}
}

// reversed makes each block reverse its part of Y in shared memory, by two loops over the same threads; between is
// executed between them.
func reversed(between Stmt, inThreads bool) (Stmt, *Buffer) {
	y := NewBuffer("Y", Int32, I32(32))
	s := scoped(NewBuffer("S", Int32, I32(8)), "shared")
	stages := func(b Expr) Stmt {
		put := func(i Expr) Stmt { return store(s, Add(i, Mul(b, I32(100))), i) }
		get := func(i Expr) Stmt { return store(y, BufferAt(s, Sub(I32(7), i)), Add(Mul(b, I32(8)), i)) }
		if inThreads {
			return threads("threadIdx.x", 8, func(i Expr) Stmt {
				return &Alloc{Buffer: s, Body: Sequence(put(i), between, get(i))}
			})
		}
		return &Alloc{Buffer: s, Body: Sequence(threads("threadIdx.x", 8, put), between, threads("threadIdx.x", 8, get))}
	}
	return threads("blockIdx.x", 4, stages), y
}

func TestThreads_BarrierBetweenLoopsAndWithin(t *testing.T) {
	for _, within := range []bool{false, true} {
		body, y := reversed(sync("shared"), within)
		runSeeds(t, body, y, 32, func(a *Array, err error) {
			require.NoError(t, err)
			for i, v := range numbers[int](t, a) {
				require.Equal(t, 7-i%8+i/8*100, v)
			}
		})
	}
	body, y := reversed(nil, false)
	runSeeds(t, body, y, 32, func(_ *Array, err error) {
		require.ErrorIs(t, err, ErrRace)
		require.ErrorContains(t, err, "threads between barriers must not access")
	})
	body, y = reversed(nil, true)
	runSeeds(t, body, y, 32, func(_ *Array, err error) {
		require.Error(t, err)
		require.True(t, errorsIsAny(err, ErrRace, ErrUninitialized), "%v", err)
	})
}

func errorsIsAny(err error, sorts ...error) bool {
	for _, s := range sorts {
		if e, ok := err.(*Fault); ok && e.Sort == s {
			return true
		}
	}
	return false
}

// Blocks are not synchronized: a barrier inside them does not make shared global memory safe.
func TestThreads_RacesOfBlocks(t *testing.T) {
	y := NewBuffer("Y", Int32, I32(8))
	body := threads("blockIdx.y", 2, func(b Expr) Stmt {
		return threads("threadIdx.x", 4, func(i Expr) Stmt { return Sequence(store(y, b, i), sync("shared")) })
	})
	runSeeds(t, body, y, 8, func(_ *Array, err error) {
		require.ErrorIs(t, err, ErrRace)
		require.ErrorContains(t, err, "blockIdx.y=0")
		require.ErrorContains(t, err, "blocks must not access")
	})
	// An access of the block outside of its threads is not an access of a thread.
	body = Sequence(threads("blockIdx.x", 2, func(b Expr) Stmt {
		return Sequence(store(y, I32(1), b), threads("threadIdx.x", 4, func(i Expr) Stmt {
			return &Evaluate{Value: BufferAt(y, b)}
		}))
	}))
	runSeeds(t, body, y, 8, func(_ *Array, err error) { require.ErrorContains(t, err, "what blockIdx.x=") })
	// Two consecutive kernels may access the same elements.
	one := func(v int32) Stmt {
		return threads("blockIdx.x", 8, func(b Expr) Stmt {
			return store(y, Add(BufferAt(y, Sub(I32(7), b)), I32(v)), Sub(I32(7), b))
		})
	}
	runSeeds(t, Sequence(one(1), threads("threadIdx.x", 8, func(i Expr) Stmt {
		return store(y, Add(BufferAt(y, i), I32(2)), i)
	})), y, 8, func(a *Array, err error) {
		require.NoError(t, err)
		require.Equal(t, []int{3, 3, 3, 3, 3, 3, 3, 3}, numbers[int](t, a))
	})
}

// Memory of scope local belongs to a thread, and is kept from one loop over the threads to the next.
func TestThreads_LocalMemory(t *testing.T) {
	y := NewBuffer("Y", Int32, I32(24))
	l := scoped(NewBuffer("L", Int32), "local")
	for _, barrier := range []Stmt{nil, sync("shared")} {
		nest := func(body func(at Expr) Stmt) Stmt {
			return threads("threadIdx.y", 3, func(j Expr) Stmt {
				return threads("threadIdx.x", 4, func(i Expr) Stmt { return body(Add(Mul(j, I32(4)), i)) })
			})
		}
		body := threads("blockIdx.x", 2, func(b Expr) Stmt {
			return &Alloc{Buffer: l, Body: Sequence(
				nest(func(at Expr) Stmt { return Sequence(store(l, Add(at, Mul(b, I32(50)))), barrier) }),
				nest(func(at Expr) Stmt { return store(y, BufferAt(l), Add(at, Mul(b, I32(12)))) }))}
		})
		runSeeds(t, body, y, 24, func(a *Array, err error) {
			require.NoError(t, err)
			for i, v := range numbers[int](t, a) {
				require.Equal(t, i%12+i/12*50, v)
			}
		})
	}
	// A store of the block reaches all threads, also those that have run before.
	body := threads("blockIdx.x", 2, func(b Expr) Stmt {
		one := func(do func(at Expr) Stmt) Stmt {
			return threads("threadIdx.y", 3, func(j Expr) Stmt {
				return threads("threadIdx.x", 4, func(i Expr) Stmt { return do(Add(Mul(b, I32(12)), Add(Mul(j, I32(4)), i))) })
			})
		}
		return &Alloc{Buffer: l, Body: Sequence(one(func(at Expr) Stmt { return store(y, at, at) }), store(l, Add(b, I32(5))),
			one(func(at Expr) Stmt { return store(y, BufferAt(l), at) }))}
	})
	runSeeds(t, body, y, 24, func(a *Array, err error) {
		require.NoError(t, err)
		for i, v := range numbers[int](t, a) {
			require.Equal(t, 5+i/12, v)
		}
	})
	// A block sees no values of the previous block.
	body = &Alloc{Buffer: l, Body: threads("blockIdx.x", 2, func(b Expr) Stmt {
		return Sequence(store(y, BufferAt(l), b), store(l, b))
	})}
	runSeeds(t, body, y, 24, func(_ *Array, err error) { require.ErrorIs(t, err, ErrUninitialized) })
	s := scoped(NewBuffer("S", Int32, I32(1)), "shared")
	body = &Alloc{Buffer: s, Body: threads("blockIdx.x", 2, func(b Expr) Stmt {
		return threads("threadIdx.x", 1, func(Expr) Stmt {
			return Sequence(store(y, BufferAt(s, I32(0)), b), store(s, b, I32(0)))
		})
	})}
	runSeeds(t, body, y, 24, func(_ *Array, err error) { require.ErrorIs(t, err, ErrUninitialized) })
}

// Virtual threads, which share a thread of the device, are threads.
func TestThreads_VirtualThreads(t *testing.T) {
	y := NewBuffer("Y", Int32, I32(8))
	s := scoped(NewBuffer("S", Int32, I32(8)), "shared")
	l := scoped(NewBuffer("L", Int32), "local")
	body := func(between Stmt) Stmt {
		return &Alloc{Buffer: s, Body: threads("vthread", 2, func(v Expr) Stmt {
			return threads("threadIdx.x", 4, func(i Expr) Stmt {
				at := Add(Mul(v, I32(4)), i)
				return &Alloc{Buffer: l, Body: Sequence(store(l, at), store(s, BufferAt(l), at), between,
					store(y, Add(BufferAt(s, Sub(I32(7), at)), Mul(BufferAt(l), I32(100))), at))}
			})
		})}
	}
	runSeeds(t, body(sync("shared")), y, 8, func(a *Array, err error) {
		require.NoError(t, err)
		require.Equal(t, []int{7, 106, 205, 304, 403, 502, 601, 700}, numbers[int](t, a))
	})
	runSeeds(t, body(nil), y, 8, func(_ *Array, err error) { require.Error(t, err) })
}

// A barrier in a function that the kernel calls, in loops and under conditions that are uniform for all threads.
func TestThreads_BarriersInCallsAndLoops(t *testing.T) {
	y := NewBuffer("Y", Int32, I32(4))
	s := scoped(NewBuffer("S", Int32, I32(4)), "shared")
	k := NewVar("k", Int32)
	body := &Alloc{Buffer: s, Body: threads("threadIdx.x", 4, func(i Expr) Stmt {
		return Sequence(store(s, i, i), &For{Var: k, Min: I32(0), Extent: I32(3),
			Body: &If{Cond: LT(k, I32(2)), Then: Sequence(
				&Evaluate{Value: NewCall(CallFunc, Void, "wait")},
				store(y, BufferAt(s, FloorMod(Add(i, I32(1)), I32(4))), i),
				&Evaluate{Value: NewCall(CallFunc, Void, "wait")},
				store(s, BufferAt(y, i), i),
			)}})
	})}
	m := module(t, body, y)
	m.Funcs = append(m.Funcs, &PrimFunc{Name: "wait", Result: Void,
		Body: &Evaluate{Value: NewCall(CallFunc, Void, "wait2")}},
		&PrimFunc{Name: "wait2", Result: Void, Body: sync("shared")})
	a := zeros(t, Int32, 4)
	require.NoError(t, Run(m, "main", a))
	require.Equal(t, []int{2, 3, 0, 1}, numbers[int](t, a))
}

func TestThreads_DivergentBarriers(t *testing.T) {
	y := NewBuffer("Y", Int32, I32(8))
	for text, body := range map[string]func(i Expr) Stmt{
		"waits at a barrier that iteration": func(i Expr) Stmt { return &If{Cond: LT(i, I32(5)), Then: sync("shared")} },
		"are at different barriers": func(i Expr) Stmt {
			return &If{Cond: LT(i, I32(5)), Then: sync("shared"), Else: sync("shared")}
		},
	} {
		runSeeds(t, threads("threadIdx.x", 8, body), y, 8, func(_ *Array, err error) {
			require.ErrorIs(t, err, ErrSync)
			require.ErrorContains(t, err, text)
		})
	}
	n := NewVar("n", Int32)
	runSeeds(t, threads("threadIdx.x", 8, func(i Expr) Stmt {
		return &LetStmt{Var: n, Value: i, Body: each(Serial, "k", n, func(Expr) Stmt { return sync("shared") })}
	}), y, 8, func(_ *Array, err error) { require.ErrorIs(t, err, ErrSync) })
	// Threads of one row reach the barrier, those of the other do not.
	runSeeds(t, threads("threadIdx.y", 2, func(j Expr) Stmt {
		return threads("threadIdx.x", 4, func(i Expr) Stmt { return &If{Cond: EQ(j, I32(0)), Then: sync("shared")} })
	}), y, 8, func(_ *Array, err error) { require.ErrorIs(t, err, ErrSync) })
	// An error in one thread ends the others.
	runSeeds(t, threads("threadIdx.x", 8, func(i Expr) Stmt {
		return Sequence(sync("shared"), store(y, I32(1), Add(i, I32(1))), sync("shared"))
	}), y, 8, func(_ *Array, err error) {
		require.ErrorContains(t, err, "store Y[8]: index 0 is 8, the bound is 8 (at threadIdx.x=7)")
	})
}

func TestThreads_Refused(t *testing.T) {
	y := NewBuffer("Y", Int32, I32(64))
	nothing := func(Expr) Stmt { return &Seq{} }
	for text, body := range map[string]Stmt{
		"outside of blocks and threads": sync("shared"),
		"move it outside": threads("threadIdx.x", 2, func(Expr) Stmt {
			return threads("blockIdx.x", 2, nothing)
		}),
		"another loop of the kernel has 2": threads("blockIdx.x", 1, func(Expr) Stmt {
			return Sequence(threads("threadIdx.x", 2, nothing), threads("threadIdx.x", 3, nothing))
		}),
		"inside another loop over it": threads("threadIdx.x", 2, func(Expr) Stmt {
			return threads("threadIdx.x", 2, nothing)
		}),
		"in a block of 64 threads": threads("threadIdx.x", 64, func(Expr) Stmt { return sync("warp") }),
		"indices of threadIdx.x are not negative": &For{Kind: ThreadBind, Thread: "threadIdx.x", Var: NewVar("i", Int32),
			Min: I32(-1), Extent: I32(2),
			Body: &Seq{}},
	} {
		runSeeds(t, body, y, 64, func(_ *Array, err error) { require.ErrorContains(t, err, text) })
	}
}

func BenchmarkThreads_PrefixSums(b *testing.B) {
	p, err := Compile(prefixSums(b, 8, 32, sync("shared")), Options{})
	require.NoError(b, err)
	x, y := zeros(b, Int32, 256), zeros(b, Int32, 256)
	for b.Loop() {
		_, err := p.Call("main", x, y)
		require.NoError(b, err)
	}
}
