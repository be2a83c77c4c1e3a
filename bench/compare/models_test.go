package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/graph/onnx/file"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/wheel"
)

// newTestModels returns programs that compile and run models, with what make has built, in the root of the repository.
func newTestModels(t *testing.T) *modelPrograms {
	t.Helper()
	dist := os.Getenv("TVMGO_DIST")
	if dist == "" {
		require.Empty(t, os.Getenv("CI"), "models need what make builds, in TVMGO_DIST")
		t.Skip("models need what make builds: set TVMGO_DIST to the folder dist")
	}
	wheel.Command(t) // installs the wheels
	root := wheel.Root(t)
	t.Chdir(root)
	t.Setenv("TVMGO_CACHE_DIR", t.TempDir())
	lib := must.Get(filepath.Abs(filepath.Join(dist, "lib", "libtvmgo.so")))(t)
	dir := t.TempDir()
	p := &programs{oursLib: lib, model: filepath.Join(dir, "model")}
	require.NoError(t, compileModelProgram(p.model, lib))
	m := must.Get(newModelPrograms(p, config{dir: dir, venv: filepath.Join(root, "build", ".cache", "venv")}, "1"))(t)
	return &m
}

// Small models give the same results on both sides, and everything that is measured of a model has a figure.
func TestModels_AreMeasured(t *testing.T) {
	m := newTestModels(t)
	require.NoError(t, m.missing())
	m.list = []model{
		{name: "bert", write: func() *file.Model { return bertLayer(5, 2, 3, 8) }},
		{name: "mlp", write: func() *file.Model { return mlp(2, 7, 5, 3) }},
	}
	for _, measure := range []string{"run-bert", "run-bert", "run-mlp", "first-mlp", "peak-mlp", "ship-mlp"} {
		for _, who := range []string{"model", "ort"} {
			require.Positive(t, must.Get(m.ask(who, measure))(t), "%s.%s", who, measure)
		}
	}
	for _, who := range []string{"model", "ort"} {
		require.Less(t, must.Get(m.ask(who, "more-mlp"))(t), must.Get(m.ask(who, "peak-mlp"))(t))
	}
	require.Positive(t, must.Get(m.ask("model", "cached-mlp"))(t))
	require.DirExists(t, m.cache(filepath.Join(m.dir, "mlp")))
	require.Positive(t, must.Get(m.ask("model", "compile-mlp"))(t))
	require.NoError(t, m.close())

	_, err := m.ask("model", "run-vgg")
	require.ErrorContains(t, err, "model vgg: there is no such model")
}

func TestModels_MissingWheels(t *testing.T) {
	m := &modelPrograms{venv: t.TempDir()}
	require.ErrorContains(t, m.missing(), "no onnxruntime/capi")
	r := newReport(machine{}, config{}, []row{{ID: "model-bert", Ours: "model.run-bert", Base: "ort.run-bert"}}, nil, 0,
		m.missing())
	require.Equal(t, skipped, r.Rows[0].text)
	require.Contains(t, r.Rows[0].Note, "run build/scripts/deps.sh")
}

func TestSameResults(t *testing.T) {
	nan := func() float32 { var zero float32; return zero / zero }()
	tests := []struct {
		name         string
		ours, theirs []float32
		want         string
	}{
		{"near", []float32{1.0009, 0.000005}, []float32{1, 0}, ""},
		{"different", []float32{1, 2.01}, []float32{1, 2}, "element 1 of the results is 2.01, and 2 by ONNX Runtime"},
		{"near zero", []float32{1, 0.001}, []float32{1, 0}, "element 1"},
		{"not a number", []float32{nan}, []float32{1}, "element 0"},
		{"shorter", []float32{1}, []float32{1, 2}, "1 elements, and 2"},
		{"empty", nil, nil, "0 elements"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := sameResults(tt.ours, tt.theirs)
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.want)
		})
	}
}

// The written models are the same each time, and their sizes are those that were asked for.
func TestModelFiles(t *testing.T) {
	require.Equal(t, mlp(2, 7, 5, 3).Encode(), mlp(2, 7, 5, 3).Encode())
	layer := must.Get(file.Parse(bertLayer(5, 2, 3, 8).Encode()))(t)
	require.Equal(t, "float[1,5,6]", layer.Graph.Inputs[0].Type.String())
	parameters := int64(0)
	for _, c := range layer.Graph.Initializers {
		n := int64(1)
		for _, d := range c.Dims {
			n *= d
		}
		if len(c.Dims) > 0 && c.DataType == file.Float {
			parameters += n
		}
	}
	// Four projections, two layers with their biases, and two normalizations.
	require.Equal(t, int64(4*(6*6+6)+6*8+8+8*6+6+2*2*6), parameters)
}

// The weights that nodes of a light network make become initializers.
func TestWriteApart(t *testing.T) {
	w := newModelWriter("light")
	x := w.input("x", 2, 3)
	value := &file.Tensor{DataType: file.Float, Dims: []int64{1}, RawData: []byte{0, 0, 0x80, 0x3f}}
	weight := w.with(w.node("ConstantOfShape", w.ints(3, 4)),
		&file.Attribute{Name: "value", Type: file.AttrTensor, Tensor: value})
	m := w.model(w.node("MatMul", x, weight), 2, 4)
	m.IRVersion = 3
	in, out := filepath.Join(t.TempDir(), "in.onnx"), filepath.Join(t.TempDir(), "out.onnx")
	require.NoError(t, os.WriteFile(in, m.Encode(), 0o600))
	require.NoError(t, writeApart(in, out))
	f := must.Open(file.Open(out))(t)
	require.Len(t, f.Model.Graph.Nodes, 1)
	made := initializer(f.Model.Graph, f.Model.Graph.Nodes[0].Inputs[1:])
	require.Equal(t, []int64{3, 4}, made.Dims)
	require.Equal(t, bytes.Repeat(value.RawData, 12), must.Get(made.Bytes(nil))(t))
	require.EqualValues(t, 4, f.Model.IRVersion)
}
