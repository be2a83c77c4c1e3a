// Package devicetest is the conformance suite of devices: it checks that a device keeps the promises of
// runtime.DeviceAPI. Call Run in a test of the package that registers the device.
//
//	func TestDevice(t *testing.T) {
//		second := dlpack.Device{Type: dlpack.CUDA, ID: 1}
//		devicetest.Run(t, dlpack.Device{Type: dlpack.CUDA}, devicetest.Options{Second: second})
//	}
//
// The suite queries which optional functions a device has; tests of the others are skipped with the reason. No object
// that the suite makes may be alive afterwards.
package devicetest

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/leaks"
	"tvmgo/runtime"
)

// Options says what the suite cannot find out.
type Options struct {
	// Second is another device of the same type; without it the parts about two devices are skipped.
	Second dlpack.Device
	// OneMemory says that both have one memory between them, and one book on it.
	OneMemory bool
	// Absent is an index without a device; 0 means -1.
	Absent int32
	// DataIsAddress says that the device's data is an address, so that its alignment means something.
	DataIsAddress bool
	// KnowsItsMemory says that the device refuses to free what it did not allocate, and what was freed before.
	KnowsItsMemory bool
	// KnowsBounds says that its copies refuse bytes beyond an allocation, and streams that are none of its own.
	KnowsBounds bool
	// ReportsRaces says that whoever runs the suite hears of every read that nothing orders after the write: the suite
	// then makes none, where it otherwise looks until what was written is there.
	ReportsRaces bool
	// Large is the size in bytes of the largest copy; 0 means 4 MiB.
	Large int64
	// Scopes are the storage scopes beside "global", with a shape that fits them.
	Scopes map[string][]int64
	// Module makes a module with the function AddOne; nil skips the parts about modules.
	Module func() (*runtime.Module, error)
}

// AddOne is the name of a function that adds 1 to every element of a float32 vector of its device, the only
// argument, as generated code does: it makes the vector's device the active one and queues its kernel on
// that device's current stream.
const AddOne = "add_one"

type part struct {
	name string
	run  func(*suite, *testing.T)
}

var parts = []part{
	{"Attributes", (*suite).attributes},
	{"AbsentIndex", (*suite).absentIndex},
	{"ActiveDevice", (*suite).activeDevice},
	{"Allocate", (*suite).allocate},
	{"AllocateTooMuch", (*suite).allocateTooMuch},
	{"Scopes", (*suite).scopes},
	{"CopyToAndFro", (*suite).copyToAndFro},
	{"CopyParts", (*suite).copyParts},
	{"CopyDirections", (*suite).copyDirections},
	{"CopyPairs", (*suite).copyPairs},
	{"HostMemoryMayGo", (*suite).hostMemoryMayGo},
	{"PinnedMemory", (*suite).pinnedMemory},
	{"CopyRefused", (*suite).copyRefused},
	{"FreeAfterQueuedWork", (*suite).freeAfterQueuedWork},
	{"Streams", (*suite).streams},
	{"StreamsAreOrdered", (*suite).streamsAreOrdered},
	{"StreamCancelledWait", (*suite).streamCancelledWait},
	{"Workspaces", (*suite).workspaces},
	{"WorkspacesOfStreams", (*suite).workspacesOfStreams},
	{"StreamMemory", (*suite).streamMemory},
	{"Graph", (*suite).graphs},
	{"Timer", (*suite).timer},
	{"MemoryStatistics", (*suite).memoryStatistics},
	{"TwoDevices", (*suite).twoDevices},
	{"Modules", (*suite).modules},
	{"Concurrency", (*suite).concurrency},
	{"TableIndices", (*suite).tableIndices},
	{"TableAlignment", (*suite).tableAlignment},
	{"TableWorkspaces", (*suite).tableWorkspaces},
	{"TableMisuse", (*suite).tableMisuse},
}

// Parts names the parts of the suite: the subtests of Run.
func Parts() []string {
	var names []string
	for _, p := range parts {
		names = append(names, p.name)
	}
	return names
}

// patience is how long what nobody can wait for, the work of a closed stream, may take on a busy machine.
var patience = 2 * time.Minute

// Run checks a device that is there.
func Run(t *testing.T, dev dlpack.Device, opts Options) {
	t.Helper()
	if opts.Absent == 0 {
		opts.Absent = -1
	}
	if opts.Large == 0 {
		opts.Large = 4 << 20
	}
	s := &suite{dev: dev, opts: opts, absent: dlpack.Device{Type: dev.Type, ID: opts.Absent}}
	if !runtime.DeviceExists(dev) {
		t.Fatalf("%v is not there: run the suite only where it is", dev)
	}
	for _, p := range parts {
		t.Run(p.name, func(t *testing.T) {
			before := leaks.Settled(func() alive { return s.live(t) })
			p.run(s, t)
			for try := 0; try < 100 && s.live(t) != before; try++ {
				leaks.Collect()
			}
			require.Equal(t, before, s.live(t), "something is alive that was not before")
		})
	}
}

type suite struct {
	dev, absent dlpack.Device
	opts        Options
}

// alive is what must be as before after each part.
type alive struct {
	counts  runtime.LiveCounts
	devices [2]runtime.MemoryStats
	inUse   [2]int64
}

func (s *suite) live(t *testing.T) alive {
	t.Helper()
	a := alive{}
	devs := []dlpack.Device{s.dev}
	if s.hasSecond() {
		devs = append(devs, s.opts.Second)
	}
	for i, dev := range devs {
		if w, err := runtime.WorkspaceMemory(dev); err == nil {
			a.inUse[i] = w.InUse
		} else {
			require.ErrorIs(t, err, runtime.ErrNotSupported)
		}
		_, err := runtime.TrimWorkspaces(dev)
		require.NoError(t, err)
		if dev.Type == dlpack.CPU {
			continue // counted below
		}
		if m, err := runtime.DeviceMemory(dev); err == nil {
			a.devices[i] = runtime.MemoryStats{Data: m.Data, DataCount: m.DataCount, WorkspaceInUse: m.WorkspaceInUse,
				Pinned: m.Pinned}
		} else {
			require.ErrorIs(t, err, runtime.ErrNotSupported)
		}
	}
	a.counts = runtime.Live()
	a.counts.WorkspaceCached = 0 // belongs to threads
	return a
}

func isUnsupported(err error) bool { return errors.Is(err, runtime.ErrNotSupported) }

// pattern fills n elements so that shifted or swapped ones are noticed.
func pattern(n int, seed uint32) []float32 {
	data := make([]float32, n)
	for i := range data {
		seed = seed*1664525 + 1013904223
		data[i] = float32(seed >> 8)
	}
	return data
}

func (s *suite) tensor(t *testing.T, dtype dlpack.DataType, shape ...int64) *runtime.Tensor {
	t.Helper()
	x, err := runtime.NewTensor(dtype, shape, s.dev)
	require.NoError(t, err)
	t.Cleanup(func() { x.Close() })
	return x
}

// requireError checks that a failure is an error of the runtime with a text.
func requireError(t *testing.T, err error) {
	t.Helper()
	require.Error(t, err)
	var e *runtime.Error
	require.ErrorAs(t, err, &e)
	require.NotEmpty(t, err.Error())
}
