package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tvmgo/runtime"
)

// Run measures each case on each device, and returns a report. It owns neither cases nor devices, and closes what it
// opened. An error means that nothing was measured because the arguments are wrong: a name that occurs twice, or a
// configuration that is not possible. Everything else is in the report, and so is the end of the context.
func Run(ctx context.Context, c Config, cases []*Case, devices []*Device) (*Report, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := checkNames(cases, devices); err != nil {
		return nil, err
	}
	r := &Report{Schema: Schema, Started: time.Now().UTC().Truncate(time.Second), Machine: ThisMachine(), Config: c,
		Rows: []*Row{}, Devices: []DeviceInfo{}}
	began := time.Now()
	for _, d := range devices {
		r.Devices = append(r.Devices, DeviceInfo{Name: d.Name, Title: d.Title, Facts: d.Facts})
	}
	gone := map[*Device]error{}
	for i, k := range cases {
		if ctx.Err() != nil {
			break
		}
		g := &group{config: c, of: k, devices: devices, gone: gone, index: i, count: len(cases)}
		g.measure(ctx)
		for _, e := range g.entries {
			r.Rows = append(r.Rows, e.row)
		}
		if c.Finished != nil {
			c.Finished(r.Rows[len(r.Rows)-len(g.entries):])
		}
	}
	if ctx.Err() != nil {
		r.Ended = fmt.Sprintf("interrupted: %v", context.Cause(ctx))
	}
	r.Took = time.Since(began)
	Evaluate(r)
	return r, nil
}

// checkNames returns an error if two cases or two devices have the same name.
func checkNames(cases []*Case, devices []*Device) error {
	seen := map[string]bool{}
	for _, k := range cases {
		if seen[k.ID()] {
			return fmt.Errorf("two cases have the name %s", k.ID())
		}
		seen[k.ID()] = true
		if len(k.Variants) == 0 {
			return fmt.Errorf("case %s has no variant", k.ID())
		}
	}
	for _, d := range devices {
		if seen[d.Name] {
			return fmt.Errorf("device %s is named twice", d.Name)
		}
		seen[d.Name] = true
	}
	return nil
}

// group is a case on all devices, whose rows are measured in the same rounds.
type group struct {
	config       Config
	of           *Case
	devices      []*Device
	gone         map[*Device]error // devices that have disappeared, and the error that said so
	index, count int
	entries      []*entry
}

// entry is a row while it is measured.
type entry struct {
	row  *Row
	on   *Device
	work Work // nil before Open and after the end
	wall bool // the device has no timer
}

func (g *group) measure(ctx context.Context) {
	g.openAll(ctx)
	defer func() {
		for _, e := range g.entries {
			e.end()
		}
	}()
	for _, e := range g.running() {
		g.report(Progress{Stage: Warming, Device: e.on.Name})
		if err := e.warmUp(ctx, g.config); err != nil {
			g.fail(ctx, e, err)
		}
	}
	began := time.Now()
	for round := 0; round < g.config.Rounds; round++ {
		if round >= LeastRounds && time.Since(began) > g.config.Case {
			break
		}
		order := g.running()
		if round%2 == 1 {
			slices.Reverse(order)
		}
		for _, e := range order {
			g.report(Progress{Stage: Measuring, Device: e.on.Name, Round: round, Rounds: g.config.Rounds})
			if err := e.sample(ctx, round); err != nil {
				g.fail(ctx, e, err)
			}
		}
	}
	for _, e := range g.running() {
		e.row.Status = Measured
	}
}

// openAll makes a row for each variant on each device, prepares its operation and checks the result.
func (g *group) openAll(ctx context.Context) {
	for _, d := range g.devices {
		for _, v := range g.of.Variants {
			if v.On != nil && !v.On(d) {
				continue
			}
			e := &entry{on: d, row: &Row{Suite: g.of.Suite, Case: g.of.Name, Device: d.Name, Variant: v.Name,
				Figure: g.of.Figure, Unit: g.of.Figure.Unit(), Limits: g.of.Limits,
				Family: g.of.Family}}
			g.entries = append(g.entries, e)
			if err := g.open(ctx, e, v); err != nil {
				g.fail(ctx, e, err)
			}
		}
	}
}

func (g *group) open(ctx context.Context, e *entry, v Variant) (err error) {
	if err := g.gone[e.on]; err != nil {
		return fmt.Errorf("the device has disappeared: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	g.report(Progress{Stage: Preparing, Device: e.on.Name})
	if e.work, err = v.Open(ctx, e.on); err != nil {
		e.work = nil
		return err
	}
	g.report(Progress{Stage: Checking, Device: e.on.Name})
	e.row.Checked, err = e.work.Check(ctx)
	e.row.Amount, e.row.Facts = e.work.Amount(), e.work.Facts()
	return err
}

// fail ends a row. Samples taken before are kept.
func (g *group) fail(ctx context.Context, e *entry, err error) {
	e.row.Reason = err.Error()
	switch {
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		e.row.Status = Interrupted
	case errors.Is(err, ErrNotMeasured):
		e.row.Status = NotMeasured
	case errors.Is(err, ErrWrongResult):
		e.row.Status = Wrong
	default:
		e.row.Status = Failed
	}
	if errors.Is(err, runtime.ErrDeviceUnavailable) && g.gone[e.on] == nil {
		g.gone[e.on] = err
	}
	e.end()
}

// running returns the entries that can be measured, in order.
func (g *group) running() (list []*entry) {
	for _, e := range g.entries {
		if e.work != nil {
			list = append(list, e)
		}
	}
	return list
}

func (g *group) report(p Progress) {
	if g.config.Progress != nil {
		p.Case, p.Index, p.Of = g.of, g.index, g.count
		g.config.Progress(p)
	}
}

// end frees the operation.
func (e *entry) end() {
	if e.work == nil {
		return
	}
	if err := e.work.Close(); err != nil && e.row.Reason == "" {
		e.row.Reason = fmt.Sprintf("close: %v", err)
	}
	e.work = nil
}
