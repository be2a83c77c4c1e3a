package main

import (
	"context"
	"fmt"
	"time"

	"tvmgo/bench"
)

// sampleTime is the least duration of a sample: it consists of many calls, so that the time of reading the clock is
// negligible.
const sampleTime = 50 * time.Microsecond

// timedCall is a call as an operation of package bench. It was executed before.
type timedCall struct{ bench.Calls }

func (t *timedCall) Check(context.Context) (string, error) { return "", nil }

// measure takes samples of the call, which must have run before. It packs the arguments once.
func (c *call) measure(ctx context.Context, samples int) (*bench.Row, error) {
	bound, err := c.fn.Bind(c.args...)
	if err != nil {
		return nil, err
	}
	defer bound.Close()
	w := &timedCall{bench.Calls{On: c.dev, Call: bound.Call}}
	defer w.Close()
	return bench.Measure(ctx, bench.Config{Rounds: samples, Sample: sampleTime, WarmUp: sampleTime}, w)
}

// timesText describes the samples of a call.
func timesText(r *bench.Row) string {
	t := r.Times
	of := func(ns float64) string { return duration(ns / 1e9) }
	clock := "the wall clock"
	if r.Clock == bench.ClockDevice {
		clock = "the device's timer"
	}
	return fmt.Sprintf("time of a call: median %s, min %s, mean %s, p90 %s, p99 %s, max %s\nmeasured by %s: %d samples "+
		"of %s\n", of(t.P50), of(t.Min), of(t.Mean), of(t.P90), of(t.P99), of(t.Max), clock, t.Samples,
		count(r.Calls, "call"))
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
