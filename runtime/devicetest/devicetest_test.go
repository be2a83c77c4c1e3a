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

// conform registers a device for the life of this process and runs the suite on it.
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

// One process has one device of a number, so each way to write the device runs in a process of its own.
func TestConforms(t *testing.T) {
	switch os.Getenv("DEVICETEST_FAKE") {
	case "":
		for _, fake := range []string{"lazy", "pooled", "bare", "in C"} {
			for _, validate := range []string{"0", "1"} { // the layer finds nothing wrong with it
				t.Run(fake+"/TVMGO_VALIDATE="+validate, func(t *testing.T) {
					failed, out := child(t, "^TestConforms$", "DEVICETEST_FAKE="+fake, "TVMGO_VALIDATE="+validate)
					require.Empty(t, failed, out)
					require.Contains(t, out, "--- PASS: TestConforms/Concurrency", "all of it ran")
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

// inC keeps the library of the device in C: devices live as long as the process.
var inC *runtime.Module

// conformInC runs the suite on a device written in C, whose table a library gives.
func conformInC(t *testing.T) {
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	lib := filepath.Join(t.TempDir(), "owndevice.so")
	out, err := exec.Command(cc, "-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-pthread",
		"-DOWN_DEVICE_MODULE",
		"-I../../include", "../../capi/testdata/own_device_threads.c", "-o", lib).CombinedOutput()
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

// The second form is printed at once, before a later part can crash.
var failedPart = regexp.MustCompile(`(?:--- FAIL: |Test: +\t?)TestConforms/(\w+)`)
var startedPart = regexp.MustCompile(`=== RUN   TestConforms/(\w+)`)

// child runs tests of this program in a process of its own and returns the parts that failed. A crash is
// a failure of the part that ran.
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

// Each device here does one thing wrong; the suite must see it, in the part that is about it.
var mutants = []struct{ fake, mutant, part string }{
	{"lazy", "a number is a text", "Attributes"},
	{"lazy", "a text is a number", "Attributes"},
	{"lazy", "unknown attributes fail", "Attributes"},
	{"lazy", "every index exists", "AbsentIndex"},
	{"lazy", "device 0 is always active", "ActiveDevice"},
	{"lazy", "the second device cannot be made active", "ActiveDevice"},
	{"lazy", "memory is not aligned", "Allocate"},
	{"lazy", "memory is aligned to 64 bytes only", "Allocate"},
	{"lazy", "no memory of 0 bytes", "Allocate"},
	{"lazy", "memory is handed out twice", "Allocate"},
	{"lazy", "out of memory is any error", "AllocateTooMuch"},
	{"lazy", "every scope is fine", "Scopes"},
	{"lazy", "a scope has too little memory", "Scopes"},
	{"lazy", "copies inside the device are forgotten", "CopyToAndFro"},
	{"lazy", "copies ignore the source's offset", "CopyParts"},
	{"lazy", "copies ignore the destination's offset", "CopyDirections"},
	{"lazy", "copies take 4 bytes too many", "CopyDirections"},
	{"lazy", "page-locked memory is forgotten", "CopyDirections"},
	{"lazy", "a copy between devices is not on its stream", "CopyPairs"},
	{"lazy", "the host's memory is read late", "HostMemoryMayGo"},
	{"lazy", "copies to the host are not waited for", "HostMemoryMayGo"},
	{"lazy", "page-locked memory is forgotten", "PinnedMemory"},
	{"lazy", "page-locked memory is one place", "PinnedMemory"},
	{"lazy", "no memory at all", "CopyRefused"},
	{"lazy", "memory is freed before its work is done", "FreeAfterQueuedWork"},
	{"lazy", "waiting waits for nothing", "Streams"},
	{"lazy", "all streams have one handle", "Streams"},
	{"lazy", "closing one stream closes all", "Streams"},
	{"lazy", "one stream does not wait for another", "StreamsAreOrdered"},
	{"lazy", "last work first", "Modules"},
	{"lazy", "waiting fails", "StreamCancelledWait"},
	{"lazy", "workspaces never serve again", "Workspaces"},
	{"lazy", "workspaces stay on the books", "Workspaces"},
	{"lazy", "workspaces are shared across streams", "WorkspacesOfStreams"},
	{"lazy", "a closed stream forgets its work", "WorkspacesOfStreams"},
	{"pooled", "events are reached at once", "WorkspacesOfStreams"},
	{"pooled", "memory is freed before its work is done", "WorkspacesOfStreams"},
	{"lazy", "memory of a stream serves all streams", "StreamMemory"},
	{"lazy", "memory of a stream is wiped when it is given back", "StreamMemory"},
	{"lazy", "memory of a stream is lost", "StreamMemory"},
	{"lazy", "last work first", "StreamMemory"},
	{"lazy", "recorded copies are done at once", "Graph"},
	{"lazy", "a graph can be launched once", "Graph"},
	{"lazy", "a launch counts twice", "Graph"},
	{"lazy", "a launch overtakes what is queued", "Graph"},
	{"lazy", "the last recorded comes first", "Graph"},
	{"lazy", "a closed graph takes its launches along", "Graph"},
	{"lazy", "a recording forgets what was queued", "Graph"},
	{"lazy", "a recording that failed goes on", "Graph"},
	{"lazy", "a recording that failed is done", "Graph"},
	{"lazy", "all streams record", "Graph"},
	{"lazy", "timers give 0", "Timer"},
	{"lazy", "timers count picoseconds", "Timer"},
	{"lazy", "a timer that was not stopped is read", "Timer"},
	{"lazy", "freed memory stays on the books", "MemoryStatistics"},
	{"lazy", "more is free than there is", "MemoryStatistics"},
	{"lazy", "memory is never freed", "MemoryStatistics"},
	{"lazy", "the second device has the first one's memory", "TwoDevices"},
	{"lazy", "the second device is booked on the first", "TwoDevices"},
	{"lazy", "functions die with their module", "Modules"},
	{"lazy", "the current stream is ignored", "Modules"},
	{"lazy", "all copies from the host are staged in one place", "HostMemoryMayGo"},
	{"lazy", "copies of two threads get mixed up", "Concurrency"},
	{"lazy", "every index exists", "TableIndices"},
	{"lazy", "index -1 is the first device", "TableIndices"},
	{"lazy", "every alignment is fine", "TableAlignment"},
	{"lazy", "data space is a workspace", "TableWorkspaces"},
	{"lazy", "a workspace is data space", "TableWorkspaces"},
	{"lazy", "copies beyond the memory are fine", "TableMisuse"},
}

func TestSuiteSeesMutants(t *testing.T) {
	if os.Getenv("DEVICETEST_FAKE") != "" {
		t.Skip("this is a child")
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
		require.True(t, seen[part], "no mutant is there for the part %s", part)
	}
}
