//go:build cgo

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/arguments"
	"tvmgo/internal/testing/machine"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/wheelmodels"
	"tvmgo/weights"
)

const (
	relaxMLP = artifacts + "/modern/relax_mlp.so"
	graphMLP = artifacts + "/classic/graph_mlp.so"
)

// Both models of Apache TVM give the recorded results, by name and in order, with the function or without it.
func TestRunModel_Artifacts(t *testing.T) {
	machine.Need(t, multiC)
	dir := t.TempDir()
	relaxIn, relaxOut := artifacts+"/modern/relax_mlp_in0.npy", artifacts+"/modern/relax_mlp_out.npy"
	params := artifacts + "/modern/relax_mlp.params"
	x := must.Get(arguments.ReadNPY(relaxIn))(t)
	named := []weights.Array{{Name: "x", DType: x.DType, Shape: x.Shape, Data: x.Data}}
	for _, name := range []string{"in.npz", "in.safetensors"} {
		format := must.Get(weights.FormatOf(name))(t)
		require.NoError(t, weights.Write(filepath.Join(dir, name), format, named, nil))
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{relaxMLP, "--params", params, "--in", filepath.Join(dir, "in.npz"), "--out", "$"}, relaxOut},
		{[]string{relaxMLP, "--params", params, "--in", "x=" + filepath.Join(dir, "in.safetensors"), "--out", "$"}, relaxOut},
		{[]string{relaxMLP, "--params", params, "--in", "x=" + relaxIn, "--out", "$"}, relaxOut},
		{[]string{relaxMLP, "forward", "--params", params, "--in", relaxIn, "--out", "result=$"}, relaxOut},
		{[]string{relaxMLP, "--params", params, "--in", relaxIn, "--device", "cpu", "--out", "$"}, relaxOut},
		{[]string{relaxMLP, "--in", params, "--in", relaxIn, "--out", "$"}, relaxOut},
		{[]string{relaxMLP, "--params", params, "--in", "%0=" + relaxIn, "--out", "$"}, relaxOut}, // x, which has a name
	} {
		out := filepath.Join(dir, "y.npy")
		args := []string{"run"}
		for _, a := range c.args {
			args = append(args, strings.ReplaceAll(a, "$", out))
		}
		status, stdout, stderr := cli(args...)
		require.Zero(t, status, "%v: %s", args, stderr)
		require.Contains(t, stdout, " ran on cpu:0\nwrote "+out+": float32[4,10]\n")
		requireClose(t, floats(t, c.want), floats(t, out), strings.Join(args, " "))
		require.NoError(t, os.Remove(out))
	}
}

// Graph executors run in the same way; their results have names.
func TestRunModel_Graph(t *testing.T) {
	machine.Need(t, multiC)
	in, want := artifacts+"/classic/graph_mlp_in0.npy", artifacts+"/classic/graph_mlp_out.npy"
	out := filepath.Join(t.TempDir(), "y.npy")
	for _, args := range [][]string{
		{"--in", in, "--out", out},
		{"default", "--in", "data=" + in, "--out", "tvmgen_default_fused_nn_softmax=" + out, "--device", "cpu"},
	} {
		status, stdout, stderr := cli(append([]string{"run", graphMLP}, args...)...)
		require.Zero(t, status, "%v: %s", args, stderr)
		require.Equal(t, "default of "+graphMLP+" ran on cpu:0\nwrote "+out+": float32[4,10]\n", stdout)
		requireClose(t, floats(t, want), floats(t, out), strings.Join(args, " "))
		require.NoError(t, os.Remove(out))
	}
	status, stdout, stderr := cli("run", graphMLP, "--in", in)
	require.Zero(t, status, stderr)
	require.Contains(t, stdout, "\nresult (tvmgen_default_fused_nn_softmax): float32[4,10], min ")
	exits(t, []exit{
		{"run " + graphMLP + " main", 1, `the model has no function "main"; its functions are default`},
		{"run " + graphMLP + " --in dta=" + in, 1, `did you mean "data"?`},
		{"run " + graphMLP + " default --in " + in + " --out y.npy --like float32[4,10]", 1, "leave out --like"},
	})
}

