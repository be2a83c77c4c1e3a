package bench

import (
	"context"
	"errors"
	"time"

	"tvmgo/dlpack"
	"tvmgo/runtime"
)

// Calls is the part of a [Work] that queues operations on a device and measures them: with the device's timer, if it
// has one, and with the wall clock. Embed it, and add Check. The zero value is not usable.
type Calls struct {
	On    dlpack.Device
	Call  func() error // queues one operation on the default stream, and does not wait
	Do    Amount       // of one operation
	Known Facts

	// WallOnly leaves out the device's timer: for a latency, and for a device whose timer is the host's clock.
	WallOnly bool
	Free     []func() error // is called by Close, the last one first

	timer    *runtime.Timer
	openOnce bool
}

// Amount returns what one operation does.
func (c *Calls) Amount() Amount { return c.Do }

// Facts returns what is known about the operation.
func (c *Calls) Facts() Facts { return c.Known }

// Run queues n operations and waits for them.
func (c *Calls) Run(ctx context.Context, n int) (took Elapsed, err error) {
	if !c.openOnce && !c.WallOnly {
		c.openOnce = true
		if c.timer, err = runtime.NewTimer(c.On); errors.Is(err, runtime.ErrNotSupported) {
			c.timer, err = nil, nil
		}
		if err != nil {
			return took, err
		}
		if c.timer != nil && !c.timer.OnDevice() { // it reads the host's clock, as Wall does
			err, c.timer = c.timer.Close(), nil
			if err != nil {
				return took, err
			}
		}
	}
	began := time.Now()
	if c.timer != nil {
		if err := c.timer.Start(nil); err != nil {
			return took, err
		}
	}
	for range n {
		if err := c.Call(); err != nil {
			return took, err
		}
	}
	if c.timer != nil {
		if err := c.timer.Stop(nil); err != nil {
			return took, err
		}
	}
	if err := runtime.SyncDevice(ctx, c.On); err != nil {
		return took, err
	}
	took.Wall = time.Since(began)
	if c.timer != nil {
		took.Device, err = c.timer.Elapsed()
	}
	return took, err
}

// Close frees the timer, and what Free names.
func (c *Calls) Close() (err error) {
	if c.timer != nil {
		err = c.timer.Close()
	}
	for i := len(c.Free) - 1; i >= 0; i-- {
		err = errors.Join(err, c.Free[i]())
	}
	c.timer, c.Free = nil, nil
	return err
}
