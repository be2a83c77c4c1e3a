// Package stats describes samples of times, and decides whether two sets of samples differ.
//
// Samples are positive and finite, in any unit. Functions do not change their arguments, and the same samples always
// give the same result. No method assumes a distribution of the noise; RATIONALE.md says why each was chosen.
//
//   - [Summarize]: percentiles (nearest rank) and variation.
//   - [MedianInterval]: the median with an interval between two samples, whose coverage is known exactly.
//   - [Ratio]: two operations that were measured in the same rounds.
//   - [Compare]: two separate runs of one operation; [Holm] for the rows of a whole report.
package stats

// Summary describes samples.
type Summary struct {
	Samples   int     `json:"samples"`
	Min       float64 `json:"min"`
	P50       float64 `json:"p50"` // the median: the mean of the middle two, if their number is even
	P90       float64 `json:"p90"` // nearest rank: the smallest sample such that at least 90 % are not larger
	P99       float64 `json:"p99"`
	Max       float64 `json:"max"`
	Mean      float64 `json:"mean"`
	Variation float64 `json:"variation"` // standard deviation (of n-1) relative to the mean
}

// Interval is an estimate with a confidence interval.
type Interval struct {
	Value      float64 `json:"value"`
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
	Confidence float64 `json:"confidence"` // that was asked for: 0.95

	// Coverage is the probability with which such an interval has the true value. It is at least Confidence, unless
	// there are too few samples: then the interval is that of all of them, and Coverage is less. Six are enough for
	// 0.95.
	Coverage float64 `json:"coverage"`
}

// Excludes reports whether a value lies outside of the interval, and the interval has its confidence. A ratio whose
// interval excludes 1 is a difference beyond noise.
func (i Interval) Excludes(value float64) bool {
	return i.Coverage >= i.Confidence && (value < i.Low || value > i.High)
}

// Change compares new samples with old ones.
type Change struct {
	Ratio       Interval `json:"ratio,omitzero"` // the median of all ratios of a new sample to an old one
	Significant bool     `json:"significant"`    // beyond noise and beyond the smallest relevant change
	P           float64  `json:"p"`              // probability of so large a difference without a relevant change
}
