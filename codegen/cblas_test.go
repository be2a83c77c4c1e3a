package codegen_test

import (
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"math"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/dlpack"
	"tvmgo/export"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
)

// needBLAS is for tests that link libopenblas.
func needBLAS(t testing.TB) {
	t.Helper()
	out, _ := exec.Command("cc", "-print-file-name=libopenblas.so").Output()
	if filepath.IsAbs(strings.TrimSpace(string(out))) {
		return
	}
	if os.Getenv("CI") != "" {
		t.Fatal("libopenblas-dev is missing: build/scripts/deps.sh installs it")
	}
	t.Skip("libopenblas-dev is missing: build/scripts/deps.sh installs it")
}

// product is a matmul in some form, as text with placeholders for the element type; all its tensors have constant
// shapes.
type product struct {
	name   string
	text   string
	shapes [][]int64
	call   string // the C function; "": the library has no such product
}

const withinLoops = `
  for i in range(5) { for j in range(7) {
    C_[i, j] = 0.0
    for k in range(3) { C_[i, j] = C_[i, j] + %s }
  } }
`

func productText(a, b, c, loops string) string {
	return "func mm(A: handle, B: handle, C: handle) {\n  buffer A_: TYPE[" + a + "], param A\n  buffer B_: TYPE[" + b +
		"], param B\n  buffer C_: TYPE[" + c +
		"], param C\n" + loops + "}\n"
}

