package bench

import (
	"context"
	"fmt"
	"math"
	"time"

	"tvmgo/bench/stats"
)

const (
	maxCalls = 1 << 20 // operations of a sample
	growth   = 8       // of the operations, from one sample to the next: no sample takes much longer than it has to
	attempts = 64      // to find the number of operations
	retries  = 3       // of a sample whose clock did not advance
)

// warmUp finds the number of operations of a sample, and runs samples until their times have settled or until the time
// for it has passed. A slow operation runs once.
func (e *entry) warmUp(ctx context.Context, c Config) error {
	r := e.row
	b := newBudget()
	r.Calls = 1
	var times []float64 // since the last change of Calls
	timed, adjusted, still := 0, 0, 0
	for {
		took, err := e.run(ctx)
		if err != nil {
			return err
		}
		r.Warmup.Samples++
		r.Warmup.Took = b.spend(took)
		switch {
		case took.Wall > 0:
			still = 0
		case still+1 < retries:
			still++
			continue
		case r.Calls == maxCalls || adjusted >= attempts:
			return fmt.Errorf("the clock does not advance: %d operations took %v", r.Calls, took.Wall)
		}
		if took.Device > 0 {
			timed++
		}
		if calls := adjust(r.Calls, float64(max(took.Wall, 1)), float64(c.Sample)); calls != r.Calls && adjusted < attempts {
			r.Calls, times, still = calls, nil, 0
			adjusted++
			continue
		}
		times = append(times, float64(took.Wall))
		r.Warmup.Stable = settled(times)
		if r.Warmup.Stable || r.Warmup.Took >= c.WarmUp {
			break
		}
	}
	r.Clock = ClockWall
	if 2*timed >= r.Warmup.Samples {
		r.Clock = ClockDevice
	}
	return nil
}

// adjust returns the number of operations of the next sample, after one that took some nanoseconds: the same, unless
// that was too short, or several operations were much too long.
func adjust(calls int, took, aim float64) int {
	switch {
	case took < 0.9*aim:
		more := min(math.Ceil(float64(calls)*1.1*aim/took), float64(calls*growth), maxCalls)
		return int(more)
	case took > 4*aim:
		return max(int(float64(calls)*1.1*aim/took), 1)
	}
	return calls
}

const (
	leastSettled = 12   // samples
	tolerance    = 0.01 // of the time
)

// settled reports whether times have stopped to change: the median of their last third and that of the third before
// differ by at most 1 %, or by no more than their noise explains. The thirds grow with the number of samples, so that a
// slow change is seen, too. The noise is that of neighbours, to which a steady change does not add.
func settled(times []float64) bool {
	n := len(times)
	if n < leastSettled || n%4 != 0 {
		return false
	}
	third := n / 3
	last, before := stats.Median(times[n-third:]), stats.Median(times[n-2*third:n-third])
	steps := make([]float64, n-1)
	for i := range steps {
		steps[i] = times[i+1] - times[i]
	}
	drift := stats.Median(steps)
	for i := range steps {
		steps[i] = math.Abs(steps[i] - drift)
	}
	deviation := 1.4826 * stats.Median(steps) / math.Sqrt2    // of a sample
	noise := 1.2533 * deviation * math.Sqrt(2/float64(third)) // of the difference of two medians
	return math.Abs(last-before) <= max(tolerance*min(last, before), 2*noise)
}

// budget is time that passes, or that samples say has passed.
type budget struct {
	began    time.Time
	reported time.Duration
}

func newBudget() *budget { return &budget{began: time.Now()} }

// spend adds a sample, and returns the time that was spent.
func (b *budget) spend(took Elapsed) time.Duration {
	b.reported += max(took.Wall, 0)
	return max(time.Since(b.began), b.reported)
}
