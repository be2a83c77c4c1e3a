package bench

import (
	"context"
	"math"
	"slices"
	"time"
)

// The clocks of a row.
const (
	ClockDevice = "device timer"
	ClockWall   = "wall time"
)

// run executes the operations of a sample.
func (e *entry) run(ctx context.Context) (Elapsed, error) {
	if err := ctx.Err(); err != nil {
		return Elapsed{}, err
	}
	return e.work.Run(ctx, e.row.Calls)
}

// sample adds a sample to the row. A sample whose time is not positive is dropped: the wall clock was set back, or the
// device's timer had no result.
func (e *entry) sample(ctx context.Context, round int) error {
	took, err := e.run(ctx)
	if err != nil {
		return err
	}
	r := e.row
	e.last = took
	if took.Wall <= 0 || r.Clock == ClockDevice && took.Device <= 0 {
		r.Dropped++
		e.bad = took
		return nil
	}
	each := func(d time.Duration) float64 { return float64(d) / float64(r.Calls) }
	if r.Clock == ClockDevice {
		r.Samples, r.Wall = append(r.Samples, each(took.Device)), append(r.Wall, each(took.Wall))
	} else {
		r.Samples = append(r.Samples, each(took.Wall))
	}
	r.Rounds = append(r.Rounds, round)
	return nil
}

// readSensor adds the state of the device to the row. A sensor that fails is not read again.
func (g *group) readSensor(e *entry) {
	if e.on.Sensor == nil || g.lost.sensors[e.on] != nil {
		return
	}
	var reading Reading
	err := guarded(func() (err error) {
		reading, err = e.on.Sensor.Read()
		return err
	})
	if err != nil {
		g.lost.sensors[e.on] = err
		return
	}
	e.row.Conditions = e.row.Conditions.add(reading)
}

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

// add widens a range; a reading that is no number is none.
func (r *Range) add(v *float64) *Range {
	switch {
	case v == nil || math.IsNaN(*v) || math.IsInf(*v, 0):
		return r
	case r == nil:
		return &Range{Min: *v, Max: *v}
	}
	return &Range{Min: min(r.Min, *v), Max: max(r.Max, *v)}
}
