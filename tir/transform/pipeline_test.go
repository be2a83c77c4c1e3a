package transform_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/text"
	"tvmgo/tir/transform"
)

// small is a language for which every pass of ForDevice runs.
var small = transform.Language{Name: "Small C", Lanes: []int{2, 4}, Elements: []tir.Type{tir.Float32, tir.Int32,
	tir.Int64},
	Scopes: []string{"global", "local", "shared"}}

// pipelines returns all pipelines; "kernels" has the passes for kernels, which run on all functions here.
func pipelines() map[string]transform.Pipeline {
	all := map[string]transform.Pipeline{"every": transform.ForEvery(), "host": transform.ForHost(),
		"device": transform.ForDevice(small)}
	for _, s := range all["device"] {
		if s.Kernels {
			s.Kernels = false
			all["kernels"] = append(all["kernels"], s)
		}
	}
	return all
}

// passes returns the passes of all pipelines, by name.
func passes() map[string]transform.Step {
	all := map[string]transform.Step{}
	for _, p := range pipelines() {
		for _, s := range p {
			s.Kernels = false
			all[s.Name] = s
		}
	}
	return all
}

// The document lists the passes of the host and device pipelines in order.
func TestPipelines_AreDocumented(t *testing.T) {
	text := must.Get(os.ReadFile("../../docs/tensor-expressions.md"))(t)
	lines := strings.Join(strings.Fields(string(text)), " ")
	for name, p := range map[string]transform.Pipeline{"ForEvery()": transform.ForEvery(),
		"ForHost()": transform.ForHost(), "ForDevice(language)": transform.ForDevice(small)} {
		require.True(t, strings.Contains(lines, "`transform."+name+"`: "+strings.Join(p.Names(), ", ")+"."),
			"docs/tensor-expressions.md: want `transform.%s`: %s.", name, strings.Join(p.Names(), ", "))
	}
}

// Each exported pass is in a pipeline, so that the tests which run all passes run it, and in the table of passes in
// docs/tensor-expressions.md.
func TestPipelines_HaveEveryPass(t *testing.T) {
	run := map[string]bool{}
	for name, s := range passes() {
		for _, part := range strings.Split(runtime.FuncForPC(reflect.ValueOf(s.Pass).Pointer()).Name(), ".") {
			run[part] = true // for a pass made by a function: that function, among others
		}
		_, err := s.Pass(nil, nil)
		require.EqualError(t, err, name+": the module is nil", "the name of the step is that of the pass's errors")
	}
	source := must.Get(os.ReadFile("../../docs/tensor-expressions.md"))(t)
	files := must.Get(filepath.Glob("*.go"))(t)
	found := 0
	for _, file := range files {
		parsed := must.Get(parser.ParseFile(token.NewFileSet(), file, nil, 0))(t)
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !f.Name.IsExported() || !isPass(f.Type) {
				continue
			}
			found++
			require.True(t, run[f.Name.Name], "pass %s is in no pipeline of pipeline.go", f.Name)
			require.True(t, strings.Contains(string(source), "`"+f.Name.Name+"`"),
				"docs/tensor-expressions.md does not list pass %s", f.Name)
		}
	}
	require.Equal(t, len(passes())-1, found, "all except Simplify are in this package")
}

// isPass reports whether a function is a pass, or returns one.
func isPass(f *ast.FuncType) bool {
	if f.Results == nil {
		return false
	}
	if id, ok := f.Results.List[0].Type.(*ast.Ident); ok && id.Name == "Pass" {
		return true
	}
	names := ""
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			names += s.Sel.Name + " "
		}
		return true
	})
	return strings.HasPrefix(names, "IRModule Target IRModule ") && len(f.Results.List) == 2
}

