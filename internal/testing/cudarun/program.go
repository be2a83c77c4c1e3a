package cudarun

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/fakecuda"
	"tvmgo/internal/testing/fakecuda/control"
	"tvmgo/runtime"
	_ "tvmgo/runtime/cuda" // the device that the kernels run on
)

// Device is the device of programs that run by [Use].
var Device = dlpack.Device{Type: dlpack.CUDA}

// compileCallback is the name of the global function that compiles CUDA C for the runtime in place of NVRTC.
const compileCallback = "tvm_callback_cuda_compile"

var process struct {
	once   sync.Once
	driver *control.Driver
	err    error
}

// Use makes this process execute modules with CUDA C on the CPU until it ends: the runtime opens the fake CUDA driver,
// and compiles sources with this package. No CUDA device may have been used before. Then programs for kind "cuda" run
// on [Device] with their real host code: allocations, copies, streams and launches, which the fake driver checks, too.
//
// A kernel that fails makes the next synchronization return the driver's code; all later calls on the device fail, as
// after a failure on a GPU. The reason is a report of the driver, which the test prints when it ends and which makes it
// fail. Without the build tag cuda, the test is skipped.
func Use(t testing.TB) *control.Driver {
	t.Helper()
	process.once.Do(func() {
		library := fakecuda.Build(t)
		os.Setenv("TVMGO_CUDA_LIBRARY", library)
		process.driver = control.Open(t, library)
		f, err := runtime.NewFunction(func(args ...any) (any, error) { return Image(args[0].(string), Options{}) })
		if process.err = err; err == nil {
			defer f.Close()
			process.err = runtime.RegisterGlobal(compileCallback, f, true)
		}
	})
	if process.err != nil {
		t.Fatal(process.err)
	}
	if !runtime.DeviceExists(Device) {
		t.Skip("the program is built without the tag cuda")
	}
	process.driver.ClearReports()
	t.Cleanup(func() {
		for _, text := range process.driver.Reports() {
			t.Errorf("the fake CUDA driver reports: %s", text)
		}
		process.driver.ClearReports()
	})
	return process.driver
}

// Image compiles CUDA C to an image that the fake driver loads in place of PTX.
func Image(source string, o Options) ([]byte, error) {
	l, err := Compile(source, o)
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, source)
	}
	return fakecuda.HostImage(l.Path()), nil
}