var products = []product{
	{"plain", productText("5, 3", "3, 7", "5, 7", fmt.Sprintf(withinLoops, "A_[i, k] * B_[k, j]")),
		[][]int64{{5, 3}, {3, 7}, {5, 7}}, "gemm"},
	{"factors turned", productText("5, 3", "3, 7", "5, 7", fmt.Sprintf(withinLoops, "B_[k, j] * A_[i, k]")),
		[][]int64{{5, 3}, {3, 7}, {5, 7}}, "gemm"},
	{"A transposed", productText("3, 5", "3, 7", "5, 7", fmt.Sprintf(withinLoops, "A_[k, i] * B_[k, j]")),
		[][]int64{{3, 5}, {3, 7}, {5, 7}}, "gemm"},
	{"B transposed", productText("5, 3", "7, 3", "5, 7", fmt.Sprintf(withinLoops, "A_[i, k] * B_[j, k]")),
		[][]int64{{5, 3}, {7, 3}, {5, 7}}, "gemm"},
	{"both transposed", productText("3, 5", "7, 3", "5, 7", fmt.Sprintf(withinLoops, "A_[k, i] * B_[j, k]")),
		[][]int64{{3, 5}, {7, 3}, {5, 7}}, "gemm"},
	{"C transposed", productText("5, 3", "3, 7", "7, 5",
		strings.ReplaceAll(fmt.Sprintf(withinLoops, "A_[i, k] * B_[k, j]"), "C_[i, j]", "C_[j, i]")),
		[][]int64{{5, 3}, {3, 7}, {7, 5}}, "gemm"},
	{"part of larger", productText("9, 8", "6, 11", "5, 7",
		fmt.Sprintf(withinLoops, "A_[i + 2, k + 4] * B_[k + 1, j + 3]")),
		[][]int64{{9, 8}, {6, 11}, {5, 7}}, "gemm"},
	{"split, reordered, parallel", productText("8, 12", "12, 6", "8, 6", `
  parallel io in range(2) { for jo in range(3) {
    for ii in range(4) { vectorized ji in range(2) { C_[io * 4 + ii, jo * 2 + ji] = 0.0 } }
    for ko in range(4) { for ii in range(4) { for ki in range(3) { for ji in range(2) {
      C_[io * 4 + ii, ji + jo * 2] =
        A_[ii + 4 * io, ko * 3 + ki] * B_[ko * 3 + ki, jo * 2 + ji] + C_[io * 4 + ii, ji + jo * 2]
    } } } }
  } }
`), [][]int64{{8, 12}, {12, 6}, {8, 6}}, "gemm"},
	{"batch", productText("4, 5, 3", "4, 3, 7", "4, 5, 7", `
  for b in range(4) { for i in range(5) { for j in range(7) {
    C_[b, i, j] = 0.0
    for k in range(3) { C_[b, i, j] = C_[b, i, j] + A_[b, i, k] * B_[b, k, j] }
  } } }
`), [][]int64{{4, 5, 3}, {4, 3, 7}, {4, 5, 7}}, "gemm"},
	{"batch of one factor, odd order", productText("5, 4, 3", "7, 3", "4, 5, 7", `
  for b in range(4) { for i in range(5) { for j in range(7) {
    C_[b, i, j] = 0.0
    for k in range(3) { C_[b, i, j] = C_[b, i, j] + A_[i, b, k] * B_[j, k] }
  } } }
`), [][]int64{{5, 4, 3}, {7, 3}, {4, 5, 7}}, "gemm"},
	{"sum of three", productText("5, 3", "3, 7", "5, 7", fmt.Sprintf(withinLoops, "A_[i, k] * B_[k, j] * 2.0")),
		[][]int64{{5, 3}, {3, 7}, {5, 7}}, ""},
	{"a vector", productText("5, 3", "3", "5", `
  for i in range(5) {
    C_[i] = 0.0
    for k in range(3) { C_[i] = C_[i] + A_[i, k] * B_[k] }
  }
`), [][]int64{{5, 3}, {3}, {5}}, ""},
	{"not from zero", productText("5, 3", "3, 7", "5, 7", strings.Replace(fmt.Sprintf(withinLoops, "A_[i, k] * B_[k, j]"),
		"= 0.0", "= 1.0", 1)),
		[][]int64{{5, 3}, {3, 7}, {5, 7}}, ""},
	{"not all of it", productText("5, 3", "3, 7", "5, 7", strings.Replace(fmt.Sprintf(withinLoops, "A_[i, k] * B_[k, j]"),
		"range(7)", "range(6)", 1)),
		[][]int64{{5, 3}, {3, 7}, {5, 7}}, ""},
	{"sums of fewer", productText("5, 3", "3, 7", "5, 7", `
  for i in range(5) {
    for j in range(7) { C_[i, j] = 0.0 }
    for j in range(6) { for k in range(3) { C_[i, j] = C_[i, j] + A_[i, k] * B_[k, j] } }
  }
`), [][]int64{{5, 3}, {3, 7}, {5, 7}}, ""},
	{"diagonal", productText("5, 5", "3, 7", "5, 7", fmt.Sprintf(withinLoops, "A_[i, i] * B_[k, j]")),
		[][]int64{{5, 5}, {3, 7}, {5, 7}}, ""},
	{"convolution", productText("5, 9", "3, 7", "5, 7", fmt.Sprintf(withinLoops, "A_[i, k + j] * B_[k, j]")),
		[][]int64{{5, 9}, {3, 7}, {5, 7}}, ""},
	{"added twice", productText("5, 3", "3, 7", "5, 7", `
  for i in range(5) { for j in range(7) {
    C_[i, j] = 0.0
    for k in range(3) { for twice in range(2) { C_[i, j] = C_[i, j] + A_[i, k] * B_[k, j] } }
  } }
`), [][]int64{{5, 3}, {3, 7}, {5, 7}}, ""},
	{"sums of another tile", productText("8, 3", "3, 6", "8, 6", `
  for io in range(2) {
    for ii in range(4) { for j in range(6) { C_[ii * 2 + io, j] = 0.0 } }
    for ii in range(4) { for j in range(6) { for k in range(3) {
      C_[io * 4 + ii, j] = C_[io * 4 + ii, j] + A_[io * 4 + ii, k] * B_[k, j]
    } } }
  }
`), [][]int64{{8, 3}, {3, 6}, {8, 6}}, ""},
	{"strides", strings.NewReplacer("A_: TYPE[5, 3]", "A_: TYPE[5, 3], strides [4, 1]", "B_: TYPE[3, 7]",
		"B_: TYPE[3, 7], strides [1, 3]", "C_: TYPE[5, 7]",
		"C_: TYPE[5, 7], strides [9, 1]").Replace(productText("5, 3", "3, 7", "5, 7",
		fmt.Sprintf(withinLoops, "A_[i, k] * B_[k, j]"))), nil, "gemm"},
	{"strides that overlap", strings.NewReplacer("A_: TYPE[5, 3]",
		"A_: TYPE[5, 3], strides [1, 1]").Replace(productText("5, 3", "3, 7", "5, 7",
		fmt.Sprintf(withinLoops, "A_[i, k] * B_[k, j]"))), nil, ""},
}

