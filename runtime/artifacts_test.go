package runtime_test

import (
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/machine"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// cpuArtifacts lists the modules of Apache TVM that run on the CPU, with their functions.
var cpuArtifacts = []struct {
	file      string
	functions []string
}{
	{"modern/addone_llvm.so", []string{"addone"}},
	{"modern/multi_llvm.so", []string{"addone", "matmul", "softmax", "vadd", "wsfunc"}},
	{"modern/multi_c.so", []string{"addone", "matmul", "softmax", "vadd", "wsfunc"}},
	{"classic/addone_llvm.so", []string{"addone"}},
	{"classic/multi_llvm.so", []string{"addone", "matmul", "softmax", "vadd", "wsfunc"}},
}

// example is a call with its expected output.
type example struct {
	inputs []*runtime.Tensor
	shape  []int64
	want   []float32
}

func exampleOf(t *testing.T, name string) example {
	t.Helper()
	if name == "wsfunc" {
		return transposeExample(t)
	}
	var e example
	for _, in := range []string{"_in0.npy", "_in1.npy"} {
		if _, err := os.Stat(artifacts + name + in); err == nil {
			data, shape := modules.NPY(t, artifacts+name+in)
			e.inputs = append(e.inputs, tensor(t, data, shape...))
		}
	}
	e.want, e.shape = modules.NPY(t, artifacts+name+"_out.npy")
	return e
}

// transposeExample is 2A + 2Aᵀ − A of a 512 by 512 matrix.
func transposeExample(t *testing.T) example {
	const n = 512
	a, want := make([]float32, n*n), make([]float32, n*n)
	for i := range a {
		a[i] = float32(i%1009) / 64
	}
	for i := range n {
		for j := range n {
			want[i*n+j] = a[i*n+j] + 2*a[j*n+i]
		}
	}
	return example{[]*runtime.Tensor{tensor(t, a, n, n)}, []int64{n, n}, want}
}

func (e example) args(out *runtime.Tensor) []any {
	var args []any
	for _, in := range e.inputs {
		args = append(args, in)
	}
	return append(args, out)
}

// eachArtifact runs f for every function of every module.
func eachArtifact(t *testing.T, f func(t *testing.T, m *runtime.Module, name string)) {
	for _, a := range cpuArtifacts {
		t.Run(a.file, func(t *testing.T) {
			noLeaks(t)
			m := modules.Load(t, artifacts+a.file)
			for _, name := range a.functions {
				t.Run(name, func(t *testing.T) { f(t, m, name) })
			}
		})
	}
}

func TestArtifacts_FunctionNames(t *testing.T) {
	noLeaks(t)
	for _, a := range cpuArtifacts {
		m := modules.Load(t, artifacts+a.file)
		require.Equal(t, "library", m.Kind())
		names := slices.DeleteFunc(m.Functions(), func(s string) bool { return s == "main" }) // the entry function
		require.Equal(t, a.functions, names, a.file)
		require.NotZero(t, m.Properties()&runtime.Runnable)
		require.Empty(t, must.Get(m.Imports())(t))
	}
}

func TestArtifacts_CallGivesExpectedOutput(t *testing.T) {
	eachArtifact(t, func(t *testing.T, m *runtime.Module, name string) {
		e := exampleOf(t, name)
		out := empty(t, dlpack.Float32, e.shape, runtime.CPU)
		require.Nil(t, call(t, function(t, m, name), e.args(out)...))
		requireClose(t, e.want, slice[float32](t, out))
	})
}

func TestArtifacts_BoundCallGivesExpectedOutput(t *testing.T) {
	eachArtifact(t, func(t *testing.T, m *runtime.Module, name string) {
		e := exampleOf(t, name)
		out := empty(t, dlpack.Float32, e.shape, runtime.CPU)
		b := must.Get(function(t, m, name).Bind(e.args(out)...))(t)
		defer b.Close()
		for range 3 {
			require.NoError(t, runtime.CopyFrom(out, make([]float32, len(e.want))))
			require.NoError(t, b.Call())
			requireClose(t, e.want, slice[float32](t, out))
		}
		require.Nil(t, must.Get(b.Result())(t))
	})
}

func TestArtifacts_ManyGoroutinesCall(t *testing.T) {
	eachArtifact(t, func(t *testing.T, m *runtime.Module, name string) {
		e := exampleOf(t, name)
		f := function(t, m, name)
		const goroutines, calls = 8, 4
		errs := make(chan error, goroutines*calls)
		outs := make([]*runtime.Tensor, goroutines)
		var wg sync.WaitGroup
		for g := range outs {
			outs[g] = empty(t, dlpack.Float32, e.shape, runtime.CPU)
			wg.Go(func() {
				for range calls {
					_, err := f.Call(e.args(outs[g])...)
					errs <- err
				}
			})
		}
		wg.Wait()
		close(errs)
		for err := range errs {
			require.NoError(t, err)
		}
		for _, out := range outs {
			requireClose(t, e.want, slice[float32](t, out))
		}
	})
}

func TestArtifacts_BadArgumentsGiveTheModulesOwnError(t *testing.T) {
	f4 := []float32{1, 2, 3, 4}
	cases := []struct {
		name string
		args func(t *testing.T) []any
	}{
		{"no argument", func(t *testing.T) []any { return nil }},
		{"one argument", func(t *testing.T) []any { return []any{tensor(t, f4)} }},
		{"three arguments", func(t *testing.T) []any { return []any{tensor(t, f4), tensor(t, f4), tensor(t, f4)} }},
		{"dtype", func(t *testing.T) []any { return []any{tensor(t, []int32{1, 2, 3, 4}), tensor(t, f4)} }},
		{"dtype of the same size",
			func(t *testing.T) []any { return []any{tensor(t, f4), tensor(t, []int32{1, 2, 3, 4})} }},
		{"rank", func(t *testing.T) []any { return []any{tensor(t, f4, 2, 2), tensor(t, f4)} }},
		{"length", func(t *testing.T) []any { return []any{tensor(t, f4), tensor(t, f4[:3])} }},
		{"None", func(t *testing.T) []any { return []any{nil, tensor(t, f4)} }},
		{"int", func(t *testing.T) []any { return []any{tensor(t, f4), 7} }},
		{"str", func(t *testing.T) []any { return []any{"tensor", tensor(t, f4)} }},
		{"device", func(t *testing.T) []any {
			return []any{tensor(t, f4), empty(t, dlpack.Float32, []int64{4}, fakeDevice(t))}
		}},
	}
	for _, a := range cpuArtifacts {
		t.Run(a.file, func(t *testing.T) {
			noLeaks(t)
			f := function(t, modules.Load(t, artifacts+a.file), "addone")
			for _, c := range cases {
				t.Run(c.name, func(t *testing.T) {
					args := c.args(t)
					_, err := f.Call(args...)
					e := requireBadArgument(t, err)
					b := must.Open(f.Bind(args...))(t)
					require.Equal(t, e.Message, requireBadArgument(t, b.Call()).Message)
					require.Equal(t, e.Message, requireBadArgument(t, b.Call()).Message, "every time")
				})
			}
		})
	}
}

// requireBadArgument checks for an error that generated code raises for a bad argument: TypeError or ValueError in the
// modern generation, a text with "Assert fail" in the classic one.
func requireBadArgument(t *testing.T, err error) *runtime.Error {
	t.Helper()
	var e *runtime.Error
	require.ErrorAs(t, err, &e)
	require.True(t, slices.Contains([]error{runtime.ErrInvalidArgument, runtime.ErrFailed}, e.Kind), "%v: %v", e.Kind,
		e)
	require.Contains(t, []string{"TypeError", "ValueError", "RuntimeError"}, e.Code)
	require.Greater(t, len(e.Message), 20, "a readable text: %q", e.Message)
	return e
}

func TestArtifacts_GPUModulesLoadAndNameTheCure(t *testing.T) {
	for _, c := range []struct{ file, kind string }{
		{"modern/gpu_opencl.so", "opencl"},
		{"modern/gpu_cuda.so", "cuda"},
		{"modern/gpu_cuda_ptx.so", "cuda"},
		{"modern/gpu_cuda_src.so", "cuda"},
		{"classic/gpu_opencl.so", "opencl"},
		{"classic/gpu_cuda.so", "cuda"},
	} {
		t.Run(c.file, func(t *testing.T) {
			noLeaks(t)
			m := modules.Load(t, artifacts+c.file)
			_, err := m.Function("vadd_kernel")
			requireError(t, err, runtime.ErrDeviceUnavailable, `"vadd_kernel"`, `"`+c.kind+`"`,
				"import tvmgo/runtime/"+c.kind)
		})
	}
}

// Without the package that runs it, a model is data.
func TestArtifacts_ModelsNameTheirPackage(t *testing.T) {
	noLeaks(t)
	for _, c := range []struct{ file, kind, function, remedy string }{
		{"classic/graph_mlp.so", "GraphExecutorFactory", "default", "import tvmgo/runtime/graph"},
		{"modern/relax_mlp.so", "relax.VMExecutable", "vm_load_executable", "import tvmgo/runtime/vm"},
	} {
		m := modules.Load(t, artifacts+c.file)
		require.Equal(t, c.kind, m.Kind())
		_, err := m.Function(c.function)
		requireError(t, err, runtime.ErrNotSupported, c.kind, c.remedy)
	}
}

// The linker variable makes dlopen resolve all symbols immediately, so every file must be a copy.
func TestArtifacts_UnderBindNow(t *testing.T) {
	machine.Need(t, multiC)
	if os.Getenv("LD_BIND_NOW") != "" {
		t.Skip("runs in the process that this test starts")
	}
	self := must.Get(os.Executable())(t)
	cmd := exec.Command(self, "-test.count=1",
		"-test.run=^(TestArtifacts_(Call|Bound|Bad)|TestLoad_|TestEnv_|TestLink_|TestImportTree_Of)")
	cmd.Env = append(os.Environ(), "LD_BIND_NOW=1", workVariable+"="+work)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "PASS")
	require.NotContains(t, string(out), "no tests to run")
}
