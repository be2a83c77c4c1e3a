package tir_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	. "tvmgo/tir"
	"tvmgo/tir/text"
)

// boundsCases are bodies of f(A: float32[4], N: float32[n], M: float32[n, m], I: int32[8], k: int32), and what Check
// says of their indices; "" where nothing is outside for certain.
var boundsCases = []struct{ name, body, want string }{
	{"the issue's", "for i in range(10) { A[i] = 1.0 }",
		"index i is outside of dimension 0 of buffer A: it is 9 where i = 9, and the dimension has 4"},
	{"within", "for i in range(4) { A[i] = 1.0 }", ""},
	{"one too many", "for i in range(1, count=4) { A[i] = 1.0 }", "it is 4 where i = 4"},
	{"below", "for i in range(4) { A[i - 1] = 1.0 }", "it is -1 where i = 0"},
	{"backwards", "for i in range(5) { A[3 - i] = 1.0 }", "it is -1 where i = 4"},
	{"no iterations", "for i in range(0) { A[i + 10] = 1.0 }", ""},
	{"inside a loop of no iterations", "for j in range(0) { for i in range(10) { A[i] = 1.0 } }", ""},
	{"inside a loop of n iterations", "for j in range(k) { for i in range(10) { A[i] = 1.0 } }", "it is 9 where i = 9"},
	{"guarded", "for i in range(10) { if i < 4 { A[i] = 1.0 } }", ""},
	{"guarded too late", "for i in range(10) { if i < 5 { A[i] = 1.0 } }", "it is 4 where i = 4"},
	{"guarded by else", "for i in range(10) { if i >= 4 { A[0] = 1.0 } else { A[i] = 1.0 } }", ""},
	{"wrong branch", "for i in range(10) { if i >= 4 { A[i] = 1.0 } else { A[0] = 1.0 } }", "it is 9 where i = 9"},
	{"a condition that never holds", "if 1 < 0 { A[9] = 1.0 }", ""},
	{"a condition that may hold", "if k > 5 { A[4] = 1.0 }", "it is 4, and the dimension has 4"},
	{"a condition that excludes it", "if k < 4 { if k > 3 { A[k] = 1.0 } }", ""},
	{"an argument that is bounded below", "if k > 3 { A[k] = 1.0 }", "index k is outside"},
	{"an argument", "A[k] = 1.0", ""},
	{"an argument as loop", "for i in range(k) { A[i] = 1.0 }", ""},
	{"a condition on the iteration by an argument", "for i in range(10) { if i < k { A[i] = 1.0 } }", ""},
	{"a condition on memory", "if I[0] > 0 { A[9] = 1.0 }", ""},
	{"a condition on memory beside", "for i in range(10) { if I[0] > 0 { A[0] = 1.0 }  A[i] = 1.0 }",
		"it is 9 where i = 9"},
	{"by memory", "A[I[0]] = 1.0", ""},
	{"size", "N[n] = 1.0", "index n is outside of dimension 0 of buffer N"},
	{"size minus one", "N[n - 1] = 1.0", ""},
	{"sizes", "for i in range(n) { N[i] = 1.0 }", ""},
	{"off by one", "for i in range(n) { N[i + 1] = 1.0 }",
		"index i + 1 is outside of dimension 0 of buffer N: it is 1 where i = 0, n = 1, and the dimension has 1"},
	{"one before", "for i in range(n) { N[i - 1] = 1.0 }", "it is -1 where i = 0"},
	{"one too many of n", "for i in range(n + 1) { N[i] = 1.0 }", "index i is outside"},
	{"guarded of n", "for i in range(n) { if i + 1 < n { N[i + 1] = 1.0 } }", ""},
	{"swapped dimensions", "for i in range(n) { for j in range(m) { M[j, i] = 1.0 } }", ""},
	{"second dimension", "for i in range(n) { for j in range(m) { M[i, j + 1] = 1.0 } }",
		"indices[1]: index j + 1 is outside of dimension 1 of buffer M"},
	{"triangle", "for i in range(4) { for j in range(i) { A[j] = 1.0 } }", ""},
	{"triangle beyond", "for i in range(4) { for j in range(i) { A[j + 2] = 1.0 } }", "it is 4 where j = 2"},
	{"split", "for i in range(2) { for j in range(3) { if i * 3 + j < 4 { A[i * 3 + j] = 1.0 } } }", ""},
	{"split without a guard", "for i in range(2) { for j in range(3) { A[i * 3 + j] = 1.0 } }",
		"it is 5 where i = 1, j = 2"},
	{"fused", "for i in range(16) { A[floordiv(i, 4)] = 1.0 }", ""},
	{"fused beyond", "for i in range(17) { A[floordiv(i, 4)] = 1.0 }", "it is 4 where i = 16"},
	{"remainder", "for i in range(100) { A[i % 4] = 1.0 }", ""},
	{"remainder beyond", "for i in range(100) { A[i % 5] = 1.0 }", "it is 4 where i = 99"},
	{"let", "let x = k * 0 + 4 { A[x] = 1.0 }", "index x is outside"},
	{"let of a loop", "for i in range(5) { let x = i { A[x] = 1.0 } }", "index x is outside"},
	{"let within", "for i in range(5) { let x = min(i, 3) { A[x] = 1.0 } }", ""},
	{"let of memory", "let x = I[0] { A[x] = 1.0 }", ""},
	{"let of memory, bounded", "let x = I[0] { if x > 3 { A[x] = 1.0 } }", ""},
	{"load", "for i in range(8) { I[i] = cast(int32, A[i]) }",
		"body.for(i).body.value.value.indices[0]: index i is outside of dimension 0 of buffer A: it is 7"},
	{"select", "for i in range(8) { I[i] = select(i < 4, cast(int32, A[i]), 0) }", ""},
	{"select's other", "for i in range(8) { I[i] = select(i < 4, 0, cast(int32, A[i])) }", "it is 7"},
	{"if_then_else", "for i in range(8) { I[i] = if_then_else(i < 4, cast(int32, A[i]), 0) }", ""},
	{"if_then_else's other", "for i in range(8) { I[i] = if_then_else(i < 4, 0, cast(int32, A[i])) }", "it is 7"},
	{"and", "for i in range(8) { if i < 4 && A[i] > 0.0 { I[i] = 1 } }", ""},
	{"and the other way round", "for i in range(8) { if A[i] > 0.0 && i < 4 { I[i] = 1 } }", "it is 7"},
	{"or", "for i in range(8) { if i >= 4 || A[i] > 0.0 { I[i] = 1 } }", ""},
	{"vector", "I[ramp(k * 0 + 4, 1, 8)] = broadcast(1, 8)", "it is 11"},
	{"vector within", "I[ramp(0, 1, 8)] = broadcast(1, 8)", ""},
	{"vectors in a loop", "for i in range(2) { I[ramp(i * 8, 1, 8)] = broadcast(1, 8) }", "it is 15 where i = 1"},
	{"vector of a stride", "for i in range(1) { I[ramp(i + 7, -1, 8)] = broadcast(1, 8) }", ""},
	{"vector of a stride below", "for i in range(1) { I[ramp(i + 6, -1, 8)] = broadcast(1, 8) }", "it is -1"},
	{"broadcast", "for i in range(9) { I[broadcast(i, 4)] = broadcast(1, 4) }", "it is 8 where i = 8"},
	{"while", "while I[0] < 4 { A[4] = 1.0 }", ""},
	{"while that is entered", "while k < 4 { A[4] = 1.0 }", "it is 4"},
	{"while's condition", "while A[k * 0 + 4] > 0.0 { I[0] = 1 }", "it is 4"},
	{"parallel", "parallel i in range(10) { A[i] = 1.0 }", "it is 9 where i = 9"},
	{"vectorized", "vectorized i in range(10) { A[i] = 1.0 }", "it is 9 where i = 9"},
	{"unrolled", "unrolled i in range(10) { A[i] = 1.0 }", "it is 9 where i = 9"},
	{"threads", `thread i in range(10), thread "threadIdx.x" { A[i] = 1.0 }`, "it is 9 where i = 9"},
	{"far away", "for i in range(100000) { if i > 50000 { if i < 50002 { A[i] = 1.0 } } }", "it is 50001 where i = 50001"},
	{"behind a loop that may return", "for i in range(k) { if I[0] > 0 { ret_none() } }  A[k * 0 + 9] = 1.0", ""},
	{"in one iteration amid others",
		"for i in range(100) { for j in range(100) { A[if_then_else(i * j == 2503, 4, 0)] = 1.0 } }", ""},
	{"in few iterations amid others",
		"for i in range(100) { for j in range(100) { A[if_then_else(i * j == 2601, 4, 0)] = 1.0 } }",
		"it is 4 where i = 51, j = 51"},
	{"behind an assertion", `assert k < 0, ValueError, "k"  assert k > 0, ValueError, "k"  A[9 + k * 0] = 1.0`, ""},
	{"behind a return", "if k < 5 { ret_none() }  if k < 5 { A[k * 0 + 9] = 1.0 }", ""},
	{"behind a return that may not be", "if k < 5 { ret_none() }  A[k * 0 + 9] = 1.0", "it is 9"},
}

