package runtime

/*
#include "bridge/bridge.h"
*/
import "C"

import (
	"errors"
	goruntime "runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"
)

// Go's garbage collector does not see C memory: to it a tensor has only a few bytes. So the runtime counts the memory
// of tensors, and runs a collection when much of it may be garbage.

const (
	defaultUnclosedLimit = 64 << 20
	tensorOverhead       = 256 // bytes of a tensor besides its elements, approximately
	cleanupWait          = 5 * time.Second
)

// unclosed is the memory of tensors that may be unreachable.
var unclosed = struct {
	limit atomic.Int64
	made  atomic.Int64 // bytes of the tensors that Go received since the last check

	mu   sync.Mutex // held while checking and collecting
	base int64      // bytes alive after the last collection, or the minimum since then
}{}

func init() { unclosed.limit.Store(defaultUnclosedLimit) }

// SetUnclosedLimit sets how many bytes unreachable tensors without Close may hold, and returns the previous limit; a
// negative value means no limit. The default is 64 MiB. A new tensor starts a collection if all tensors, including
// those in use, hold more than the limit in addition to what they held after the last collection. As with Go's own
// heap, the limit is at least what tensors or Go's heap had in use then, so that a program collects only after its
// memory has doubled. The memory of all devices counts together; memory taken over by FromDLPack does not count.
// Regardless of the limit, a device without free memory causes a collection before an allocation fails.
func SetUnclosedLimit(bytes int64) (old int64) {
	return unclosed.limit.Swap(bytes)
}

// tensorMade counts a tensor for which Go receives a handle.
func tensorMade(o object) {
	bytes := int64((*C.tvmgo_tensor)(o.pointer()).nbytes) + tensorOverhead
	limit := unclosed.limit.Load()
	if limit < 0 || unclosed.made.Add(bytes) <= limit/8 {
		return
	}
	unclosed.mu.Lock()
	defer unclosed.mu.Unlock()
	if unclosed.made.Load() <= limit/8 {
		return // another goroutine checked meanwhile
	}
	unclosed.made.Store(0)
	alive := tensorBytes()
	unclosed.base = min(unclosed.base, alive)
	if more := alive - unclosed.base; more > max(limit, unclosed.base) && more > liveHeap() {
		collectTensors()
	}
}

// liveHeap returns how many bytes of Go's heap were in use at the last collection.
func liveHeap() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// tensorBytes returns the bytes that tensors hold in the process.
func tensorBytes() int64 {
	var n [C.TVMGO_LIVE_KINDS]C.int64_t
	C.tvmgo_live_snapshot(&n[0])
	return int64(n[C.TVMGO_LIVE_TENSOR_BYTES] + n[C.TVMGO_LIVE_TENSORS]*tensorOverhead)
}

// collectTensors frees the memory of unreachable tensors. The caller holds unclosed.mu.
func collectTensors() {
	goruntime.GC() // queues the clean-ups of unreachable objects
	wait := cleanupWait
	if inCleanUp() {
		wait = 0 // the others may be waiting for this one
	}
	samples := []metrics.Sample{{Name: "/gc/cleanups/queued:cleanups"}, {Name: "/gc/cleanups/executed:cleanups"}}
	metrics.Read(samples)
	queued, done, pause := samples[0].Value.Uint64(), samples[1].Value.Uint64(), time.Microsecond
	// A clean-up of the program may wait for a lock of this goroutine, so the wait ends when no clean-up has finished
	// for a long time, even on a busy machine.
	for last := time.Now(); done < queued && time.Since(last) < wait; {
		time.Sleep(pause)
		pause = min(2*pause, time.Millisecond)
		metrics.Read(samples[1:])
		if n := samples[1].Value.Uint64(); n != done {
			done, last = n, time.Now()
		}
	}
	unclosed.base = tensorBytes()
}

// inCleanUp reports whether a clean-up called this function: the goroutines that run clean-ups begin with a function of
// Go's runtime.
func inCleanUp() bool {
	pcs := make([]uintptr, 64)
	for skip := 0; ; skip += len(pcs) - 2 {
		n := goruntime.Callers(skip, pcs)
		if n == len(pcs) {
			continue
		}
		for frames := goruntime.CallersFrames(pcs[:n]); ; {
			f, more := frames.Next()
			if f.Function == "runtime.runCleanups" || f.Function == "runtime.runFinalizers" {
				return true
			}
			if !more {
				return false
			}
		}
	}
}

// allocate calls an allocation of the core. If memory is exhausted, it collects garbage and tries once more.
func allocate(op string, f func() C.tvmgo_ret) (*Tensor, error) {
	o, err := result(op, f())
	if err != nil && errors.Is(err, ErrOutOfMemory) && tensorBytes() > 0 {
		unclosed.mu.Lock()
		before := tensorBytes()
		collectTensors()
		freed := tensorBytes() < before
		unclosed.mu.Unlock()
		if freed {
			o, err = result(op, f())
		}
	}
	if err != nil {
		return nil, err
	}
	return newTensor(o), nil
}
