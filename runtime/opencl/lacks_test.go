//go:build opencl

package opencl_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/dl"
	"tvmgo/runtime"
	"tvmgo/runtime/opencl"
)

const lacksVariable = "OPENCL_TEST_LACKS"

// loaderWithout returns a copy of the loader in use in which one function has another name.
func loaderWithout(t *testing.T, function string) string {
	t.Helper()
	code, err := os.ReadFile(dl.OpenCLPath())
	require.NoError(t, err)
	name := []byte("\x00" + function + "\x00")
	require.Contains(t, string(code), string(name))
	other := bytes.Clone(name)
	other[1] = 'x'
	path := filepath.Join(t.TempDir(), "libOpenCL.so.1")
	code = bytes.Replace(code, name, other, 1) // the first one, which is in the symbol table
	require.NoError(t, os.WriteFile(path, code, 0o755))
	return path
}

// If the loader does not have a function, the report and the errors of calls that need it name the function. Other
// calls work.
func TestLacks(t *testing.T) {
	lacks := os.Getenv(lacksVariable)
	if lacks == "" {
		need(t)
		for _, function := range []string{"clCreateBuffer", "clEnqueueNDRangeKernel", "clCreateSubBuffer", "clCreateContext",
			"clGetDeviceInfo", "clSetKernelArg"} {
			cmd := exec.Command(os.Args[0], "-test.run=^TestLacks$", "-test.v")
			cmd.Env = append(os.Environ(), lacksVariable+"="+function, "TVMGO_OPENCL_LIBRARY="+loaderWithout(t, function))
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s: %s", function, out)
		}
		return
	}
	x, err := runtime.NewTensor(dlpack.Float32, []int64{64}, first)
	if err == nil {
		require.Equal(t, []string{lacks}, opencl.Loaded().Lacks)
		err = runtime.CopyFrom(x, make([]float32, 64))
		require.NoError(t, err)
		var part *runtime.Tensor
		part, err = x.View(dlpack.Float32, []int64{32}, nil, 32*4)
		require.NoError(t, err)
		err = kernel(t, handMade(t, source, kernels...), "scale").Launch(nil, runtime.Dim3{32}, runtime.Dim3{}, part, 3, 32)
	}
	require.ErrorContains(t, err, os.Getenv("TVMGO_OPENCL_LIBRARY")+" has no function "+lacks+": install a loader")
	require.NotContains(t, err.Error(), "CL_INVALID_OPERATION")
}
