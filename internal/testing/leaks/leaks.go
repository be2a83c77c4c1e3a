// Package leaks fails tests that leave objects alive. It waits for clean-ups of the garbage collector: these run on
// goroutines of the Go runtime, some time after the collection that found their objects, and even later on a busy
// machine.
package leaks

import (
	"runtime"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	limit = 2 * time.Minute // for each wait: slow machines are not leaks
	step  = time.Millisecond
)

// Collect runs the garbage collector, and returns when the clean-ups of the objects that it found have run.
func Collect() {
	runtime.GC() // queues them before it returns
	counts := []metrics.Sample{{Name: "/gc/cleanups/queued:cleanups"}, {Name: "/gc/cleanups/executed:cleanups"}}
	metrics.Read(counts)
	queued := counts[0].Value.Uint64()
	for begun := time.Now(); counts[1].Value.Uint64() < queued && time.Since(begun) < limit; metrics.Read(counts) {
		time.Sleep(step)
	}
}

// Until runs the garbage collector until done returns true, and reports whether that happened in time.
func Until(done func() bool) bool {
	for begun := time.Now(); !done(); Collect() {
		if time.Since(begun) > limit {
			return false
		}
	}
	return true
}

// Settled returns the figure after the clean-ups of all objects that were unreachable before the call.
func Settled[T comparable](figure func() T) T {
	Collect()
	last := figure()
	Until(func() bool {
		before := last
		Collect() // objects that clean-ups released
		last = figure()
		return last == before
	})
	return last
}

// Check fails the test if the figure changes until the end of the test. Call it first in a test, so that it checks
// after all other clean-ups.
func Check[T comparable](t testing.TB, figure func() T) {
	t.Helper()
	before := Settled(figure)
	t.Cleanup(func() {
		var now T
		Until(func() bool {
			now = figure()
			return now == before
		})
		require.Equal(t, before, now, "something is alive that was not before")
	})
}