// No pass precedes one that it has to follow, and CheckOrder reports such an order.
func TestPipelines_Order(t *testing.T) {
	known := passes()
	for name, p := range pipelines() {
		require.NoError(t, p.CheckOrder(), name)
		for _, s := range p {
			for _, after := range s.After {
				require.Contains(t, known, after, "%s follows an unknown pass", s.Name)
			}
		}
	}
	for _, swap := range [][2]string{{"thread sync", "split host and device"}, {"reuse storage", "verify limits"},
		{"vectorize", "split vectors"},
		{"legalize types", "thread sync"}, {"verify memory", "legalize types"}} {
		p := transform.ForDevice(small)
		i, j := slices.Index(p.Names(), swap[0]), slices.Index(p.Names(), swap[1])
		p[i], p[j] = p[j], p[i]
		require.ErrorContains(t, p.CheckOrder(), "it has to follow it", swap)
	}
	late := small
	late.Last = []transform.Step{{Name: "mine", Pass: transform.Unroll, After: []string{"verify language"}}}
	require.EqualError(t, transform.ForDevice(late).CheckOrder(),
		`pass "mine" runs before pass "verify language": it has to follow it`)
	late.Last = []transform.Step{{Name: "mine"}}
	require.ErrorContains(t, transform.ForDevice(late).CheckOrder(), `("mine") needs a name and a function`)
}

// Passes reject malformed programs with an error, and do not panic. They leave a program unchanged if there is nothing
// to do.
func TestPasses_Garbage(t *testing.T) {
	garbage := func(s tir.Stmt) *tir.IRModule { return &tir.IRModule{Funcs: []*tir.PrimFunc{{Name: "f", Body: s}}} }
	nothing := &tir.Evaluate{Value: tir.I32(0)}
	for name, s := range passes() {
		for _, to := range []*target.Target{nil, targetFor(t, "opencl"), targetFor(t, "c"),
			targetFor(t, "opencl -bounds-check")} {
			for _, m := range []*tir.IRModule{{Funcs: []*tir.PrimFunc{nil}}, garbage(nil)} {
				require.EqualError(t, must.Fail(s.Pass(m, to)),
					name+": function 0 of the module is nil or has no body: check it with tir.Check")
			}
			for _, bad := range []tir.Stmt{&tir.Alloc{Body: nothing}, &tir.BufferStore{}, &tir.For{}, &tir.Evaluate{},
				&tir.Evaluate{Value: &tir.BufferLoad{}},
				&tir.AttrStmt{Key: tir.AttrView}, &tir.AttrStmt{}, &tir.If{}, &tir.While{}, &tir.LetStmt{},
				&tir.Assert{}, &tir.Evaluate{Value: &tir.Call{}},
				&tir.Alloc{Buffer: &tir.Buffer{}, Body: nothing}, &tir.Evaluate{Value: &tir.Cast{}},
				&tir.Evaluate{Value: &tir.Binary{}}} {
				require.NotPanics(t, func() { _, _ = s.Pass(garbage(bad), to) }, "%s of %T", name, bad)
			}
		}
		same := function(t, "for i in range(8) {\n  A[i] = B[i]\n}")
		m := must.Get(s.Pass(same, nil))(t)
		require.True(t, m == same || name == "simplify" || name == "flatten storage" ||
			name == "split host and device", "%s: nothing to do", name)
		require.Same(t, same.Funcs[0], m.Funcs[0], "%s: nothing to do", name)
	}
}

