package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Compare compares the samples of two separate runs of an operation. A change by at most the factor 1+relevant, in
// either direction, counts as none: clocks, memory placement and temperature differ between two runs of the same
// program, and samples of one run do not show it. The change is significant if P is at most 1-confidence. If you
// compare many rows, use [Holm] on their P.
//
// P is that of Mann and Whitney's test of the new samples, divided by 1+relevant, against the old ones, on both sides.
// The ratio is the estimate of Hodges and Lehmann, and its interval the inverse of the same test with relevant = 0.
func Compare(old, new []float64, confidence, relevant float64) Change {
	if len(old) == 0 || len(new) == 0 {
		return Change{P: 1}
	}
	old, new = slices.Clone(old), slices.Clone(new)
	wider := widening(old, new)
	slices.Sort(old)
	slices.Sort(new)
	scale := 1 + relevant
	slower, faster := probability(old, new, scale, wider), probability(new, old, scale, wider)
	c := Change{P: min(1, 2*min(slower, faster)), Ratio: ratioInterval(old, new, confidence, wider)}
	c.Significant = c.P <= 1-confidence
	return c
}

// probability returns the probability that samples y exceed scale·x as clearly as these do, if they do not. Both are
// sorted.
func probability(x, y []float64, scale, wider float64) float64 {
	scaled := make([]float64, len(x))
	for i, v := range x {
		scaled[i] = v * scale
	}
	p := mannWhitney(scaled, y)
	if y[0] > scaled[len(x)-1] {
		// No order of the samples is more extreme, however far they are apart: few samples would never be enough for
		// a report of many rows. The distance decides.
		p = min(p, welch(scaled, y))
	}
	if wider == 1 || p >= 0.5 {
		return p
	}
	return upper(quantile(p) / wider)
}

// mannWhitney returns the probability that U, the number of pairs with y > x (a tie counts half), is at least what it
// is. Both are sorted. It is exact for few samples, also with ties; else it is the normal approximation.
func mannWhitney(x, y []float64) float64 {
	u := pairsAbove(x, y)
	n, m := len(x), len(y)
	pooled := slices.Concat(x, y)
	if n+m <= exact {
		return permutation(ranksOf(pooled), m, u)
	}
	slices.Sort(pooled)
	ties, total := 0.0, float64(n+m)
	for i := 0; i < len(pooled); {
		j := i
		for j < len(pooled) && pooled[j] == pooled[i] {
			j++
		}
		t := float64(j - i)
		ties += t * t * t
		ties -= t
		i = j
	}
	variance := float64(n) * float64(m) / 12 * (total + 1 - ties/(total*(total-1)))
	if variance <= 0 { // all are equal
		return 1
	}
	return upper((u - float64(n)*float64(m)/2 - 0.5) / math.Sqrt(variance))
}

// exact is the largest number of samples of both sides for which every permutation is counted.
const exact = 24

// pairsAbove returns the number of pairs with y > x; a tie counts half. Both are sorted.
func pairsAbove(x, y []float64) float64 {
	u, less, equal := 0.0, 0, 0
	for _, v := range y {
		for less < len(x) && x[less] < v {
			less++
		}
		equal = max(equal, less)
		for equal < len(x) && x[equal] == v {
			equal++
		}
		u += float64(less) + float64(equal-less)/2
	}
	return u
}

// permutation returns the share of the choices of m ranks whose U is at least u.
func permutation(ranks []float64, m int, u float64) float64 {
	most := 0
	twice := make([]int, len(ranks)) // ranks are multiples of a half
	for i, r := range ranks {
		twice[i] = int(2 * r)
		most += twice[i]
	}
	ways := make([][]float64, m+1) // [chosen][sum of twice the ranks]
	for i := range ways {
		ways[i] = make([]float64, most+1)
	}
	ways[0][0] = 1
	for i, r := range twice {
		for k := min(i+1, m); k >= 1; k-- {
			for s := most; s >= r; s-- {
				ways[k][s] += ways[k-1][s-r]
			}
		}
	}
	all, extreme := 0.0, 0.0
	for s, w := range ways[m] {
		all += w
		if float64(s)/2-float64(m*(m+1))/2 >= u {
			extreme += w
		}
	}
	return extreme / all
}

