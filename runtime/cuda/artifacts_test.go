//go:build cuda

package cuda_test

import (
	"os"
	"path/filepath"
	goruntime "runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/nvrtc/nvrtctest"
	"tvmgo/runtime"
)

// artifact is a call of a function of a module of TVM, on a device.
type artifact struct {
	args []any
	out  *runtime.Tensor
	want []float32
}

func shaped(t testing.TB, dev dlpack.Device, data []float32, shape []int64) *runtime.Tensor {
	t.Helper()
	x := empty(t, dlpack.Float32, shape, dev)
	require.NoError(t, runtime.CopyFrom(x, data))
	return x
}

func example(t testing.TB, name string, dev dlpack.Device) artifact {
	var a artifact
	for _, in := range []string{"_in0.npy", "_in1.npy"} {
		if _, err := os.Stat(artifacts + name + in); err == nil {
			data, shape := npy(t, artifacts+name+in)
			a.args = append(a.args, shaped(t, dev, data, shape))
		}
	}
	want, shape := npy(t, artifacts+name+"_out.npy")
	a.want = want
	a.out = shaped(t, dev, make([]float32, len(want)), shape)
	a.args = append(a.args, a.out)
	return a
}

func (a artifact) check(t testing.TB) {
	t.Helper()
	require.InDeltaSlice(t, a.want, slice(t, a.out), 1e-3)
}

func (a artifact) close() {
	for _, x := range a.args {
		x.(*runtime.Tensor).Close()
	}
}

// files are the libraries that TVM exported for CUDA: of both generations, with every form of code.
var files = []string{"modern/gpu_cuda.so", "modern/gpu_cuda_ptx.so", "modern/gpu_cuda_src.so", "classic/gpu_cuda.so"}

var suffixes = map[string]string{files[0]: "cubin", files[1]: "ptx", files[2]: "cu", files[3]: "ptx"}

// The modules of TVM run on whatever device their arrays are, on its default stream and on another.
func TestArtifacts(t *testing.T) {
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			need(t)
			if file == "modern/gpu_cuda_src.so" {
				nvrtctest.NeedHeaders(t)
			}
			leavesNothing(t)
			m := module(t, filepath.Join(artifacts, file))
			for _, dev := range present() {
				for _, name := range []string{"addone", "vadd", "matmul"} {
					t.Run(name+" on "+dev.String(), func(t *testing.T) {
						a := example(t, name, dev)
						f := function(t, m, name)
						_, err := f.Call(a.args...)
						require.NoError(t, err)
						a.check(t)
						s := stream(t, dev)
						require.NoError(t, runtime.CopyFrom(a.out, make([]float32, a.out.Len())))
						_, err = f.CallOn(s, a.args...)
						require.NoError(t, err)
						require.NoError(t, s.Sync(t.Context()))
						a.check(t)
					})
				}
			}
			imports, err := m.Imports()
			require.NoError(t, err)
			require.Len(t, imports, 1)
			defer imports[0].Close()
			require.Equal(t, "cuda", imports[0].Kind())
			require.Equal(t, []string{"addone_kernel", "matmul_kernel", "vadd_kernel"}, imports[0].Functions())
			// What is saved, as bytes or in files, is loaded again and runs.
			path := filepath.Join(t.TempDir(), "kernels."+suffixes[file])
			require.NoError(t, imports[0].SaveToFile(path, ""))
			fromFile := module(t, path)
			require.Equal(t, "cuda", fromFile.Kind())
			dev := present()[len(present())-1]
			x, y := tensor(t, dev, []float32{1, 2, 3}), tensor(t, dev, make([]float32, 3))
			require.NoError(t, kernel(t, fromFile, "addone_kernel").Launch(nil, one, runtime.Dim3{256}, x, y, 3))
			require.Equal(t, []float32{2, 3, 4}, slice(t, y))
			saved, err := imports[0].SaveToBinary()
			require.NoError(t, err)
			again, err := fromFile.SaveToBinary()
			require.NoError(t, err)
			require.Equal(t, len(saved), len(again))
		})
	}
}

// Functions go on to work after their modules are closed, from many goroutines on all devices, while the collector runs all the time.
func TestArtifacts_ManyGoroutinesAndCollections(t *testing.T) {
	need(t)
	leavesNothing(t)
	stop := make(chan struct{})
	var collector sync.WaitGroup
	collector.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				goruntime.GC()
			}
		}
	})
	defer collector.Wait()
	defer close(stop)
	for _, file := range []string{files[0], files[1], files[3]} {
		m, err := runtime.Load(t.Context(), filepath.Join(artifacts, file))
		require.NoError(t, err)
		f := function(t, m, "vadd")
		require.NoError(t, m.Close())
		var calls []artifact
		for i := range 8 {
			calls = append(calls, example(t, "vadd", present()[i%len(present())]))
		}
		var wg sync.WaitGroup
		errs := make([]error, len(calls))
		for i, a := range calls {
			wg.Go(func() {
				for range 20 {
					if _, err := f.Call(a.args...); err != nil {
						errs[i] = err
					}
				}
			})
		}
		wg.Wait()
		for i, a := range calls {
			require.NoError(t, errs[i])
			a.check(t)
			a.close()
		}
		require.NoError(t, f.Close())
	}
}

// life is all that becomes of a module. tried says whether the failure that was asked for had come before things were closed, whose
// errors nobody hears.
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
	data, shape := npy(t, artifacts+"addone_in0.npy")
	want, _ := npy(t, artifacts+"addone_out.npy")
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

// Whichever call of the driver fails in the life of a module: there is an error, nothing is left, and the next try works.
func TestArtifacts_EveryCallFails(t *testing.T) {
	fake := needFake(t)
	const invalidValue = 1
	for _, file := range []string{files[0], files[1], files[3]} {
		_, err := life(t, file, fake.Failed) // makes contexts
		require.NoError(t, err)
		for _, c := range []struct {
			names  []string
			always bool // without the call there is no result
			least  int
		}{
			{[]string{"cuModule*", "cuMem*", "cuLaunch*", "cuFunc*", "cuStream*", "cuEvent*"}, true, 10},
			// A context that cannot be made current is not tried again when memory is freed: it is at its end.
			{[]string{"cuCtxGetCurrent", "cuCtxSynchronize", "cuCtxPush*", "cuCtxPop*", "cuDevice*", "cuPointer*", "cuThread*"}, false, 10},
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
