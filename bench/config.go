package bench

import (
	"fmt"
	"time"
)

// Config says how long and how often is measured. The zero value means the defaults, in parentheses.
type Config struct {
	Rounds     int            `json:"rounds"`     // samples of each row, at most (21)
	Sample     time.Duration  `json:"sample_ns"`  // duration of a sample, at least: operations are repeated (5 ms)
	WarmUp     time.Duration  `json:"warm_up_ns"` // time for a row to become stable, at most (1 s)
	Case       time.Duration  `json:"case_ns"`    // after it a case has only LeastRounds (20 s)
	Confidence float64        `json:"confidence"` // of intervals, and of a report having no false alarm (0.95)
	Relevant   float64        `json:"relevant"`   // a change by a smaller share since the baseline is none (0.01)
	Progress   func(Progress) `json:"-"`          // is called from the goroutine of Run; nil for none
	Finished   func([]*Row)   `json:"-"`          // gets the rows of each case at its end, before Evaluate; nil for none
}

// MaxRounds is the largest number of rounds of a run.
const MaxRounds = 1_000_000

// LeastRounds is the number of rounds that a slow case has. Fewer samples give no interval.
const LeastRounds = 6

// Progress says where a run is.
type Progress struct {
	Case      *Case
	Index, Of int // of the case, from 0, and the number of cases
	Stage     Stage
	Device    string // on which the stage runs
	Round     int    // in stage Measure, from 0
	Rounds    int
}

// Stage is a step of measuring a case.
type Stage string

// The steps of a case.
const (
	Preparing Stage = "prepare"
	Checking  Stage = "check"
	Warming   Stage = "warm up"
	Measuring Stage = "measure"
)

// WithDefaults returns the configuration that [Run] makes of this one. The error names a value that is not possible.
func (c Config) WithDefaults() (Config, error) { return c.withDefaults() }

// withDefaults replaces zeros, and returns an error that names a value that is not possible.
func (c Config) withDefaults() (Config, error) {
	switch {
	case c.Rounds < 0 || c.Rounds > MaxRounds:
		return c, fmt.Errorf("%d rounds: give 1 to %d", c.Rounds, MaxRounds)
	case c.Sample < 0 || c.WarmUp < 0 || c.Case < 0:
		return c, fmt.Errorf("a duration is negative: sample %v, warm-up %v, case %v", c.Sample, c.WarmUp, c.Case)
	case c.Confidence != 0 && !(c.Confidence >= 0.5 && c.Confidence < 1):
		return c, fmt.Errorf("confidence %v: give a number from 0.5 to 0.999", c.Confidence)
	case !(c.Relevant >= 0 && c.Relevant <= 10):
		return c, fmt.Errorf("smallest relevant change %v: give a share such as 0.01", c.Relevant)
	}
	set := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	set(&c.Sample, 5*time.Millisecond)
	set(&c.WarmUp, time.Second)
	set(&c.Case, 20*time.Second)
	if c.Rounds == 0 {
		c.Rounds = 21
	}
	if c.Confidence == 0 {
		c.Confidence = 0.95
	}
	if c.Relevant == 0 {
		c.Relevant = 0.01
	}
	return c, nil
}
