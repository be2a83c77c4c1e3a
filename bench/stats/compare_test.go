package stats

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// probabilityByCounting is P(U >= u) over all choices of the positions of y among the pooled values.
func probabilityByCounting(x, y []float64) float64 {
	pooled := slices.Concat(x, y)
	u := func(y map[int]bool) (u float64) {
		for i, a := range pooled {
			for j, b := range pooled {
				switch {
				case !y[j] || y[i]:
				case b > a:
					u++
				case b == a:
					u += 0.5
				}
			}
		}
		return u
	}
	mine := map[int]bool{}
	for j := range y {
		mine[len(x)+j] = true
	}
	all, extreme := 0, 0
	for set := range 1 << len(pooled) {
		chosen := map[int]bool{}
		for j := range pooled {
			if set>>j&1 == 1 {
				chosen[j] = true
			}
		}
		if len(chosen) == len(y) {
			all++
			if u(chosen) >= u(mine) {
				extreme++
			}
		}
	}
	return float64(extreme) / float64(all)
}

func TestMannWhitney_AgainstCounting(t *testing.T) {
	for _, c := range []struct{ x, y []float64 }{
		{[]float64{1, 2, 3}, []float64{4, 5, 6}},
		{[]float64{1, 3, 5}, []float64{2, 4, 6}},
		{[]float64{1, 1, 2, 2}, []float64{1, 2, 2, 3, 3}},
		{[]float64{1, 1, 1}, []float64{1, 1, 1}},
		{[]float64{5}, []float64{1, 2, 6, 7}},
		{[]float64{1, 2, 2, 9}, []float64{0.5, 2, 3, 4, 4, 5}},
	} {
		require.InDelta(t, probabilityByCounting(c.x, c.y), mannWhitney(c.x, c.y), 1e-12, "%v %v", c.x, c.y)
	}
	require.InDelta(t, 0.05, mannWhitney([]float64{1, 2, 3}, []float64{4, 5, 6}), 1e-12, "1 of 20")
}

// The critical values are those of the tables of Mann and Whitney's U for 5 % on both sides.
func TestCritical_Tables(t *testing.T) {
	for _, c := range []struct{ n, m, u int }{{4, 4, 0}, {5, 5, 2}, {6, 6, 5}, {8, 8, 13}, {10, 10, 23}, {12, 12, 37},
		{5, 10, 8}, {15, 15, 64}, {20, 20, 127}, {18, 20, 112}} {
		k, p := critical(c.n, c.m, 0.025)
		require.InDelta(t, c.u, k-1, 1, "%d and %d samples", c.n, c.m)
		if c.n+c.m <= exact {
			require.Equal(t, c.u, k-1, "%d and %d samples", c.n, c.m)
		}
		require.LessOrEqual(t, p, 0.025)
	}
}

// The normal approximation continues where counting ends.
func TestMannWhitney_ApproximationIsClose(t *testing.T) {
	for shift := range 12 {
		var x, y, pooled []float64
		for i := range 15 {
			x, y = append(x, float64(2*i)), append(y, float64(2*i+2*shift+1))
		}
		pooled = slices.Concat(x, y)
		want := permutation(ranksOf(pooled), len(y), pairsAbove(x, y))
		require.InDelta(t, want, mannWhitney(x, y), 0.004, "shift %d", shift)
	}
}

