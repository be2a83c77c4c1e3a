//go:build opencl

package opencl_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"sync"
	"testing"

	"github.com/sbinet/npyio"
	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/export/pack"
	"tvmgo/runtime"
	"tvmgo/runtime/devicetest"
	_ "tvmgo/runtime/opencl"
)

var (
	first  = dlpack.Device{Type: dlpack.OpenCL}
	second = dlpack.Device{Type: dlpack.OpenCL, ID: 1}
)

// The tests run on the two CPU devices of PoCL, so that there is always a second device.
func TestMain(m *testing.M) {
	if os.Getenv("POCL_DEVICES") == "" {
		os.Setenv("POCL_DEVICES", "pthread basic")
	}
	dir, err := os.MkdirTemp("", "opencl-cache")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if os.Getenv("TVMGO_CACHE_DIR") == "" {
		os.Setenv("TVMGO_CACHE_DIR", dir)
	}
	rc := m.Run()
	os.RemoveAll(dir)
	os.Exit(rc)
}

// present are the devices that tests run on: two, but for machines with one GPU.
func present() []dlpack.Device {
	if !runtime.DeviceExists(second) {
		return []dlpack.Device{first}
	}
	return []dlpack.Device{first, second}
}

// other is the last of them.
func other() dlpack.Device { return present()[len(present())-1] }

// need skips a test where there is no OpenCL; on CI that is a failure, and so is a single device.
func need(t testing.TB) {
	t.Helper()
	if runtime.DeviceExists(first) && (os.Getenv("CI") == "" || runtime.DeviceExists(second)) {
		return
	}
	missing(t)
}

// needTwo is need for tests of what happens between devices.
func needTwo(t testing.TB) {
	t.Helper()
	if !runtime.DeviceExists(second) {
		missing(t)
	}
}

func missing(t testing.TB) {
	t.Helper()
	reason := "there are no two OpenCL devices"
	for _, d := range runtime.Devices() {
		if d.Device.Type == dlpack.OpenCL && d.Err != nil {
			reason = d.Err.Error()
		}
	}
	if os.Getenv("CI") != "" {
		t.Fatal(reason)
	}
	t.Skip(reason)
}

// noLeaks checks that a test leaves nothing alive, in the runtime or on the devices.
func noLeaks(t *testing.T) {
	t.Helper()
	before, memory := live(t)
	t.Cleanup(func() {
		now, nowMemory := live(t)
		for try := 0; try < 100 && (now != before || nowMemory != memory); try++ {
			goruntime.GC()
			now, nowMemory = live(t)
		}
		require.Equal(t, before, now)
		require.Equal(t, memory, nowMemory)
	})
}

func live(t *testing.T) (runtime.LiveCounts, [2]runtime.MemoryStats) {
	var memory [2]runtime.MemoryStats
	for i, dev := range present() {
		m, err := runtime.DeviceMemory(dev)
		require.NoError(t, err)
		m.DataPeak = 0
		memory[i] = m
	}
	n := runtime.Live()
	n.WorkspaceCached = 0
	return n, memory
}

// addOne is a library with the function that the suite calls; "" where none can be packed.
func addOne(t *testing.T) string {
	if _, err := exec.LookPath("cc"); err != nil {
		require.Empty(t, os.Getenv("CI"), "packing needs a C compiler")
		return ""
	}
	dir := t.TempDir()
	source, library := filepath.Join(dir, "k.cl"), filepath.Join(dir, "k.so")
	require.NoError(t, os.WriteFile(source, []byte("__kernel void add_one(__global float* x) { x[get_global_id(0)] += 1; }\n"), 0o666))
	require.NoError(t, pack.Library(context.Background(), pack.Kernels{
		Inputs:    []pack.Input{{Path: source}},
		Functions: []pack.Function{{Signature: devicetest.AddOne + "(x: inout float32[n]) launch blockIdx.x=n"}},
	}, library))
	return library
}

func TestDevice(t *testing.T) {
	need(t)
	file := addOne(t)
	devices := present()
	for i, dev := range devices {
		t.Run(dev.String(), func(t *testing.T) {
			opts := devicetest.Options{Second: devices[len(devices)-1-i], Absent: 63, Scopes: map[string][]int64{
				"global.texture": {3, 5, 4}, "global.texture-weight": {2, 3, 5, 4}, "global.texture-nhwc": {2, 3, 5, 4}}}
			if file != "" {
				opts.Module = func() (*runtime.Module, error) { return runtime.Load(context.Background(), file) }
			}
			devicetest.Run(t, dev, opts)
		})
	}
}

// With TVMGO_VALIDATE=1, which is read when a process starts, all tests of this package pass too, and nothing is reported.
func TestValidated(t *testing.T) {
	need(t)
	if os.Getenv("TVMGO_VALIDATE") != "" {
		return // it is the child
	}
	cmd := exec.Command(os.Args[0], "-test.v")
	cmd.Env = append(os.Environ(), "TVMGO_VALIDATE=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: TestDevice/opencl:0/Workspaces")
	require.NotContains(t, string(out), "validate:")
}

