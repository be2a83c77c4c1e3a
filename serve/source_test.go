package serve

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/gputest"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/servetest"
	"tvmgo/runtime"
)

// A folder with a name has one library, whose file may have any name, and another one after a new start or load.
func TestSource_NamedFolder(t *testing.T) {
	dir := t.TempDir()
	options := Options{Models: []string{"scores=" + dir}, Logger: slog.New(slog.DiscardHandler)}
	_, err := New(t.Context(), options)
	require.ErrorContains(t, err, `model "scores": `+dir+" has no library (.so, .tar, .o): put one there")

	servetest.Affine(t, filepath.Join(dir, "model.so"), 3, 1)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "model.json"), []byte(`{"max_batch": 4}`), 0o600))
	s, url := start(t, func(o *Options) { o.Models = options.Models })
	require.Equal(t, 4.0, post(t, url+"/v2/models/scores/infer", body(1)).first(t))
	require.Equal(t, 404, get(t, url+"/v2/models/model").status)
	require.Equal(t, 4, s.all()[0].current.Load().options.MaxBatch)

	servetest.Affine(t, filepath.Join(dir, "second.so"), 5, 2)
	require.ErrorContains(t, s.Reload(t.Context()), `model "scores": `+dir+" has 2 libraries (model.so, second.so)")
	require.Equal(t, 4.0, post(t, url+"/v2/models/scores/infer", body(1)).first(t))
	_, err = New(t.Context(), options)
	require.ErrorContains(t, err, "without scores=, each is a model")

	require.NoError(t, os.Remove(filepath.Join(dir, "model.so")))
	require.NoError(t, s.Reload(t.Context()))
	require.Equal(t, 7.0, post(t, url+"/v2/models/scores/infer", body(1)).first(t))
}

// What a folder with a name has is counted by files: their names need not be those of models, and may differ only in
// the suffix.
func TestSource_Files(t *testing.T) {
	for _, c := range []struct {
		name  string
		files []string
		want  map[string]string
		wrong string
	}{
		{"m", []string{"a model.so", "w.params", ".hidden.so"}, map[string]string{"m": "a model.so"}, ""},
		{"m", []string{"a.so", "a.o"}, nil, "has 2 libraries (a.o, a.so): want one; without m=, each is a model"},
		{"m", []string{"a model.so", "b.tar"}, nil, "has 2 libraries (a model.so, b.tar)"},
		{"m", []string{".hidden.so", "a.json"}, nil, "has no library"},
		{"", []string{"a.so", "b.o", "a model.so", "c.json"}, map[string]string{"a": "a.so", "b": "b.o"}, ""},
		{"", []string{"a.so", "a.o"}, nil, `are both model "a": rename one`},
		{"", nil, map[string]string{}, ""},
	} {
		dir := t.TempDir()
		for _, name := range c.files {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
		}
		got, err := Source{Name: c.name, Path: dir}.files()
		if c.wrong != "" {
			require.ErrorContains(t, err, c.wrong, "%v", c)
			continue
		}
		require.NoError(t, err, "%v", c)
		for name, file := range c.want {
			c.want[name] = filepath.Join(dir, file)
		}
		require.Equal(t, c.want, got, "%v", c)
	}
}

// A folder that cannot be read keeps its model, and does not keep others from being loaded.
func TestSource_OneIsWrong(t *testing.T) {
	named, dir := t.TempDir(), t.TempDir()
	servetest.Affine(t, filepath.Join(named, "model.so"), 3, 1)
	servetest.Affine(t, filepath.Join(dir, "a.so"), 3, 1)
	s, url := start(t, func(o *Options) { o.Models = []string{"scores=" + named, dir} })
	before := s.stamps()
	servetest.Affine(t, filepath.Join(named, "second.so"), 5, 2)
	servetest.Affine(t, filepath.Join(dir, "a.so"), 5, 2)
	servetest.Affine(t, filepath.Join(dir, "b.so"), 5, 2)
	now := s.stamps()
	s.changed(t.Context(), before, now)
	for model, want := range map[string]float64{"scores": 4, "a": 7, "b": 7} {
		require.Equal(t, want, post(t, url+"/v2/models/"+model+"/infer", body(1)).first(t), model)
	}
	servetest.Affine(t, filepath.Join(dir, "c.so"), 5, 2)
	require.NoError(t, s.Load(t.Context(), "c"))
	require.ErrorContains(t, s.Load(t.Context(), "d"), "has 2 libraries")

	require.NoError(t, os.Remove(filepath.Join(named, "model.so")))
	require.NoError(t, os.Remove(filepath.Join(dir, "a.so")))
	s.changed(t.Context(), now, s.stamps())
	require.Equal(t, 7.0, post(t, url+"/v2/models/scores/infer", body(1)).first(t))
	require.Equal(t, 503, get(t, url+"/v2/models/a").status)
}

