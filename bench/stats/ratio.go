package stats

import (
	"math"
	"slices"
)

// Ratio compares samples that were taken in the same rounds: the i-th of both belong together. It returns the median
// of the ratios a[i]/b[i] with its confidence interval, so that what slows a round down affects neither. The ratio of
// b to a is the reciprocal. The slices have the same length.
func Ratio(a, b []float64, confidence float64) Interval {
	ratios := make([]float64, len(a))
	for i := range a {
		ratios[i] = a[i] / b[i]
	}
	wider := widening(ratios)
	slices.Sort(ratios)
	i := orderInterval(ratios, confidence, upper(wider*quantile((1-confidence)/2)))
	if wider > 1 {
		i.Coverage = 1 - 2*upper(quantile((1-i.Coverage)/2)/wider)
	}
	i.Value = geometric(middle(ratios))
	return i
}

// geometric returns the geometric mean of two values, without overflow, and exactly if they are equal.
func geometric(x, y float64) float64 {
	if x == y {
		return x
	}
	return math.Sqrt(x) * math.Sqrt(y)
}

// upper returns the probability that a standard normal variable is larger than z.
func upper(z float64) float64 { return math.Erfc(z/math.Sqrt2) / 2 }

// quantile is the inverse of upper.
func quantile(p float64) float64 { return math.Sqrt2 * math.Erfcinv(2*p) }

// fewest is the number of samples from which their dependence on each other can be estimated.
const fewest = 10

// widening returns the factor by which intervals are wider than those of independent samples, because samples in a
// row resemble each other. For the correlation r of neighbours, n samples tell as much as n(1-r)/(1+r) independent
// ones. The correlation is that of ranks, which outliers do not affect; it is pooled over the series. The estimate of
// few samples is too small by (1+4r)/n: it is corrected.
func widening(series ...[]float64) float64 {
	sum, total := 0.0, 0.0
	for _, s := range series {
		n := float64(len(s))
		if len(s) < fewest {
			return 1
		}
		sum += n * min((n*neighbours(s)+1)/(n-4), 0.95)
		total += n
	}
	r := sum / total
	if r <= 0 {
		return 1
	}
	return math.Sqrt((1 + r) / (1 - r))
}

// neighbours returns the correlation of the ranks of neighbouring samples; 0 if all are equal.
func neighbours(s []float64) float64 {
	ranks := ranksOf(s)
	mean := float64(len(s)+1) / 2
	squares, products := 0.0, 0.0
	for i, r := range ranks {
		squares += (r - mean) * (r - mean)
		if i > 0 {
			products += (r - mean) * (ranks[i-1] - mean)
		}
	}
	if squares == 0 {
		return 0
	}
	return products / squares
}

// ranksOf returns the rank of each sample, from 1; equal ones have the mean of their ranks.
func ranksOf(s []float64) []float64 {
	order := make([]int, len(s))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		if s[i] < s[j] {
			return -1
		} else if s[i] > s[j] {
			return 1
		}
		return 0
	})
	ranks := make([]float64, len(s))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && s[order[j]] == s[order[i]] {
			j++
		}
		for k := i; k < j; k++ {
			ranks[order[k]] = float64(i+j+1) / 2
		}
		i = j
	}
	return ranks
}