// Without --out, results are described; an archive has all of them.
func TestRunModel_Results(t *testing.T) {
	machine.Need(t, multiC)
	in := []string{"--params", artifacts + "/modern/relax_mlp.params", "--in", artifacts + "/modern/relax_mlp_in0.npy"}
	status, stdout, stderr := cli(append([]string{"run", relaxMLP}, in...)...)
	require.Zero(t, status, stderr)
	require.Equal(t, "forward of "+relaxMLP+" ran on cpu:0\n"+
		"result: float32[4,10], min 0.0106486, max 0.288336, mean 0.1: "+
		"0.220081, 0.0146762, 0.18986, 0.0254624, 0.0589033, 0.113028, …\n", stdout)
	for _, name := range []string{"y.npz", "y.safetensors", "y.params"} {
		out := filepath.Join(t.TempDir(), name)
		status, stdout, stderr := cli(append([]string{"run", relaxMLP, "--out", out}, in...)...)
		require.Zero(t, status, stderr)
		require.Contains(t, stdout, "wrote "+out+": 1 result\n")
		set := must.Get(weights.Open(out))(t)
		require.Equal(t, []int64{4, 10}, must.Get(set.Lookup("result"))(t).Shape)
		require.NoError(t, set.Close())
	}
	status, stdout, stderr = cli(append([]string{"run", relaxMLP, "--repeat", "20"}, in...)...)
	require.Zero(t, status, stderr)
	require.Regexp(t,
		`\ntime of a call: median [0-9.]+ .*\nmeasured by the wall clock: 20 samples of \d+ calls?\n$`, stdout)
}

