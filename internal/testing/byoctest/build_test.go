package byoctest

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/dlpack"
	"tvmgo/export"
	"tvmgo/internal/testing/machine"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/text"
)

// program is the network in tir: a function for each operation, and one that calls them.
const program = `
func dense1(X: handle, W: handle, Y: handle) {
  buffer x: float32[2, 3], param X
  buffer w: float32[3, 5], param W
  buffer y: float32[2, 5], param Y
  for i in range(2) { for j in range(5) {
    y[i, j] = 0.0
    for k in range(3) { y[i, j] = y[i, j] + x[i, k] * w[k, j] }
  } }
}
func biased(X: handle, B: handle) {
  buffer x: float32[2, 5], param X
  buffer b: float32[5], param B
  for i in range(2) { for j in range(5) { x[i, j] = max(x[i, j] + b[j], 0.0) } }
}
func dense2(X: handle, W: handle, Y: handle) {
  buffer x: float32[2, 5], param X
  buffer w: float32[5, 4], param W
  buffer y: float32[2, 4], param Y
  for i in range(2) { for j in range(4) {
    y[i, j] = 0.0
    for k in range(5) { y[i, j] = y[i, j] + x[i, k] * w[k, j] }
  } }
}
func softmax(X: handle) {
  attrs {"op": "softmax", "m": 2}
  buffer x: float32[2, 4], param X
  alloc s: float32[1]
  for i in range(2) {
    s[0] = 0.0
    for j in range(4) {
      x[i, j] = exp(x[i, j])
      s[0] = s[0] + x[i, j]
    }
    for j in range(4) { x[i, j] = x[i, j] / s[0] }
  }
}
func mlp(X: handle, W1: handle, B1: handle, W2: handle, H: handle, Y: handle) {
  buffer x: float32[2, 3], param X
  buffer w1: float32[3, 5], param W1
  buffer b1: float32[5], param B1
  buffer w2: float32[5, 4], param W2
  buffer h: float32[2, 5], param H
  buffer y: float32[2, 4], param Y
  func dense1(X, W1, H)
  func biased(H, B1)
  func dense2(H, W2, Y)
  func softmax(Y)
}
`

// strategy is the strategy of a named composite: products that are large enough are computed by the library.
func strategy(g *target.Graph, _ *target.Target) ([]target.Assignment, error) {
	var answer []target.Assignment
	for _, op := range g.Ops {
		a := target.Assignment{Op: op.Name, Member: 1, Reason: "it is no product"}
		if op.Kind == "matmul" {
			a.Member, a.Reason = 0, "the library is worth its call"
			if op.Attrs["m"].(int)*op.Attrs["n"].(int)*op.Attrs["k"].(int) < 40 {
				a.Member, a.Reason = 1, "a call costs more than so small a product"
			}
		}
		answer = append(answer, a)
	}
	return answer, nil
}

// standIn puts the stand-in library where the compiler finds it.
func standIn(t *testing.T, text string) {
	t.Helper()
	dir := t.TempDir()
	source, object, archive := filepath.Join(dir, "dnnl.c"), filepath.Join(dir, "dnnl.o"), filepath.Join(dir, "libdnnl.a")
	require.NoError(t, os.WriteFile(source, []byte(text), 0o600))
	out, err := exec.Command("cc", "-fPIC", "-c", source, "-o", object).CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = exec.Command("ar", "rcs", archive, object).CombinedOutput()
	require.NoError(t, err, "%s", out)
	machine.NeedNative(t, "cross-compilers ignore LIBRARY_PATH")
	t.Setenv("LIBRARY_PATH", dir)
	t.Setenv("TVMGO_CACHE_DIR", "off")
}

// TestBuild_Composite builds the network for two CPU kinds, one of them a third party's, with partitioners and with a
// strategy.
func TestBuild_Composite(t *testing.T) {
	require.NoError(t, register())
	must.Get(target.RegisterKind("smallsoc2", dlpack.CPU, target.Composite(), target.WithAttr(target.ColumnStrategy,
		target.Strategy(strategy))))(t)
	standIn(t, library)
	m := must.Get(text.Parse(program))(t)
	for soc, calls := range map[string]int{
		`{"kind": "composite", "devices": ["dnnl", "c"]}`: 2,
		`{"kind": "smallsoc2", "targets": ["dnnl", "c"]}`: 1,
		`{"kind": "composite", "devices": ["c", "dnnl"]}`: 0,
	} {
		before := runtime.Live()
		to := must.Get(target.New(soc))(t)
		built, err := codegen.Build(m, to)
		require.NoError(t, err, soc)
		imported := must.Get(built.Imports())(t)
		require.Len(t, imported, min(calls, 1), soc)
		for _, i := range imported {
			code := must.Get(i.GetSource(""))(t)
			require.Equal(t, calls, strings.Count(code, " dnnl_sgemm(")-1, "all occurrences except the declaration: %s", soc)
			require.Len(t, i.Functions(), calls)
			require.NoError(t, i.Close())
		}
		path := filepath.Join(t.TempDir(), "mlp.so")
		require.NoError(t, export.Library(context.Background(), built, path))
		loaded := must.Get(runtime.Load(context.Background(), path))(t)
		for _, from := range []*runtime.Module{built, loaded} {
			for _, name := range []string{"dense1", "biased", "dense2", "softmax"} {
				f, err := from.Function(name)
				require.NoError(t, err, name)
				require.NoError(t, f.Close())
			}
			require.InDeltaSlice(t, reference(), network(t, from), 1e-5, soc)
		}
		require.NoError(t, built.Close())
		require.NoError(t, loaded.Close())
		require.Equal(t, before, runtime.Live())
	}
}

