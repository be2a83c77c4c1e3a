// Package stats describes samples of times, and decides whether two sets of samples differ.
//
// Samples are positive and finite, in any unit. Functions do not change their arguments. The random numbers of the
// bootstrap come from a fixed seed: the same samples always give the same result.
package stats

// Summary describes samples.
type Summary struct {
	Samples   int     `json:"samples"`
	Min       float64 `json:"min"`
	P50       float64 `json:"p50"`
	P90       float64 `json:"p90"`
	P99       float64 `json:"p99"`
	Max       float64 `json:"max"`
	Mean      float64 `json:"mean"`
	Variation float64 `json:"variation"` // standard deviation relative to the mean
}

// Interval is an estimate with a confidence interval.
type Interval struct {
	Value      float64 `json:"value"`
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
	Confidence float64 `json:"confidence"` // 0.95
}

// Change compares new samples with old ones.
type Change struct {
	Ratio       Interval `json:"ratio"`       // of the medians: new time relative to old
	Significant bool     `json:"significant"` // beyond noise
	P           float64  `json:"p"`           // probability of so large a difference without a change
}
