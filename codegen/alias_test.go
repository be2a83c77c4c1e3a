package codegen_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/export"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
	"tvmgo/tir/alias"
)

// aliasPrograms are functions of two tensors and more, with the arguments that may and that may not overlap.
const aliasPrograms = `
func copy(A: handle, B: handle) {
  var n: int32
  buffer A: float32[n], param A
  buffer B: float32[n], param B
  for i in range(n) { B[i] = A[i] }
}
func add(A: handle, B: handle, C: handle) {
  var n: int32
  buffer A: float32[n], param A
  buffer B: float32[n], param B
  buffer C: float32[n], param C
  parallel i in range(n) { C[i] = A[i] + B[i] }
}
func transpose(A: handle, B: handle) {
  var n: int32
  buffer A: float32[n, n], param A
  buffer B: float32[n, n], param B
  for i in range(n) { for j in range(n) { B[j, i] = A[i, j] } }
}
func shift(A: handle, B: handle) {
  var n: int32
  buffer A: float32[n], param A
  buffer B: float32[n], param B
  for i in range(n) { if i + 1 < n { B[i] = A[i + 1] } }
}
func rows(A: handle, B: handle) {
  var n: int32
  var m: int32
  buffer A: float32[n, m], param A
  buffer B: float32[n, m], param B
  for i in range(n) {
    alloc s: float32[1] {
      s[0] = 0.0
      for j in range(m) { s[0] = s[0] + A[i, j] }
      for j in range(m) { B[i, j] = A[i, j] / s[0] }
    }
  }
}
func twice(A: handle, B: handle) {
  var n: int32
  buffer A: float32[n], param A
  buffer B: float32[n], param B
  for i in range(n) { B[i] = A[i]  B[i] = B[i] + A[i] }
}
func sums(A: handle, B: handle) {
  buffer A: float32[8], param A
  buffer B: float32[8], param B
  for i in range(8) { for k in range(3) { B[i] = B[i] + A[i] } }
}
func staged(A: handle, B: handle) {
  var n: int32
  buffer A: float32[n], param A
  buffer B: float32[n], param B
  alloc t: float32[n] {
    for i in range(n) { t[i] = A[i] }
    for i in range(n) { B[i] = t[n - 1 - i] }
  }
}
func both(A: handle, B: handle) {
  buffer A: float32[4], param A
  buffer B: float32[4], param B
  for i in range(4) { A[i] = 1.0  B[i] = 2.0 }
}
func split(A: handle, B: handle) {
  var n: int32
  buffer A: float32[n], param A
  buffer B: float32[n], param B
  for i in range(floordiv(n + 7, 8)) {
    vectorized j in range(8) { if intrin likely[bool](i * 8 + j < n) { B[i * 8 + j] = A[i * 8 + j] } }
  }
}
func fused(A: handle, B: handle) {
  var n: int32
  buffer A: float32[n, 6], param A
  buffer B: float32[n, 6], param B
  parallel f in range(n * 6) { B[floordiv(f, 6), floormod(f, 6)] = A[floordiv(f, 6), floormod(f, 6)] }
}
func gather(A: handle, B: handle, I: handle) {
  var n: int32
  buffer A: float32[n], param A
  buffer B: float32[n], param B
  buffer I: int32[n], param I
  for i in range(n) { B[I[i]] = A[I[i]] }
}
func outer(A: handle, B: handle) {
  buffer A: float32[4], param A
  buffer B: float32[4], param B
  func inner(A, B)
}
func inner(A: handle, B: handle) {
  buffer A: float32[4], param A
  buffer B: float32[4], param B
  for i in range(4) { B[3 - i] = A[i] }
}
func own(A: handle) {
  buffer A: float32[4], param A
  for i in range(3) { A[i] = A[i + 1] }
}
func wider(A: handle, B: handle) {
  buffer A: float32[4, 4], param A
  buffer B: float32[4, 8], param B
  for i in range(4) { for j in range(4) { B[i, j] = A[i, j] } }
}
func promised(A: handle, B: handle) {
  attrs {"tir.noalias": true}
  buffer A: float32[8], param A
  buffer B: float32[8], param B
  for i in range(8) { B[i] = A[i] }
}
func strided(A: handle, B: handle) {
  var n: int32
  var s: int32
  buffer A: float32[n], param A, strides [s]
  buffer B: float32[n], param B
  for i in range(n) { B[i] = A[i] }
}
`

