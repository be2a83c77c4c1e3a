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

// Missing skips a test for want of devices of a type, with the reason that the device itself gives, if it does; on CI
// that is a failure.
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

// HasCompiler tells whether a test can compile C: not where it is run from a bundle. On CI it has to.
func HasCompiler(t testing.TB) bool {
	t.Helper()
	_, err := exec.LookPath("cc")
	if err != nil {
		require.Empty(t, os.Getenv("CI"), err)
	}
	return err == nil
}

// AddOne is a library, packed of a file, with the function that the suite calls; "" where none can be packed.
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

// Live is what must be as before after a test.
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

// NoLeaks checks that a test leaves nothing alive, in the runtime or on devices.
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

// Collect runs the collector all the time, until the function that it returns is called.
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

// Validated runs all tests of the calling binary again in a process with TVMGO_VALIDATE=1, which is read when a process
// starts. They pass, part among them, and nothing is reported. In that process itself it does nothing.
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