func TestCompare_ValuesByHand(t *testing.T) {
	old := []float64{100, 101, 102, 103, 104, 105}
	doubled := make([]float64, len(old))
	for i, v := range old {
		doubled[i] = 2 * v
	}
	c := Compare(old, doubled, 0.95, 0.01)
	require.True(t, c.Significant)
	require.Less(t, c.P, 1e-6, "the distance decides: 2/924 is not the least")
	require.Equal(t, 2.0, c.Ratio.Value)
	require.InDelta(t, 0.9589, c.Ratio.Coverage, 1e-4, "U of at most 5")
	require.Less(t, c.Ratio.Low, 2.0)
	require.Greater(t, c.Ratio.Low, 1.9)
	require.Less(t, c.Ratio.High, 2.1)

	same := Compare(old, old, 0.95, 0)
	require.False(t, same.Significant)
	require.Equal(t, 1.0, same.P)
	require.Equal(t, 1.0, same.Ratio.Value)
	require.False(t, same.Ratio.Excludes(1))

	// A change of exactly the smallest relevant size is none, even if there is no noise at all.
	constant := func(v float64) []float64 { return slices.Repeat([]float64{v}, 21) }
	require.False(t, Compare(constant(100), constant(101), 0.95, 0.01).Significant)
	require.False(t, Compare(constant(101), constant(100), 0.95, 0.01).Significant)
	require.True(t, Compare(constant(100), constant(101.5), 0.95, 0.01).Significant)
	require.True(t, Compare(constant(101.5), constant(100), 0.95, 0.01).Significant)
	require.False(t, Compare(constant(100), constant(103), 0.95, 0.05).Significant)

	require.Equal(t, Change{P: 1}, Compare(nil, old, 0.95, 0))
	require.Equal(t, Change{P: 1}, Compare(old, nil, 0.95, 0))
	require.False(t, Compare([]float64{1}, []float64{9}, 0.95, 0).Significant, "one sample tells nothing of the noise")
}

// Swapping the runs gives the reciprocal, with the same P.
func TestCompare_IsSymmetric(t *testing.T) {
	for _, n := range []int{6, 21, 100} {
		g := noises["lognormal 2 %"](testSource(1), n)
		h := scaled(noises["lognormal 2 %"](testSource(2), n), 1.03)
		there, back := Compare(g, h, 0.95, 0.01), Compare(h, g, 0.95, 0.01)
		require.InEpsilon(t, there.P, back.P, 1e-9)
		require.InEpsilon(t, 1/there.Ratio.Value, back.Ratio.Value, 1e-12)
		require.InEpsilon(t, 1/there.Ratio.Low, back.Ratio.High, 1e-12)
		r, q := Ratio(g, h, 0.95), Ratio(h, g, 0.95)
		require.InEpsilon(t, 1/r.Value, q.Value, 1e-12)
		require.InEpsilon(t, 1/r.Low, q.High, 1e-12)
	}
}

// Ratios of many samples are found without forming all of them.
func TestPairwise_AgainstSorting(t *testing.T) {
	for seed := range uint64(20) {
		x, y := noises["quantised"](testSource(seed), 17), noises["heavy tail"](testSource(seed+99), 23)
		slices.Sort(x)
		slices.Sort(y)
		var all []float64
		for _, a := range x {
			for _, b := range y {
				all = append(all, b/a)
			}
		}
		slices.Sort(all)
		for rank := 1; rank <= len(all); rank += 13 {
			require.InEpsilon(t, all[rank-1], pairwise(x, y, rank), 1e-12)
		}
	}
}

func TestRatio_ValuesByHand(t *testing.T) {
	b := []float64{100, 150, 900, 100, 120, 110} // rounds differ: both operations are slow in the third
	a := make([]float64, len(b))
	for i := range b {
		a[i] = 1.5 * b[i]
	}
	require.Equal(t, Interval{Value: 1.5, Low: 1.5, High: 1.5, Confidence: 0.95, Coverage: 0.96875}, Ratio(a, b, 0.95))
	i := Ratio([]float64{1, 2, 3, 4, 5, 6, 7}, []float64{1, 1, 1, 1, 1, 1, 1}, 0.95)
	require.Equal(t, []float64{4, 1, 7}, []float64{i.Value, i.Low, i.High})
	even := Ratio([]float64{2, 8}, []float64{1, 1}, 0.95)
	require.InDelta(t, 4, even.Value, 1e-12, "the geometric mean of the middle two")
	require.InDelta(t, 0.5, even.Coverage, 1e-12)
	require.True(t, math.IsNaN(Ratio(nil, nil, 0.95).Value))
}

func TestHolm_ValuesByHand(t *testing.T) {
	require.Empty(t, Holm(nil))
	require.InDeltaSlice(t, []float64{0.03, 0.06, 0.06, 0.02}, Holm([]float64{0.01, 0.04, 0.03, 0.005}), 1e-12)
	require.Equal(t, []float64{1, 1}, Holm([]float64{0.9, 0.8}))
	require.Equal(t, []float64{0.05}, Holm([]float64{0.05}))
}