// Each mistake is one line that says what the function expects.
func TestRunModel_BadInput(t *testing.T) {
	machine.Need(t, multiC)
	in, params := artifacts+"/modern/relax_mlp_in0.npy", artifacts+"/modern/relax_mlp.params"
	dir := t.TempDir()
	array := func(name string, dtype dlpack.DataType, shape ...int64) string {
		size := must.Get(dlpack.DataSize(shape, dtype))(t)
		path := filepath.Join(dir, name)
		a := weights.Array{DType: dtype, Shape: shape, Data: make([]byte, size)}
		require.NoError(t, weights.Write(path, weights.NPY, []weights.Array{a}, nil))
		return path
	}
	doubles, wide := array("double.npy", dlpack.Float64, 4, 16), array("wide.npy", dlpack.Float32, 4, 17)
	flat := array("flat.npy", dlpack.Float32, 16)
	surplus := filepath.Join(dir, "surplus.npz")
	require.NoError(t, weights.Write(surplus, weights.NPZ, []weights.Array{{Name: "fc1.weigth", DType: dlpack.Float32,
		Shape: []int64{32, 16}, Data: make([]byte, 2048)}}, nil))
	signature := "forward(x: float32[batch, 16], "
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"--in", "y=" + in}, []string{"forward of " + relaxMLP, `"y"`, signature}},
		{[]string{"--in", "fc1.bais=" + in}, []string{`did you mean "fc1.bias"?`}},
		{nil, []string{"x", signature}},
		{[]string{"--in", "i:3"}, []string{"x", "int", signature}},
		{[]string{"--in", "x=shape:4,16"}, []string{"x", "shape[4, 16]", signature}},
		{[]string{"--in", doubles}, []string{"float64[4, 16]", "dtype", signature}},
		{[]string{"--in", wide}, []string{"float32[4, 17]", "dimension 1 must be 16", signature}},
		{[]string{"--in", flat}, []string{"1 dimensions, not 2", signature}},
		{[]string{"--in", in, "--in", in}, []string{"--in " + in + ": forward takes no further input", signature}},
		{[]string{"--in", in, "--in", "x=" + in}, []string{"takes no further input"}},
		{[]string{"--in", "x=" + in, "--in", "x=" + doubles}, []string{"the input is given already, by --in x=" + in}},
		{[]string{"--in", "x=" + params}, []string{"the file has 4 arrays: leave out x="}},
		{[]string{"--in", "none.npy"}, []string{"read none.npy: no such file"}},
		{[]string{"--in", in, "--out", "1=y.npy"}, []string{`--out 1=y.npy: there is no result "1"`, "it has result"}},
		{[]string{"--in", in, "--out", "a.npy", "--out", "b.npy"}, []string{"--out b.npy: there is no result for it"}},
		{[]string{"--in", in, "--out", "none/y.npy"}, []string{"write none/y.npy: there is no such folder"}},
		{[]string{"--params", "none.npz"}, []string{"none.npz"}},
		{[]string{"--params", surplus}, []string{`did you mean "fc1.weight"?`}},
		{[]string{"--device", "cpu:7"}, []string{"--device cpu:7: there is no such device here"}},
	} {
		args := append([]string{"run", relaxMLP}, c.args...)
		if !strings.Contains(strings.Join(args, " "), "--params") {
			args = append(args, "--params", params)
		}
		status, stdout, stderr := cli(args...)
		require.Equal(t, 1, status, "%v: %s", c.args, stderr)
		require.Empty(t, stdout)
		require.Equal(t, 1, strings.Count(stderr, "\n"), "%v: %s", c.args, stderr)
		for _, want := range c.want {
			require.Contains(t, stderr, want, "%v", c.args)
		}
	}
	exits(t, []exit{
		{"run " + relaxMLP + " fward", 1,
			`the model has no function "fward"; did you mean "forward"?; its functions are forward`},
		{"run " + relaxMLP + " forward --out y.npy --like float32[4,10]", 1,
			"forward of " + relaxMLP + " is a function of a model, which makes its results: leave out --like"},
		{"run " + relaxMLP + " transpose --params " + params, 1, "transpose of " + relaxMLP +
			" is no function of a model: --params " + params + ": only models have parameters"},
		{"run " + artifacts + "/modern/multi_c.so", 1,
			"is no model: name the function to call: addone, matmul, softmax, vadd"},
		{"run " + artifacts + "/modern/multi_c.so vadd --in x=" + in, 1, "only inputs of models have names: leave out x="},
	})
	require.NoFileExists(t, "a.npy")
	// The kernels in the library of a model are called like those of any library.
	out := filepath.Join(dir, "t.npy")
	status, stdout, stderr := cli("run", relaxMLP, "relu", "--in", array("r.npy", dlpack.Float32, 1, 32), "--out", out,
		"--like", "float32[1,32]")
	require.Zero(t, status, stderr)
	require.Contains(t, stdout, "relu of "+relaxMLP+" ran on cpu:0")
}

// Every kind of value is passed and returned as Apache TVM's machine has it: tuples, shapes, numbers, strings, booleans
// and all types of elements.
func TestRunModel_EveryKindOfValue(t *testing.T) {
	programs := map[string]int{}
	for _, m := range wheelmodels.Need(t) {
		if m.Way != "llvm" && m.Way != "builder" || len(m.Globals) > 0 || m.Program == "few_arguments" {
			continue
		}
		for i := range m.Cases {
			c := &m.Cases[i]
			dir := t.TempDir()
			flags := &runFlags{}
			ok := c.Error == ""
			f := functionOf(&m, c.Function)
			for k, v := range c.Inputs {
				ok = ok && flags.addValue(t, dir, parameterName(f, k), &v)
			}
			var want []wheelmodels.Value
			ok = ok && flatten(&want, c.Output)
			if !ok {
				continue
			}
			what := fmt.Sprintf("%s %s, case %d", m.Name, c.Function, i)
			programs[m.Program]++
			var text strings.Builder
			require.NoError(t, flags.run(context.Background(), m.Path, c.Function, &text), what)
			lines := strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
			require.Len(t, lines, 1+len(want), "%s: %s", what, text.String())
			for k := range want {
				require.Contains(t, lines[1+k], resultText(&want[k]), "%s, result %d", what, k)
			}
		}
	}
	require.Greater(t, len(programs), 25, "%v", programs)
	for _, p := range []string{"tuples", "shapes", "type_bool", "type_float16", "strings", "heap"} {
		require.NotZero(t, programs[p], p)
	}
}

