//go:build cgo

package relax_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/graph"
	"tvmgo/graph/onnx"
	"tvmgo/graph/onnx/file"
	"tvmgo/graph/relax"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/testseed"
)

// module returns a module that the newest version has saved.
func module(t testing.TB, name string) string {
	modules, _ := saved(t)
	require.NotEmpty(t, modules["v0.27"][name])
	return modules["v0.27"][name]
}

func load(t testing.TB, text string, o relax.Options) *relax.Model {
	t.Helper()
	require.True(t, relax.IsModule([]byte(text)))
	return must.Get(relax.Import([]byte(text), o))(t)
}

// All calls without a rule are reported at once, with their places.
func TestImport_Unsupported(t *testing.T) {
	text := strings.NewReplacer(`"relax.nn.relu"`, `"relax.nn.magic"`, `"relax.nn.softmax"`, `"relax.call_dps_packed"`).
		Replace(module(t, "mlp"))
	var e *relax.UnsupportedError
	require.ErrorAs(t, must.Fail(relax.Import([]byte(text), relax.Options{})), &e)
	require.Equal(t, []relax.UnsupportedCall{
		{Function: "main", Binding: "lv2", Op: "operator relax.nn.magic"},
		{Function: "main", Binding: "lv5", Op: "operator relax.nn.magic"},
		{Function: "main", Binding: "lv8", Op: "operator relax.call_dps_packed"}}, e.Calls)
	require.EqualError(t, e, "these calls are not supported: function main, lv2: operator relax.nn.magic; function main, "+
		"lv5: operator relax.nn.magic; function main, lv8: operator relax.call_dps_packed")
}

// Options replace sizes and types of parameters, and give some values.
func TestImport_Options(t *testing.T) {
	text := module(t, "mlp")
	f := load(t, text, relax.Options{Dims: map[string]graph.Range{"n": graph.Exactly(3)}}).Functions[0]
	require.Equal(t, "p0: float32[3, 8]", f.Params[0].String())
	require.Equal(t, "[3, 4]", strings.TrimPrefix(f.Results[0].String(), f.Results[0].Name+": float32"))
	f = load(t, text, relax.Options{Dims: map[string]graph.Range{"n": {Min: 1, Max: 8}}}).Functions[0]
	require.Contains(t, f.String(), "func main(p0: float32[n, 8]) where n in 1..8 {")
	f = load(t, text, relax.Options{Inputs: map[string]onnx.Input{"p0": {Dims: []onnx.Dim{{Name: "rows"}, {Size: 8}}}}}).
		Functions[0]
	require.Equal(t, "p0: float32[rows, 8]", f.Params[0].String())

	two := &file.Tensor{DataType: file.Int64, Dims: []int64{2},
		RawData: []byte{12, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}}
	f = load(t, module(t, "tensor_to_shape"), relax.Options{Constants: map[string]*file.Tensor{"p1": two}}).Functions[0]
	require.Len(t, f.Params, 1)
	require.Contains(t, f.Results[0].String(), "float32[12, 1]")

	m := load(t, strings.ReplaceAll(text, `"global_symbol"`, `"other"`), relax.Options{Parameters: true})
	require.Equal(t, "main", m.Functions[0].Name)
	require.Empty(t, m.Weights, "constants of up to 256 elements stay")
	m = load(t, module(t, "convnet"), relax.Options{Parameters: true})
	require.Len(t, m.Weights, 1)
	require.Equal(t, "weight0", m.Weights[0].Name)
	require.Equal(t, "weight0: float32[8, 8, 3, 3]", m.Functions[0].Params[1].String())
	require.Nil(t, m.Functions[0].Params[1].Const)
}

func TestImport_Errors(t *testing.T) {
	mlp, unknown, none := module(t, "mlp"), module(t, "match_cast"), relax.Options{}
	rows := map[string]onnx.Input{"p0": {Dims: []onnx.Dim{{Size: 2}, {Size: 9}}}}
	for _, c := range []struct {
		text string
		o    relax.Options
		want []string
	}{
		{mlp, relax.Options{Dims: map[string]graph.Range{"m": graph.Exactly(3)}}, []string{`no dimension "m"`, "it has n"}},
		{mlp, relax.Options{Dims: map[string]graph.Range{"n": graph.Exactly(-1)}}, []string{"is -1"}},
		{mlp, relax.Options{Inputs: map[string]onnx.Input{"x": {}}}, []string{`no input "x"`, "it has p0"}},
		{mlp, relax.Options{Inputs: rows}, []string{"function main", "dimension 1 is declared as 8, and is 9"}},
		{unknown, relax.Options{Dims: map[string]graph.Range{"k": graph.Exactly(3)}},
			[]string{"gv1", "declared as 2, and is 3"}},
		{strings.ReplaceAll(mlp, `"ir.Op"`, `"ir.Odd"`), none, []string{"ir.Odd"}},
		{strings.ReplaceAll(mlp, `"relax.nn.softmax"`, `"relax.nn.conv2d"`), none,
			[]string{"function main, lv8: read TVM's JSON", "data_layout"}},
		{strings.ReplaceAll(mlp, `"relax.nn.softmax"`, `"relax.matmul"`), none, []string{"lv8: 1 arguments are given"}},
		{strings.ReplaceAll(mlp, `"relax.nn.relu"`, `"relax.nn.leakyrelu"`), none, []string{"lv2", "the attributes"}},
		{strings.ReplaceAll(mlp, `"relax.nn.relu"`, `"relax.add"`), none,
			[]string{"function main, lv2: 1 arguments are given: want at least 2"}},
		{strings.ReplaceAll(module(t, "reshape"), `"data":6}`, `"data":7}`), none,
			[]string{"function main, gv: operator reshape: the operand has 28 elements, and the shape"}},
		{module(t, "kernels")[:9000], none, []string{"import Relax module"}},
		{"{}", none, []string{"import Relax module"}},
		{"", none, []string{"import Relax module"}},
	} {
		_, err := relax.Import([]byte(c.text), c.o)
		require.Error(t, err, c.want)
		for _, w := range c.want {
			require.ErrorContains(t, err, w)
		}
	}
	require.False(t, relax.IsModule([]byte(`{"a": 1}`)))
}

