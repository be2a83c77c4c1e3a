// Package byoctest divides a network between a third-party code generator and one for C. The generator of each group's
// kind generates its code, and the result is compiled, linked and executed.
package byoctest

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/byoctest/dnnl"
	"tvmgo/internal/testing/must"
	"tvmgo/target"
	"tvmgo/target/partition"
)

const batch, in, hidden, classes = 2, 3, 5, 4

// mlp is softmax(relu(x·w1 + b1)·w2) in float32, with row-major matrices.
func mlp() *target.Graph {
	matmul := func(name, a, b string, m, n, k int) target.Op {
		return target.Op{Name: name, Kind: "matmul", Inputs: []string{a, b}, Attrs: map[string]any{"dtype": "float32",
			"m": m, "n": n, "k": k}}
	}
	rows := func(name, kind string, n int, inputs ...string) target.Op {
		return target.Op{Name: name, Kind: kind, Inputs: inputs, Attrs: map[string]any{"dtype": "float32",
			"m": batch, "n": n}}
	}
	return &target.Graph{Inputs: []string{"x", "w1", "b1", "w2"}, Ops: []target.Op{
		matmul("dense1", "x", "w1", batch, hidden, in),
		rows("biased", "bias_add", hidden, "dense1", "b1"),
		rows("active", "relu", hidden, "biased"),
		matmul("dense2", "active", "w2", batch, classes, hidden),
		rows("probability", "softmax", classes, "dense2"),
	}}
}

// values returns the values of an input; some of them are negative.
func values(name string) []float32 {
	all := make([]float32, map[string]int{"x": batch * in, "w1": in * hidden, "b1": hidden, "w2": hidden * classes}[name])
	for i := range all {
		all[i] = float32((i*7+len(name)*3)%11)/4 - 1
	}
	return all
}

// reference computes the network in Go.
func reference() []float64 {
	multiply := func(a, b []float64, m, n, k int) []float64 {
		c := make([]float64, m*n)
		for i := range c {
			for l := range k {
				c[i] += a[i/n*k+l] * b[l*n+i%n]
			}
		}
		return c
	}
	wide := func(name string) (all []float64) {
		for _, v := range values(name) {
			all = append(all, float64(v))
		}
		return all
	}
	h := multiply(wide("x"), wide("w1"), batch, hidden, in)
	for i := range h {
		h[i] = max(0, h[i]+wide("b1")[i%hidden])
	}
	p := multiply(h, wide("w2"), batch, classes, hidden)
	for row := range batch {
		sum := 0.0
		for i := range classes {
			p[row*classes+i] = math.Exp(p[row*classes+i])
			sum += p[row*classes+i]
		}
		for i := range classes {
			p[row*classes+i] /= sum
		}
	}
	return p
}

// plainC is the generator of the kind "llvm" in this test: it writes loops in C.
func plainC(symbol string, g *partition.Group) (string, error) {
	loops := map[string]string{
		"matmul": "for (int i = 0; i < M * N; i++) { r[i] = 0; for (int l = 0; l < K; l++) r[i] += a[i / N * K + " +
			"l] * b[l * N + i % N]; }",
		"bias_add": "for (int i = 0; i < M * N; i++) r[i] = a[i] + b[i % N];",
		"relu":     "for (int i = 0; i < M * N; i++) r[i] = a[i] > 0 ? a[i] : 0;",
		"softmax": "for (int i = 0; i < M; i++) { float s = 0; for (int j = 0; j < N; j++) s += r[i * N + j] = expf(a[i " +
			"* N + j]); for (int j = 0; j < N; j++) r[i * N + j] /= s; }",
	}
	where := map[string]string{}
	for i, name := range g.Inputs {
		where[name] = fmt.Sprintf("in[%d]", i)
	}
	for i, name := range g.Outputs {
		where[name] = fmt.Sprintf("out[%d]", i)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "#include <math.h>\nvoid %s(const float *const *in, float *const *out) {\n", symbol)
	for i, op := range g.Ops {
		loop, ok := loops[op.Kind]
		if !ok {
			return "", fmt.Errorf("operation %q: no loop implements %s", op.Name, op.Kind)
		}
		m, n, k := op.Attrs["m"].(int), op.Attrs["n"].(int), 0
		if op.Kind == "matmul" {
			k = op.Attrs["k"].(int)
		}
		if where[op.Name] == "" {
			where[op.Name] = fmt.Sprintf("t%d", i)
			fmt.Fprintf(&b, "  static float t%d[%d];\n", i, m*n)
		}
		second := where[op.Inputs[0]]
		if len(op.Inputs) > 1 {
			second = where[op.Inputs[1]]
		}
		fmt.Fprintf(&b, "  { enum { M = %d, N = %d, K = %d }; const float *a = %s, *b = %s; float *r = %s; (void)b; %s }\n",
			m, n, k, where[op.Inputs[0]], second, where[op.Name], loop)
	}
	b.WriteString("}\n")
	return b.String(), nil
}