func functionOf(m *wheelmodels.Model, name string) *wheelmodels.Function {
	for i := range m.Functions {
		if m.Functions[i].Name == name {
			return &m.Functions[i]
		}
	}
	return nil
}

func parameterName(f *wheelmodels.Function, i int) string {
	if f.Parameters[i] == "" {
		return "%" + strconv.Itoa(i)
	}
	return f.Parameters[i]
}

// addValue adds an input by its name; false if the command line has no form for it.
func (f *runFlags) addValue(t *testing.T, dir, name string, v *wheelmodels.Value) bool {
	add := func(text string) bool {
		f.in = append(f.in, name+"="+text)
		return true
	}
	switch {
	case v.Tensor != nil:
		path := filepath.Join(dir, fmt.Sprintf("%d.npy", len(f.in)))
		a := weights.Array{DType: v.Tensor.DType, Shape: v.Tensor.Shape, Data: v.Tensor.Data}
		if weights.Write(path, weights.NPY, []weights.Array{a}, nil) != nil {
			return false
		}
		return add(path)
	case len(v.Tuple) > 0:
		for i := range v.Tuple {
			if !f.addValue(t, dir, fmt.Sprintf("%s.%d", name, i), &v.Tuple[i]) {
				return false
			}
		}
		return true
	case v.Shape != nil:
		return add("shape:" + strings.Trim(strings.ReplaceAll(fmt.Sprint(v.Shape), " ", ","), "[]"))
	case v.Int != nil:
		return add(fmt.Sprintf("i:%d", *v.Int))
	case v.Float != nil:
		return add("f:" + strconv.FormatFloat(*v.Float, 'g', -1, 64))
	case v.Bool != nil:
		return add(fmt.Sprintf("b:%t", *v.Bool))
	case v.String != nil:
		return add("s:" + *v.String)
	}
	return false
}

// flatten lists the results that are no tuples; false if one of them has no form in the output.
func flatten(list *[]wheelmodels.Value, v wheelmodels.Value) bool {
	if v.Tuple == nil {
		*list = append(*list, v)
		return v.DType == nil && v.Object == ""
	}
	for i := range v.Tuple {
		if !flatten(list, v.Tuple[i]) {
			return false
		}
	}
	return true
}

// resultText is a part of the line of a result.
func resultText(v *wheelmodels.Value) string {
	switch {
	case v.Tensor != nil:
		text := ": " + arguments.TypeText(v.Tensor.DType, v.Tensor.Shape)
		if v.Tensor.DType.Code != dlpack.CodeFloat { // floats differ in their last digits
			if s := arguments.Summary(v.Tensor.DType, v.Tensor.Data); s != "" {
				text += ", " + s
			}
		}
		return text
	case v.Shape != nil:
		return ": shape " + strings.ReplaceAll(fmt.Sprint(v.Shape), " ", ",")
	case v.Int != nil:
		return fmt.Sprintf(": %d", *v.Int)
	case v.Float != nil:
		return ": " + strconv.FormatFloat(*v.Float, 'g', -1, 64)
	case v.Bool != nil:
		return fmt.Sprintf(": %t", *v.Bool)
	case v.String != nil:
		return ": " + strconv.Quote(*v.String)
	}
	return ": None"
}

