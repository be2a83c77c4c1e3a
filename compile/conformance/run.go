package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tvmgo/compile"
	"tvmgo/dlpack"
	"tvmgo/export"
	"tvmgo/graph"
	"tvmgo/graph/onnx"
	"tvmgo/graph/onnx/file"
	"tvmgo/runtime"
	"tvmgo/target"
)

// Options say how models are compiled and compared.
type Options struct {
	Target *target.Target
	// Relative and Absolute are the tolerances: a result may differ from the recorded one by Absolute plus Relative times
	// the recorded one.
	Relative, Absolute float64
}

// Defaults are the tolerances of ONNX's own runner.
var Defaults = Options{Relative: 1e-3, Absolute: 1e-7}

// Result is the outcome of one folder.
type Result struct {
	Sets  int      // data sets that were run
	Bound []string // inputs that were compiled as constants, because the code depends on their elements
	Worst float64  // the greatest difference of floats, relative to the tolerance: at most 1 if the folder passed
}

// Find returns the folders of tests: the given ones, or those in them, sorted by name.
func Find(dirs ...string) ([]string, error) {
	var tests []string
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, "model.onnx")); err == nil {
			tests = append(tests, dir)
			continue
		}
		found, err := filepath.Glob(filepath.Join(dir, "*", "model.onnx"))
		if err != nil || len(found) == 0 {
			return nil, fmt.Errorf("%s has no model.onnx, and no folder with one", dir)
		}
		slices.Sort(found)
		for _, path := range found {
			tests = append(tests, filepath.Dir(path))
		}
	}
	return tests, nil
}

// Run runs the model of a folder. It is compiled once, or, if inputs have to be constants, for each data set. The error
// says what failed.
func Run(ctx context.Context, dir string, o Options) (*Result, error) {
	m, err := file.Open(filepath.Join(dir, "model.onnx"))
	if err != nil {
		return nil, err
	}
	defer m.Close()
	sets, err := filepath.Glob(filepath.Join(dir, "test_data_set_*"))
	if err != nil {
		return nil, err
	}
	slices.Sort(sets)
	if len(sets) == 0 {
		return nil, fmt.Errorf("%s has no folder test_data_set_0 with inputs and outputs", dir)
	}
	r := &runner{Options: o, file: m, result: &Result{}}
	defer r.close()
	for _, set := range sets {
		if err := r.set(ctx, set); err != nil {
			if len(sets) > 1 {
				err = fmt.Errorf("%s: %w", filepath.Base(set), err)
			}
			return nil, err
		}
		r.result.Sets++
	}
	return r.result, nil
}

// runner is the state of Run.
type runner struct {
	Options
	file   *file.File
	result *Result
	params []*graph.Value // of the model that was compiled last
	model  *runtime.Model
}

func (r *runner) close() {
	if r.model != nil {
		r.model.Close()
	}
}

// set runs one data set.
func (r *runner) set(ctx context.Context, dir string) error {
	var names, outputs []string
	initialized := map[string]bool{}
	g := r.file.Model.Graph
	for _, t := range g.Initializers {
		initialized[t.Name] = true
	}
	var given []*file.ValueInfo // the inputs without a default, which have files
	for _, in := range g.Inputs {
		if !initialized[in.Name] {
			names, given = append(names, in.Name), append(given, in)
		}
	}
	for _, out := range g.Outputs {
		outputs = append(outputs, out.Name)
	}
	inputs, err := tensors(dir, "input", names, given)
	if err != nil {
		return err
	}
	want, err := tensors(dir, "output", outputs, g.Outputs)
	if err != nil {
		return err
	}
	if err := r.compile(ctx, inputs); err != nil {
		return err
	}
	var args runtime.Ordered
	for _, p := range r.params {
		t := inputs[p.Name]
		if t == nil {
			return fmt.Errorf("there is no file with input %q", p.Name)
		}
		x, err := toRuntime(t)
		if err != nil {
			return err
		}
		defer x.Close()
		args = append(args, x)
	}
	got, err := r.model.Run(ctx, args)
	if err != nil {
		return err
	}
	defer got.Close()
	return r.result.compare(got, outputs, want, r.Options)
}

