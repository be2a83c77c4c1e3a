package queue

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// maxPriorities bounds the memory of a key, which has a list for each level.
const maxPriorities = 64

// Config has the limits of a queue. The zero value, with a Capacity, is a queue without batches and with one level.
type Config struct {
	// Capacity is how many items may wait, those that run not counted: at least 1.
	Capacity int
	// MaxRows is the greatest number of rows of a batch. With 0 or 1, items run alone.
	MaxRows int
	// Preferred are the numbers of rows, from 1 to MaxRows, at which a batch runs without waiting any longer. MaxRows
	// is always one of them.
	Preferred []int
	// Delay is the longest time that the first item of a batch waits for others while a worker is idle. With 0, a
	// worker takes what is there.
	Delay time.Duration
	// Priorities is the number of levels; level 1 is the highest. 0 means 1, at most 64 are allowed.
	Priorities int
	// DefaultPriority is the level of items that do not say one. 0 means the one in the middle; of two, the lower.
	DefaultPriority int
	// Timeout is the longest time that an item may wait, 0 for no limit. An item may ask for less time, not for more.
	Timeout time.Duration
	// Inline lets Do run a batch of its item alone on its own goroutine, in the place of an idle worker's, which saves the
	// time to wake that one. Do then returns when the batch has run, also if its context is canceled before; items whose
	// context has a deadline are not run in this way. Workers must not call runtime.Goexit.
	Inline bool
}

// Functions are what a queue calls. It calls none of them while it holds a lock.
type Functions[I, O any] struct {
	// Workers answer batches, each on one goroutine of its own. A worker calls Answer or Fail of each item, does not
	// change the slice, and keeps neither it nor the items after it returns. If it panics, the items that have no
	// answer fail, and the worker goes on with the next batch.
	Workers []func(batch []*Item[I, O])
	// Release is called once with each input that was given to Do, when nothing uses it anymore: before Do returns, or
	// after the worker returned if Do did not wait for it. It must not panic; nil does nothing.
	Release func(I)
	// Discard is called once with each result that Do does not return, before Release. It must not panic; nil does
	// nothing.
	Discard func(O)
}

// complete checks the limits and replaces those that are 0 by what they mean.
func (c Config) complete() (Config, error) {
	if c.Capacity < 1 {
		return c, fmt.Errorf("capacity: expected at least 1 waiting item, got %d", c.Capacity)
	}
	for _, n := range []struct {
		name  string
		value int64
		unit  string
	}{
		{"largest batch", int64(c.MaxRows), " rows"}, {"delay", int64(c.Delay), " ns"},
		{"number of priorities", int64(c.Priorities), ""}, {"default priority", int64(c.DefaultPriority), ""},
		{"timeout", int64(c.Timeout), " ns"},
	} {
		if n.value < 0 {
			return c, fmt.Errorf("%s: expected 0 or more, got %d%s", n.name, n.value, n.unit)
		}
	}
	c.MaxRows = max(c.MaxRows, 1)
	c.Preferred = slices.Clone(c.Preferred)
	for _, p := range c.Preferred {
		if p < 1 || p > c.MaxRows {
			return c, fmt.Errorf("preferred size of a batch: expected 1 to %d rows, got %d", c.MaxRows, p)
		}
	}
	c.Priorities = max(c.Priorities, 1)
	if c.Priorities > maxPriorities {
		return c, fmt.Errorf("number of priorities: expected at most %d, got %d", maxPriorities, c.Priorities)
	}
	if c.DefaultPriority > c.Priorities {
		return c, fmt.Errorf("default priority: expected 1 to %d, got %d", c.Priorities, c.DefaultPriority)
	}
	if c.DefaultPriority == 0 {
		c.DefaultPriority = c.Priorities/2 + 1
	}
	return c, nil
}

// The kinds of errors of Do, for errors.Is. The results of a worker have the worker's errors, and those of a context
// its own.
var (
	ErrFull    = errors.New("the queue is full")
	ErrTimeout = errors.New("timeout in the queue")
	ErrClosed  = errors.New("the queue is closed")
)

// FullError is the error of an item that found too many others waiting. It is ErrFull.
type FullError struct {
	Waiting    int           // the items that wait
	RetryAfter time.Duration // about when half of them will have started
}

// Error says when to try again.
func (e *FullError) Error() string {
	return fmt.Sprintf("%v: %d items wait: try again in %v", ErrFull, e.Waiting, e.RetryAfter)
}

// Is reports whether the target is ErrFull.
func (e *FullError) Is(target error) bool { return target == ErrFull }

func timeoutError(limit time.Duration) error {
	return fmt.Errorf("%w: it did not start within %v: allow more time, or send fewer requests at once", ErrTimeout, limit)
}
