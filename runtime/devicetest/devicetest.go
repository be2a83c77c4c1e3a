// Package devicetest is the conformance suite for devices. Run checks that a registered device does what
// runtime.DeviceAPI requires; call it in a test of the device's package:
//
//	func TestDevice(t *testing.T) {
//		devicetest.Run(t, dlpack.Device{Type: dlpack.CUDA}, devicetest.Options{})
//	}
//
// The suite skips the parts that a device does not support, and reports the reason. It fails if an object that it
// created is still alive afterwards.
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

// Options has the properties of a device that the suite cannot query.
type Options struct {
	// Second is another device of the same type. Without it, the parts that need two devices are skipped.
	Second dlpack.Device
	// OneMemory says that both devices share the same memory and the same statistics.
	OneMemory bool
	// Absent is an index without a device; 0 means -1.
	Absent int32
	// DataIsAddress says that data pointers of the device are addresses, whose alignment can be checked.
	DataIsAddress bool
	// KnowsItsMemory says that the device returns an error if a caller frees memory twice, or memory that the device did
	// not allocate.
	KnowsItsMemory bool
	// KnowsBounds says that copies beyond an allocation, and copies on a stream of another device, are errors.
	KnowsBounds bool
	// ReportsRaces says that the device reports every read that is not ordered after the write. Then the suite makes no
	// such reads. Otherwise it may read repeatedly until the written data is there.
	ReportsRaces bool
	// Large is the size in bytes of the largest copy; 0 means 4 MiB.
	Large int64
	// Scopes lists the storage scopes other than "global", each with a shape that is valid for it.
	Scopes map[string][]int64
	// Module returns a module with the function AddOne. If it is nil, the parts that need modules are skipped.
	Module func() (*runtime.Module, error)
}

// AddOne is the name of a function that adds 1 to every element of its only argument, a float32 vector. Like generated
// code, it makes the vector's device the active one and enqueues its kernel on the current stream of that device.
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
	{"CopyRoundTrip", (*suite).copyRoundTrip},
	{"CopyParts", (*suite).copyParts},
	{"CopyDirections", (*suite).copyDirections},
	{"CopyPairs", (*suite).copyPairs},
	{"HostMemoryFreedEarly", (*suite).hostMemoryFreedEarly},
	{"PinnedMemory", (*suite).pinnedMemory},
	{"CopyRejected", (*suite).copyRejected},
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

// Parts returns the names of the suite's parts, which are the subtests of Run.
func Parts() []string {
	var names []string
	for _, p := range parts {
		names = append(names, p.name)
	}
	return names
}

// patience is the time limit for work that the suite cannot wait for: the work of a closed stream.
var patience = 2 * time.Minute

// Run runs the suite on a device, which must exist.
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
		t.Fatalf("%v does not exist: call Run only if it does", dev)
	}
	for _, p := range parts {
		t.Run(p.name, func(t *testing.T) {
			before := leaks.Settled(func() alive { return s.live(t) })
			p.run(s, t)
			for try := 0; try < 100 && s.live(t) != before; try++ {
				leaks.Collect()
			}
			require.Equal(t, before, s.live(t), "the part leaves objects or memory behind")
		})
	}
}

type suite struct {
	dev, absent dlpack.Device
	opts        Options
}

// alive has the counts of live objects and memory, which must be the same before and after each part.
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
			continue // runtime.Live counts it
		}
		if m, err := runtime.DeviceMemory(dev); err == nil {
			a.devices[i] = runtime.MemoryStats{Data: m.Data, DataCount: m.DataCount, WorkspaceInUse: m.WorkspaceInUse,
				Pinned: m.Pinned}
		} else {
			require.ErrorIs(t, err, runtime.ErrNotSupported)
		}
	}
	a.counts = runtime.Live()
	a.counts.WorkspaceCached = 0 // threads keep workspaces for reuse
	return a
}

func isUnsupported(err error) bool { return errors.Is(err, runtime.ErrNotSupported) }

// pattern returns n elements such that a copy to the wrong position changes the data.
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

// requireError checks that an error is a runtime.Error with a text.
func requireError(t *testing.T, err error) {
	t.Helper()
	require.Error(t, err)
	var e *runtime.Error
	require.ErrorAs(t, err, &e)
	require.NotEmpty(t, err.Error())
}
