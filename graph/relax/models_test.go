//go:build cgo

package relax_test

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	_ "tvmgo/codegen/all"
	"tvmgo/dlpack"
	"tvmgo/graph"
	"tvmgo/graph/lower"
	_ "tvmgo/graph/operators"
	"tvmgo/graph/passes"
	"tvmgo/graph/relax"
	"tvmgo/internal/testing/graphtext"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/wheel"
	"tvmgo/runtime"
	_ "tvmgo/runtime/all"
	"tvmgo/runtime/vm"
	"tvmgo/target"
	"tvmgo/tir"
)

// tensor is an argument or a result that models.py has written.
type tensor struct {
	DType string
	Shape []int64
	Data  []byte
}

// example is a call of the function main of a module, and what TVM's own code has returned.
type example struct{ Inputs, Outputs []tensor }

// saved returns the modules that versions of TVM have saved, by version and name, and the examples by name.
func saved(t testing.TB) (modules map[string]map[string]string, examples map[string]*example) {
	modules = map[string]map[string]string{}
	archive := must.Open(zip.OpenReader("testdata/saved.zip"))(t)
	for _, f := range archive.File {
		data := must.Get(io.ReadAll(must.Open(f.Open())(t)))(t)
		name := strings.TrimSuffix(f.Name, ".json")
		if name == "examples" {
			require.NoError(t, json.Unmarshal(data, &examples))
			continue
		}
		texts := map[string]string{}
		require.NoError(t, json.Unmarshal(data, &texts))
		modules[name] = texts
	}
	return modules, examples
}

// suite is a program whose functions are the main functions of modules. Equal ones are executed once.
type suite struct {
	functions []*graph.Function
	examples  []*example
	known     map[string]string // the name of a function by its contents
}

// add adds a module.
func (s *suite) add(t *testing.T, name, text string, e *example) {
	m, err := relax.Import([]byte(text), relax.Options{})
	if !assert.NoError(t, err, name) {
		return
	}
	f := mainOf(m)
	key := contents(f)
	if s.known[key] == "" {
		if !strings.Contains(key, "= kernel(") {
			assert.NoError(t, graphtext.RoundTrip(f), name)
		}
		s.known[key], f.Name = name, name
		require.NoError(t, passes.Run(t.Context(), f, must.Get(target.New("c"))(t), passes.Options{}), name)
		s.functions, s.examples = append(s.functions, f), append(s.examples, e)
	}
}

// mainOf returns the function of a module that examples call.
func mainOf(m *relax.Model) *graph.Function {
	for _, f := range m.Functions {
		if f.Name == "main" {
			return f
		}
	}
	return nil
}

// contents returns a text that is equal for functions that compute the same in the same way.
func contents(f *graph.Function) string {
	text := f.String()
	seen := map[*graph.Value]bool{}
	var visit func(f *graph.Function)
	visit = func(f *graph.Function) {
		for _, n := range f.Nodes {
			for _, v := range n.Inputs {
				if v != nil && v.Const != nil && !seen[v] {
					seen[v] = true
					text += fmt.Sprintf("%x\n", sha256.Sum256(v.Const.Data))
				}
			}
			if n.Kernel != nil {
				text += n.Kernel.Func.String()
			}
			for _, body := range n.Bodies {
				visit(body)
			}
		}
	}
	visit(f)
	return text
}

// run compiles the program and compares the results of all functions.
func (s *suite) run(t *testing.T) {
	if len(s.functions) == 0 {
		return
	}
	c := must.Get(target.New("c"))(t)
	p := must.Get(lower.Options{}.Model(t.Context(), []*target.Target{c}, s.functions...))(t)
	m := must.Open(vm.New(p.Code))(t)
	require.NoError(t, m.Import(must.Open(codegen.Build(p.Kernels[0], c))(t)))
	model := must.Open(runtime.NewModel(m))(t)
	for k, f := range s.functions {
		t.Run(f.Name, func(t *testing.T) { s.examples[k].check(t, model, f.Name) })
	}
}