// library replaces oneDNN, which is not installed everywhere, and counts calls.
const library = `#include <stdint.h>
int products;
int dnnl_sgemm(char transa, char transb, int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda,
               const float *b, int64_t ldb, float beta, float *c, int64_t ldc) {
  if (transa != 'N' || transb != 'N' || alpha != 1 || beta != 0) return 1;
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
      float sum = 0;
      for (int64_t l = 0; l < k; l++) sum += a[i * lda + l] * b[l * ldb + j];
      c[i * ldc + j] = sum;
    }
  products++;
  return 0;
}
`

// register registers once what the tests need: the third-party kind, a generator for llvm, and a named composite with a
// strategy.
var register = sync.OnceValue(func() error {
	if err := dnnl.Register(); err != nil {
		return err
	}
	if err := target.SetAttr("llvm", dnnl.Column, dnnl.Generator(plainC)); err != nil {
		return err
	}
	_, err := target.RegisterKind("smallsoc", dlpack.CPU, target.Composite(), target.WithAttr(target.ColumnStrategy,
		func(g *target.Graph, t *target.Target) ([]target.Assignment, error) {
			var answer []target.Assignment
			for _, op := range g.Ops {
				a := target.Assignment{Op: op.Name, Member: 1, Reason: "it is no product"}
				if op.Kind == "matmul" {
					a.Member, a.Reason = 0, "the library is worth its call"
					if n := op.Attrs["m"].(int) * op.Attrs["n"].(int) * op.Attrs["k"].(int); n < 40 {
						a.Member, a.Reason = 1, "a call costs more than so small a product"
					}
				}
				answer = append(answer, a)
			}
			return answer, nil
		}))
	return err
})

// link writes the program: the code of every group, and a main function that calls the groups in order.
func link(t *testing.T, p *partition.Plan) (files map[string]string) {
	files = map[string]string{"library.c": library}
	var declared, buffers, calls strings.Builder
	known := map[string]int{}
	buffer := func(name string, size int) {
		known[name] = len(known)
		fmt.Fprintf(&buffers, "static float v%d[%d];\n", known[name], size)
	}
	for _, name := range p.Inputs {
		buffer(name, len(values(name)))
		for i, v := range values(name) {
			fmt.Fprintf(&calls, "  v%d[%d] = %v;\n", known[name], i, v)
		}
	}
	pointers := func(names []string) string {
		var all []string
		for _, name := range names {
			require.Contains(t, known, name, "a group runs before its inputs are computed")
			all = append(all, fmt.Sprintf("v%d", known[name]))
		}
		return strings.Join(all, ", ")
	}
	for n := range p.Groups {
		g := &p.Groups[n]
		generate, ok := target.Attr[dnnl.Generator](g.Target.Kind(), dnnl.Column)
		require.True(t, ok, "kind %s has a generator", g.Target.Kind())
		symbol := fmt.Sprintf("group%d", n)
		source := must.Get(generate(symbol, g))(t)
		files[symbol+".c"] = source
		inputs := pointers(g.Inputs)
		for _, op := range g.Ops {
			if m, n := op.Attrs["m"].(int), op.Attrs["n"].(int); strings.Contains(" "+strings.Join(g.Outputs, " ")+" ",
				" "+op.Name+" ") {
				buffer(op.Name, m*n)
			}
		}
		fmt.Fprintf(&declared, "void %s(const float *const *in, float *const *out);\n", symbol)
		fmt.Fprintf(&calls, "  %s((const float *[]){%s}, (float *[]){%s});\n", symbol, inputs, pointers(g.Outputs))
	}
	out := known[p.Outputs[0]]
	files["main.c"] = "#include <stdio.h>\nextern int products;\n" + declared.String() + buffers.String() +
		"int main(void) {\n" + calls.String() +
		fmt.Sprintf("  printf(\"%%d\", products);\n  for (int i = 0; i < %d; i++) printf(\" %%.9g\", v%d[i]);\n}\n",
			batch*classes, out)
	return files
}

