package inspect

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/internal/testing/must"
)

// A graph that no executor can run is a problem that names the node; the rest of the report stays.
func TestRead_DamagedGraph(t *testing.T) {
	data := load(t, "classic/graph_mlp.so")
	for _, c := range []struct{ old, with, want string }{
		{"[4, 16], ", "[4,-16], ", `module GraphExecutorFactory: graph JSON: attribute shape of node 0 "data": `},
		{`"func_name"`, `"func_nom_"`, `attrs has no "func_name"`},
		{"[0, 1, 2, 3, 4, 5, 6, 3]", "[0, 1, 2, 3, 4, 5, 0, 3]",
			"overwrites node 0 \"data\", which has the same storage id 0"},
	} {
		require.Equal(t, len(c.old), len(c.with))
		changed := bytes.Replace(data, []byte(c.old), []byte(c.with), 1)
		require.NotEqual(t, data, changed)
		report := must.Get(inspectBytes("x.so", changed))(t)
		require.Len(t, report.Problems, 1)
		require.Contains(t, report.Problems[0], c.want)
		require.True(t, strings.HasSuffix(report.Problems[0], ": copy or export it again"), report.Problems[0])
		require.Nil(t, report.Blob.Modules[0].Graph)
		require.Len(t, report.Functions, 3)
	}
}

// Several outputs, reshaped data, copies between devices and memory scopes.
func TestWriteText_Graph(t *testing.T) {
	const text = `{"nodes": [
		{"op": "null", "name": "a\u001b", "inputs": []},
		{"op": "tvm_op", "name": "split", "inputs": [[0, 0, 0]],
			"attrs": {"num_outputs": "2", "num_inputs": "1", "flatten_data": "0", "func_name": "f"}},
		{"op": "tvm_op", "name": "moved", "inputs": [[1, 1, 0]],
			"attrs": {"num_outputs": "1", "num_inputs": "1", "flatten_data": "0", "func_name": "__copy"}},
		{"op": "tvm_op", "name": "flat", "inputs": [[2, 0, 0]],
			"attrs": {"num_outputs": "1", "num_inputs": "1", "flatten_data": "0", "func_name": "__nop"}}],
		"arg_nodes": [0], "heads": [[3, 0, 0], [1, 0, 0]], "node_row_ptr": [0, 1, 3, 4, 5],
		"attrs": {"dltype": ["list_str", ["float32", "float32", "bool", "bool", "bool"]],
			"storage_id": ["list_int", [0, 1, 2, 3, 3]],
			"device_index": ["list_int", [0, 0, 0, 4, 4]],
			"storage_scope": ["list_str", ["global", "global", "global.texture", "global", "global"]],
			"shape": ["list_shape", [[2, 3], [2], [4], [4], [2, 2]]]}}`
	payload := must.Get((&blob.GraphFactory{Graph: text, Module: "default"}).Encode())(t)
	p := &printer{}
	p.graph("", must.Get(graphOf(payload, true))(t))
	require.Equal(t, strings.Join([]string{
		`      default("a\x1b"): 3 nodes, 0 parameters`,
		`        "a\x1b": float32[2,3]`,
		`        result flat: bool[2,2]`,
		`        result split: float32[2]`,
		`        storage 1: 8 bytes on the first device, tensors: 1`,
		`        storage 2: 4 bytes on the first device global.texture, tensors: 1`,
		`        storage 3: 4 bytes on opencl, tensors: 2`,
		`        memory: 3 storages, 16 bytes; inputs: 24 bytes, parameters: 0 bytes`,
		`           0  input "a\x1b": float32[2,3] in storage 0`,
		`           1  f(0): float32[2] in storage 1, bool[4] in storage 2, named split`,
		`           2  __copy(1.1): bool[4] in storage 3 on opencl, named moved`,
		`           3  __nop(2): bool[2,2] in storage 3 on opencl, named flat`,
		`      calls: f`, ""}, "\n"), p.text.String())
}