func boundsProgram(body string) string {
	return `func f(A: handle, N: handle, M: handle, I: handle, k: int32) {
  var n: int32
  var m: int32
  buffer A: float32[4], param A
  buffer N: float32[n], param N
  buffer M: float32[n, m], param M
  buffer I: int32[8], param I
  ` + body + "\n}\n"
}

func TestCheck_Bounds(t *testing.T) {
	for _, c := range boundsCases {
		m, err := text.Parse(boundsProgram(c.body))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		err = Check(m)
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if err == nil {
			t.Errorf("%s: nothing is found", c.name)
			continue
		}
		assert.ErrorContains(t, err, c.want, c.name)
	}
}

// TestCheck_BoundsOfMemory compares buffers with the memory that they are given, as views and as parameters: 64 bytes.
func TestCheck_BoundsOfMemory(t *testing.T) {
	k := NewVar("k", Int32)
	for _, c := range []struct {
		name           string
		dtype          Type
		shape, strides []Expr
		offset         Expr
		bytes          string // of those that are too large
	}{
		{name: "as large", dtype: Float32, shape: []Expr{I32(16)}},
		{name: "smaller", dtype: Float32, shape: []Expr{I32(3), I32(5)}},
		{name: "one element more", dtype: Float32, shape: []Expr{I32(17)}, bytes: "68"},
		{name: "dimensions", dtype: Float32, shape: []Expr{I32(4), I32(5)}, bytes: "80"},
		{name: "smaller elements", dtype: Int8, shape: []Expr{I32(64)}},
		{name: "one smaller element more", dtype: Int8, shape: []Expr{I32(65)}, bytes: "65"},
		{name: "larger elements", dtype: Float64, shape: []Expr{I32(8)}},
		{name: "one larger element more", dtype: Float64, shape: []Expr{I32(9)}, bytes: "72"},
		{name: "truth values", dtype: Bool, shape: []Expr{I32(65)}, bytes: "65"},
		{name: "strides", dtype: Float32, shape: []Expr{I32(4)}, strides: []Expr{I32(5)}},
		{name: "strides beyond", dtype: Float32, shape: []Expr{I32(2), I32(4)}, strides: []Expr{I32(13), I32(1)},
			bytes: "68"},
		{name: "offset", dtype: Float32, shape: []Expr{I32(8)}, offset: I32(8)},
		{name: "offset beyond", dtype: Float32, shape: []Expr{I32(8)}, offset: I32(9), bytes: "68"},
		{name: "no elements", dtype: Float32, shape: []Expr{I32(0), I32(99)}},
		{name: "of a size that is not known", dtype: Float32, shape: []Expr{k, I32(99)}},
	} {
		a, data := NewVar("a", Handle), NewBuffer("A", Float32, I32(4), I32(4))
		view := &Buffer{Name: "V", Data: data.Data, DType: c.dtype, Shape: c.shape, Strides: c.strides, Offset: c.offset}
		f := &PrimFunc{Name: "f", Params: []*Var{a, k}, Buffers: map[*Var]*Buffer{a: data}, Result: Void, Body: View(view,
			&Evaluate{I32(0)})}
		err := Check(&IRModule{Funcs: []*PrimFunc{f}})
		if c.bytes == "" {
			require.NoError(t, err, "view: "+c.name)
		} else {
			require.ErrorContains(t, err,
				"buffer V spans "+c.bytes+" bytes of the memory of buffer A, which has 64: make its shape smaller", "view: "+c.name)
		}

		own := *view
		own.Data = NewVar("own", Handle)
		b := NewVar("b", Handle)
		g := &PrimFunc{Name: "g", Params: []*Var{b, k}, Buffers: map[*Var]*Buffer{b: &own}, Result: Void,
			Body: &Evaluate{I32(0)}}
		n := NewVar("n", Int32)
		f = &PrimFunc{Name: "f", Params: []*Var{a, n}, Buffers: map[*Var]*Buffer{a: data}, Result: Void,
			Body: &Evaluate{NewCall(CallFunc, Void, "g", a, n)}}
		err = Check(&IRModule{Funcs: []*PrimFunc{f, g}})
		if c.bytes == "" {
			require.NoError(t, err, "parameter: "+c.name)
		} else {
			require.ErrorContains(t, err,
				"args[0]: function g uses "+c.bytes+" bytes of buffer V, and is passed buffer A of 64 bytes: pass a larger one",
				"parameter: "+c.name)
		}
	}
}
