package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/export/pack"
	"tvmgo/internal/testing/machine"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
)

// One server has models of every kind: a Relax executable of Apache TVM with its weights in a file, a graph executor, a
// packed function, and a compiled graph.
func TestLibraries_OfEveryKind(t *testing.T) {
	const artifacts = "../testdata/artifacts/"
	machine.Need(t, artifacts+"classic/graph_mlp.so")
	dir := t.TempDir()
	for _, name := range []string{"modern/relax_mlp.so", "modern/relax_mlp.params", "classic/graph_mlp.so"} {
		data := must.Get(os.ReadFile(artifacts + name))(t)
		require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(name)), data, 0o600))
	}
	settings := []byte(`{"params": "relax_mlp.params"}`)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "relax_mlp.json"), settings, 0o600))
	source := filepath.Join(t.TempDir(), "add.c")
	require.NoError(t, os.WriteFile(source, []byte("void add(const float* a, const float* b, float* c, int n) {\n"+
		"  for (int i = 0; i < n; i++) c[i] = a[i] + b[i];\n}\n"), 0o600))
	require.NoError(t, pack.Library(t.Context(), pack.Kernels{Inputs: []pack.Input{{Path: source}},
		Functions: []pack.Function{{Signature: "add(a: const float32[n], b: const float32[n], c: out float32[n], n: int32)"}},
	}, filepath.Join(dir, "add.so")))
	_, url := start(t, func(o *Options) { o.Models = append(o.Models, dir) })

	type tensor struct {
		Name     string    `json:"name"`
		Datatype string    `json:"datatype"`
		Shape    []int64   `json:"shape"`
		Data     []float32 `json:"data"`
	}
	file := func(name, path string) tensor {
		data, shape := modules.NPY(t, artifacts+path)
		return tensor{name, "FP32", shape, data}
	}
	input := func(model string) string {
		var m struct{ Inputs []struct{ Name string } }
		require.NoError(t, json.Unmarshal([]byte(get(t, url+"/v2/models/"+model).text), &m))
		require.Len(t, m.Inputs, 1)
		return m.Inputs[0].Name
	}
	for _, c := range []struct {
		model, platform string
		inputs          []tensor
		want            tensor
	}{
		{"relax_mlp", "tvmgo_relax", []tensor{file(input("relax_mlp"), "modern/relax_mlp_in0.npy")},
			file("", "modern/relax_mlp_out.npy")},
		{"graph_mlp", "tvmgo_graph", []tensor{file("data", "classic/graph_mlp_in0.npy")},
			file("", "classic/graph_mlp_out.npy")},
		{"add", "tvmgo_packed", []tensor{{"a", "FP32", []int64{3}, []float32{1, 2, 3}},
			{"b", "FP32", []int64{3}, []float32{10, 20, 30}}}, tensor{Shape: []int64{3}, Data: []float32{11, 22, 33}}},
		{"affine", "", []tensor{{"x", "FP32", []int64{1, 4}, []float32{1, 2, 3, 4}}},
			tensor{Shape: []int64{1, 4}, Data: []float32{4, 7, 10, 13}}},
	} {
		about := get(t, url+"/v2/models/"+c.model).text
		require.Contains(t, about, fmt.Sprintf(`"platform":"%s`, c.platform))
		for range 3 {
			body := string(must.Get(json.Marshal(map[string]any{"inputs": c.inputs}))(t))
			r := post(t, url+"/v2/models/"+c.model+"/infer", body)
			require.Equal(t, http.StatusOK, r.status, "%s: %s", c.model, r.text)
			var answer struct{ Outputs []tensor }
			require.NoError(t, json.NewDecoder(strings.NewReader(r.text)).Decode(&answer))
			require.Equal(t, c.want.Shape, answer.Outputs[0].Shape, c.model)
			require.InDeltaSlice(t, c.want.Data, answer.Outputs[0].Data, 1e-5, c.model)
			require.Equal(t, http.StatusOK, post(t, url+"/v2/repository/models/"+c.model+"/load", "").status)
		}
	}
}
