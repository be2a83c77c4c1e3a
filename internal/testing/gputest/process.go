package gputest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/export/pack"
	"tvmgo/internal/testing/leaks"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/runtime/devicetest"
)

// Missing skips a test because there is no device of a type; on CI the test fails. The reason is replaced by the error
// of the device, if it has one.
func Missing(t testing.TB, of dlpack.DeviceType, reason string) {
	t.Helper()
	for _, d := range runtime.Devices() {
		if d.Device.Type == of && d.Err != nil {
			reason = d.Err.Error()
		}
	}
	if os.Getenv("CI") != "" {
		t.Fatal(reason)
	}
	t.Skip(reason)
}

// HasCompiler reports whether there is a C compiler. Machines on which the tests run from a bundle may have none; on CI
// the test fails without one.
func HasCompiler(t testing.TB) bool {
	t.Helper()
	_, err := exec.LookPath("cc")
	if err != nil {
		require.Empty(t, os.Getenv("CI"), err)
	}
	return err == nil
}

// AddOne packs a file into a library with the function that devicetest calls. It returns the library's path; "" if
// there is no C compiler.
func AddOne(t testing.TB, file string) string {
	t.Helper()
	if !HasCompiler(t) {
		return ""
	}
	library := filepath.Join(t.TempDir(), "k.so")
	require.NoError(t, pack.Library(t.Context(), pack.Kernels{
		Inputs:    []pack.Input{{Path: file}},
		Functions: []pack.Function{{Signature: devicetest.AddOne + "(x: inout float32[n]) launch blockIdx.x=n"}},
	}, library))
	return library
}

// Live returns the counts that must be the same before and after a test.
func Live(t testing.TB, devices []dlpack.Device) (runtime.LiveCounts, []runtime.MemoryStats) {
	var memory []runtime.MemoryStats
	for _, dev := range devices {
		m := must.Get(runtime.DeviceMemory(dev))(t)
		memory = append(memory, runtime.MemoryStats{Data: m.Data, DataCount: m.DataCount, WorkspaceInUse: m.WorkspaceInUse,
			Pinned: m.Pinned})
	}
	n := runtime.Live()
	n.WorkspaceCached = 0
	return n, memory
}

// NoLeaks checks at the end of a test that it has not left objects or memory of the runtime or of devices.
func NoLeaks(t testing.TB, devices []dlpack.Device) {
	t.Helper()
	type alive struct {
		counts runtime.LiveCounts
		memory string
	}
	look := func() (x alive) {
		counts, memory := Live(t, devices)
		return alive{counts, fmt.Sprintf("%+v", memory)}
	}
	leaks.Check(t, look)
}

// Collect runs the garbage collector continuously until the function that it returns is called.
func Collect() func() {
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
	return func() {
		close(stop)
		collector.Wait()
	}
}

// Validated runs all tests of the calling binary in another process with TVMGO_VALIDATE=1. It checks that they pass,
// that the test `part` ran, and that the validation reported nothing. In that other process it does nothing.
func Validated(t *testing.T, part string, env ...string) {
	t.Helper()
	if os.Getenv("TVMGO_VALIDATE") != "" {
		return
	}
	cmd := exec.Command(os.Args[0], "-test.v")
	cmd.Env = append(append(os.Environ(), "TVMGO_VALIDATE=1"), env...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: "+part)
	require.NotContains(t, string(out), "validate:")
}