const artifacts = "../../testdata/artifacts/"

func npy(t *testing.T, path string) ([]float32, []int64) {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	r, err := npyio.NewReader(f)
	require.NoError(t, err)
	var data []float32
	require.NoError(t, r.Read(&data))
	var shape []int64
	for _, n := range r.Header.Descr.Shape {
		shape = append(shape, int64(n))
	}
	return data, shape
}

func tensor(t testing.TB, dev dlpack.Device, data []float32, shape ...int64) *runtime.Tensor {
	t.Helper()
	if shape == nil {
		shape = []int64{int64(len(data))}
	}
	x, err := runtime.NewTensor(dlpack.Float32, shape, dev)
	require.NoError(t, err)
	t.Cleanup(func() { x.Close() })
	require.NoError(t, runtime.CopyFrom(x, data))
	return x
}

func slice(t testing.TB, x *runtime.Tensor) []float32 {
	t.Helper()
	got, err := runtime.ToSlice[float32](x)
	require.NoError(t, err)
	return got
}

// artifact is a call of a function of a module of TVM, on a device.
type artifact struct {
	args []any
	out  *runtime.Tensor
	want []float32
}

func example(t *testing.T, name string, dev dlpack.Device) artifact {
	var a artifact
	for _, in := range []string{"_in0.npy", "_in1.npy"} {
		if _, err := os.Stat(artifacts + name + in); err == nil {
			data, shape := npy(t, artifacts+name+in)
			a.args = append(a.args, tensor(t, dev, data, shape...))
		}
	}
	want, shape := npy(t, artifacts+name+"_out.npy")
	a.want = want
	a.out = tensor(t, dev, make([]float32, len(want)), shape...)
	a.args = append(a.args, a.out)
	return a
}

func (a artifact) check(t *testing.T) {
	t.Helper()
	require.InDeltaSlice(t, a.want, slice(t, a.out), 1e-3)
}

func module(t testing.TB, path string) *runtime.Module {
	t.Helper()
	m, err := runtime.Load(t.Context(), path)
	require.NoError(t, err)
	t.Cleanup(func() { m.Close() })
	return m
}

func function(t testing.TB, m *runtime.Module, name string) *runtime.Function {
	t.Helper()
	f, err := m.Function(name)
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

var generations = []string{"modern", "classic"}

// The modules of TVM run on whatever device their arrays are.
func TestArtifacts(t *testing.T) {
	need(t)
	for _, generation := range generations {
		t.Run(generation, func(t *testing.T) {
			noLeaks(t)
			m := module(t, filepath.Join(artifacts, generation, "gpu_opencl.so"))
			for _, dev := range present() {
				for _, name := range []string{"addone", "vadd", "matmul"} {
					t.Run(name+" on "+dev.String(), func(t *testing.T) {
						a := example(t, name, dev)
						f := function(t, m, name)
						_, err := f.Call(a.args...)
						require.NoError(t, err)
						a.check(t)
						s, err := runtime.NewStream(dev)
						require.NoError(t, err)
						defer s.Close()
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
			require.Equal(t, "opencl", imports[0].Kind())
			require.Equal(t, []string{"addone_kernel", "matmul_kernel", "vadd_kernel"}, imports[0].Functions())
			source, err := imports[0].GetSource("")
			require.NoError(t, err)
			require.Contains(t, source, "__kernel void vadd_kernel")
			// What is saved, as bytes or in files, is loaded again and runs.
			path := filepath.Join(t.TempDir(), "kernels.cl")
			require.NoError(t, imports[0].SaveToFile(path, ""))
			fromFile := module(t, path)
			require.Equal(t, "opencl", fromFile.Kind())
			x, y := tensor(t, other(), []float32{1, 2, 3}), tensor(t, other(), make([]float32, 3))
			require.NoError(t, kernel(t, fromFile, "addone_kernel").Launch(nil, runtime.Dim3{1}, runtime.Dim3{256}, x, y, 3))
			require.Equal(t, []float32{2, 3, 4}, slice(t, y))
			saved, err := imports[0].SaveToBinary()
			require.NoError(t, err)
			again, err := fromFile.SaveToBinary()
			require.NoError(t, err)
			require.Equal(t, len(saved), len(again))
			require.NoError(t, imports[0].Close())
		})
	}
}

// Functions go on to work after their modules are closed, from many goroutines, while the collector runs all the time.
func TestArtifacts_ManyGoroutinesAndCollections(t *testing.T) {
	need(t)
	noLeaks(t)
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
	for _, generation := range generations {
		m, err := runtime.Load(t.Context(), filepath.Join(artifacts, generation, "gpu_opencl.so"))
		require.NoError(t, err)
		f := function(t, m, "vadd")
		require.NoError(t, m.Close())
		var calls []artifact
		for range 6 {
			calls = append(calls, example(t, "vadd", first))
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
		}
		require.NoError(t, f.Close())
		for _, a := range calls {
			for _, x := range a.args {
				x.(*runtime.Tensor).Close()
			}
		}
	}
}
