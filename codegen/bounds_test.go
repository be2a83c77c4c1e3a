package codegen_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	_ "tvmgo/codegen/llvm"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/tir"
	"tvmgo/tir/transform"
)

// boundsPrograms are functions that are valid for some arguments only.
const boundsPrograms = `
func serial(A: handle, n: int32) {
  buffer A: float32[4], param A
  for i in range(n) { A[i] = 1.0 }
}
func threads(A: handle, n: int32) {
  buffer A: float32[4], param A
  parallel i in range(n) { A[i] = 1.0 }
}
func vectors(A: handle, n: int32) {
  buffer A: float32[8], param A
  A[ramp(n, 1, 4)] = broadcast(2.0, 4)
}
func lanes(A: handle, n: int32) {
  buffer A: float32[64], param A
  vectorized i in range(16) { A[i + n] = 1.0 }
}
func gathered(A: handle, I: handle, n: int32) {
  buffer A: float32[8], param A
  buffer I: int32[4], param I
  A[ramp(0, 1, 4)] = A[I[ramp(0, 1, 4)]]
}
func indirect(A: handle, I: handle, n: int32) {
  buffer A: float32[8], param A
  buffer I: int32[4], param I
  for i in range(4) { A[I[i]] = 3.0 }
}
func lazy(A: handle, n: int32) {
  buffer A: float32[4], param A
  A[0] = intrin if_then_else[float32](n < 4, A[n], 7.0)
}
func chosen(A: handle, n: int32) {
  buffer A: float32[4], param A
  A[0] = select(n < 4, A[n], 7.0)
}
func both(A: handle, n: int32) {
  buffer A: float32[4], param A
  if n < 4 && A[n] < 5.0 { A[0] = 9.0 }
}
func walk(A: handle, n: int32) {
  buffer A: float32[4], param A
  alloc k: int32[1] {
    k[0] = n
    while A[k[0]] < 0.5 { k[0] = k[0] + 1 }
    A[k[0]] = 5.0
  }
}
func scratch(A: handle, n: int32) {
  buffer A: float32[4], param A
  alloc t: float32[n + 1000] {
    for i in range(n + 1000) { t[i] = 1.0 }
    A[n] = t[0]
  }
}
func within(A: handle, n: int32) {
  buffer A: float32[4], param A
  alloc t: float32[n + 1000] {
    t[n] = 1.0
    parallel i in range(8) { t[i + n] = 2.0  A[i + n] = t[i] }
  }
}
func calls(A: handle, n: int32) {
  buffer A: float32[4], param A
  func callee(A, n)
}
func callee(A: handle, n: int32) {
  buffer A: float32[4], param A
  A[n] = 1.0
}
func rows(A: handle, n: int32) {
  var m: int32
  buffer A: float32[2, m], param A
  A[1, n] = 1.0
}
func far(A: handle, n: int32) {
  buffer A: float32[4], param A
  A[n * 65536] = 1.0
}
`

// paths returns the locations of the accesses of a program that are not proved to be in bounds.
func paths(m *tir.IRModule) (all []string) {
	for _, a := range transform.Unproven(m) {
		all = append(all, a.Func+"."+a.Path)
	}
	return all
}

func TestUnproven(t *testing.T) {
	m := parsed(t, boundsPrograms)
	require.NoError(t, tir.Check(m))
	require.Equal(t, []string{"serial.body.for(i).body.indices[0]", "threads.body.for(i).body.indices[0]",
		"vectors.body.indices[0]",
		"lanes.body.for(i).body.indices[0]", "gathered.body.value.indices[0]", "indirect.body.for(i).body.indices[0]",
		"lazy.body.value.args[1].indices[0]",
		"chosen.body.value.then.indices[0]", "both.body.if.cond.b.a.indices[0]",
		"walk.body.alloc(k).body[1].while.cond.a.indices[0]",
		"walk.body.alloc(k).body[2].indices[0]", "scratch.body.alloc(t).body[1].value.indices[0]",
		"scratch.body.alloc(t).body[1].indices[0]", "within.body.alloc(t).body[0].indices[0]",
		"within.body.alloc(t).body[1].for(i).body[0].indices[0]",
		"within.body.alloc(t).body[1].for(i).body[1].value.indices[0]",
		"within.body.alloc(t).body[1].for(i).body[1].indices[0]", "callee.body.indices[0]", "rows.body.indices[1]",
		"far.body.indices[0]"}, paths(m))
	a := transform.Unproven(m)[0]
	require.Equal(t, "serial.body.for(i).body.indices[0]: this write of buffer A may be out of bounds: index i is "+
		"not proved to be within dimension 0, which has 4", a.String())

	proved := parsed(t, `
func guarded(A: handle, n: int32) {
  var m: int32
  buffer A: float32[m], param A
  for i in range(m) { A[i] = 1.0  if i + n < m && i + n >= 0 { A[i + n] = 1.0 } }
  if n < 0 { ret_none() }
  if n < m { A[n] = 1.0 }
  assert n < m, ValueError, "n"
  A[n] = 2.0
  A[min(n, m - 1)] = 3.0
  for i in range(floordiv(m + 7, 8)) {
    vectorized j in range(8) { if intrin likely[bool](i * 8 + j < m) { A[i * 8 + j] = 1.0 } }
  }
}
`)
	require.Empty(t, paths(proved))
}

