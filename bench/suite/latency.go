package suite

import (
	"context"
	"time"

	"tvmgo/bench"
)

// latency is an operation whose time is that of the host: until it has queued the work, or until it knows that the work
// is done. The wall clock measures it, also on a device with a timer.
type latency struct {
	*resources
	operation func() error
	wait      func(context.Context) error // after the last operation of a sample; nil: operations wait themselves
	parts     int                         // what one call of operation counts for, as the launches of a chain; 0: 1
	check     func(context.Context) (string, error)
	do        bench.Amount
}

// Amount returns what one operation does.
func (l *latency) Amount() bench.Amount { return l.do }

// Facts returns nothing: names and documentation say what a latency depends on.
func (l *latency) Facts() bench.Facts { return nil }

// Check executes the operation and compares what it has written with what it should write.
func (l *latency) Check(ctx context.Context) (string, error) {
	how, err := l.check(ctx)
	return how, lacks(err) // a kernel may be compiled when it is first launched
}

// Run executes at least n operations, and returns the wall time of n.
func (l *latency) Run(ctx context.Context, n int) (bench.Elapsed, error) {
	parts := max(1, l.parts)
	calls := (n + parts - 1) / parts
	began := time.Now()
	for i := range calls {
		if (parts > 1 || i%64 == 0) && ctx.Err() != nil {
			break
		}
		if err := l.operation(); err != nil {
			return bench.Elapsed{}, err
		}
	}
	if l.wait != nil {
		if err := l.wait(ctx); err != nil {
			return bench.Elapsed{}, err
		}
	}
	took := time.Since(began)
	if err := ctx.Err(); err != nil {
		return bench.Elapsed{}, err
	}
	return bench.Elapsed{Wall: time.Duration(float64(took) * float64(n) / float64(calls*parts))}, nil
}