// aliasThreads reads an element in threads that may come after that which writes it.
const aliasThreads = `
func threads(A: handle, B: handle) {
  buffer A: float32[2], param A
  buffer B: float32[2], param B
  thread b in range(2), thread "blockIdx.x" {
    alloc s: float32[8], scope "shared" {
      thread t in range(8), thread "threadIdx.x" { s[t] = A[b] }
      thread u in range(8), thread "threadIdx.x" { B[b] = s[u] }
    }
  }
}
`

func TestAliasPairs(t *testing.T) {
	m := parsed(t, aliasPrograms+aliasThreads)
	want := map[string]string{"copy": "[0 1 same]", "add": "[0 2 same] [1 2 same]", "transpose": "[0 1]", "shift": "[0 1]",
		"rows": "[0 1 same]", "twice": "[0 1]",
		"sums": "[0 1]", "staged": "", "both": "[0 1]", "split": "[0 1 same]", "fused": "[0 1 same]", "gather": "[0 1] [1 2]",
		"outer": "[0 1]", "inner": "[0 1]",
		"own": "", "wider": "[0 1]", "promised": "[0 1]", "strided": "[0 1]", "threads": "[0 1]"}
	for _, f := range m.Funcs {
		got := ""
		for i, p := range alias.Pairs(m, f) {
			if i > 0 {
				got += " "
			}
			got += fmt.Sprintf("[%d %d", p.First, p.Second)
			if p.Same {
				got += " same"
			}
			got += "]"
		}
		require.Equal(t, want[f.Name], got, f.Name)
	}
}

// memory is n float32 with views into them.
type memory struct {
	t    *testing.T
	base *runtime.Tensor
}

func newMemory(t *testing.T, n int64) memory {
	x := must.Open(runtime.NewTensor(dlpack.Float32, []int64{n}, runtime.CPU))(t)
	return memory{t, x}
}

func (m memory) view(at int64, shape ...int64) *runtime.Tensor {
	m.t.Helper()
	v, err := m.base.View(dlpack.Float32, shape, nil, at*4)
	require.NoError(m.t, err)
	m.t.Cleanup(func() { v.Close() })
	return v
}

func TestBuild_AliasCheck(t *testing.T) {
	path := filepath.Join(t.TempDir(), "alias.so")
	require.NoError(t, export.Library(context.Background(), built(t, parsed(t, aliasPrograms), kind(t, "c")), path))
	lib := must.Open(runtime.Load(context.Background(), path))(t)
	call := func(name string, args ...any) error {
		f := must.Get(lib.Function(name))(t)
		defer f.Close()
		_, err := f.Call(args...)
		return err
	}
	mem := newMemory(t, 64)
	refused := func(name, why string, args ...any) {
		t.Helper()
		require.ErrorContains(t, call(name, args...), why, name)
	}
	x, y, z := mem.view(0, 8), mem.view(8, 8), mem.view(16, 8)
	shifted, apart := mem.view(1, 8), mem.view(40, 8)
	require.NoError(t, call("copy", x, y))
	require.NoError(t, call("copy", x, x), "the same tensor")
	require.NoError(t, call("copy", x, mem.view(0, 8)), "the same memory")
	refused("copy", "copy: argument 0 (A) and argument 1 (B) overlap in memory: the function writes B, and reads A: pass "+
		"the same tensor for both, or memory that "+
		"does not overlap, or build the function with target option alias-check=0", x, shifted)
	refused("copy", "overlap", shifted, x)
	require.NoError(t, call("add", x, x, y), "both are read")
	require.NoError(t, call("add", x, shifted, apart), "both are read")
	require.NoError(t, call("add", x, z, x))
	require.NoError(t, call("add", z, x, x))
	refused("add", "argument 1 (B) and argument 2 (C) overlap", z, shifted, x)
	square, next := mem.view(0, 4, 4), mem.view(16, 4, 4)
	require.NoError(t, call("transpose", square, next))
	refused("transpose", "the function writes B, and reads A: pass memory that does not overlap, or build", square, square)
	refused("transpose", "overlap", square, mem.view(15, 4, 4))
	require.NoError(t, call("transpose", mem.view(5, 0, 0), mem.view(5, 0, 0)), "nothing overlaps nothing")
	require.NoError(t, call("shift", x, y))
	refused("shift", "overlap", x, x)
	require.NoError(t, call("rows", square, square))
	refused("rows", "overlap", square, mem.view(4, 4, 4))
	refused("twice", "overlap", x, x)
	refused("sums", "overlap", x, x)
	require.NoError(t, call("staged", x, x))
	require.NoError(t, call("staged", x, shifted))
	refused("both", "the function writes both", mem.view(0, 4), mem.view(3, 4))
	require.NoError(t, call("both", mem.view(0, 4), mem.view(4, 4)))
	require.NoError(t, call("both", mem.view(4, 4), mem.view(0, 4)), "neighbours the other way round")
	require.NoError(t, call("split", x, x))
	refused("split", "overlap", x, shifted)
	require.NoError(t, call("fused", mem.view(0, 2, 6), mem.view(0, 2, 6)))
	refused("fused", "overlap", mem.view(0, 2, 6), mem.view(6, 2, 6))
	refused("outer", "overlap", mem.view(0, 4), mem.view(0, 4))
	require.NoError(t, call("own", mem.view(0, 4)))
	refused("wider", "overlap", mem.view(0, 4, 4), mem.view(0, 4, 8))
	refused("promised", "overlap", x, x)

	strides := func(data *runtime.Tensor, step int64) *runtime.Tensor {
		return must.Open(data.View(dlpack.Float32, []int64{4}, []int64{step}, 0))(t)
	}
	require.NoError(t, call("strided", strides(mem.view(0, 8), 2), mem.view(7, 4)), "the last element is the seventh")
	refused("strided", "overlap", strides(mem.view(0, 8), 2), mem.view(6, 4))
	refused("strided", "overlap", strides(mem.view(0, 8), 2), mem.view(0, 4))
}

