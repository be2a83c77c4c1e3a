package graph_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/leaks"
	"tvmgo/internal/testing/machine"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/runtime/graph"
)

const artifacts = "../../testdata/artifacts/classic/"

var (
	ctx = context.Background()
	cpu = runtime.CPU
)

func noLeaks(t *testing.T) {
	t.Helper()
	leaks.Check(t, func() runtime.LiveCounts {
		runtime.TrimWorkspaces(cpu) // idle memory of results
		n := runtime.Live()
		n.WorkspaceCached = 0 // idle workspaces belong to threads
		return n
	})
}

// call calls a function of a module, which must succeed.
func call(t testing.TB, m *runtime.Module, name string, args ...any) any {
	t.Helper()
	return must.Get(modules.Call(t, m, name, args...))(t)
}

// fails calls a function of a module, which must fail.
func fails(t testing.TB, m *runtime.Module, name string, args ...any) error {
	t.Helper()
	_, err := modules.Call(t, m, name, args...)
	require.Error(t, err)
	return err
}

// session makes an executor, which is closed at the end of the test.
func session(t testing.TB, factory *runtime.Module, devices ...dlpack.Device) *runtime.Module {
	t.Helper()
	var args []any
	for _, d := range devices {
		args = append(args, d)
	}
	m := call(t, factory, "default", args...).(*runtime.Module)
	t.Cleanup(func() { m.Close() })
	return m
}

// output returns the elements of an output.
func output[T dlpack.Scalar](t testing.TB, m *runtime.Module, i any) []T {
	t.Helper()
	out := call(t, m, "get_output", i).(*runtime.Tensor)
	defer out.Close()
	return must.Get(runtime.ToSlice[T](out))(t)
}

// mlp is graph_mlp with its input and the expected output.
type mlp struct {
	*runtime.Module
	in   *runtime.Tensor
	want []float32
}

func loadMLP(t testing.TB) mlp {
	data, shape := modules.NPY(t, artifacts+"graph_mlp_in0.npy")
	want, _ := modules.NPY(t, artifacts+"graph_mlp_out.npy")
	return mlp{modules.Load(t, artifacts+"graph_mlp.so"), modules.Tensor(t, data, shape...), want}
}

func (m *mlp) check(t testing.TB, s *runtime.Module) {
	t.Helper()
	call(t, s, "set_input", "data", m.in)
	call(t, s, "run")
	require.InDeltaSlice(t, m.want, output[float32](t, s, 0), 1e-5)
}

func TestMLP_RunsLikeTVM(t *testing.T) {
	noLeaks(t)
	m := loadMLP(t)
	require.Equal(t, graph.FactoryKind, m.Kind())
	s := session(t, m.Module, cpu)
	require.Equal(t, graph.ExecutorKind, s.Kind())
	m.check(t, s)

	require.EqualValues(t, 5, call(t, s, "get_num_inputs"))
	require.EqualValues(t, 1, call(t, s, "get_num_outputs"))
	require.EqualValues(t, 2, call(t, s, "get_input_index", "p1"))
	require.EqualValues(t, -1, call(t, s, "get_input_index", "p9"))
	require.Equal(t, runtime.Map{
		{Key: "shape", Value: runtime.Map{{Key: "data", Value: runtime.Shape{4, 16}}}},
		{Key: "dtype", Value: runtime.Map{{Key: "data", Value: "float32"}}}}, call(t, s, "get_input_info"))
	info := call(t, s, "get_output_info").(runtime.Map)
	require.Equal(t, runtime.Map{{Key: "tvmgen_default_fused_nn_softmax", Value: runtime.Shape{4, 10}}}, info[0].Value)

	out := modules.Empty(t, dlpack.Float32, 4, 10)
	require.Nil(t, call(t, s, "get_output", 0, out))
	require.InDeltaSlice(t, m.want, modules.Slice[float32](t, out), 1e-5)

	results := call(t, s, "run_from_inputs", int(dlpack.CPU), 0, "data", m.in).([]any)
	require.Len(t, results, 1)
	got := results[0].(*runtime.Tensor)
	require.InDeltaSlice(t, m.want, modules.Slice[float32](t, got), 1e-5)
	got.Close()
}

// The payload, and each library made from it, is the same again.
func TestMLP_SavesTheSameBytes(t *testing.T) {
	m := loadMLP(t)
	for _, layout := range []blob.Layout{blob.Modern, blob.Legacy} {
		data := must.Get(m.SaveToBinaryFor(layout))(t)
		of := must.Get(blob.ParseGraphFactory(data))(t)
		require.Equal(t, "default", of.Module)
		require.Equal(t, []string{"p0", "p1", "p2", "p3"}, of.Names)
		require.Equal(t, data, must.Get(of.Encode())(t))
	}
	file := must.Get(os.ReadFile(artifacts + "graph_mlp.so"))(t)
	require.Contains(t, string(file), string(must.Get(m.SaveToBinary())(t)))
	require.Equal(t, call(t, m.Module, "get_graph_json"), must.Get(m.GetSource("json"))(t))
}

