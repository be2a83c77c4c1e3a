//go:build cgo

package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/arguments"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/weights"
)

func given(t *testing.T, texts ...string) (list []arguments.Input) {
	for _, text := range texts {
		list = append(list, must.Get(arguments.ParseInput(text))(t))
	}
	return list
}

// Inputs are named, or fill the parameters that are left in their order; fields of tuples have numbers.
func TestInputReader(t *testing.T) {
	named := runtime.FunctionInfo{Name: "f", Params: []runtime.ValueInfo{{Name: "x"}, {Name: "w", Bound: true},
		{Name: "state"}, {Name: "state.1"}, {Name: "n"}}}
	unnamed := runtime.FunctionInfo{Name: "g", Params: []runtime.ValueInfo{{Name: "x"}, {}, {Bound: true}, {}}}
	two := []any{int64(5), []any{int64(6)}}
	for _, c := range []struct {
		info runtime.FunctionInfo
		in   []string
		want runtime.Inputs
	}{
		{named, []string{"i:1", "i:2", "i:3", "i:4"},
			runtime.Named{"x": int64(1), "state": int64(2), "state.1": int64(3), "n": int64(4)}},
		{named, []string{"n=i:4", "i:1", "state.0=i:5", "state.1=i:3"},
			runtime.Named{"x": int64(1), "state": []any{int64(5)}, "state.1": int64(3), "n": int64(4)}},
		{named, []string{"n.1.0=i:6", "n.0=i:5"}, runtime.Named{"n": two}},
		{named, []string{"w=i:1", "%5=i:2", "%01=i:2", "y=i:3", "y.1=i:4"},
			runtime.Named{"w": int64(1), "%5": int64(2), "%01": int64(2), "y": int64(3), "y.1": int64(4)}},
		{named, []string{"%4.0=i:5", "%4.1.0=i:6"}, runtime.Named{"n": two}},
		{named, []string{"x=shape:2,3"}, runtime.Named{"x": runtime.Shape{2, 3}}},
		{unnamed, []string{"%3=s:c", "i:1", "b:true"}, runtime.Ordered{int64(1), true, "c"}},
		{unnamed, []string{"%1.0=i:5", "%1.1.0=i:6", "x=i:1", "f:0.5"}, runtime.Ordered{int64(1), two, 0.5}},
	} {
		r := &inputReader{info: c.info}
		require.Equal(t, c.want, must.Get(r.read(given(t, c.in...)))(t), "%v", c.in)
		r.close()
	}
	for _, c := range []struct {
		info runtime.FunctionInfo
		in   []string
		want string
	}{
		{named, []string{"i:1", "i:2", "i:3", "i:4", "i:5"}, "--in i:5: f takes no further input: f("},
		{named, []string{"n.1=i:1"}, "--in n.1=i:1: field 0 of the tuple is missing"},
		{named, []string{"n.0=i:1", "n.2=i:1"}, "--in n.0=i:1: field 1 of the tuple is missing"},
		{named, []string{"n=i:1", "n.0=i:2"}, "--in n.0=i:2: the input is given already, by --in n=i:1"},
		{named, []string{"n.0=i:1", "n=i:2"}, "--in n=i:2: the input is given already, by --in n.0=i:1"},
		{named, []string{"w=i:1", "%1=i:2"}, "--in %1=i:2: the input is given already, by --in w=i:1"},
		{unnamed, []string{"i:1", "i:2"}, "--in: g gets no value for parameter 3: g("},
		{unnamed, []string{"i:1", "i:2", "i:3", "y=i:4"}, "--in y=: g has no parameter of this name: g("},
		{unnamed, []string{"%4=i:4", "i:1", "i:2", "i:3"}, "--in %4=: g has no parameter of this name: g("},
	} {
		r := &inputReader{info: c.info}
		require.ErrorContains(t, must.Fail(r.read(given(t, c.in...))), c.want, "%v", c.in)
		r.close()
	}
}

