package graphjson

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
)

// valid is a graph with an input, a function with two outputs, a reshape and a copy to another device.
const valid = `{
 "nodes": [
  {"op": "null", "name": "x", "inputs": []},
  {"op": "tvm_op", "name": "split", "inputs": [[0, 0, 0]], "control_deps": [0],
   "attrs": {"func_name": "f", "num_inputs": "1", "num_outputs": "2", "flatten_data": "1", "hash": "abc"}},
  {"op": "tvm_op", "name": "reshape", "inputs": [[1, 1]],
   "attrs": {"func_name": "__nop", "num_inputs": "1", "num_outputs": "1", "flatten_data": "0"}},
  {"op": "tvm_op", "name": "moved", "inputs": [[2, 0, 0]],
   "attrs": {"func_name": "__copy", "num_inputs": "1", "num_outputs": "1", "flatten_data": "0"}}],
 "arg_nodes": [0],
 "heads": [[1, 0, 0], [3, 0, 0]],
 "node_row_ptr": [0, 1, 3, 4, 5],
 "attrs": {
  "dltype": ["list_str", ["float32", "bool", "float16", "float16", "float16"]],
  "device_index": ["list_int", [1, 1, 1, 1, 4]],
  "storage_id": ["list_int", [0, 1, 7, 7, 2]],
  "shape": ["list_shape", [[2, 3], [], [2, 2], [4], [4]]],
  "size": ["size_t", 4]},
 "metadata": {"anything": [1, 2]}
}`

func TestParse(t *testing.T) {
	g, err := Parse([]byte(valid))
	require.NoError(t, err)
	require.Equal(t, []string{"x"}, g.InputNames())
	require.Equal(t, []string{"split", "moved"}, g.OutputNames())
	n := g.Nodes[1]
	require.Equal(t, Node{Name: "split", Func: "f", Args: []Ref{{0, 0}}, First: 1, Outputs: 2, Flatten: true,
		Attrs: map[string]string{"hash": "abc"}}, n)
	require.Equal(t, Data{Shape: []int64{2, 2}, DType: dlpack.Float16, Storage: 7, Device: dlpack.CPU, Bytes: 8},
		g.Data[2])
	require.Equal(t, int64(1), g.Data[1].Bytes, "a bool without dimensions")
	require.Equal(t, `output 1 of node 1 "split"`, g.Describe(2))
	require.Equal(t, `node 3 "moved"`, g.Describe(4))

	p, err := g.Plan()
	require.NoError(t, err)
	require.Equal(t, []int{0, 1, 2, 2, 4}, p.Alias)
	require.Equal(t, []Storage{
		{ID: 0, Data: []int{0}, Bytes: 24, Device: dlpack.CPU, Input: 0},
		{ID: 1, Data: []int{1}, Bytes: 1, Device: dlpack.CPU, Input: -1},
		{ID: 2, Data: []int{4}, Bytes: 8, Device: dlpack.OpenCL, Input: -1},
		{ID: 7, Data: []int{2, 3}, Bytes: 8, Device: dlpack.CPU, Input: -1},
	}, p.Storages)
}