// TestBuild_AliasCheckOfMany compares the memory of a function of so many tensors that the entry has a table of the
// pairs: each pair is refused by its names, in any place, and none else.
func TestBuild_AliasCheckOfMany(t *testing.T) {
	const inputs, outputs = 3, 5
	var text, body strings.Builder
	var params []string
	for i := range inputs + outputs {
		name := fmt.Sprintf("t%d", i)
		params = append(params, name+": handle")
		fmt.Fprintf(&text, "  buffer %s: float32[4], param %s\n", name, name)
		if i >= inputs {
			fmt.Fprintf(&body, " %s[i] = t%d[i]", name, (i-inputs)%(inputs-1)) // the last input is read by none
		}
	}
	m := parsed(t, fmt.Sprintf("func f(%s) {\n%s  for i in range(4) {%s }\n}", strings.Join(params, ", "), text.String(),
		body.String()))
	pairs := map[[2]int]alias.Pair{}
	for _, p := range alias.Pairs(m, m.Func("f")) {
		pairs[[2]int{p.First, p.Second}] = p
	}
	require.Greater(t, len(pairs), 16)
	built := built(t, m, kind(t, "c"))
	require.Contains(t, must.Get(built.GetSource("c"))(t), "tvmgo_apart(")
	path := filepath.Join(t.TempDir(), "many.so")
	require.NoError(t, export.Library(context.Background(), built, path))
	lib := must.Open(runtime.Load(context.Background(), path))(t)
	f := must.Open(lib.Function("f"))(t)
	mem := newMemory(t, 4*(inputs+outputs)+8)
	for i := range inputs + outputs {
		for j := range i {
			for _, shift := range []int64{-3, 0, 3, 4} { // in elements; 4: beside it
				args := make([]any, inputs+outputs)
				for k := range args {
					args[k] = mem.view(int64(k)*4+4, 4)
				}
				if shift == 4 { // the tensor behind i would overlap
					args[j] = mem.view(int64(i)*4+4, 4)
					args[i] = mem.view(int64(j)*4+4, 4)
				} else {
					args[j] = mem.view(int64(i)*4+4+shift, 4)
					if next := i - 1; shift < 0 && next != j {
						args[next] = mem.view(int64(j)*4+4, 4)
					}
					if next := i + 1; shift > 0 && next < len(args) {
						args[next] = mem.view(int64(j)*4+4, 4)
					}
				}
				_, err := f.Call(args...)
				pair, found := pairs[[2]int{j, i}]
				if shift == 4 || !found || shift == 0 && pair.Same {
					require.NoError(t, err, "%d and %d, shifted by %d", j, i, shift)
					continue
				}
				require.ErrorContains(t, err, fmt.Sprintf("argument %d (t%d) and argument %d (t%d) overlap in memory", j, j, i, i),
					"shifted by %d", shift)
				require.Equal(t, pair.Same, strings.Contains(err.Error(), "pass the same tensor for both"))
				what := "writes both:"
				if !pair.FirstWritten || !pair.SecondWritten {
					what = fmt.Sprintf("writes t%d, and reads t%d:", i, j) // outputs come last
				}
				require.ErrorContains(t, err, what)
			}
		}
	}
}

