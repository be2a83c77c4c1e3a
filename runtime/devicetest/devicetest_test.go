package devicetest_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/runtime"
	"tvmgo/runtime/devicetest"
)

// conform registers a device and runs the suite on it. A device stays registered as long as the process runs.
func conform(t *testing.T, name string, number dlpack.DeviceType, api runtime.DeviceAPI, opts devicetest.Options) {
	t.Helper()
	require.NoError(t, runtime.RegisterDeviceAPI(runtime.DeviceSpec{Type: number, Name: name,
		New: func() (runtime.DeviceAPI, error) { return api, nil }}))
	opts.Second = dlpack.Device{Type: number, ID: 1}
	opts.Large = 64 << 10
	opts.DataIsAddress, opts.KnowsItsMemory, opts.KnowsBounds = true, true, true
	devicetest.Run(t, dlpack.Device{Type: number}, opts)
}

var texture = map[string][]int64{"global.texture": {2, 3, 4}}

// A process can register only one device per device type, so each variant of the device runs in a new process.
func TestConforms(t *testing.T) {
	switch os.Getenv("DEVICETEST_FAKE") {
	case "":
		for _, fake := range []string{"lazy", "pooled", "bare", "in C"} {
			for _, validate := range []string{"0", "1"} { // validation must report nothing
				t.Run(fake+"/TVMGO_VALIDATE="+validate, func(t *testing.T) {
					failed, out := child(t, "^TestConforms$", "DEVICETEST_FAKE="+fake, "TVMGO_VALIDATE="+validate)
					require.Empty(t, failed, out)
					require.Contains(t, out, "--- PASS: TestConforms/Concurrency", "the whole suite ran")
					require.NotContains(t, out, "tvmgo: ")
				})
			}
		}
	case "lazy":
		d := newLazy(os.Getenv("DEVICETEST_MUTANT"))
		conform(t, "lazy", lazyType, d, devicetest.Options{Scopes: texture, Module: d.module})
	case "pooled":
		d := newLazy(os.Getenv("DEVICETEST_MUTANT"))
		conform(t, "lazy", lazyType, newPooled(d), devicetest.Options{Scopes: texture, Module: d.module})
	case "bare":
		conform(t, "lazy", lazyType, bare{newLazy("")}, devicetest.Options{})
	case "in C":
		conformInC(t)
	}
}

// inC keeps the library of the device in C loaded, because devices are never unregistered.
var inC *runtime.Module

// conformInC runs the suite on a device written in C, whose library returns its table.
func conformInC(t *testing.T) {
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	lib := filepath.Join(t.TempDir(), "owndevice.so")
	out, err := exec.Command(cc, "-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-pthread",
		"-DOWN_DEVICE_MODULE", "-I../../include", "../../capi/testdata/own_device_threads.c", "-o", lib).CombinedOutput()
	require.NoError(t, err, "%s", out)
	m, err := runtime.Load(t.Context(), lib)
	require.NoError(t, err)
	f, err := m.Function("own_device")
	require.NoError(t, err)
	defer f.Close()
	inC = m
	table, err := f.Call()
	require.NoError(t, err)
	const number = lazyType
	require.NoError(t, runtime.RegisterDeviceAPI(runtime.DeviceSpec{Type: number, Name: "threads",
		Table: unsafe.Pointer(table.(runtime.Ptr))}))
	devicetest.Run(t, dlpack.Device{Type: number}, devicetest.Options{Second: dlpack.Device{Type: number, ID: 1},
		DataIsAddress: true, Large: 64 << 10})
}

// The second pattern is printed immediately, so that it is in the output even if a later part crashes.
var failedPart = regexp.MustCompile(`(?:--- FAIL: |Test: +\t?)TestConforms/(\w+)`)
var startedPart = regexp.MustCompile(`=== RUN   TestConforms/(\w+)`)

// child runs tests of this program in a new process and returns the parts that failed. A crash is a failure of the part
// that was running.
func child(t *testing.T, run string, env ...string) (failed []string, out string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run="+run, "-test.v")
	cmd.Env = append(os.Environ(), env...)
	text, err := cmd.CombinedOutput()
	require.NoError(t, ctx.Err(), "the suite hangs:\n%s", text)
	for _, m := range failedPart.FindAllSubmatch(text, -1) {
		failed = append(failed, string(m[1]))
	}
	if err != nil && len(failed) == 0 {
		if started := startedPart.FindAllSubmatch(text, -1); len(started) > 0 {
			failed = append(failed, string(started[len(started)-1][1]))
		} else {
			failed = append(failed, "before any part")
		}
	}
	return failed, string(text)
}

