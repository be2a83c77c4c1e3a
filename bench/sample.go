package bench

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"tvmgo/bench/stats"
)

// maxCalls bounds the operations of a sample.
const maxCalls = 1 << 20

// Warm-up ends when the medians of the last two windows of samples differ by less than stable.
const (
	window = 4
	stable = 0.02
)

// warmUp finds the number of operations of a sample, and runs samples until their times are stable.
func (e *entry) warmUp(ctx context.Context, c Config) error {
	began := time.Now()
	e.row.Calls = 1
	for e.row.Calls < maxCalls {
		took, err := e.run(ctx)
		if err != nil {
			return err
		}
		e.row.Warmup.Samples++
		if took.Wall >= c.Sample {
			break
		}
		need := math.Ceil(1.1 * float64(c.Sample) / float64(max(took.Wall, 1)))
		e.row.Calls = min(maxCalls, e.row.Calls*int(min(need, 64)))
	}
	var times []float64
	for {
		took, err := e.run(ctx)
		if err != nil {
			return err
		}
		e.row.Warmup.Samples++
		times = append(times, float64(took.Wall))
		if n := len(times); n >= 2*window {
			last, before := stats.Median(times[n-window:]), stats.Median(times[n-2*window:n-window])
			if e.row.Warmup.Stable = math.Abs(last-before) <= stable*before; e.row.Warmup.Stable {
				break
			}
		}
		if time.Since(began) >= c.WarmUp {
			break
		}
	}
	e.row.Warmup.Took = time.Since(began)
	return nil
}

// run executes the operations of a sample. The first one decides which clock the row has.
func (e *entry) run(ctx context.Context) (Elapsed, error) {
	if err := ctx.Err(); err != nil {
		return Elapsed{}, err
	}
	took, err := e.work.Run(ctx, e.row.Calls)
	if err == nil && (took.Wall <= 0 || took.Device < 0) {
		err = fmt.Errorf("the clock went from %v to %v", took.Wall, took.Device)
	}
	return took, err
}

// sample adds a sample to the row, and reads the sensor.
func (e *entry) sample(ctx context.Context, round int) error {
	took, err := e.run(ctx)
	if err != nil {
		return err
	}
	r := e.row
	each := func(d time.Duration) float64 { return float64(d) / float64(r.Calls) }
	if len(r.Samples) == 0 {
		r.Clock = ClockWall
		if took.Device > 0 {
			r.Clock = ClockDevice
		}
	}
	if r.Clock == ClockDevice {
		r.Samples, r.Wall = append(r.Samples, each(took.Device)), append(r.Wall, each(took.Wall))
	} else {
		r.Samples = append(r.Samples, each(took.Wall))
	}
	r.Rounds = append(r.Rounds, round)
	if e.on.Sensor != nil {
		if reading, err := e.on.Sensor.Read(); err == nil {
			r.Conditions = r.Conditions.add(reading)
		}
	}
	return nil
}

// The clocks of a row.
const (
	ClockDevice = "device timer"
	ClockWall   = "wall time"
)

func (c *Conditions) add(r Reading) *Conditions {
	if c == nil {
		c = &Conditions{}
	}
	c.ClockMHz, c.MemoryClockMHz = c.ClockMHz.add(r.ClockMHz), c.MemoryClockMHz.add(r.MemoryClockMHz)
	c.Celsius, c.Watts = c.Celsius.add(r.Celsius), c.Watts.add(r.Watts)
	for _, t := range r.Throttled {
		if !slices.Contains(c.Throttled, t) {
			c.Throttled = append(c.Throttled, t)
		}
	}
	return c
}

func (r *Range) add(v *float64) *Range {
	switch {
	case v == nil:
		return r
	case r == nil:
		return &Range{Min: *v, Max: *v}
	}
	return &Range{Min: min(r.Min, *v), Max: max(r.Max, *v)}
}
