package transform_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/tirrun"
	"tvmgo/tir"
	"tvmgo/tir/text"
	"tvmgo/tir/transform"
)

// kernelText is a kernel of blocks of 8 by 4 threads, with shared memory S and T.
func kernelText(body string) string {
	return `
func f(a: handle, b: handle) {
  buffer A: int32[64], param a
  buffer B: int32[64], param b
  thread g in range(2), thread "blockIdx.x" {
    alloc S: int32[64], scope "shared"
    alloc T: int32[8, 4], scope "shared"
    thread y in range(4), thread "threadIdx.y" {
      thread x in range(8), thread "threadIdx.x" {
` + body + `
      }
    }
  }
}
`
}

func read(t testing.TB, source string) *tir.IRModule {
	t.Helper()
	m, err := text.Parse(source)
	require.NoError(t, err, source)
	require.NoError(t, tir.Check(m))
	return m
}

// shape formats the statements of a program that matter here: loops and conditions with braces, barriers as |, stores
// as s, intrinsics of fragments as f.
func shape(m *tir.IRModule) string {
	var b strings.Builder
	var visit func(s tir.Stmt)
	visit = func(s tir.Stmt) {
		switch s := s.(type) {
		case *tir.Seq:
			for _, x := range s.Stmts {
				visit(x)
			}
		case *tir.For:
			if s.Kind != tir.ThreadBind {
				b.WriteString("for{")
				defer b.WriteString("}")
			}
			visit(s.Body)
		case *tir.While:
			b.WriteString("while{")
			visit(s.Body)
			b.WriteString("}")
		case *tir.If:
			b.WriteString("if{")
			visit(s.Then)
			if s.Else != nil {
				b.WriteString("}{")
				visit(s.Else)
			}
			b.WriteString("}")
		case *tir.LetStmt:
			visit(s.Body)
		case *tir.AttrStmt:
			visit(s.Body)
		case *tir.Alloc:
			visit(s.Body)
		case *tir.BufferStore:
			b.WriteString("s")
		case *tir.Evaluate:
			if c, ok := s.Value.(*tir.Call); ok && c.Name == "storage_sync" {
				b.WriteString("|")
			} else if ok && tir.IsFragmentCall(c) {
				b.WriteString("f")
			}
		}
	}
	visit(m.Funcs[0].Body)
	return b.String()
}

func interpret(t testing.TB, m *tir.IRModule, seed uint64) ([]int32, error) {
	t.Helper()
	p := must.Get(tirrun.Compile(m, tirrun.Options{Seed: seed}))(t)
	values := make([]int32, 64)
	for i := range values {
		values[i] = int32(i*7%64 + 1)
	}
	a := must.Get(tirrun.From(tir.Int32, values, 64))(t)
	b := must.Get(tirrun.New(tir.Int32, 64))(t)
	if _, err := p.Call("f", a, b); err != nil {
		return nil, err
	}
	return tirrun.Values[int32](b)
}