func TestMLP_FactoryFunctions(t *testing.T) {
	noLeaks(t)
	m := loadMLP(t)
	params := call(t, m.Module, "get_graph_params").(runtime.Map)
	require.Len(t, params, 4)
	require.Equal(t, "p0", params[0].Key)
	require.Equal(t, []int64{2, 16, 16}, params[0].Value.(*runtime.Tensor).Shape())

	bare := call(t, m.Module, "remove_params").(*runtime.Module)
	defer bare.Close()
	require.Empty(t, call(t, bare, "get_graph_params"))
	s := session(t, bare, cpu)
	for _, p := range params {
		call(t, s, "set_input", p.Key, p.Value)
	}
	m.check(t, s)

	debug := call(t, m.Module, "debug_create", "default", cpu).(*runtime.Module)
	defer debug.Close()
	m.check(t, debug)
	hidden := modules.Empty(t, dlpack.Float32, 4, 10)
	call(t, debug, "debug_get_output", "tvmgen_default_fused_nn_softmax", hidden)
	require.InDeltaSlice(t, m.want, modules.Slice[float32](t, hidden), 1e-5)
	require.ErrorContains(t, fails(t, m.Module, "debug_create", "other", cpu), `its name is "default"`)

	json := call(t, m.Module, "get_graph_json")
	lib := must.Get(m.Imports())(t)[0]
	defer lib.Close()
	args := []any{json, lib, "again"}
	for _, p := range params {
		args = append(args, p.Key, p.Value)
	}
	made := must.Get(must.Open(runtime.Global("tvm.graph_executor_factory.create"))(t).Call(args...))(t).(*runtime.Module)
	defer made.Close()
	v := call(t, made, "again", cpu).(*runtime.Module)
	defer v.Close()
	m.check(t, v)
	for _, p := range params {
		p.Value.(*runtime.Tensor).Close()
	}
	for _, name := range []string{"tvm.graph_executor.create", "tvm.graph_executor_debug.create"} {
		v := must.Get(must.Open(runtime.Global(name))(t).Call(json, lib, int(dlpack.CPU), 0))(t).(*runtime.Module)
		require.EqualValues(t, 5, call(t, v, "get_num_inputs"))
		v.Close()
	}
}

// A function of a factory or an executor keeps its module alive.
func TestMLP_FunctionsKeepTheirModule(t *testing.T) {
	noLeaks(t)
	m := loadMLP(t)
	create := must.Get(m.Function("default"))(t)
	require.NoError(t, m.Close())
	s := must.Get(create.Call(cpu))(t).(*runtime.Module)
	create.Close()
	info := must.Open(s.Function("get_input_info"))(t)
	run := must.Open(s.Function("run"))(t)
	s.Close()
	must.Get(info.Call())(t)
	must.Get(run.Call())(t)
}

// Executors of one factory share one copy of the weights, until one of them changes a parameter.
func TestMLP_WeightsAreShared(t *testing.T) {
	m := loadMLP(t)
	a, b := session(t, m.Module, cpu), session(t, m.Module, cpu)
	before := runtime.Live().TensorBytes
	more := make([]*runtime.Module, 10)
	for i := range more {
		more[i] = session(t, m.Module, cpu)
	}
	perSession := (runtime.Live().TensorBytes - before) / int64(len(more))
	require.Less(t, perSession, int64(2*16*16*4), "a session has no copy of the first weight")

	zero := modules.Tensor(t, make([]float32, 2*16*16), 2, 16, 16)
	call(t, a, "set_input", "p0", zero)
	call(t, a, "set_input", "data", m.in)
	call(t, a, "run")
	require.NotEqual(t, m.want, output[float32](t, a, 0))
	m.check(t, b)

	mine := call(t, b, "get_input", "p0").(*runtime.Tensor)
	defer mine.Close()
	require.NoError(t, runtime.CopyFrom(mine, make([]float32, 2*16*16)))
	m.check(t, more[0])
}

func TestMLP_ManyThreads(t *testing.T) {
	noLeaks(t)
	m := loadMLP(t)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			v, err := modules.Call(t, m.Module, "default", cpu)
			if err != nil {
				t.Error(err)
				return
			}
			s := v.(*runtime.Module)
			defer s.Close()
			for range 20 {
				m.check(t, s)
			}
		})
	}
	wg.Wait()
}

func TestMLP_CorruptFile(t *testing.T) {
	dir := t.TempDir()
	machine.Need(t, artifacts+"graph_mlp.so")
	data := must.Get(os.ReadFile(artifacts + "graph_mlp.so"))(t)
	data = bytes.Replace(data, []byte(`"tvm_op"`), []byte(`"tvm_ap"`), 1)
	path := filepath.Join(dir, "broken.so")
	require.NoError(t, os.WriteFile(path, data, 0o755))
	_, err := runtime.Load(ctx, path)
	require.ErrorIs(t, err, runtime.ErrCorruptModule)
	require.ErrorContains(t, err, `op is "tvm_ap"`)
	require.ErrorContains(t, err, path)
}