// Loops that compute a matrix product become a library call, and other loops do not. Both compute the same.
func TestCblas_Products(t *testing.T) {
	needBLAS(t)
	for _, typ := range []string{"float32", "float64"} {
		for _, p := range products {
			text := strings.ReplaceAll(p.text, "TYPE", typ)
			m := built(t, parsed(t, text), kind(t, "c -libs=cblas"))
			code := must.Get(m.GetSource(""))(t)
			name := map[string]string{"float32": "cblas_s", "float64": "cblas_d"}[typ] + "gemm("
			require.Equal(t, p.call != "", strings.Contains(code, name), "%s: %s", p.name, code)
			if p.shapes == nil {
				continue
			}
			plain := built(t, parsed(t, text), kind(t, "c"))
			want := multiply(t, plain, typ, p.shapes)
			require.InDeltaSlice(t, want, multiply(t, m, typ, p.shapes), 1e-5, p.name)
			require.NotEqual(t, make([]float64, len(want)), want)
		}
	}
}

// multiply calls mm with tensors of these shapes, filled by a rule, and returns the last tensor.
func multiply(t testing.TB, m *runtime.Module, typ string, shapes [][]int64) []float64 {
	t.Helper()
	f := must.Get(m.Function("mm"))(t)
	defer f.Close()
	var args []any
	for i, shape := range shapes {
		n := int64(1)
		for _, d := range shape {
			n *= d
		}
		x := make([]float64, n)
		for j := range x {
			x[j] = math.Sin(float64(j*(i+3) + 1))
		}
		if typ == "float32" {
			args = append(args, modules.Tensor(t, narrowed(x), shape...))
		} else {
			v := must.Open(runtime.FromSlice(x, shape...))(t)
			args = append(args, v)
		}
	}
	must.Get(f.Call(args...))(t)
	return wide(t, args[len(args)-1].(*runtime.Tensor))
}

func narrowed(x []float64) []float32 {
	out := make([]float32, len(x))
	for i, v := range x {
		out[i] = float32(v)
	}
	return out
}

func wide(t testing.TB, x *runtime.Tensor) []float64 {
	t.Helper()
	if x.DType() == dlpack.Float64 {
		return must.Get(runtime.ToSlice[float64](x))(t)
	}
	s := must.Get(runtime.ToSlice[float32](x))(t)
	out := make([]float64, len(s))
	for i, v := range s {
		out[i] = float64(v)
	}
	return out
}

// Matrix products from tensor expressions with variable sizes: called directly, and from an exported library, which
// needs libopenblas.
func TestCblas_TensorExpressions(t *testing.T) {
	needBLAS(t)
	n, k, j := te.Var("n"), te.Var("k"), te.Var("j")
	a, b := te.Placeholder([]tir.Expr{n, k}, tir.Float32, "A"), te.Placeholder([]tir.Expr{k, j}, tir.Float32, "B")
	c := ops.Matmul(a, b, "C")
	r := ops.Relu(c, "R")
	s := must.Get(te.NewSchedule(r))(t)
	program := must.Get(te.Lower(s, []any{a, b, r}, "mm"))(t)
	m := built(t, program, kind(t, `{"kind": "c", "libs": ["cblas"]}`))
	plain := built(t, program, kind(t, "c"))
	dir := t.TempDir()
	require.NoError(t, export.Library(context.Background(), m, filepath.Join(dir, "blas.so")))
	require.NoError(t, export.Library(context.Background(), plain, filepath.Join(dir, "plain.so")))
	require.True(t, imports(t, filepath.Join(dir, "blas.so"), "cblas_sgemm"))
	require.False(t, imports(t, filepath.Join(dir, "plain.so"), "cblas_sgemm"))
	loaded := must.Open(runtime.Load(context.Background(), filepath.Join(dir, "blas.so")))(t)
	random := rand.New(rand.NewSource(1))
	for range 20 {
		x, y, z := 1+random.Int63n(40), 1+random.Int63n(40), 1+random.Int63n(40)
		shapes := [][]int64{{x, y}, {y, z}, {x, z}}
		want := multiply(t, plain, "float32", shapes)
		require.InDeltaSlice(t, want, multiply(t, m, "float32", shapes), 1e-4)
		require.InDeltaSlice(t, want, multiply(t, loaded, "float32", shapes), 1e-4)
	}
	for _, empty := range [][][]int64{{{0, 3}, {3, 2}, {0, 2}}, {{4, 0}, {0, 2}, {4, 2}}, {{4, 3}, {3, 0}, {4, 0}}} {
		require.Equal(t, multiply(t, plain, "float32", empty), multiply(t, m, "float32", empty), empty)
	}
}