var syncCases = []struct{ name, body, want string }{
	{"nothing shared", `A[g * 32 + y * 8 + x] = 1
B[g * 32 + y * 8 + x] = A[g * 32 + y * 8 + x]`, "ss"},
	{"own element", `S[y * 8 + x] = 1
B[g * 32 + y * 8 + x] = S[y * 8 + x]`, "ss"},
	{"each thread's element in two dimensions", `T[x, y] = 1
B[g * 32 + y * 8 + x] = T[x, y]`, "ss"},
	{"each thread's element of swizzled rows", `T[x, bitwise_xor[int32](y, floormod(x, 4))] = 1
B[g * 32 + y * 8 + x] = T[x, bitwise_xor[int32](y, floormod(x, 4))]`, "ss"},
	{"rows that are swizzled in two ways", `T[x, bitwise_xor[int32](y, floormod(x, 4))] = y
B[g * 32 + y * 8 + x] = T[x, bitwise_xor[int32](y, floordiv(x, 2))]`, "s|s"},
	{"a permutation by something else than the row", `T[x, bitwise_xor[int32](y, 1)] = y
B[g * 32 + y * 8 + x] = T[x, y]`, "s|s"},
	{"a quotient and a remainder of each thread's number", `T[floordiv(y * 8 + x, 4), floormod(y * 8 + x, 4)] = 1
B[g * 32 + y * 8 + x] = T[floordiv(y * 8 + x, 4), floormod(y * 8 + x, 4)]`, "ss"},
	{"quotients and remainders that differ", `T[floordiv(y * 8 + x, 4), floormod(y * 8 + x, 4)] = y
B[g * 32 + y * 8 + x] = T[floordiv(31 - y * 8 - x, 4), floormod(y * 8 + x, 4)]`, "s|s"},
	{"own pieces", `for i in range(2) {
  S[(y * 8 + x) * 2 + i] = i
}
B[g * 32 + y * 8 + x] = S[(y * 8 + x) * 2 + 1]`, "for{s}s"},
	{"read after write", `S[y * 8 + x] = x
B[g * 32 + y * 8 + x] = S[31 - y * 8 - x]`, "s|s"},
	{"one barrier for two buffers", `S[y * 8 + x] = x
T[x, y] = y
B[g * 32 + y * 8 + x] = S[31 - y * 8 - x] + T[7 - x, 3 - y]`, "ss|s"},
	{"write after read", `S[y * 8 + x] = x
B[g * 32 + y * 8 + x] = S[31 - y * 8 - x]
S[y * 8 + x] = y`, "s|s|s"},
	{"write after write", `S[y * 8 + x] = x
S[31 - y * 8 - x] = y
B[g * 32 + y * 8 + x] = S[31 - y * 8 - x]`, "s|ss"},
	{"a sum of indices below a bound", `S[y * 8 + x] = x
if y * 8 + x < 16 {
  let v = S[y * 8 + x + 16] + 1
  S[y * 8 + x] = v
}
B[g * 32 + y * 8 + x] = S[15 - floormod(y * 8 + x, 16)]`, "s|if{s}|s"},
	{"a shuffle", `let v = warp_shuffle_xor[int32](x, 3)
S[y * 8 + x] = v
B[g * 32 + y * 8 + x] = S[31 - y * 8 - x]`, "s|s"},
	{"other halves", `S[y * 8 + x] = x
B[g * 32 + y * 8 + x] = S[y * 8 + x + 32 - 32]
S[y * 8 + x + 32] = y`, "sss"},
	{"from iteration to iteration", `for i in range(3) {
  S[y * 8 + x] = x + i
  B[g * 32 + y * 8 + x] = S[31 - y * 8 - x]
}`, "for{|s|s}"},
	{"one iteration alone", `for i in range(1) {
  S[y * 8 + x] = x + i
  B[g * 32 + y * 8 + x] = S[31 - y * 8 - x]
}`, "for{s|s}"},
	{"each thread's element in each iteration", `for i in range(2) {
  S[i * 32 + y * 8 + x] = x + i
  B[g * 32 + y * 8 + x] = S[i * 32 + y * 8 + x]
}`, "for{ss}"},
	{"before a loop", `S[y * 8 + x] = x
for i in range(4) {
  B[g * 32 + y * 8 + x] = B[g * 32 + y * 8 + x] + S[i * 8]
}`, "s|for{s}"},
	{"behind a loop", `for i in range(2) {
  S[i * 32 + y * 8 + x] = x
}
B[g * 32 + y * 8 + x] = S[63 - y * 8 - x]`, "for{s}|s"},
	{"an existing barrier", `S[y * 8 + x] = x
storage_sync[void]("shared")
B[g * 32 + y * 8 + x] = S[31 - y * 8 - x]`, "s|s"},
	{"same condition for all", `if g < 1 {
  S[y * 8 + x] = x
  B[g * 32 + y * 8 + x] = S[31 - y * 8 - x]
}`, "if{s|s}"},
	{"conditions around each", `if x < 4 {
  S[y * 8 + x] = x
}
if x >= 4 {
  S[y * 8 + x] = y
}
B[g * 32 + y * 8 + x] = S[31 - y * 8 - x]`, "if{s}if{s}|s"},
	{"one thread stores, all read", `if x == 0 && y == 0 {
  S[0] = 5
}
B[g * 32 + y * 8 + x] = S[0]`, "if{s}|s"},
	{"one thread stores and reads", `if x == 0 && y == 0 {
  S[0] = 5
}
if x == 0 && y == 0 {
  B[g * 32] = S[0]
}`, "if{s}if{s}"},
	{"two iterations deep", `for i in range(2) {
  S[y * 8 + x] = x + i
  for j in range(2) {
    B[g * 32 + y * 8 + x] = B[g * 32 + y * 8 + x] + S[j * 8 + x]
  }
}`, "for{|s|for{s}}"},
	{"a halving tree", `S[y * 8 + x] = A[g * 32 + y * 8 + x]
for i in range(3) {
  if x < shift_right(4, i) {
    S[y * 8 + x] = S[y * 8 + x] + S[y * 8 + x + shift_right(4, i)]
  }
}
B[g * 32 + y * 8 + x] = S[y * 8]`, "sfor{|if{s}}|s"},
	{"branches", `if g < 1 {
  S[y * 8 + x] = x
} else {
  S[y * 8 + 7 - x] = y
}
B[g * 32 + y * 8 + x] = S[y * 8 + x]`, "if{s}{s}|s"},
	{"a condition on what was stored", `S[y * 8 + x] = g
if S[0] == 0 {
  B[g * 32 + y * 8 + x] = 3
}`, "s|if{s}"},
	{"a while on what one thread stores", `if x == 0 && y == 0 {
  S[0] = 0
}
while S[0] < 3 {
  if x == 0 && y == 0 {
    S[0] = S[0] + 1
  }
}
B[g * 32 + y * 8 + x] = S[0]`, "if{s}|while{|if{s}|}s"},
	{"a while on what was stored before it", `S[y * 8 + x] = 1
while S[0] < 1 {
  B[g * 32 + y * 8 + x] = 1
}`, "s|while{s}"},
	{"a store behind a while", `S[y * 8 + x] = 1
storage_sync[void]("shared")
while S[0] < 1 {
  B[g * 32 + y * 8 + x] = 1
}
S[31 - y * 8 - x] = 2`, "s|while{s}|s"},
	{"a store behind a while with barriers of its own", `if x == 0 && y == 0 {
  S[0] = 0
}
while S[0] < 3 {
  storage_sync[void]("shared")
  if x == 0 && y == 0 {
    S[0] = S[0] + 1
  }
  storage_sync[void]("shared")
}
S[31 - y * 8 - x] = 2`, "if{s}|while{|if{s}|}|s"},
	{"each thread's element in a while", `S[y * 8 + x] = 0
S[32 + y * 8 + x] = x
while S[y * 8 + x] < 3 {
  S[y * 8 + x] = S[y * 8 + x] + 1
}`, "sswhile{s}"},
}