// compile compiles the model for a data set, unless the library of an earlier one is for all.
func (r *runner) compile(ctx context.Context, inputs map[string]*file.Tensor) error {
	options := onnx.Options{Constants: map[string]*file.Tensor{}, Inputs: map[string]onnx.Input{}}
	for _, in := range r.file.Model.Graph.Inputs { // models without shapes get those of the data
		if t := inputs[in.Name]; t != nil && in.Type != nil && in.Type.Kind == file.TensorKind && in.Type.Shape == nil {
			given := onnx.Input{}
			for _, n := range t.Dims {
				given.Dims = append(given.Dims, onnx.Dim{Size: n})
			}
			options.Inputs[in.Name] = given
		}
	}
	if r.model != nil && len(options.Inputs) == 0 && len(r.result.Bound) == 0 {
		return nil
	}
	r.result.Bound = nil
	f, err := r.result.load(r.file, options, inputs)
	if err != nil {
		return err
	}
	r.close()
	r.params = f.Params
	r.model, err = build(ctx, f, r.Target)
	return err
}

// load imports the model. Inputs on whose elements the code depends become constants.
func (r *Result) load(m *file.File, options onnx.Options, inputs map[string]*file.Tensor) (*graph.Function, error) {
	for {
		f, err := onnx.Import(m.Model, m.External, options)
		if err == nil {
			return f, nil
		}
		if u := (*onnx.UnsupportedError)(nil); errors.As(err, &u) {
			return nil, err
		}
		names := []string{}
		if e := (*graph.ElementsError)(nil); errors.As(err, &e) {
			for _, p := range e.Params() {
				names = append(names, p.Name)
			}
		} else { // the shapes that follow from it may be needed
			for name, t := range inputs {
				if t.DataType == file.Int64 || t.DataType == file.Int32 {
					names = append(names, name)
				}
			}
		}
		bound := false
		for _, name := range names {
			if t := inputs[name]; t != nil && options.Constants[name] == nil && isShape(t) {
				options.Constants[name], bound = t, true
				r.Bound = append(r.Bound, name)
			}
		}
		if !bound {
			return nil, err
		}
	}
}

// isShape reports whether a tensor may determine shapes: it is small.
func isShape(t *file.Tensor) bool {
	n, err := dlpack.NumElements(t.Dims)
	return err == nil && n <= 64
}

func build(ctx context.Context, f *graph.Function, t *target.Target) (*runtime.Model, error) {
	m, err := compile.Function(ctx, f, compile.Options{Targets: []*target.Target{t}})
	if err != nil {
		return nil, err
	}
	defer m.Close()
	dir, err := os.MkdirTemp("", "tvmgo-check-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.so")
	if err := export.Library(ctx, m.Module, path, export.StaticCheck()); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return runtime.LoadModelBytes(ctx, data, runtime.Name(path)) // which needs no signature
}

// tensors reads the files prefix_0.pb, prefix_1.pb, … of a folder: one for each name.
func tensors(dir, prefix string, names []string, infos []*file.ValueInfo) (map[string]*file.Tensor, error) {
	out := map[string]*file.Tensor{}
	for i, name := range names {
		data, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("%s_%d.pb", prefix, i)))
		if errors.Is(err, os.ErrNotExist) {
			continue // an input that has a default
		}
		if err != nil {
			return nil, err
		}
		if info := infos[i]; info.Type != nil && info.Type.Kind != file.TensorKind {
			return nil, fmt.Errorf("%s %q is a %s: only tensors are supported", prefix, name, info.Type.Kind)
		}
		t, err := file.ParseTensor(data)
		if err != nil {
			return nil, fmt.Errorf("%s_%d.pb: %w", prefix, i, err)
		}
		out[name] = t
	}
	return out, nil
}