// The file beside a library has settings, as the documents show them; what is wrong is named.
func TestSource_Settings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "affine.so")
	servetest.Affine(t, file, 3, 1)
	source := must.Get(ParseSource(file))(t)
	for _, c := range []struct{ text, wrong string }{
		{`{"devices": ["cpu", "cpu:0"], "instances": 2, "max_batch": 32, "preferred_batches": [8, 16], "batch_delay": "2ms",
			"queue": 512, "queue_timeout": "500ms", "priorities": 3, "default_priority": 2, "params": "w.safetensors"}`, ""},
		{`{"devices": ["gpu"]}`, `parse device "gpu": `},
		{`{"devices": "cpu"}`, "devices is a JSON string: want a list"},
		{`{"max_batch": "many"}`, "max_batch is a JSON string: want an integer"},
		{`{"max_batch": 1.5}`, "max_batch is a JSON number 1.5: want an integer"},
		{`{"preferred_batches": ["8"]}`, "preferred_batches is a JSON string: want an integer"},
		{`{"batch_delay": 2}`, `batch_delay is a JSON number: want a text such as "5ms"`},
		{`{"batch_delay": "soon"}`, `invalid duration "soon"`},
		{`{"function": 1}`, "function is a JSON number: want a text"},
		{`[]`, "it is no object but a JSON array: want an object"},
		{`{"maxbatch": 2}`, `unknown field "maxbatch"`},
		{`{"max_batch": 2} {}`, "something follows the object"},
		{`{"max_batch": 2`, "unexpected EOF"},
		{``, "EOF"},
		{`{"instances": -1}`, "instances is -1: it cannot be negative"},
		{`{"params": "../w.safetensors"}`, "is outside of the folder"},
	} {
		require.NoError(t, os.WriteFile(settingsFile(file), []byte(c.text), 0o600))
		d, err := source.define("affine", file, ModelOptions{})
		if c.wrong == "" {
			require.NoError(t, err, c.text)
			require.Equal(t, []dlpack.Device{{Type: dlpack.CPU}, {Type: dlpack.CPU}}, d.options.Devices)
			continue
		}
		require.ErrorContains(t, err, "read the settings of model affine: "+settingsFile(file)+": ", c.text)
		require.ErrorContains(t, err, c.wrong, c.text)
	}
}

// A model that was compiled for CPUs alone is not served on a device, also if its sizes are open.
func TestNew_OtherDevice(t *testing.T) {
	device := dlpack.Device{Type: dlpack.OpenCL}
	if !runtime.DeviceExists(device) {
		gputest.Missing(t, device.Type, "there is no device of OpenCL")
	}
	file := filepath.Join(t.TempDir(), "affine.so")
	servetest.Affine(t, file, 3, 1)
	_, err := New(t.Context(), Options{Models: []string{file}, Logger: slog.New(slog.DiscardHandler),
		Model: ModelOptions{Devices: []dlpack.Device{device}}})
	require.ErrorContains(t, err, "the library has no kernels for opencl: compile it for opencl, or choose another device")
}

func TestNew_WrongLimits(t *testing.T) {
	for what, l := range map[string]Limits{"BodyBytes": {BodyBytes: -1}, "Inputs": {Inputs: -1}, "Time": {Time: -1}} {
		_, err := New(t.Context(), Options{Models: []string{t.TempDir()}, Limits: l})
		require.ErrorContains(t, err, "the limit "+what+" is -1: it cannot be negative")
	}
}
