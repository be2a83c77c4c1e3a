// Package leaks fails tests that leave objects alive. It waits for clean-ups of the garbage collector: these run on
// goroutines of the Go runtime, some time after the collection that found their objects, and even later on a busy
// machine.
package leaks

import (
	"reflect"
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

// Check fails the test if the figure, or a part of it, is larger at the end of the test than now. Call it first in a
// test, so that it checks after all other clean-ups. It may be smaller: a thread that kept the error of an earlier test
// has ended, or has another error.
func Check[T comparable](t testing.TB, figure func() T) {
	t.Helper()
	before := Settled(figure)
	t.Cleanup(func() {
		var now T
		if !Until(func() bool {
			now = figure()
			return !larger(reflect.ValueOf(now), reflect.ValueOf(before))
		}) {
			require.Equal(t, before, now, "something is alive that was not before")
		}
	})
}

// larger reports whether a number in a is larger than that in b, or anything else in a differs from that in b.
func larger(a, b reflect.Value) bool {
	switch {
	case a.CanInt():
		return a.Int() > b.Int()
	case a.Kind() == reflect.Struct:
		for i := range a.NumField() {
			if larger(a.Field(i), b.Field(i)) {
				return true
			}
		}
		return false
	case a.Kind() == reflect.Array:
		for i := range a.Len() {
			if larger(a.Index(i), b.Index(i)) {
				return true
			}
		}
		return false
	}
	return !a.Equal(b)
}