// network calls mlp with the inputs of the reference.
func network(t *testing.T, m *runtime.Module) []float64 {
	t.Helper()
	f := must.Get(m.Function("mlp"))(t)
	defer f.Close()
	var args []any
	for _, a := range []struct {
		values     []float32
		rows, cols int64
	}{{values("x"), batch, in}, {values("w1"), in, hidden}, {values("b1"), hidden, 0}, {values("w2"), hidden,
		classes}, {make([]float32, batch*hidden), batch, hidden},
		{make([]float32, batch*classes), batch, classes}} {
		shape := []int64{a.rows, a.cols}
		if a.cols == 0 {
			shape = shape[:1]
		}
		x := must.Get(runtime.FromSlice(a.values, shape...))(t)
		defer x.Close()
		args = append(args, x)
	}
	must.Get(f.Call(args...))(t)
	got := must.Get(runtime.ToSlice[float32](args[5].(*runtime.Tensor)))(t)
	wide := make([]float64, len(got))
	for i, v := range got {
		require.False(t, math.IsNaN(float64(v)))
		wide[i] = float64(v)
	}
	return wide
}

// TestBuild_CompositeRunsTheLibrary checks that the library is called: its error is returned.
func TestBuild_CompositeRunsTheLibrary(t *testing.T) {
	require.NoError(t, register())
	standIn(t, strings.Replace(library, "if (transa", "if (k == 5) return 3;\n  if (transa", 1))
	m := must.Get(text.Parse(program))(t)
	to := must.Get(target.New(`{"kind": "composite", "devices": ["dnnl", "c"]}`))(t)
	built := must.Open(codegen.Build(m, to))(t)
	f := must.Open(built.Function("mlp"))(t)
	var args []any
	for _, shape := range [][]int64{{2, 3}, {3, 5}, {5}, {5, 4}, {2, 5}, {2, 4}} {
		x := must.Get(runtime.NewTensor(dlpack.Float32, shape, runtime.CPU))(t)
		defer x.Close()
		args = append(args, x)
	}
	require.ErrorContains(t, must.Fail(f.Call(args...)), "dense2: dnnl_sgemm failed")
}

func TestBuild_CompositeBadInput(t *testing.T) {
	require.NoError(t, register())
	m := must.Get(text.Parse(program))(t)
	for soc, want := range map[string]string{
		`{"kind": "composite", "devices": ["dnnl"]}`: `no member accepts operation "biased" (function) (and 2 more): ` +
			`dnnl (member 0): it only multiplies matrices`,
		`{"kind": "composite", "devices": ["dnnl", "metal"]}`: `function biased: build for kind "metal": ` +
			`no code generator target.build.metal is enabled: enabled are c, dnnl`,
		`{"kind": "composite", "devices": []}`: `composite is composite and has no members`,
		"dnnl":                                 `build for kind "dnnl": pass 0: function dense1 is not a product`,
	} {
		to, err := target.New(soc)
		require.NoError(t, err, soc)
		broken := m
		if soc == "dnnl" {
			broken = must.Get(text.Parse(strings.Replace(program, "y[i, j] = 0.0", "y[i, j] = 1.0", 1)))(t)
		}
		_, err = codegen.Build(broken, to)
		require.ErrorContains(t, err, want, soc)
		require.ErrorContains(t, err, "build for kind ", fmt.Sprint(soc))
	}
	threads, err := text.Parse("func f(A: handle) {\n  buffer a: float32[4], param A\n  thread i in range(4), thread " +
		"\"threadIdx.x\" { a[i] = 1.0 }\n}\n")
	require.NoError(t, err)
	to := must.Get(target.New(`{"kind": "composite", "devices": ["dnnl", "c"]}`))(t)
	require.ErrorContains(t, must.Fail(codegen.Build(threads, to)),
		`no member accepts operation "f" (function): dnnl (member 0): it only multiplies matrices; `+
			`c (member 1): it has loops over threads, which only a device has`)
	require.ErrorContains(t, must.Fail(codegen.Build(&tir.IRModule{}, to)), "the program has no functions to divide")
}