// Barriers are inserted only where they are needed: the interpreter finds a race if one is removed, and none otherwise.
func TestThreadSync_Barriers(t *testing.T) {
	for _, c := range syncCases {
		t.Run(c.name, func(t *testing.T) {
			m := read(t, kernelText(c.body))
			before := text.Print(m)
			synced := must.Get(transform.ThreadSync(m, nil))(t)
			require.Equal(t, before, text.Print(m), "it was changed")
			require.NoError(t, tir.Check(synced))
			require.Equal(t, c.want, shape(synced))
			var first []int32
			for seed := range uint64(4) {
				got, err := interpret(t, synced, seed)
				require.NoError(t, err, text.Print(synced))
				if first == nil {
					first = got
				}
				require.Equal(t, first, got)
			}
			again := must.Get(transform.ThreadSync(synced, nil))(t)
			require.Equal(t, c.want, shape(again), "a second time")
			for i := range strings.Count(c.want, "|") {
				_, err := interpret(t, withoutBarrier(synced, i), 1)
				require.True(t, errors.Is(err, tirrun.ErrRace) || errors.Is(err, tirrun.ErrUninitialized),
					"barrier %d of %s is not needed: %v", i, c.want, err)
			}
		})
	}
}

// withoutBarrier removes one barrier.
func withoutBarrier(m *tir.IRModule, i int) *tir.IRModule {
	n := -1
	f := *m.Funcs[0]
	f.Body = (&tir.Mutator{Stmt: func(s tir.Stmt) tir.Stmt {
		if e, ok := s.(*tir.Evaluate); ok {
			if c, ok := e.Value.(*tir.Call); ok && c.Name == "storage_sync" {
				if n++; n == i {
					return nil
				}
			}
		}
		return s
	}}).MutateStmt(f.Body)
	return &tir.IRModule{Funcs: []*tir.PrimFunc{&f}}
}

