//go:build cuda

package cuda_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/gputest"
	"tvmgo/internal/testing/machine"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/nvrtctest"
	"tvmgo/runtime"
)

// files lists the libraries that TVM exported for CUDA: of both generations, and with every format of code.
var files = []string{"modern/gpu_cuda.so", "modern/gpu_cuda_ptx.so", "modern/gpu_cuda_src.so", "classic/gpu_cuda.so"}

var suffixes = map[string]string{files[0]: "cubin", files[1]: "ptx", files[2]: "cu", files[3]: "ptx"}

// Modules that TVM compiled run on the device of their arrays, on the default stream and on another stream.
func TestArtifacts(t *testing.T) {
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			need(t)
			if file == "modern/gpu_cuda_src.so" {
				nvrtctest.NeedHeaders(t)
			}
			leavesNothing(t)
			m := module(t, filepath.Join(artifacts, file))
			gputest.RunAll(t, m, present())
			gputest.SaveAgain(t, m, "cuda", suffixes[file], present()[len(present())-1])
		})
	}
}

// Functions still work after their modules are closed, in many goroutines on all devices and with frequent garbage
// collections.
func TestArtifacts_ManyGoroutinesAndCollections(t *testing.T) {
	need(t)
	leavesNothing(t)
	gputest.Hammer(t, []string{artifacts + files[0], artifacts + files[1], artifacts + files[3]}, present())
}

// life loads a module, calls a function and closes everything. tried reports whether the requested failure happened
// before objects were closed, because errors of closing are ignored.
func life(t testing.TB, file string, failed func() bool) (tried bool, err error) {
	defer func() { tried = tried || err != nil }()
	m, err := runtime.Load(t.Context(), filepath.Join(artifacts, file))
	if err != nil {
		return false, err
	}
	defer m.Close()
	f, err := m.Function("addone")
	if err != nil {
		return false, err
	}
	defer f.Close()
	s, err := runtime.NewStream(first)
	if err != nil {
		return false, err
	}
	defer s.Close()
	data, shape := modules.NPY(t, artifacts+"addone_in0.npy")
	want, _ := modules.NPY(t, artifacts+"addone_out.npy")
	var list []any
	for range 2 {
		x, err := runtime.NewTensor(dlpack.Float32, shape, first)
		if err != nil {
			return false, err
		}
		defer x.Close()
		list = append(list, x)
	}
	in, out := list[0].(*runtime.Tensor), list[1].(*runtime.Tensor)
	if err := runtime.CopyFrom(in, data); err != nil {
		return false, err
	}
	if _, err := f.CallOn(s, list...); err != nil {
		return false, err
	}
	if err := s.Sync(t.Context()); err != nil {
		return false, err
	}
	got, err := runtime.ToSlice[float32](out)
	if err == nil {
		require.Equal(t, want, got)
	}
	return failed(), err
}

// If any call of the driver fails while a module is used, there is an error, nothing leaks, and the next use works.
func TestArtifacts_EveryCallFails(t *testing.T) {
	fake := needFake(t)
	const invalidValue = 1
	for _, file := range []string{files[0], files[1], files[3]} {
		machine.Need(t, artifacts+file)
		_, err := life(t, file, fake.Failed) // creates the contexts
		require.NoError(t, err)
		for _, c := range []struct {
			names  []string
			always bool // a failure of these calls is always an error
			least  int
		}{
			{[]string{"cuModule*", "cuMem*", "cuLaunch*", "cuFunc*", "cuStreamCreate*", "cuStreamSynchronize", "cuEvent*"}, true,
				10},
			{[]string{"cuCtxGetCurrent", "cuCtxSetCurrent", "cuCtxSynchronize", "cuCtxPush*", "cuCtxPop*", "cuDevice*",
				"cuPointer*", "cuThread*", "cuStreamIs*", "cuStreamQuery", "cuStreamGet*", "cuStreamDestroy*"}, false, 10},
		} {
			before := alive(t)
			n := 0
			for k := int64(1); ; k++ {
				fake.FailAt(k, invalidValue, c.names...)
				tried, err := life(t, file, fake.Failed)
				failed := fake.Failed()
				fake.FailAt(0, 0)
				if !failed {
					require.NoError(t, err)
					break
				}
				n++
				if c.always && tried {
					require.Error(t, err, "call %d of %v in the life of %s", k, c.names, file)
				}
				if err != nil {
					require.ErrorContains(t, err, "CUDA_ERROR_INVALID_VALUE", "call %d of %v", k, c.names)
				}
				require.Equal(t, before, alive(t), "call %d of %v", k, c.names)
				_, err = life(t, file, fake.Failed)
				require.NoError(t, err, "after call %d of %v had failed", k, c.names)
				require.Equal(t, before, alive(t), "call %d of %v", k, c.names)
			}
			require.GreaterOrEqual(t, n, c.least, "%v", c.names)
			require.Empty(t, fake.Reports())
		}
	}
}