// run compiles and runs a program, which prints the number of library calls, and the probabilities.
func run(t *testing.T, files map[string]string) (products int, p []float64) {
	dir := t.TempDir()
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	args := []string{"-std=gnu11", "-Wall", "-Werror", "-O1", "-o", filepath.Join(dir, "mlp")}
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		args = append(args, filepath.Join(dir, name))
	}
	words := strings.Fields(cc)
	out, err := exec.Command(words[0], append(append(words[1:], args...), "-lm")...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	out = must.Get(exec.Command(filepath.Join(dir, "mlp")).Output())(t)
	numbers := strings.Fields(string(out))
	must.Get(fmt.Sscan(numbers[0], &products))(t)
	for _, s := range numbers[1:] {
		var v float64
		must.Get(fmt.Sscan(s, &v))(t)
		p = append(p, v)
	}
	return products, p
}

// TestMLP divides the network with partitioners, and with the strategy of a named composite.
func TestMLP(t *testing.T) {
	require.NoError(t, register())
	for _, c := range []struct {
		soc      string
		groups   []string
		products int
	}{
		{`{"kind": "composite", "devices": ["dnnl", "llvm"]}`, []string{"dnnl dense1", "llvm biased active", "dnnl dense2",
			"llvm probability"}, 2},
		{`{"kind": "smallsoc", "targets": ["dnnl", "llvm"]}`, []string{"llvm dense1 biased active", "dnnl dense2",
			"llvm probability"}, 1},
		{`{"kind": "composite", "devices": ["llvm", "dnnl"]}`, []string{"llvm dense1 biased active dense2 probability"}, 0},
	} {
		soc := must.Get(target.New(c.soc))(t)
		p := must.Get(partition.New(mlp(), soc))(t)
		var got []string
		for _, g := range p.Groups {
			line := g.Target.Kind().Name()
			for _, op := range g.Ops {
				line += " " + op.Name
			}
			got = append(got, line)
		}
		require.Equal(t, c.groups, got)
		products, out := run(t, link(t, p))
		require.Equal(t, c.products, products, "calls of the library")
		require.InDeltaSlice(t, reference(), out, 1e-5)
	}
}

// TestDNNL_Refuses covers every reason for which the library does not accept a product.
func TestDNNL_Refuses(t *testing.T) {
	require.NoError(t, register())
	soc := must.Get(target.New(`{"kind": "composite", "devices": ["dnnl", "llvm"]}`))(t)
	for want, change := range map[string]func(op *target.Op){
		"the type is float64, and dnnl_sgemm is for float32":  func(op *target.Op) { op.Attrs["dtype"] = "float64" },
		"the type is <nil>, and dnnl_sgemm is for float32":    func(op *target.Op) { delete(op.Attrs, "dtype") },
		"the sizes are not known: want attributes m, n and k": func(op *target.Op) { op.Attrs["k"] = "any" },
		"a product of 2 matrices, not of 3":                   func(op *target.Op) { op.Inputs = append(op.Inputs, "b1") },
		"it only multiplies matrices":                         func(op *target.Op) { op.Kind = "conv2d" },
		"":                                                    func(*target.Op) {},
	} {
		g := mlp()
		change(&g.Ops[0])
		p := must.Get(partition.New(g, soc))(t)
		why, ok := p.Why("dense1")
		require.True(t, ok)
		if want == "" {
			require.Empty(t, why.Refused)
			require.Equal(t, "dnnl_sgemm multiplies 2×3 by 3×5", why.Reason)
			continue
		}
		require.Len(t, why.Refused, 1)
		require.Equal(t, want, why.Refused[0].Reason)
		generate, ok := target.Attr[dnnl.Generator](soc.Members()[0].Kind(), dnnl.Column)
		require.True(t, ok)
		_, err := generate("group0", &partition.Group{Ops: g.Ops[:1], Inputs: []string{"x", "w1", "b1"},
			Outputs: []string{"dense1"}})
		require.ErrorContains(t, err, want, "what the partitioner refuses, the generator does too")
	}
}