func toRuntime(t *file.Tensor) (*runtime.Tensor, error) {
	dt, err := t.DataType.DType()
	if err != nil {
		return nil, err
	}
	data, err := t.Bytes(nil)
	if err != nil {
		return nil, err
	}
	x, err := runtime.NewTensor(dt, t.Dims, runtime.CPU)
	if err != nil {
		return nil, err
	}
	if err := x.CopyFromBytes(data); err != nil {
		x.Close()
		return nil, err
	}
	return x, nil
}

// compare compares results with the recorded outputs.
func (r *Result) compare(got runtime.Outputs, names []string, want map[string]*file.Tensor, o Options) error {
	if len(got) != len(names) {
		return fmt.Errorf("the model has %d results: want %d", len(got), len(names))
	}
	for i, name := range names {
		w := want[name]
		if w == nil {
			continue
		}
		g, err := got.Tensor(i)
		if err != nil {
			return err
		}
		dt, err := w.DataType.DType()
		if err != nil {
			return err
		}
		if g.DType() != dt {
			return fmt.Errorf("output %q has type %s: want %s", name, g.DType(), dt)
		}
		if !slices.Equal(g.Shape(), w.Dims) {
			return fmt.Errorf("output %q has shape %v: want %v", name, g.Shape(), w.Dims)
		}
		data := make([]byte, 0)
		if data, err = bytesOf(g); err != nil {
			return err
		}
		expected, err := w.Bytes(nil)
		if err != nil {
			return err
		}
		n, err := dlpack.NumElements(w.Dims)
		if err != nil {
			return err
		}
		if err := r.elements(name, dt, n, data, expected, o); err != nil {
			return err
		}
	}
	return nil
}

func bytesOf(t *runtime.Tensor) ([]byte, error) {
	n, err := dlpack.DataSize(t.Shape(), t.DType())
	if err != nil {
		return nil, err
	}
	data := make([]byte, n)
	return data, t.CopyToBytes(data)
}

// element returns the bytes of an element, or the low bits of one byte if several share it.
func element(data []byte, i, bits int64) []byte {
	if bits >= 8 {
		return data[i*bits/8 : (i+1)*bits/8]
	}
	return []byte{data[i*bits/8] >> (i * bits % 8) & (1<<bits - 1)}
}

// isNaN reports whether the bits of a float8_e5m2 are no number, for which there are six patterns.
func isNaN(bits byte) bool { return bits&0x7f > 0x7c }

// elements compares n elements: floats of 16 bits and more with the tolerances, and others exactly.
func (r *Result) elements(name string, dt dlpack.DataType, n int64, got, want []byte, o Options) error {
	if dt.Code != dlpack.Float32.Code && dt.Code != dlpack.BFloat16.Code {
		bits := int64(dt.Bits)
		for i := range n {
			a, b := element(got, i, bits), element(want, i, bits)
			if !bytes.Equal(a, b) && !(dt == dlpack.Float8E5M2 && isNaN(a[0]) && isNaN(b[0])) {
				return fmt.Errorf("output %q differs at element %d of %d: its bytes are %x, want %x", name, i, n, a, b)
			}
		}
		return nil
	}
	a, b := decode(dt, got), decode(dt, want)
	worst, at := 0.0, 0
	for i := range a {
		if e := difference(a[i], b[i], o); e > worst {
			worst, at = e, i
		}
	}
	r.Worst = max(r.Worst, worst)
	if worst > 1 {
		return fmt.Errorf("output %q differs at element %d of %d: it is %g, want %g", name, at, len(a), a[at], b[at])
	}
	return nil
}

// Summary joins names for a line of output.
func (r *Result) Summary() string {
	if len(r.Bound) == 0 {
		return ""
	}
	return " (constants: " + strings.Join(r.Bound, ", ") + ")"
}