// Each mistake gives an error with the node and the attribute.
func TestParse_Errors(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{`"heads"`, `"haeds"`, `the graph has the unknown key "haeds", do you mean "heads"?`},
		{`"heads": [[1, 0, 0], [3, 0, 0]],`, ``, `the graph has no key "heads"`},
		{`"nodes": [`, `"nodes": [null, `, `node 0 is not an object`},
		{`"op": "null"`, `"op": "nul"`, `node 0 "x": op is "nul"`},
		{`"name": "split"`, `"nam": "split"`, `node 1 has the unknown key "nam", do you mean "name"?`},
		{`"name": "x", "inputs": []`, `"name": "x", "inputs": [[0, 0]]`, `node 0 "x": an input (op "null") has 1 inputs`},
		{`"name": "x"`, `"name": null`, `node 0: name is null`},
		{`"name": "x"`, `"name": "x\u0000"`, `node 0: the name contains a zero byte`},
		{`"func_name": "f", `, ``, `node 1 "split": attrs has no "func_name"`},
		{`"func_name": "f"`, `"func_name": ""`, `node 1 "split": attribute func_name is ""`},
		{`"num_outputs": "2", `, ``, `node 1 "split": attrs has no "num_outputs"`},
		{`"flatten_data": "1", `, ``, `node 1 "split": attrs has no "flatten_data"`},
		{`"num_outputs": "2"`, `"num_outputs": "two"`, `node 1 "split": attribute num_outputs is "two", not a number`},
		{`"num_inputs": "1", "num_outputs": "2"`, `"num_inputs": "3", "num_outputs": "2"`,
			`node 1 "split": attribute num_inputs is 3, but inputs has 1 entries`},
		{`[[0, 0, 0]]`, `[[0]]`, `node 1 "split": inputs: entry 0 has 1 numbers`},
		{`[[0, 0, 0]]`, `[[9, 0, 0]]`, `node 1 "split": input 0 is node 9, but there are 4 nodes`},
		{`[[0, 0, 0]]`, `[[-1, 0, 0]]`, `node 1 "split": input 0 is node -1`},
		{`[[0, 0, 0]]`, `[[0, 1, 0]]`, `node 1 "split": input 0 is output 1 of node 0 "x", which has 1`},
		{`[[0, 0, 0]]`, `[[1, 0, 0]]`, `node 1 "split": input 0 is part of a cycle: split -> split`},
		{`[[0, 0, 0]]`, `[[3, 0, 0]]`, `node 1 "split": input 0 is part of a cycle: moved -> split -> reshape -> moved`},
		{`"control_deps": [0]`, `"control_deps": [1]`, `node 1 "split": control_deps: node 1 is not before`},
		{`"arg_nodes": [0]`, `"arg_nodes": []`, `node 0 "x" is an input that arg_nodes does not list`},
		{`"arg_nodes": [0]`, `"arg_nodes": [0, 0]`, `arg_nodes: node 0 "x" occurs twice`},
		{`"arg_nodes": [0]`, `"arg_nodes": [1]`, `arg_nodes: entry 0 is node 1 "split", which is a call of "f"`},
		{`"arg_nodes": [0]`, `"arg_nodes": [4]`, `arg_nodes: entry 0 is node 4, but there are 4 nodes`},
		{`[3, 0, 0]]`, `[3, 1, 0]]`, `heads: entry 1 is output 1 of node 3 "moved", which has 1`},
		{`"node_row_ptr": [0, 1, 3, 4, 5]`, `"node_row_ptr": [0, 1, 3, 4]`, `node_row_ptr has 4 entries for 4 nodes`},
		{`"node_row_ptr": [0, 1, 3, 4, 5]`, `"node_row_ptr": [0, 1, 2, 4, 5]`,
			`node_row_ptr: entry 2 is 2, but the nodes before node 2 "reshape" have 3 outputs`},
		{`"node_row_ptr": [0, 1, 3, 4, 5]`, `"node_row_ptr": [0, 1, 3, 4, 6]`, `the last entry is 6`},
		{`["list_int", [0, 1, 7, 7, 2]]`, `["list_int", [0, 1, 7, 7]]`, `attribute storage_id has 4 entries`},
		{`["list_int", [0, 1, 7, 7, 2]]`, `["list_str", [0, 1, 7, 7, 2]]`,
			`attribute storage_id has the type "list_str", not "list_int"`},
		{`["list_int", [0, 1, 7, 7, 2]]`, `["list_int"]`, `attribute storage_id has 1 parts`},
		{`[0, 1, 7, 7, 2]`, `[0, -1, 7, 7, 2]`, `attribute storage_id of output 0 of node 1 "split" is -1`},
		{`[0, 1, 7, 7, 2]`, `[0, 1, 7, 8, 2]`,
			`node 2 "reshape": the input of __nop has storage id 7, the output 8: they must be one`},
		{`[0, 1, 7, 7, 2]`, `[0, 1, 7, 7, 7]`, `attribute device_index: node 3 "moved" is on opencl`},
		{`"shape": [`, `"shapes": [`, `attrs has no "shape"`},
		{`[[2, 3], []`, `[[2, -3], []`, `attribute shape of node 0 "x": `},
		{`[[2, 3], []`, `[[2, 3], null`, `attribute shape of output 0 of node 1 "split" is null`},
		{`[[2, 3], []`, `[[4000000000, 4000000000, 4000000000], []`, `attribute shape of node 0 "x": `},
		{`[4], [4]]`, `[4], [3]]`, `node 3 "moved": __copy has an input of 8 bytes and an output of 6`},
		{`["float32", "bool"`, `["float3x", "bool"`, `attribute dltype of node 0 "x": `},
		{`["float32", "bool"`, `["float32", "void"`, `attribute shape of output 0 of node 1 "split": `},
		{`"metadata": {`, `"metadata": `, `invalid character`},
	} {
		require.Equal(t, 1, strings.Count(valid, c.from), c.from)
		g, err := Parse([]byte(strings.Replace(valid, c.from, c.to, 1)))
		if err == nil {
			_, err = g.Plan()
		}
		require.ErrorIs(t, err, ErrGraph, c.to)
		require.ErrorContains(t, err, c.want)
	}
}

