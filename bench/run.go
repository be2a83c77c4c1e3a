package bench

import (
	"context"
	"fmt"
	"time"
)

// Run measures each case on each device, and returns a report. It owns neither cases nor devices, and closes what it
// opened. An error means that nothing was measured because the arguments are wrong: no case or device, a name that
// occurs twice, or a configuration that is not possible. Everything else is in the report: the end of the context, a
// device that disappears, a panic of a case. A panic of Progress or Finished ends the run like the end of the context.
func Run(ctx context.Context, c Config, cases []*Case, devices []*Device) (*Report, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := checkNames(cases, devices); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	r := &Report{Schema: Schema, Started: time.Now().UTC().Truncate(time.Second), Machine: ThisMachine(), Config: c,
		Rows: []*Row{}, Devices: []DeviceInfo{}}
	r.Config.Progress, r.Config.Finished = nil, nil
	began := time.Now()
	for _, d := range devices {
		r.Devices = append(r.Devices, DeviceInfo{Name: d.Name, Title: d.Title, Facts: d.Facts.plain()})
	}
	lost := &losses{devices: map[*Device]error{}, sensors: map[*Device]error{}}
	whole := true
	for i, k := range cases {
		if ctx.Err() != nil {
			whole = false
			break
		}
		g := &group{config: c, of: k, devices: devices, lost: lost, index: i, count: len(cases), stop: stop}
		whole = g.measure(ctx) && whole
		r.Rows = append(r.Rows, g.rows()...)
		if c.Finished != nil {
			if err := guarded(func() error { c.Finished(g.rows()); return nil }); err != nil {
				whole = false
				stop(fmt.Errorf("Config.Finished: %w", err))
			}
		}
	}
	if !whole {
		r.Ended = fmt.Sprintf("interrupted: %v", context.Cause(ctx))
	}
	for i, d := range devices {
		if err := lost.sensors[d]; err != nil {
			r.Devices[i].Sensor = err.Error()
		}
	}
	r.Took = time.Since(began)
	Evaluate(r)
	return r, nil
}

// checkNames returns an error if there is nothing to measure, or if two cases, variants or devices have the same name.
func checkNames(cases []*Case, devices []*Device) error {
	switch {
	case len(cases) == 0:
		return fmt.Errorf("no case is given: a run needs at least one")
	case len(devices) == 0:
		return fmt.Errorf("no device is given: a run needs at least one")
	}
	seen := map[string]bool{}
	for i, k := range cases {
		switch {
		case k == nil:
			return fmt.Errorf("case %d is nil", i)
		case k.Suite == "" || k.Name == "":
			return fmt.Errorf("case %d (%s) needs a suite and a name", i, k.ID())
		case seen[k.ID()]:
			return fmt.Errorf("two cases have the name %s", k.ID())
		case len(k.Variants) == 0:
			return fmt.Errorf("case %s has no variant", k.ID())
		case k.Figure != "" && !k.Figure.valid():
			return fmt.Errorf("case %s has an unknown figure %q: give bench.Time, Flops, IntOps or Bandwidth", k.ID(), k.Figure)
		}
		seen[k.ID()] = true
		variants := map[string]bool{}
		for _, v := range k.Variants {
			switch {
			case v.Open == nil:
				return fmt.Errorf("case %s, variant %q: Open is nil", k.ID(), v.Name)
			case variants[v.Name]:
				return fmt.Errorf("case %s has two variants with the name %q", k.ID(), v.Name)
			}
			variants[v.Name] = true
		}
	}
	seen = map[string]bool{}
	for i, d := range devices {
		switch {
		case d == nil:
			return fmt.Errorf("device %d is nil", i)
		case d.Name == "":
			return fmt.Errorf("device %d needs a name", i)
		case seen[d.Name]:
			return fmt.Errorf("device %s is named twice", d.Name)
		}
		seen[d.Name] = true
	}
	return nil
}
