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

// The collector does not see C memory: a tensor is some bytes to it, whatever the tensor holds. So the runtime
// counts what tensors hold, and collects when much of it may be garbage.

const (
	defaultUnclosedLimit = 64 << 20
	tensorOverhead       = 256 // bytes of a tensor beside its elements, about
	cleanupWait          = 5 * time.Second
)

// unclosed is the memory of tensors that may be unreachable.
var unclosed = struct {
	limit atomic.Int64
	made  atomic.Int64 // bytes of the tensors that Go got since the last look

	mu   sync.Mutex // held by who looks and collects
	base int64      // bytes alive after the last collection, or less if there were less since
}{}

func init() { unclosed.limit.Store(defaultUnclosedLimit) }

// SetUnclosedLimit says how many bytes tensors that were dropped without Close may hold, and returns the limit of
// before; negative is no limit. It is 64 MiB at first. When tensors, those in use included, hold more than this beyond
// what they held after the last collection, then making another one collects: as with Go's own heap, the limit is at
// least as large as what was in use then, by tensors or by Go's heap, so that a program pays for a collection after its
// memory has doubled. Memory of all devices counts together, that which FromDLPack took over does not count. Whatever
// the limit, a device without memory left causes a collection, too, before an allocation fails.
func SetUnclosedLimit(bytes int64) (old int64) {
	return unclosed.limit.Swap(bytes)
}

// tensorMade counts a tensor that Go has a handle of from now on.
func tensorMade(o object) {
	bytes := int64((*C.tvmgo_tensor)(o.pointer()).nbytes) + tensorOverhead
	limit := unclosed.limit.Load()
	if limit < 0 || unclosed.made.Add(bytes) <= limit/8 {
		return
	}
	unclosed.mu.Lock()
	defer unclosed.mu.Unlock()
	if unclosed.made.Load() <= limit/8 {
		return // another goroutine looked meanwhile
	}
	unclosed.made.Store(0)
	alive := tensorBytes()
	unclosed.base = min(unclosed.base, alive)
	if more := alive - unclosed.base; more > max(limit, unclosed.base) && more > liveHeap() {
		collectTensors()
	}
}

// liveHeap is how many bytes of Go's own heap were in use at the last collection.
func liveHeap() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// tensorBytes is what tensors hold in the process.
func tensorBytes() int64 {
	var n [C.TVMGO_LIVE_KINDS]C.int64_t
	C.tvmgo_live_snapshot(&n[0])
	return int64(n[C.TVMGO_LIVE_TENSOR_BYTES] + n[C.TVMGO_LIVE_TENSORS]*tensorOverhead)
}

// collectTensors gives back what tensors without a user hold, under unclosed.mu.
func collectTensors() {
	goruntime.GC() // queues the clean-ups of what it found
	wait := cleanupWait
	if inCleanUp() {
		wait = 0 // the others may be waiting for this one
	}
	samples := []metrics.Sample{{Name: "/gc/cleanups/queued:cleanups"}, {Name: "/gc/cleanups/executed:cleanups"}}
	metrics.Read(samples)
	queued, done, pause := samples[0].Value.Uint64(), samples[1].Value.Uint64(), time.Microsecond
	// A clean-up of the program's may wait for what this goroutine holds, so the wait ends when none comes to its end
	// for long, even on a busy machine.
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

// inCleanUp says whether a clean-up called this function: the goroutines that call them begin with a function of Go's
// runtime.
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

// allocate calls an allocation of the core, and once more when there was no memory but some may be garbage.
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
