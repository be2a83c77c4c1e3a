package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"tvmgo/runtime"
)

// group is a case on all devices, whose rows are measured in the same rounds.
type group struct {
	config       Config
	of           *Case
	devices      []*Device
	lost         *losses
	index, count int
	stop         context.CancelCauseFunc // ends the run
	entries      []*entry
}

// losses are the devices and sensors that a run cannot use any more, with the errors that said so.
type losses struct {
	devices, sensors map[*Device]error
}

// entry is a row while it is measured.
type entry struct {
	row  *Row
	on   *Device
	work Work    // nil before Open and after the end
	last Elapsed // sample
	bad  Elapsed // sample without a valid time
}

// measure makes the rows of the case, and reports whether none was interrupted.
func (g *group) measure(ctx context.Context) (whole bool) {
	defer func() {
		for _, e := range g.entries {
			e.end()
			whole = whole && e.row.Status != Interrupted
		}
	}()
	g.openAll(ctx)
	for _, e := range g.running() {
		if e.work == nil { // the device disappeared
			continue
		}
		g.report(Progress{Stage: Warming, Device: e.on.Name})
		if err := guarded(func() error { return e.warmUp(ctx, g.config) }); err != nil {
			g.fail(ctx, e, err)
		}
	}
	spent, b := time.Duration(0), newBudget()
	for round := 0; round < g.config.Rounds; round++ {
		order := g.running()
		if len(order) == 0 || round >= LeastRounds && spent > g.config.Case {
			break
		}
		if round%2 == 1 {
			slices.Reverse(order)
		}
		for _, e := range order {
			if e.work == nil {
				continue
			}
			g.report(Progress{Stage: Measuring, Device: e.on.Name, Round: round, Rounds: g.config.Rounds})
			if err := guarded(func() error { return e.sample(ctx, round) }); err != nil {
				g.fail(ctx, e, err)
				continue
			}
			g.readSensor(e)
			spent = b.spend(e.last)
		}
	}
	for _, e := range g.running() {
		e.row.Status = Measured
		if err := e.finish(); err != nil {
			e.row.Status, e.row.Reason = Failed, err.Error()
		}
	}
	return true
}

// rows returns the rows of the case.
func (g *group) rows() (rows []*Row) {
	for _, e := range g.entries {
		rows = append(rows, e.row)
	}
	return rows
}

// openAll makes a row for each variant on each device, prepares its operation and checks the result.
func (g *group) openAll(ctx context.Context) {
	figure := g.of.Figure
	if figure == "" {
		figure = Time
	}
	for _, d := range g.devices {
		for _, v := range g.of.Variants {
			applies := true
			err := guarded(func() error {
				applies = v.On == nil || v.On(d)
				return nil
			})
			if !applies {
				continue
			}
			e := &entry{on: d, row: &Row{Suite: g.of.Suite, Case: g.of.Name, Device: d.Name, Variant: v.Name,
				Figure: figure, Unit: figure.Unit(), Limits: g.of.Limits, Family: g.of.Family}}
			g.entries = append(g.entries, e)
			if err == nil {
				err = g.open(ctx, e, v)
			}
			if err != nil {
				g.fail(ctx, e, err)
			}
		}
	}
}

func (g *group) open(ctx context.Context, e *entry, v Variant) (err error) {
	if err := g.lost.devices[e.on]; err != nil {
		return disappeared(err)
	}
	g.report(Progress{Stage: Preparing, Device: e.on.Name})
	if err := ctx.Err(); err != nil {
		return err
	}
	err = guarded(func() (err error) {
		e.work, err = v.Open(ctx, e.on)
		return err
	})
	switch {
	case err != nil:
		e.work = nil
		return err
	case e.work == nil:
		return errors.New("Open returned neither a Work nor an error")
	}
	g.report(Progress{Stage: Checking, Device: e.on.Name})
	if err := ctx.Err(); err != nil {
		return err
	}
	err = guarded(func() (err error) {
		e.row.Checked, err = e.work.Check(ctx)
		return err
	})
	of := guarded(func() error {
		e.row.Amount, e.row.Facts = e.work.Amount(), e.work.Facts().plain()
		return e.row.Amount.check(e.row.Figure)
	})
	if err == nil {
		err = of
	}
	return err
}

// check returns an error if an amount is not a number, or not one of which a figure follows.
func (a *Amount) check(f Figure) error {
	for _, v := range []*float64{&a.Ops, &a.Bytes} {
		if !(*v >= 0) || math.IsInf(*v, 0) {
			err := fmt.Errorf("an operation's amount is %v operations and %v bytes: give numbers from 0", a.Ops, a.Bytes)
			*a = Amount{}
			return err
		}
	}
	switch {
	case (f == Flops || f == IntOps) && a.Ops == 0:
		return fmt.Errorf("the case reports %s, but its Work says that an operation has no operations on numbers", f.Unit())
	case f == Bandwidth && a.Bytes == 0:
		return fmt.Errorf("the case reports %s, but its Work says that an operation moves no bytes", f.Unit())
	}
	return nil
}

func disappeared(err error) error { return fmt.Errorf("the device has disappeared: %w", err) }

// fail ends a row. Samples taken before are kept. If the device has disappeared, so do its other rows.
func (g *group) fail(ctx context.Context, e *entry, err error) {
	e.row.Reason = err.Error()
	away := errors.Is(err, runtime.ErrDeviceUnavailable)
	switch {
	case errors.Is(err, ErrNotMeasured):
		e.row.Status, away = NotMeasured, false
	case errors.Is(err, ErrWrongResult):
		e.row.Status = Wrong
	case ctx.Err() != nil && !away:
		e.row.Status, e.row.Reason = Interrupted, context.Cause(ctx).Error()
	default:
		e.row.Status = Failed
	}
	e.end()
	if away && g.lost.devices[e.on] == nil {
		g.lost.devices[e.on] = err
		for _, other := range g.running() {
			if other.on == e.on {
				g.fail(ctx, other, disappeared(err))
			}
		}
	}
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
	if g.config.Progress == nil {
		return
	}
	p.Case, p.Index, p.Of = g.of, g.index, g.count
	if err := guarded(func() error { g.config.Progress(p); return nil }); err != nil {
		g.config.Progress = nil
		g.stop(fmt.Errorf("Config.Progress: %w", err))
	}
}

// end frees the operation.
func (e *entry) end() {
	if e.work == nil {
		return
	}
	work := e.work
	e.work = nil
	if err := guarded(work.Close); err != nil && e.row.Reason == "" {
		e.row.Reason = fmt.Sprintf("close: %v", err)
	}
	if r := e.row; r.Dropped == 0 {
		r.Rounds = nil // one sample in each
	}
}

// finish returns an error if most samples had no valid time.
func (e *entry) finish() error {
	if r := e.row; r.Dropped > len(r.Samples) {
		return fmt.Errorf("%d of %d samples have no valid time: one took %v by the wall clock and %v by the device's timer",
			r.Dropped, r.Dropped+len(r.Samples), e.bad.Wall, e.bad.Device)
	}
	return nil
}