// Results go to files in their order, or by their names.
func TestAssign(t *testing.T) {
	leaves := []leaf{{name: "0", title: "logits"}, {name: "1.0"}, {name: "1.1"}}
	outputs := func(texts ...string) []modelOutput {
		return must.Get((&runFlags{out: texts}).modelOutputs())(t)
	}
	for _, c := range []struct {
		out  []string
		want []int
	}{
		{nil, []int{}},
		{[]string{"a.npy", "b.npy"}, []int{0, 1}},
		{[]string{"1.0=a.npy", "b.npy", "c.npy"}, []int{1, 0, 2}},
		{[]string{"logits=a.npy", "b.npy"}, []int{0, 1}},
		{[]string{"a.npz"}, []int{everything}},
	} {
		require.Equal(t, c.want, must.Get(assign(outputs(c.out...), leaves))(t), "%v", c.out)
	}
	for _, c := range []struct {
		out  []string
		want string
	}{
		{[]string{"logit=a.npy"},
			`--out logit=a.npy: there is no result "logit"; did you mean "logits"?: it has 0 (logits), 1.0, 1.1`},
		{[]string{"logits=a.npy", "0=b.npy"}, "--out 0=b.npy: this result has another file already"},
		{[]string{"a.npy", "b.npy", "c.npy", "d.npy"},
			"--out d.npy: there is no result for it: the function has 3 results"},
	} {
		require.EqualError(t, must.Fail(assign(outputs(c.out...), leaves)), c.want)
	}
}

// What a file cannot hold is an error that names a format which can.
func TestModelOutput_Write(t *testing.T) {
	var half, text leaf
	half = leaf{name: "0", array: &arguments.Array{DType: dlpack.BFloat16, Shape: []int64{1}, Data: []byte{0x80, 0x3f}}}
	require.NoError(t, text.set("a"))
	text.name = "1"
	var file bytes.Buffer
	npy, all := &modelOutput{path: "a.npy"}, &modelOutput{path: "a.safetensors", all: weights.Safetensors}
	require.EqualError(t, npy.write(&file, []leaf{half}, 0),
		"a .npy file cannot hold bfloat16: write all results to a .safetensors file")
	require.EqualError(t, npy.write(&file, []leaf{text}, 0), `result 1 is no array but "a": leave out its --out`)
	require.EqualError(t, all.write(&file, []leaf{half, text}, everything),
		`result 1 is no array but "a": name files for the others`)
	require.Zero(t, file.Len())
	require.NoError(t, all.write(&file, []leaf{half}, everything))
	set := must.Get(weights.Parse(file.Bytes()))(t)
	defer set.Close()
	require.Equal(t, dlpack.BFloat16, must.Get(set.Lookup("0"))(t).DType)
	require.Equal(t, "result 0: bfloat16[1], 1", half.String())
}

// Numbers and shapes are arrays in files.
func TestLeaf(t *testing.T) {
	for _, c := range []struct {
		value any
		text  string
		array string
	}{
		{int64(-3), "result: -3", "int64[]"}, {0.5, "result: 0.5", "float64[]"}, {true, "result: true", "bool[]"},
		{runtime.Shape{2, 3}, "result: shape [2,3]", "int64[2]"}, {"a\n", `result: "a\n"`, ""}, {nil, "result: None", ""},
	} {
		l := leaf{name: "result"}
		require.NoError(t, l.set(c.value))
		require.Equal(t, c.text, l.String())
		if c.array == "" {
			require.Nil(t, l.array)
			continue
		}
		require.Equal(t, c.array, arguments.TypeText(l.array.DType, l.array.Shape))
		size := must.Get(dlpack.DataSize(l.array.Shape, l.array.DType))(t)
		require.Len(t, l.array.Data, int(size))
		require.True(t, strings.HasPrefix(c.text, "result: "))
	}
}

// A model with very many functions, or with very long names, gets an error that can be read.
func TestSomeNames(t *testing.T) {
	require.Equal(t, "a, b", someNames([]string{"a", "b"}))
	require.Len(t, someNames([]string{strings.Repeat("x", 5000)}), 100+len("…"))
	many := make([]string, 1000)
	require.Equal(t, strings.Repeat(", ", 19)+" and 980 more", someNames(many))
}
