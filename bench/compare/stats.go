package main

import (
	"math"
	"slices"
)

// summary describes the samples of a measure.
type summary struct {
	Median  float64 `json:"median"`
	P25     float64 `json:"p25"`
	P75     float64 `json:"p75"`
	Min     float64 `json:"min"`
	Samples int     `json:"samples"`
}

func summarize(samples []float64) summary {
	s := slices.Sorted(slices.Values(samples))
	return summary{Median: quantile(s, 0.5), P25: quantile(s, 0.25), P75: quantile(s, 0.75), Min: quantile(s, 0),
		Samples: len(s)}
}

// quantile interpolates between neighbours in a sorted slice; it is NaN for an empty one.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	at := q * float64(len(sorted)-1)
	low := int(at)
	if low == len(sorted)-1 {
		return sorted[low]
	}
	return sorted[low] + (at-float64(low))*(sorted[low+1]-sorted[low])
}