// welch returns the probability of Welch's t-test of the logarithms that y is larger than x.
func welch(x, y []float64) float64 {
	mean := func(s []float64) (mean, variance float64) {
		for _, v := range s {
			mean += math.Log(v) / float64(len(s))
		}
		for _, v := range s {
			variance += (math.Log(v) - mean) * (math.Log(v) - mean) / float64(len(s)-1)
		}
		return mean, variance / float64(len(s))
	}
	if len(x) < 2 || len(y) < 2 {
		return 1
	}
	mx, vx := mean(x)
	my, vy := mean(y)
	if vx+vy <= 0 {
		return 0
	}
	freedom := (vx + vy) * (vx + vy) / (vx*vx/float64(len(x)-1) + vy*vy/float64(len(y)-1))
	return distuv.StudentsT{Sigma: 1, Nu: freedom}.Survival((my - mx) / math.Sqrt(vx+vy))
}

// ratioInterval returns the median of all ratios of a sample of y to one of x, and the interval of those ratios at
// which the test of Mann and Whitney does not reject. Both are sorted.
func ratioInterval(x, y []float64, confidence, wider float64) Interval {
	n, m := len(x), len(y)
	tail := upper(wider * quantile((1-confidence)/2))
	k, p := critical(n, m, tail)
	i := Interval{Confidence: confidence, Coverage: 1 - 2*p}
	if wider > 1 {
		i.Coverage = 1 - 2*upper(quantile(p)/wider)
	}
	pairs := n * m
	if pairs <= 1<<10 {
		all := make([]float64, 0, pairs)
		for _, a := range x {
			for _, b := range y {
				all = append(all, b/a)
			}
		}
		slices.Sort(all)
		i.Low, i.High, i.Value = all[k-1], all[pairs-k], geometric(middle(all))
		return i
	}
	at := func(rank int) float64 { return pairwise(x, y, rank) }
	i.Low, i.High, i.Value = at(k), at(pairs-k+1), geometric(at((pairs+1)/2), at(pairs/2+1))
	return i
}

// pairwise returns the ratio y/x with a rank, from 1, without forming all of them. Both are sorted.
func pairwise(x, y []float64, rank int) float64 {
	low, high := y[0]/x[len(x)-1], y[len(y)-1]/x[0]
	for {
		mid := low + (high-low)/2
		if mid <= low || mid >= high {
			break
		}
		count, j := 0, 0
		for _, a := range x {
			for j < len(y) && y[j] <= mid*a {
				j++
			}
			count += j
		}
		if count >= rank {
			high = mid
		} else {
			low = mid
		}
	}
	return high
}

// critical returns the largest k such that U is less than k with a probability of at most tail, and that probability;
// at least 1, with a probability that may be larger.
func critical(n, m int, tail float64) (k int, p float64) {
	k = 1
	if n+m <= exact {
		ranks := make([]float64, n+m)
		for i := range ranks {
			ranks[i] = float64(i + 1)
		}
		for p = permutation(ranks, m, float64(n*m)); k < n*m/2; k++ {
			next := permutation(ranks, m, float64(n*m-k))
			if next > tail {
				break
			}
			p = next
		}
		return k, p
	}
	pairs := float64(n) * float64(m)
	deviation := math.Sqrt(pairs * float64(n+m+1) / 12)
	below := func(k int) float64 { return upper((pairs/2 - float64(k) + 0.5) / deviation) } // U <= k-1
	k = max(1, min(n*m/2, int(pairs/2+0.5-deviation*quantile(tail))))
	return k, below(k)
}