// Private functions are inlined, each time with other sizes; one that calls itself is an error.
func TestImport_Calls(t *testing.T) {
	m := load(t, module(t, "calls"), relax.Options{})
	require.Len(t, m.Functions, 1)
	require.Contains(t, m.Functions[0].String(), "gv: float32[n, n] = matmul")
	require.Contains(t, m.Functions[0].String(), ": float32[n * 2, n * 2] = matmul")
	_, err := relax.Import([]byte(recursive), relax.Options{})
	require.ErrorContains(t, err, "function f: expressions and calls of functions are more than 200 levels deep")
	require.Contains(t, load(t, absolute, relax.Options{}).Functions[0].String(), ": float32[3] = abs(x)")
}

// recursive is a function f without parameters that calls itself; absolute one with a parameter x of three elements.
const (
	recursive = `{"root_index":7,"nodes":[{"type":"None"},{"type":"ffi.Array","data":[]},
{"type":"ffi.String","data":"f"},{"type":"ir.GlobalVar","data":{"name_hint":2}},
{"type":"relax.expr.SeqExpr","data":{"blocks":1,"body":5}},{"type":"ir.Call","data":{"op":3,"args":1}},
{"type":"ffi.Map","data":[3,8]},{"type":"ir.IRModule","data":{"functions":6}},
{"type":"relax.expr.Function","data":{"params":1,"body":4,"is_pure":true}}]}`
	absolute = `{"root_index":7,"nodes":[{"type":"None"},{"type":"ffi.Array","data":[]},
{"type":"ffi.String","data":"f"},{"type":"ir.GlobalVar","data":{"name_hint":2}},
{"type":"relax.expr.SeqExpr","data":{"blocks":1,"body":5}},{"type":"ir.Call","data":{"op":9,"args":10}},
{"type":"ffi.Map","data":[3,8]},{"type":"ir.IRModule","data":{"functions":6}},
{"type":"relax.expr.Function","data":{"params":10,"body":4,"is_pure":true}},
{"type":"ir.Op","data":"relax.abs"},{"type":"ffi.Array","data":[11]},
{"type":"relax.expr.Var","data":{"name":12,"ty":13}},{"type":"ffi.String","data":"x"},
{"type":"relax.TensorType","data":{"shape":14,"ndim":1,"dtype":"float32"}},
{"type":"relax.expr.ShapeExpr","data":{"values":15}},{"type":"ffi.Array","data":[16]},
{"type":"ir.IntImm","data":{"dtype":"int64","value":3}}]}`
)

// changes returns texts that differ from a module in a few places.
func changes(r *rand.Rand, text string, n int) []string {
	var out []string
	words := []string{"0", "1", "-1", "3", "99999999999", "null", "[]", "{}", `""`, `"float64"`, `"relax.add"`, "true"}
	tokens := strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(",:[]{}", c) })
	for range n {
		old := tokens[r.IntN(len(tokens))]
		word := words[r.IntN(len(words))]
		if r.IntN(2) == 0 {
			word = tokens[r.IntN(len(tokens))]
		}
		at := strings.Index(text, old)
		for range r.IntN(20) {
			if next := strings.Index(text[at+1:], old); next >= 0 {
				at += 1 + next
			}
		}
		out = append(out, text[:at]+word+text[at+len(old):])
	}
	return out
}

// Modules with wrong nodes, types and sizes are errors, or models: they never end the process.
func TestImport_Changed(t *testing.T) {
	modules, _ := saved(t)
	r := testseed.Rand(t)
	failed, read := 0, 0
	for _, version := range []string{"v0.17", "v0.25", "v0.27"} {
		for _, name := range []string{"match_cast", "calls", "if_true", "kernels", "parameters", "attention_bottom",
			"conv2d_nhwc", "split_indices", "strided_slice", "resize2d_nhwc", "topk", "batch_norm", "group_norm", "repeat"} {
			for _, text := range changes(r, modules[version][name], 40) {
				if m, err := relax.Import([]byte(text), relax.Options{}); err != nil {
					failed++
				} else {
					read++
					require.NotEmpty(t, m.Functions)
				}
			}
		}
	}
	require.Greater(t, failed, 200)
	require.Greater(t, read, 100)
}

func FuzzImport(f *testing.F) {
	f.Add([]byte(recursive)) // short ones: the fuzzer would spend its time on making saved files shorter
	f.Add([]byte(absolute))
	f.Fuzz(func(_ *testing.T, text []byte) { _, _ = relax.Import(text, relax.Options{}) })
}