// TestBuild_BoundsCheck calls each function with valid arguments and with invalid ones.
func TestBuild_BoundsCheck(t *testing.T) {
	cases := []struct {
		name  string
		right []int
		wrong map[int]string
	}{
		{"serial", []int{0, 1, 4}, map[int]string{5: "serial: index 4 is outside of dimension 0 of buffer A, which has 4"}},
		{"threads", []int{0, 4}, map[int]string{1000: "is outside of dimension 0 of buffer A, which has 4"}},
		{"vectors", []int{0, 4}, map[int]string{5: "index 8", -1: "index -1", 1 << 30: "index 1073741824"}},
		{"lanes", []int{0, 48}, map[int]string{49: "index 64", -3: "index -3"}},
		{"gathered", []int{0, 4}, map[int]string{5: "index 8 is outside of dimension 0 of buffer A", -1: "index -1"}},
		{"indirect", []int{0, 4}, map[int]string{5: "index 8", -1: "index -1"}},
		{"lazy", []int{0, 3, 4, 100}, map[int]string{-1: "index -1"}},
		{"chosen", []int{0, 3, 4, 100}, map[int]string{-1: "index -1"}},
		{"both", []int{0, 3, 4, 100}, map[int]string{-1: "index -1"}},
		{"walk", []int{3}, map[int]string{4: "index 4", -1: "index -1", 0: "index 4"}},
		{"scratch", []int{0, 3}, map[int]string{4: "index 4", 2000: "index 2000", -1: "index -1"}},
		{"within", nil, map[int]string{0: "outside of dimension 0 of buffer A",
			-1: "index -1 is outside of dimension 0 of buffer t"}},
		{"calls", []int{0, 3}, map[int]string{4: "callee: index 4 is outside of dimension 0 of buffer A, which has 4"}},
		{"rows", []int{0, 2}, map[int]string{3: "index 3 is outside of dimension 1 of buffer A, which has 3",
			-1: "index -1"}},
		{"far", []int{0}, map[int]string{1: "index 65536", 32768: "index 2147483648", 65536: "index 4294967296"}},
	}
	for _, kindName := range []string{"c", "llvm"} {
		t.Run(kindName, func(t *testing.T) {
			m := built(t, parsed(t, boundsPrograms), kind(t, kindName+" -bounds-check"))
			for _, c := range cases {
				f := must.Get(m.Function(c.name))(t)
				call := func(n int) ([]float32, error) {
					size := map[string]int{"vectors": 8, "lanes": 64, "gathered": 8, "indirect": 8, "rows": 6}[c.name]
					data := make([]float32, max(size, 4))
					data[3] = 1
					a := must.Get(runtime.FromSlice(data))(t)
					defer a.Close()
					args := []any{a, n}
					switch c.name {
					case "rows":
						v := must.Get(a.View(dlpack.Float32, []int64{2, 3}, nil, 0))(t)
						defer v.Close()
						args[0] = v
					case "gathered", "indirect":
						i := must.Get(runtime.FromSlice([]int32{int32(n), int32(n) + 1, int32(n) + 2, int32(n) + 3}))(t)
						defer i.Close()
						args = []any{a, i, n}
					}
					if c.name == "walk" && n == 0 {
						require.NoError(t, a.CopyFromBytes(make([]byte, 16)))
					}
					_, err := f.Call(args...)
					s, _ := runtime.ToSlice[float32](a)
					return s, err
				}
				for _, n := range c.right {
					_, err := call(n)
					require.NoError(t, err, "%s of %d", c.name, n)
				}
				_, _ = call(0) // the first call creates things that are kept
				before := runtime.Live()
				for n, want := range c.wrong {
					_, err := call(n)
					require.ErrorContains(t, err, want, "%s of %d", c.name, n)
					var e *runtime.Error
					require.ErrorAs(t, err, &e)
					require.Equal(t, "IndexError", e.Code, "%s of %d", c.name, n)
				}
				after := runtime.Live()
				after.WorkspaceCached = before.WorkspaceCached // the pool keeps it
				require.Equal(t, before, after, c.name)
				f.Close()
			}
		})
	}
}

// TestBuild_NoBoundsCheck expects no checks without the option, and no checks of accesses that are proved to be in
// bounds.
func TestBuild_NoBoundsCheck(t *testing.T) {
	code := must.Get(built(t, parsed(t, boundsPrograms), kind(t, "c")).GetSource("c"))(t)
	require.NotContains(t, code, "tvmgo_outside")
	checked := must.Open(codegen.Build(scale(t, 2), kind(t, "c -bounds-check")))(t)
	code = must.Get(checked.GetSource("c"))(t)
	require.NotContains(t, code, "tvmgo_outside", "its index is proved to be in bounds")
	require.Equal(t, []float32{1, 1, 1}, run(t, checked))
}
