// Package devicetest checks that a device keeps the promises of runtime.DeviceAPI, whoever implements
// it: Run in a test of a device's package, with the device registered, is its conformance suite.
//
//	func TestDevice(t *testing.T) {
//		devicetest.Run(t, dlpack.Device{Type: dlpack.CUDA}, devicetest.Options{})
//	}
//
// What a device does not have is found by asking it, and skipped with the reason; what it has must
// work. Nothing the suite makes may be alive afterwards.
package devicetest

import (
	goruntime "runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/runtime"
)

// Options says what cannot be asked of a device.
type Options struct {
	// Absent is an index without a device; 0 means -1.
	Absent int32
	// DataIsAddress says that the device's data is an address, so that its alignment means something.
	DataIsAddress bool
	// Large is the size in bytes of the largest copy; 0 means 4 MiB.
	Large int64
	// Scopes are the storage scopes beside "global", with a shape that fits them.
	Scopes map[string][]int64
}

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
	for _, c := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"Attributes", s.attributes},
		{"AbsentIndex", s.absentIndex},
		{"Allocate", s.allocate},
		{"AllocateTooMuch", s.allocateTooMuch},
		{"Scopes", s.scopes},
		{"CopyToAndFro", s.copyToAndFro},
		{"CopyParts", s.copyParts},
		{"CopyStagesHostMemory", s.copyStagesHostMemory},
		{"CopyRefused", s.copyRefused},
		{"FreeAfterQueuedWork", s.freeAfterQueuedWork},
		{"Streams", s.streams},
		{"StreamsAreOrdered", s.streamsAreOrdered},
		{"StreamCancelledWait", s.streamCancelledWait},
		{"Timer", s.timer},
		{"MemoryStatistics", s.memoryStatistics},
		{"Concurrency", s.concurrency},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := live()
			c.run(t)
			for try := 0; try < 100 && live() != before; try++ {
				goruntime.GC()
			}
			require.Equal(t, before, live(), "something is alive that was not before")
		})
	}
}

type suite struct {
	dev, absent dlpack.Device
	opts        Options
}

// live is what must be as before after each part.
func live() runtime.LiveCounts {
	n := runtime.Live()
	n.WorkspaceCached = 0 // belongs to threads
	return n
}

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
