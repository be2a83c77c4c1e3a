package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Summarize describes samples; it is the zero value if there are none.
func Summarize(samples []float64) Summary {
	if len(samples) == 0 {
		return Summary{}
	}
	s := slices.Sorted(slices.Values(samples))
	out := Summary{Samples: len(s), Min: s[0], Max: s[len(s)-1], P50: Median(s), P90: nearestRank(s, 90),
		P99: nearestRank(s, 99), Mean: s[0]}
	for i, x := range s { // no sum that could overflow, and the mean of equal samples is the sample
		out.Mean += (x - out.Mean) / float64(i+1)
	}
	if len(s) > 1 {
		squares := 0.0
		for _, x := range s {
			squares += (x/out.Mean - 1) * (x/out.Mean - 1)
		}
		out.Variation = math.Sqrt(squares / float64(len(s)-1))
	}
	return out
}

// Median returns the median: the mean of the middle two, if their number is even; NaN of no samples.
func Median(samples []float64) float64 {
	low, high := middle(slices.Sorted(slices.Values(samples)))
	return low + (high-low)/2
}

// middle returns the two middle ones of sorted values, which are the same one if their number is odd.
func middle(sorted []float64) (low, high float64) {
	n := len(sorted)
	if n == 0 {
		return math.NaN(), math.NaN()
	}
	return sorted[(n-1)/2], sorted[n/2]
}

// Percentile returns the smallest sample such that at least p percent of all are not larger (nearest rank), for p from
// 0 to 100; NaN of no samples.
func Percentile(samples []float64, p float64) float64 {
	if len(samples) == 0 {
		return math.NaN()
	}
	return nearestRank(slices.Sorted(slices.Values(samples)), p)
}

// nearestRank multiplies first: 7 percent of 100 samples is the seventh, and 7/100*100 is more than 7.
func nearestRank(sorted []float64, p float64) float64 {
	rank := math.Ceil(p * float64(len(sorted)) / 100 * (1 - 1e-12))
	return sorted[min(max(int(rank), 1), len(sorted))-1]
}

// MedianInterval returns the median with a confidence interval between two samples: the k-th smallest and the k-th
// largest, for the largest k with enough coverage. The coverage follows from the binomial distribution alone, for
// independent samples of any distribution.
func MedianInterval(samples []float64, confidence float64) Interval {
	s := slices.Sorted(slices.Values(samples))
	i := orderInterval(s, confidence, (1-confidence)/2)
	i.Value = Median(s)
	return i
}

// orderInterval returns the k-th smallest and the k-th largest of sorted values, for the largest k such that the
// median lies below with a probability of at most tail.
func orderInterval(s []float64, confidence, tail float64) Interval {
	n := len(s)
	if n == 0 {
		return Interval{Value: math.NaN(), Low: math.NaN(), High: math.NaN(), Confidence: confidence}
	}
	below := distuv.Binomial{N: float64(n), P: 0.5} // samples below the median
	k := 1
	for k < n/2 && below.CDF(float64(k)) <= tail {
		k++
	}
	return Interval{Low: s[k-1], High: s[n-k], Confidence: confidence, Coverage: 1 - 2*below.CDF(float64(k-1))}
}
