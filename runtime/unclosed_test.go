package runtime_test

import (
	goruntime "runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/leaks"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

const mib = 1 << 20

// withLimit sets the limit for a test, and turns off Go's own collections.
func withLimit(t *testing.T, limit int64) {
	t.Helper()
	leaks.Collect()
	percent := debug.SetGCPercent(-1)
	old := runtime.SetUnclosedLimit(limit)
	require.Equal(t, limit, runtime.SetUnclosedLimit(limit))
	t.Cleanup(func() {
		runtime.SetUnclosedLimit(old)
		debug.SetGCPercent(percent)
		leaks.Collect()
	})
}

// peakOf calls f n times and returns the maximum of bytes that tensors held, beyond those held before.
func peakOf(t *testing.T, n int, f func()) (peak int64) {
	t.Helper()
	before := runtime.Live().TensorBytes
	for range n {
		f()
		peak = max(peak, runtime.Live().TensorBytes-before)
	}
	return peak
}

func newMiB(t *testing.T, dev dlpack.Device) *runtime.Tensor {
	t.Helper()
	return must.Get(runtime.NewTensor(dlpack.UInt8, []int64{mib}, dev))(t)
}

// 1000 tensors of 1 MiB, none of them closed.
func TestUnclosed_MemoryIsBounded(t *testing.T) {
	withLimit(t, 32*mib)
	dev := fakeDevice(t)
	identity := goFunction(t, func(args ...any) (any, error) { return newMiB(t, runtime.CPU), nil })
	for name, make := range map[string]func(){
		"tensors": func() { newMiB(t, runtime.CPU) },
		"slices": func() {
			must.Get(runtime.FromSlice(make([]float32, mib/4)))(t)
		},
		"views of closed tensors": func() {
			x := newMiB(t, runtime.CPU)
			must.Get(x.Reshape(1, mib))(t)
			require.NoError(t, x.Close())
		},
		"results": func() {
			must.Get(identity.Call())(t)
		},
		"of a device": func() { newMiB(t, dev) },
		"workspaces": func() {
			must.Get(runtime.NewWorkspace(dlpack.UInt8, []int64{mib}, dev, nil))(t)
		},
		"page-locked": func() {
			must.Get(runtime.NewPinnedTensor(dlpack.UInt8, []int64{mib}, dev))(t)
		},
	} {
		leaks.Collect()
		collections := numGC()
		require.Less(t, peakOf(t, 1000, make), max(32*mib, liveHeap())+(4+2)*mib, name)
		require.LessOrEqual(t, numGC()-collections, uint32(60), "%s: not one collection per tensor", name)
	}
}

func TestUnclosed_WithoutLimit(t *testing.T) {
	withLimit(t, -1)
	require.Equal(t, int64(300*mib), peakOf(t, 300, func() { newMiB(t, runtime.CPU) }))
}

// Memory in use raises the limit: a program that keeps much memory does not collect all the time.
func TestUnclosed_InUse(t *testing.T) {
	withLimit(t, 8*mib)
	var kept []*runtime.Tensor
	collections := numGC
	before := collections()
	for range 256 {
		kept = append(kept, newMiB(t, runtime.CPU))
	}
	require.LessOrEqual(t, collections()-before, uint32(8), "one collection after each doubling")
	before = collections()
	for range 1000 {
		newMiB(t, runtime.CPU).Close()
	}
	require.Equal(t, before, collections(), "closed tensors cause no collections")
	peak := peakOf(t, 1000, func() { newMiB(t, runtime.CPU) })
	require.LessOrEqual(t, peak, max(256*mib, liveHeap())+(1+2)*mib)
	for _, x := range kept {
		require.NoError(t, x.Close())
	}
	// The memory is no longer in use, and the limit is the original one.
	require.LessOrEqual(t, peakOf(t, 300, func() { newMiB(t, runtime.CPU) }), int64(300*mib))
	require.LessOrEqual(t, peakOf(t, 300, func() { newMiB(t, runtime.CPU) }), max(8*mib, liveHeap())+(1+2)*mib)
}

// liveHeap returns the bytes of Go's heap that were in use at the last collection: a lower bound of the limit.
func liveHeap() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// The size of a large heap no longer counts after Go has collected it.
func TestUnclosed_HeapIsLess(t *testing.T) {
	withLimit(t, 8*mib)
	large := make([]byte, 200*mib)
	require.LessOrEqual(t, peakOf(t, 1000, func() { newMiB(t, runtime.CPU) }), max(8*mib, liveHeap())+(1+2)*mib)
	require.Greater(t, liveHeap(), int64(200*mib))
	goruntime.KeepAlive(large)
	large = nil
	leaks.Collect()
	require.Less(t, peakOf(t, 1000, func() { newMiB(t, runtime.CPU) }), max(8*mib, liveHeap())+(1+2)*mib)
	require.Less(t, liveHeap(), int64(100*mib))
}

func numGC() uint32 {
	var s debug.GCStats
	debug.ReadGCStats(&s)
	return uint32(s.NumGC)
}

func TestUnclosed_ManyGoroutines(t *testing.T) {
	withLimit(t, 32*mib)
	before, heap := runtime.Live().TensorBytes, liveHeap()
	var peak atomic.Int64
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 200 {
				x := newMiB(t, runtime.CPU)
				now := runtime.Live().TensorBytes - before
				for old := peak.Load(); now > old && !peak.CompareAndSwap(old, now); old = peak.Load() {
				}
				require.NoError(t, runtime.CopyFrom(x, make([]uint8, mib)), "a tensor in use is not freed")
			}
		})
	}
	wait.Wait()
	limit := max(32*mib, heap, liveHeap())
	require.LessOrEqual(t, peak.Load(), 2*limit+(4+8)*mib, "other goroutines continue while one collects")
}

// If a device has no free memory, a collection frees some, whatever the limit.
func TestUnclosed_DeviceIsFull(t *testing.T) {
	withLimit(t, -1)
	dev := fakeDevice(t)
	room := runtime.Live().TensorBytes + 16*mib
	theFake.failWith(t, func(op string) error {
		if op == "alloc" && runtime.Live().TensorBytes >= room {
			return &runtime.Error{Kind: runtime.ErrOutOfMemory, Message: "fakedev is full"}
		}
		return nil
	})
	for range 100 {
		newMiB(t, dev)
	}
	var kept []*runtime.Tensor
	for range 16 {
		kept = append(kept, newMiB(t, dev))
	}
	_, err := runtime.NewTensor(dlpack.UInt8, []int64{mib}, dev)
	requireError(t, err, runtime.ErrOutOfMemory, "fakedev is full")
	for _, x := range kept {
		require.NoError(t, x.Close())
	}
}

// A cleanup function of the program may make tensors.
func TestUnclosed_InACleanUp(t *testing.T) {
	withLimit(t, mib)
	var made atomic.Bool
	func() {
		addCleanUp(func() {
			for range 10 {
				newMiB(t, runtime.CPU)
			}
			made.Store(true)
		})
	}()
	require.True(t, leaks.Until(made.Load))
}

// addCleanUp calls f once the collector runs.
func addCleanUp(f func()) {
	goruntime.AddCleanup(new([64]byte), func(f func()) { f() }, f)
}

// The cost of counting for each tensor.
func BenchmarkNewTensor(b *testing.B) {
	for b.Loop() {
		x, err := runtime.NewTensor(dlpack.Float32, []int64{16}, runtime.CPU)
		if err != nil {
			b.Fatal(err)
		}
		x.Close()
	}
}