func TestThreadSync_Refuses(t *testing.T) {
	for want, body := range map[string]string{
		"a thread reads buffer S after another one stores to it, which takes a barrier between, and both stand below the " +
			"condition x < 4": `if x < 4 {
  S[y * 8 + x] = x
  B[y] = S[y * 8 + 3 - x]
}`,
		"in a loop whose iterations depend on x + 1": `for i in range(x + 1) {
  S[i] = x
  B[g * 32 + y * 8 + x] = S[0]
}`,
		"a barrier (storage_sync) stands below the condition A[x] == 0 && x == y": `if A[x] == 0 && x == y {
  storage_sync[void]("shared")
}`,
		"a shuffle (warp_shuffle) stands below the condition y < x": `if y < x {
  let v = warp_shuffle[int32](x, 3)
  B[g * 32 + y * 8 + x] = v
}`,
		"a shuffle (warp_shuffle_xor) stands below the condition y == x": `B[g * 32 + y * 8 + x] = ` +
			`if_then_else[int32](y == x, warp_shuffle_xor[int32](x, 1), 0)`,
		"a shuffle (warp_shuffle_down) stands below the condition y < 2": `if y < 2 && warp_shuffle_down[int32](x, 1) == 3 {
  B[g * 32 + y * 8 + x] = 1
}`,
		"in a loop on the condition A[x] == 0": `while A[x] == 0 {
  S[x] = 1
  A[y] = S[7 - x]
}`,
	} {
		_, err := transform.ThreadSync(read(t, kernelText(body)), nil)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "not the same for all threads of a block")
	}
}

// Statements outside of loops over some of a block's threads are executed once.
func TestThreadSync_OutsideOfThreads(t *testing.T) {
	m := read(t, `
func f(a: handle, b: handle) {
  buffer A: int32[64], param a
  buffer B: int32[64], param b
  thread g in range(2), thread "blockIdx.x" {
    alloc S: int32[8], scope "shared"
    S[0] = 5
    thread x in range(8), thread "threadIdx.x" {
      if x > 0 {
        S[x] = A[x] + S[0]
      }
    }
    S[0] = S[0] + S[7]
    thread y in range(4), thread "threadIdx.y" {
      thread x in range(8), thread "threadIdx.x" {
        B[g * 32 + y * 8 + x] = S[0] + x
      }
    }
  }
}
`)
	synced := must.Get(transform.ThreadSync(m, nil))(t)
	got, err := interpret(t, synced, 3)
	require.NoError(t, err, text.Print(synced))
	for i, v := range got {
		require.Equal(t, int32(5+(7*7%64+1)+5+i%8), v)
	}
	require.Equal(t, "if{s}|if{if{s}}|if{s}|s", shape(synced))
}