// Results of several files: in order, by the numbers of fields, and the rest in text.
func TestRunModel_Tuples(t *testing.T) {
	var model *wheelmodels.Model
	for _, m := range wheelmodels.Need(t) {
		if m.Program == "type_bool" && m.Way == "llvm" {
			model = &m
		}
	}
	c := model.Cases[1]
	require.Greater(t, len(c.Output.Tuple), 2)
	dir := t.TempDir()
	flags := &runFlags{}
	for i, v := range c.Inputs {
		require.True(t, flags.addValue(t, dir, parameterName(functionOf(model, c.Function), i), &v))
	}
	a, b := filepath.Join(dir, "first.npy"), filepath.Join(dir, "second.npy")
	flags.out = []string{"1=" + b, a}
	var text strings.Builder
	require.NoError(t, flags.run(context.Background(), model.Path, "", &text))
	for path, want := range map[string]wheelmodels.Value{a: c.Output.Tuple[0], b: c.Output.Tuple[1]} {
		got := must.Get(arguments.ReadNPY(path))(t)
		require.Equal(t, want.Tensor.DType, got.DType)
		require.Equal(t, want.Tensor.Shape, got.Shape)
		require.Equal(t, want.Tensor.Data, got.Data)
	}
	require.Contains(t, text.String(), "\nwrote "+b+": ")
	require.Contains(t, text.String(), "\nresult 2: ")
	require.NotContains(t, text.String(), "\nresult 1: ")

	flags.out = []string{filepath.Join(dir, "all.npz")}
	require.NoError(t, flags.run(context.Background(), model.Path, "main", &text))
	set := must.Get(weights.Open(flags.out[0]))(t)
	defer set.Close()
	for i := range c.Output.Tuple {
		require.Equal(t, c.Output.Tuple[i].Tensor.Data, must.Get(must.Get(set.Lookup(strconv.Itoa(i)))(t).Data())(t))
	}
}

// --profile records further calls: a trace with each of them, and a table of their operators.
func TestRunModel_Profile(t *testing.T) {
	machine.Need(t, multiC)
	in := []string{"--params", artifacts + "/modern/relax_mlp.params", "--in", artifacts + "/modern/relax_mlp_in0.npy"}
	trace := filepath.Join(t.TempDir(), "trace.json")
	for repeat, calls := range map[string]int{"0": 1, "3": 3} {
		args := append([]string{"run", relaxMLP, "--profile", trace, "--repeat", repeat}, in...)
		status, stdout, stderr := cli(args...)
		require.Zero(t, status, stderr)
		said := count(calls, "call")
		require.Contains(t, stdout, "wrote "+trace+": a trace of "+said+
			", for https://ui.perfetto.dev\noperators of "+said+":\n")
		require.Regexp(t, fmt.Sprintf(`(?m)^ *[0-9.]+ %% +[0-9.]+ .s +%d +\d+.* host +matmul *$`, calls), stdout)
		require.Regexp(t, `(?m)^ *100.0 % +[0-9.]+ .s +total *$`, stdout)
		require.Equal(t, repeat != "0", strings.Contains(stdout, "\ntime of a call: "))
		var file struct {
			TraceEvents []struct{ Ph, Name, Cat string }
		}
		require.NoError(t, json.Unmarshal(must.Get(os.ReadFile(trace))(t), &file))
		functions, kernels := 0, 0
		for _, e := range file.TraceEvents {
			if e.Ph == "X" && e.Cat == "function" && e.Name == "forward" {
				functions++
			}
			if e.Ph == "X" && e.Cat == "instruction" && e.Name == "matmul" {
				kernels++
			}
		}
		require.Equal(t, calls, functions)
		require.Equal(t, calls, kernels)
	}
	exits(t, []exit{
		{"run " + relaxMLP + " relu --profile t.json", 1, "--profile t.json: only calls of models are recorded"},
		{"run " + relaxMLP + " --profile none/t.json", 1, "write none/t.json: there is no such folder: create it"},
		{"run a f --out x.npy --like int8[1] --profile t.json", 2, "--profile t.json: only calls of models are recorded"},
	})
}
