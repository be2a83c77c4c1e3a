package bench

import (
	"context"

	"tvmgo/bench/stats"
)

// Measure takes Config.Rounds samples of one operation, after a warm-up. It does not check the result, and does not
// close the work. The row has the clock, the number of calls of a sample, and Times.
func Measure(ctx context.Context, c Config, w Work) (*Row, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	e := &entry{row: &Row{Figure: Time, Unit: Time.Unit()}, work: w}
	if err := e.warmUp(ctx, c); err != nil {
		return nil, err
	}
	for round := range c.Rounds {
		if err := e.sample(ctx, round); err != nil {
			return nil, err
		}
	}
	if err := e.finish(); err != nil {
		return nil, err
	}
	times := stats.Summarize(e.row.Samples)
	e.row.Times = &times
	return e.row, nil
}