// imports reports whether a library imports a symbol from another one.
func imports(t testing.TB, path, symbol string) bool {
	t.Helper()
	f := must.Get(elf.Open(path))(t)
	defer f.Close()
	all := must.Get(f.ImportedSymbols())(t)
	return slices.ContainsFunc(all, func(s elf.ImportedSymbol) bool { return s.Name == symbol })
}

// The strides of the arguments decide at run time: loops compute what the library cannot.
func TestCblas_Views(t *testing.T) {
	needBLAS(t)
	text := `func mm(A: handle, B: handle, C: handle) {
  var ar: int64
  var ac: int64
  buffer A_: float32[4, 3], param A, strides [ar, ac]
  buffer B_: float32[3, 5], param B
  buffer C_: float32[4, 5], param C
  for i in range(4) { for j in range(5) {
    C_[i, j] = 0.0
    for k in range(3) { C_[i, j] = C_[i, j] + A_[i, k] * B_[k, j] }
  } }
}
`
	m, plain := built(t, parsed(t, text), kind(t, "c -libs=cblas")), built(t, parsed(t, text), kind(t, "c"))
	code := must.Get(m.GetSource(""))(t)
	require.Equal(t, 1, strings.Count(code, "cblas_sgemm(101"))
	require.Contains(t, code, "for (", "the loops are still there")
	store := make([]float32, 64)
	for i := range store {
		store[i] = float32(math.Sin(float64(i)))
	}
	for _, strides := range [][]int64{{3, 1}, {7, 1}, {1, 4}, {10, 2}, {0, 1}, {1, 1}} {
		base := modules.Tensor(t, store, 64)
		view := must.Get(base.View(dlpack.Float32, []int64{4, 3}, strides, 0))(t)
		b, want, got := modules.Tensor(t, store[:15], 3, 5), modules.Tensor(t, make([]float32, 20), 4, 5),
			modules.Tensor(t, make([]float32, 20), 4, 5)
		for from, out := range map[*runtime.Module]*runtime.Tensor{m: got, plain: want} {
			f := must.Get(from.Function("mm"))(t)
			must.Get(f.Call(view, b, out))(t)
			require.NoError(t, f.Close())
		}
		require.InDeltaSlice(t, wide(t, want), wide(t, got), 1e-5, "%v", strides)
		require.NoError(t, view.Close())
	}
}

func TestCblas_BadInput(t *testing.T) {
	text := strings.ReplaceAll(products[0].text, "TYPE", "float32")
	_, err := codegen.Build(parsed(t, text), kind(t, "c -libs=cblass"))
	require.ErrorIs(t, err, runtime.ErrInvalidArgument)
	require.ErrorContains(t, err, `libs: no code for kind "c" calls library "cblass": there is cblas`)

	cc := filepath.Join(t.TempDir(), "cc") // a compiler without such a library
	script := "#!/bin/sh\nfor a; do case $a in -print-file-name=lib*blas*) echo \"${a#*=}\"; exit;; esac; " +
		"done\nexec gcc " +
		"\"$@\"\n"
	require.NoError(t, os.WriteFile(cc, []byte(script), 0o777))
	t.Setenv("CC", cc)
	m := built(t, parsed(t, text), kind(t, "c -libs=cblas"))
	_, err = m.Function("mm")
	require.ErrorIs(t, err, runtime.ErrNotSupported)
	require.ErrorContains(t, err, "finds none of the libraries openblas, cblas, blas, which the code calls: install one "+
		"(Debian has libopenblas-dev")
	path := filepath.Join(t.TempDir(), "mm.so")
	err = export.Library(context.Background(), m, path)
	require.ErrorContains(t, err, "finds none of the libraries openblas, cblas, blas")
	require.NoFileExists(t, path)

	var log bytes.Buffer // a compiler that has another one of them
	script = "#!/bin/sh\nfor a; do case $a in -print-file-name=libopenblas*) echo \"${a#*=}\"; exit;; esac; done\necho " +
		"\"$*\" >>" + filepath.Join(filepath.Dir(cc), "log") +
		"\nexec gcc \"$@\"\n"
	require.NoError(t, os.WriteFile(cc, []byte(script), 0o777))
	needBLAS(t)
	require.NoError(t, export.Library(context.Background(), m, path))
	b := must.Get(os.ReadFile(filepath.Join(filepath.Dir(cc), "log")))(t)
	log.Write(b)
	require.Contains(t, log.String(), " -lblas ")
	require.NotContains(t, log.String(), "-lopenblas")
}