// Kernels that use a feature that a language lacks are rejected; all others are accepted.
func TestVerifyLanguage(t *testing.T) {
	language := transform.Language{Name: "Tiny C", Types: []tir.Type{tir.Int32, tir.Float32, tir.Bool},
		Scopes: []string{"global", "shared"},
		Lacks:  map[string]string{"erf": "use tanh"}}
	for body, want := range map[string]string{
		"A[0] = exp(B[0]) + 1.0": "",
		"A[0] = tanh(B[0])\nalloc S: int32[4], scope \"shared\"\nS[0] = n": "",
		"A[0] = erf(B[0])": "verify language: function f: at body.value: intrinsic erf: use tanh",
		"alloc S: float32[4], scope \"local\"\nS[0] = 1.0": "at body.alloc(S): buffer S in scope \"local\": " +
			"Tiny C has the scopes \"global\", \"shared\"",
		"alloc S: float64[4], scope \"shared\"\nS[0] = float64(1.0)": "at body.alloc(S): Tiny C has no type float64: it " +
			"has int32, float32, bool",
		"A[cast(int64, n)] = 1.0":                           "Tiny C has no type int64",
		"if n > 3 { A[0] = cast(float32, cast(int16, n)) }": "Tiny C has no type int16",
	} {
		m, err := text.Parse("func f(a: handle, b: handle, n: int32) {\nbuffer A: float32[8], param a\nbuffer B: " +
			"float32[8], param b\n" + body + "\n}")
		require.NoError(t, err, body)
		got, err := transform.VerifyLanguage(language)(m, nil)
		if want == "" {
			require.NoError(t, err, body)
			require.True(t, m == got)
			continue
		}
		require.ErrorContains(t, err, want, body)
	}
	for source, want := range map[string]string{
		"func f(a: int64) { intrin ret_none() }": "parameter a: Tiny " +
			"C has no type int64",
		"func f(a: handle) {\nbuffer A: float32[8], scope \"texture\", param a\nintrin " +
			"ret_none()\n}": `parameter a: buffer A in scope "texture"`,
	} {
		m := must.Get(text.Parse(source))(t)
		require.ErrorContains(t, must.Fail(transform.VerifyLanguage(language)(m, nil)), want)
	}
}

// Stores of vectors become stores of vectors that the language has, or of scalars if none fits.
func TestSplitVectors(t *testing.T) {
	for lanes, want := range map[int][]int{2: {2}, 3: {2, 1}, 4: {4}, 5: {4, 1}, 7: {4, 2, 1}, 8: {4, 4}} {
		for typ, split := range map[string]bool{"float32": true, "int8": false} {
			m := must.Get(text.Parse(fmt.Sprintf(`func f(a: handle, b: handle) {
  buffer A: %[1]s[64], param a
  buffer B: %[1]s[64], param b
  A[ramp(3, 2, %[2]d)] = B[ramp(0, 1, %[2]d)] + broadcast(cast(%[1]s, 2), %[2]d)
}`, typ, lanes)))(t)
			m = must.Get(transform.SplitVectors(small)(m, nil))(t)
			require.NoError(t, tir.Check(m), text.Print(m))
			var got []int
			tir.Walk(m, func(node any) bool {
				if s, ok := node.(*tir.BufferStore); ok {
					got = append(got, int(s.Value.DType().Lanes))
				}
				return true
			})
			if split {
				require.ElementsMatch(t, want, got, "%d lanes of %s", lanes, typ)
			} else {
				require.Equal(t, []int{lanes}, got, "%d lanes of %s", lanes, typ)
			}
		}
	}
}

// The host's pipeline leaves types that C has, and memory that allocations share.
func TestForHost_LegalizesAndReusesStorage(t *testing.T) {
	m := read(t, `func f(a: handle, b: handle) {
  buffer A: int4[4096], param a
  buffer B: int32[4096], param b
  alloc S: int32[4096]
  for i in range(4096) { S[i] = cast(int32, A[i]) }
  for i in range(4096) { B[i] = S[4095 - i] }
  alloc R: int32[4096]
  for i in range(4096) { R[i] = B[i] * 2 }
  for i in range(4096) { B[i] = R[4095 - i] }
}`)
	m = must.Get(transform.ForHost().Run(m, targetFor(t, "c")))(t)
	allocs := 0
	tir.Walk(m, func(node any) bool {
		switch n := node.(type) {
		case *tir.Alloc:
			allocs++
		case tir.Expr:
			require.True(t, transform.IsLegal(n.DType()), "%s", n.DType())
		}
		return true
	})
	require.Equal(t, 1, allocs, text.Print(m))
}
