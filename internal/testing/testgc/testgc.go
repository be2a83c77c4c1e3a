// Package testgc lets tests wait for clean-ups of the garbage collector: these run on goroutines of the Go runtime,
// some time after the collection that found their objects, and later still on a busy machine.
package testgc

import (
	"runtime"
	"runtime/metrics"
	"time"
)

const (
	limit = 2 * time.Minute // of all waits: slow machines are no leaks
	step  = time.Millisecond
)

// Collect runs the collector, and returns when the clean-ups of what it found have run.
func Collect() {
	runtime.GC() // queues them before it returns
	counts := []metrics.Sample{{Name: "/gc/cleanups/queued:cleanups"}, {Name: "/gc/cleanups/executed:cleanups"}}
	metrics.Read(counts)
	queued := counts[0].Value.Uint64()
	for begun := time.Now(); counts[1].Value.Uint64() < queued && time.Since(begun) < limit; metrics.Read(counts) {
		time.Sleep(step)
	}
}

// Until collects until done says true, and tells whether it did in time.
func Until(done func() bool) bool {
	for begun := time.Now(); !done(); Collect() {
		if time.Since(begun) > limit {
			return false
		}
	}
	return true
}

// Settled is a figure once all that was dropped before is gone.
func Settled[T comparable](figure func() T) T {
	Collect()
	last := figure()
	Until(func() bool {
		before := last
		Collect() // what clean-ups dropped
		last = figure()
		return last == before
	})
	return last
}
