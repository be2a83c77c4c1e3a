package suite

import (
	"context"
	"errors"
	"time"

	"tvmgo/bench"
	"tvmgo/runtime"
)

// streamCopy is a copy in a stream, which is timed by itself: the copies against it, in another stream, are not.
type streamCopy struct {
	*resources
	from, to *runtime.Tensor
	stream   *runtime.Stream
	against  *streamCopy // begins before each copy; nil for none
	byHost   bool        // the host may take part, so that only the wall clock sees all of the copy
	pattern  pattern
	timer    *runtime.Timer
}

// Amount returns the bytes of a copy; those of the copy against it are not counted.
func (c *streamCopy) Amount() bench.Amount { return bench.Amount{Bytes: float64(c.from.Size())} }

// Facts returns nothing.
func (c *streamCopy) Facts() bench.Facts { return nil }

// Run queues n copies, and the copies against them, and times its own stream.
func (c *streamCopy) Run(ctx context.Context, n int) (took bench.Elapsed, err error) {
	if c.timer == nil && !c.byHost {
		if c.timer, err = keep(runtime.NewTimer(c.stream.Device()))(c.resources); err != nil {
			return took, err
		}
		if c.byHost = !c.timer.OnDevice(); c.byHost { // it reads the host's clock
			c.timer = nil
		}
	}
	defer func() {
		if c.against != nil {
			err = errors.Join(err, c.against.stream.Sync(context.WithoutCancel(ctx)))
		}
	}()
	began := time.Now()
	if c.timer != nil {
		if err := c.timer.Start(c.stream); err != nil {
			return took, err
		}
	}
	for range n {
		if err := c.queue(); err != nil {
			return took, err
		}
	}
	if c.timer != nil {
		if err := c.timer.Stop(c.stream); err != nil {
			return took, err
		}
	}
	if err := c.stream.Sync(ctx); err != nil {
		return took, err
	}
	took.Wall = time.Since(began)
	if c.timer != nil {
		took.Device, err = c.timer.Elapsed()
	}
	return took, err
}

// queue queues a copy, after the one against it.
func (c *streamCopy) queue() error {
	if c.against != nil {
		if err := c.against.queue(); err != nil {
			return err
		}
	}
	return c.to.CopyFromTensor(c.from, c.stream)
}

// Check copies new bytes over others in both directions, and compares all of them.
func (c *streamCopy) Check(ctx context.Context) (string, error) {
	how, err := c.pattern.check(c.from, c.to, func() error {
		if err := c.queue(); err != nil {
			return err
		}
		if c.against != nil {
			if err := c.against.stream.Sync(ctx); err != nil {
				return err
			}
		}
		return c.stream.Sync(ctx)
	})
	if err != nil || c.against == nil {
		return how, err
	}
	_, err = c.against.pattern.check(c.against.from, c.against.to, func() error {
		if err := c.queue(); err != nil {
			return err
		}
		if err := c.stream.Sync(ctx); err != nil {
			return err
		}
		return c.against.stream.Sync(ctx)
	})
	return how + ", in both directions", err
}