// TestBuild_AliasCheckOff leaves the check out where the target says so.
func TestBuild_AliasCheckOff(t *testing.T) {
	for _, text := range []string{"c -alias-check=0", `{"kind": "c", "alias-check": false}`} {
		require.NotContains(t, must.Get(built(t, parsed(t, aliasPrograms), kind(t, text)).GetSource("c"))(t), "overlap")
	}
	require.Contains(t, must.Get(built(t, parsed(t, aliasPrograms), kind(t, "c")).GetSource("c"))(t), "tvmgo_overlap(")
}

// TestAliasPairs_Operators says which operators work in place: those that compute each element of the same element.
func TestAliasPairs_Operators(t *testing.T) {
	a, b := te.Placeholder(te.Dims(8, 8), tir.Float32, "A"), te.Placeholder(te.Dims(8, 8), tir.Float32, "B")
	for _, c := range []struct {
		name string
		out  *te.Tensor
		same bool
	}{
		{"add", ops.Add(a, b, "out"), true}, {"relu", ops.Relu(a, "out"), true},
		{"transpose", ops.Transpose(a, "out"), false}, {"matmul", ops.Matmul(a, b, "out"), false},
		{"softmax", ops.Softmax(a, "out"), true},
	} {
		for _, kindName := range []string{"c", "llvm", "opencl"} {
			to := must.Get(target.New(kindName))(t)
			s := must.Get(ops.Schedule(to, c.out))(t)
			args := []any{a, c.out}
			if c.name == "add" || c.name == "matmul" {
				args = []any{a, b, c.out}
			}
			m := must.Get(te.Lower(s, args, "f"))(t)
			pairs := alias.Pairs(m, m.Func("f"))
			if c.name == "softmax" && kindName == "opencl" {
				continue // threads of a block have parts of a row
			}
			require.NotEmpty(t, pairs, "%s for %s", c.name, kindName)
			for _, p := range pairs {
				require.Equal(t, c.same, p.Same, "%s for %s: %+v\n%s", c.name, kindName, p, m)
			}
		}
	}
}

// TestAliasPairs_Extern takes the results of te.Extern for written by the functions that it calls, and what else they
// are given for read.
func TestAliasPairs_Extern(t *testing.T) {
	a, b := te.Placeholder(te.Dims(8), tir.Float32, "A"), te.Placeholder(te.Dims(8), tir.Float32, "B")
	out := te.Extern([]te.ExternResult{{Shape: te.Dims(8), Type: tir.Float32}}, []*te.Tensor{a, b}, "C",
		func(ins, outs []*tir.Buffer) tir.Stmt {
			at := func(x *tir.Buffer) tir.Expr {
				return tir.NewCall(tir.CallIntrinsic, tir.Handle, "address_of", tir.BufferAt(x, tir.I32(0)))
			}
			return &tir.Evaluate{Value: tir.NewCall(tir.CallExtern, tir.Void, "foreign", at(ins[0]), at(ins[1]), at(outs[0]))}
		})[0]
	s := must.Get(te.NewSchedule(out))(t)
	m := must.Get(te.Lower(s, []any{a, b, out}, "f"))(t)
	require.Equal(t, []alias.Pair{{First: 0, Second: 2, SecondWritten: true},
		{First: 1, Second: 2, SecondWritten: true}}, alias.Pairs(m, m.Func("f")))
	code := source(t, built(t, m, kind(t, "c")))
	require.Contains(t, code, "&p[0], &p[2]")
	require.Contains(t, code, "&p[1], &p[2]")
	require.NotContains(t, code, "&p[0], &p[1]")
}