// Each of these devices makes one mistake, which the named part of the suite must detect.
var mutants = []struct{ fake, mutant, part string }{
	{"lazy", "an integer attribute is a string", "Attributes"},
	{"lazy", "a string attribute is an integer", "Attributes"},
	{"lazy", "unknown attributes fail", "Attributes"},
	{"lazy", "every index exists", "AbsentIndex"},
	{"lazy", "device 0 is always active", "ActiveDevice"},
	{"lazy", "the second device cannot be made active", "ActiveDevice"},
	{"lazy", "memory is not aligned", "Allocate"},
	{"lazy", "memory is aligned to 64 bytes only", "Allocate"},
	{"lazy", "no memory of 0 bytes", "Allocate"},
	{"lazy", "memory is allocated twice", "Allocate"},
	{"lazy", "out of memory is another error", "AllocateTooMuch"},
	{"lazy", "every scope is accepted", "Scopes"},
	{"lazy", "a scope has too little memory", "Scopes"},
	{"lazy", "copies within the device are dropped", "CopyRoundTrip"},
	{"lazy", "copies ignore the source's offset", "CopyParts"},
	{"lazy", "copies ignore the destination's offset", "CopyDirections"},
	{"lazy", "copies take 4 bytes too many", "CopyDirections"},
	{"lazy", "copies with page-locked memory are dropped", "CopyDirections"},
	{"lazy", "a copy between devices is not on its stream", "CopyPairs"},
	{"lazy", "host memory is read after the call", "HostMemoryFreedEarly"},
	{"lazy", "copies to the host are not waited for", "HostMemoryFreedEarly"},
	{"lazy", "copies with page-locked memory are dropped", "PinnedMemory"},
	{"lazy", "all page-locked memory is the same", "PinnedMemory"},
	{"lazy", "every allocation fails", "CopyRejected"},
	{"lazy", "memory is freed before its work is done", "FreeAfterQueuedWork"},
	{"lazy", "a wait returns at once", "Streams"},
	{"lazy", "all streams have one handle", "Streams"},
	{"lazy", "closing one stream closes all", "Streams"},
	{"lazy", "one stream does not wait for another", "StreamsAreOrdered"},
	{"lazy", "work runs in reverse order", "Modules"},
	{"lazy", "waiting fails", "StreamCancelledWait"},
	{"lazy", "workspaces are never reused", "Workspaces"},
	{"lazy", "freed workspaces still count as in use", "Workspaces"},
	{"lazy", "workspaces are shared across streams", "WorkspacesOfStreams"},
	{"lazy", "closing a stream drops its work", "WorkspacesOfStreams"},
	{"pooled", "events are complete at once", "WorkspacesOfStreams"},
	{"pooled", "memory is freed before its work is done", "WorkspacesOfStreams"},
	{"lazy", "memory of a stream is reused by all streams", "StreamMemory"},
	{"lazy", "memory of a stream is cleared when it is freed", "StreamMemory"},
	{"lazy", "memory of a stream is lost", "StreamMemory"},
	{"lazy", "work runs in reverse order", "StreamMemory"},
	{"lazy", "captured copies run at once", "Graph"},
	{"lazy", "a graph can be launched once", "Graph"},
	{"lazy", "a launch runs twice", "Graph"},
	{"lazy", "a launch runs before earlier work", "Graph"},
	{"lazy", "a graph runs in reverse order", "Graph"},
	{"lazy", "closing a graph cancels its launches", "Graph"},
	{"lazy", "a capture drops earlier work", "Graph"},
	{"lazy", "a failed capture continues", "Graph"},
	{"lazy", "a failed capture runs", "Graph"},
	{"lazy", "all streams capture", "Graph"},
	{"lazy", "timers give 0", "Timer"},
	{"lazy", "timers count picoseconds", "Timer"},
	{"lazy", "a timer that was not stopped is read", "Timer"},
	{"lazy", "freed memory still counts", "MemoryStatistics"},
	{"lazy", "free memory exceeds total memory", "MemoryStatistics"},
	{"lazy", "memory is never freed", "MemoryStatistics"},
	{"lazy", "the second device has the first one's memory", "TwoDevices"},
	{"lazy", "memory of the second device counts for the first", "TwoDevices"},
	{"lazy", "functions fail after their module is closed", "Modules"},
	{"lazy", "the current stream is ignored", "Modules"},
	{"lazy", "all copies from the host share staging memory", "HostMemoryFreedEarly"},
	{"lazy", "copies of two threads are exchanged", "Concurrency"},
	{"lazy", "every index exists", "TableIndices"},
	{"lazy", "index -1 is the first device", "TableIndices"},
	{"lazy", "every alignment is accepted", "TableAlignment"},
	{"lazy", "data space can be freed as a workspace", "TableWorkspaces"},
	{"lazy", "a workspace can be freed as data space", "TableWorkspaces"},
	{"lazy", "copies beyond the memory are accepted", "TableMisuse"},
	{"lazy", "page-locked memory of another device can be freed", "TableMisuse"},
}

func TestSuiteSeesMutants(t *testing.T) {
	if os.Getenv("DEVICETEST_FAKE") != "" {
		t.Skip("this is a child process")
	}
	seen := map[string]bool{}
	for _, c := range mutants {
		t.Run(c.fake+"/"+c.mutant, func(t *testing.T) {
			t.Parallel()
			failed, out := child(t, "^TestConforms$/^"+c.part+"$", "DEVICETEST_FAKE="+c.fake, "DEVICETEST_MUTANT="+c.mutant)
			require.Contains(t, failed, c.part, out)
		})
		seen[c.part] = true
	}
	for _, part := range devicetest.Parts() {
		require.True(t, seen[part], "the part %s has no mutant", part)
	}
}