func (e *example) check(t *testing.T, model *runtime.Model, name string) {
	args := runtime.Ordered{}
	for _, in := range e.Inputs {
		dt := must.Get(dlpack.ParseDataType(in.DType))(t)
		x := must.Open(runtime.NewTensor(dt, in.Shape, runtime.CPU))(t)
		require.NoError(t, x.CopyFromBytes(in.Data))
		args = append(args, x)
	}
	out := must.Open(model.RunFunction(context.Background(), name, args))(t)
	for k, want := range e.Outputs {
		x := must.Get(out.Tensor(k))(t)
		require.Equal(t, want.DType, tir.TypeName(x.DType()))
		require.Equal(t, slices.Clone(want.Shape), append([]int64{}, x.Shape()...))
		have := make([]byte, len(want.Data))
		require.NoError(t, x.CopyToBytes(have))
		compare(t, x.DType(), have, want.Data)
	}
}

func compare(t *testing.T, dt tir.Type, have, want []byte) {
	x, y := numbers(dt, have), numbers(dt, want)
	if x == nil {
		require.Equal(t, want, have)
		return
	}
	tolerance := 2e-5
	if dt.Bits == 16 {
		tolerance = 2e-3
	}
	for i := range x {
		switch {
		case math.IsNaN(y[i]):
			require.True(t, math.IsNaN(x[i]), "element %d: have %g, want NaN", i, x[i])
		case math.IsInf(y[i], 0):
			require.Equal(t, y[i], x[i], "element %d", i)
		default:
			require.InDelta(t, y[i], x[i], tolerance*max(1, math.Abs(y[i])), "element %d", i)
		}
	}
}

// numbers returns floats; nil for other types.
func numbers(dt tir.Type, data []byte) []float64 {
	if !tir.IsFloat(dt) {
		return nil
	}
	var out []float64
	for at := 0; at < len(data); at += int(dt.Bits / 8) {
		switch dt {
		case tir.Float16:
			out = append(out, float64(dlpack.Float16Bits(binary.LittleEndian.Uint16(data[at:])).Float32()))
		case tir.Float32:
			out = append(out, float64(math.Float32frombits(binary.LittleEndian.Uint32(data[at:]))))
		case tir.Float64:
			out = append(out, math.Float64frombits(binary.LittleEndian.Uint64(data[at:])))
		}
	}
	return out
}

// The modules of all versions compute what TVM's own code does.
func TestSaved_Models(t *testing.T) {
	modules, examples := saved(t)
	s := &suite{known: map[string]string{}}
	for _, version := range slices.Sorted(maps.Keys(modules)) {
		require.GreaterOrEqual(t, len(modules[version]), 240, version)
		for _, name := range slices.Sorted(maps.Keys(modules[version])) {
			s.add(t, version+"/"+name, modules[version][name], examples[name])
		}
	}
	require.GreaterOrEqual(t, len(s.known), 280)
	s.run(t)
}

// The wheel makes the modules that were saved; others are executed.
func TestWheel_Models(t *testing.T) {
	wheel.NeedSameMachine(t)
	dir := t.TempDir()
	cmd := wheel.Command(t, "testdata/models.py", dir)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+filepath.Join(wheel.Root(t), "build", ".cache", "ffi-json"))
	wheel.Output(t, cmd, nil)
	modules, examples := saved(t)
	s, count := &suite{known: map[string]string{}}, 0
	for _, path := range must.Get(filepath.Glob(filepath.Join(dir, "*.io.json")))(t) {
		base := strings.TrimSuffix(path, ".io.json")
		name := filepath.Base(base)
		e := &example{}
		require.NoError(t, json.Unmarshal(must.Get(os.ReadFile(path))(t), e))
		if last := examples[name]; last != nil && assert.ObjectsAreEqual(e.Inputs, last.Inputs) {
			for k, want := range last.Outputs {
				compare(t, must.Get(dlpack.ParseDataType(want.DType))(t), e.Outputs[k].Data, want.Data)
			}
			m := must.Get(relax.Import([]byte(modules["v0.27"][name]), relax.Options{}))(t)
			s.known[contents(mainOf(m))] = name
		}
		s.add(t, name, string(must.Get(os.ReadFile(base+".json"))(t)), e)
		count++
	}
	require.Equal(t, len(examples), count)
	s.run(t)
}
