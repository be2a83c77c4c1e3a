package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"tvmgo/dlpack"
	"tvmgo/runtime"
)

// Each sample consists of many calls, so that the time of reading the clock is negligible.
const (
	sampleTime = 50 * time.Microsecond
	maxBatch   = 10_000
)

// times are the seconds per call, one value for each sample, in ascending order.
type times struct {
	seconds []float64
	batch   int    // calls per sample
	clock   string // what measured
}

// stopwatch measures the time from a start to a stop.
type stopwatch interface {
	start() error
	stop() (time.Duration, error)
	close()
}

// measure takes samples of the call, which must have run before. It packs the arguments once.
func (c *call) measure(ctx context.Context, samples int) (*times, error) {
	bound, err := c.fn.Bind(c.args...)
	if err != nil {
		return nil, err
	}
	defer bound.Close()
	t := &times{batch: 1, clock: "the device's timer"}
	var watch stopwatch
	timer, err := runtime.NewTimer(c.dev)
	switch {
	case errors.Is(err, runtime.ErrNotSupported):
		watch, t.clock = &wallClock{ctx: ctx, dev: c.dev}, "the wall clock"
	case err != nil:
		return nil, err
	default:
		watch = &deviceTimer{timer}
	}
	defer watch.close()
	for range 5 { // warm up, and see how long a call takes
		d, err := sample(watch, bound, t.batch)
		if err != nil {
			return nil, err
		}
		if d >= sampleTime || t.batch >= maxBatch {
			break
		}
		need := math.Ceil(float64(t.batch) * float64(sampleTime) / float64(max(d, time.Nanosecond)))
		t.batch = int(min(need, maxBatch))
	}
	for range samples {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		d, err := sample(watch, bound, t.batch)
		if err != nil {
			return nil, err
		}
		t.seconds = append(t.seconds, d.Seconds()/float64(t.batch))
	}
	slices.Sort(t.seconds)
	return t, nil
}

func sample(watch stopwatch, bound *runtime.Bound, batch int) (time.Duration, error) {
	if err := watch.start(); err != nil {
		return 0, err
	}
	for range batch {
		if err := bound.Call(); err != nil {
			return 0, err
		}
	}
	return watch.stop()
}

type deviceTimer struct{ timer *runtime.Timer }

func (d *deviceTimer) start() error { return d.timer.Start(nil) }

func (d *deviceTimer) stop() (time.Duration, error) {
	if err := d.timer.Stop(nil); err != nil {
		return 0, err
	}
	return d.timer.Elapsed()
}

func (d *deviceTimer) close() { d.timer.Close() }

type wallClock struct {
	ctx   context.Context
	dev   dlpack.Device
	begin time.Time
}

func (c *wallClock) start() error {
	c.begin = time.Now()
	return nil
}

func (c *wallClock) stop() (time.Duration, error) {
	err := runtime.SyncDevice(c.ctx, c.dev)
	return time.Since(c.begin), err
}

func (c *wallClock) close() {}

// percentile returns the smallest sample such that at least p percent are not larger. The median of an even number is
// the mean of two.
func (t *times) percentile(p float64) float64 {
	n := len(t.seconds)
	if p == 50 && n%2 == 0 {
		return (t.seconds[n/2-1] + t.seconds[n/2]) / 2
	}
	return t.seconds[max(int(math.Ceil(p/100*float64(n)))-1, 0)]
}

func (t *times) mean() float64 {
	sum := 0.0
	for _, s := range t.seconds {
		sum += s
	}
	return sum / float64(len(t.seconds))
}

func (t *times) text() string {
	return fmt.Sprintf("time of a call: median %s, min %s, mean %s, p90 %s, p99 %s, max %s\nmeasured by %s: %d samples "+
		"of %d calls\n",
		duration(t.percentile(50)), duration(t.seconds[0]), duration(t.mean()), duration(t.percentile(90)),
		duration(t.percentile(99)),
		duration(t.seconds[len(t.seconds)-1]), t.clock, len(t.seconds), t.batch)
}

// duration prints seconds with three significant digits.
func duration(seconds float64) string {
	for _, u := range []struct {
		name string
		size float64
	}{{"s", 1}, {"ms", 1e-3}, {"µs", 1e-6}} {
		if seconds >= u.size {
			return fmt.Sprintf("%s %s", threeDigits(seconds/u.size), u.name)
		}
	}
	return fmt.Sprintf("%s ns", threeDigits(seconds*1e9))
}

func threeDigits(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}