// storages is a graph x -> a -> b -> c of functions f, and y beside x, with these storage ids. The outputs are b and c.
func storages(ids string) string {
	const call = `{"op": "tvm_op", "name": "NAME", "inputs": [[FROM, 0]],
	 "attrs": {"func_name": "f", "num_inputs": "1", "num_outputs": "1", "flatten_data": "0"}}`
	list := []string{`{"op": "null", "name": "x", "inputs": []}, {"op": "null", "name": "y", "inputs": []}`}
	for i, name := range []string{"a", "b", "c"} {
		list = append(list, strings.NewReplacer("NAME", name, "FROM", []string{"0", "2", "3"}[i]).Replace(call))
	}
	return `{"nodes": [` + strings.Join(list, ",") + `], "arg_nodes": [0, 1], "heads": [[3, 0], [4, 0]],
	 "node_row_ptr": [0, 1, 2, 3, 4, 5], "attrs": {"dltype": ["list_str", ["int8", "int8", "int8", "int8", "int8"]],
	 "storage_id": ["list_int", [` + ids + `]], "shape": ["list_shape", [[4], [4], [4], [4], [8]]]}}`
}

// Data that are still needed are not overwritten.
func TestPlan_Life(t *testing.T) {
	for ids, want := range map[string]string{
		"0, 1, 2, 3, 4": "",
		"0, 1, 2, 3, 2": "", // c in the memory of a
		"0, 1, 2, 2, 3": "", // b over its input a, which has the same size
		"0, 0, 2, 3, 4": `the inputs node 0 "x" and node 1 "y" have one storage id, 0`,
		"0, 1, 0, 3, 4": `node 2 "a" overwrites node 0 "x", which has the same storage id 0 and is needed afterwards`,
		"0, 1, 2, 3, 1": `node 4 "c" overwrites node 1 "y"`,
		"0, 1, 2, 3, 3": `node 4 "c" overwrites node 3 "b", which has the same storage id 3 and is needed afterwards`,
	} {
		g, err := Parse([]byte(storages(ids)))
		require.NoError(t, err)
		_, err = g.Plan()
		if want == "" {
			require.NoError(t, err, ids)
			continue
		}
		require.ErrorIs(t, err, ErrGraph)
		require.ErrorContains(t, err, want)
	}
	text := strings.Replace(storages("0, 1, 2, 3, 3"), `"heads": [[3, 0], [4, 0]]`, `"heads": [[4, 0]]`, 1)
	g, err := Parse([]byte(text))
	require.NoError(t, err)
	_, err = g.Plan()
	require.ErrorContains(t, err, `node 4 "c", of 8 bytes, overwrites its input node 3 "b", of 4 bytes`)
}

// The error for nodes in a wrong order is not that for cycles.
func TestParse_Order(t *testing.T) {
	_, err := Parse([]byte(`{"nodes": [
	  {"op": "tvm_op", "name": "f", "inputs": [[1, 0, 0]],
	   "attrs": {"func_name": "f", "num_inputs": "1", "num_outputs": "1", "flatten_data": "0"}},
	  {"op": "null", "name": "x", "inputs": []}],
	 "arg_nodes": [1], "heads": [[0, 0]], "node_row_ptr": [0, 1, 2], "attrs": {"dltype": ["list_str", ["int8", "int8"]],
	 "storage_id": ["list_int", [0, 1]], "shape": ["list_shape", [[1], [1]]]}}`))
	require.ErrorContains(t, err, `node 0 "f": input 0 is node 1 "x", which comes later`)
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(valid))
	f.Fuzz(func(t *testing.T, text []byte) {
		g, err := Parse(text)
		if err != nil {
			require.ErrorIs(t, err, ErrGraph)
			return
		}
		for i := range g.Data {
			_ = g.Describe(i)
		}
		_, _ = g.Plan()
	})
}
