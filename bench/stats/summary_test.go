package stats

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// numbers returns 1 … n in an order that is not sorted.
func numbers(n int) []float64 {
	s := make([]float64, n)
	for i := range s {
		s[i] = float64((i*7919)%n + 1)
	}
	return s
}

func TestSummarize_ValuesByHand(t *testing.T) {
	require.Equal(t, Summary{}, Summarize(nil))
	require.Equal(t, Summary{Samples: 1, Min: 3, P50: 3, P90: 3, P99: 3, Max: 3, Mean: 3}, Summarize([]float64{3}))
	s := numbers(100)
	before := slices.Clone(s)
	require.Equal(t, Summary{Samples: 100, Min: 1, P50: 50.5, P90: 90, P99: 99, Max: 100, Mean: 50.5,
		Variation: Summarize(s).Variation}, Summarize(s))
	require.InDelta(t, math.Sqrt(100.0*101/12)/50.5, Summarize(s).Variation, 1e-12, "variance of 1 … n is n(n+1)/12")
	require.Equal(t, before, s, "the argument keeps its order")
	require.Equal(t, 0.0, Summarize([]float64{0.1, 0.1, 0.1}).Variation)
	require.Equal(t, 1e308, Summarize([]float64{1e308, 1e308, 1e308}).Mean, "no overflow")
}

func TestPercentile_NearestRank(t *testing.T) {
	for _, c := range []struct {
		n    int
		p    float64
		want float64
	}{
		{100, 7, 7}, {100, 29, 29}, {100, 57, 57}, {1000, 99.9, 999}, {1000, 99.91, 1000}, // 29/100*100 > 29
		{10, 90, 9}, {11, 90, 10}, {21, 90, 19}, {21, 99, 21}, {5, 0, 1}, {5, 100, 5}, {5, 20, 1}, {5, 20.1, 2},
	} {
		require.Equal(t, c.want, Percentile(numbers(c.n), c.p), "%v %% of %d", c.p, c.n)
	}
	// The definition, for every number of samples and every percentage.
	for n := 1; n <= 60; n++ {
		for p := 1; p <= 100; p++ {
			x := Percentile(numbers(n), float64(p))
			require.GreaterOrEqual(t, int(x)*100, p*n, "%d %% of %d", p, n)
			require.Less(t, (int(x)-1)*100, p*n, "%d %% of %d: a smaller one is enough", p, n)
		}
	}
	require.True(t, math.IsNaN(Percentile(nil, 50)))
	require.True(t, math.IsNaN(Median(nil)))
}

// The values are those of the table of nonparametric intervals of the median: n, rank, coverage.
func TestMedianInterval_ExactCoverage(t *testing.T) {
	for _, c := range []struct {
		n, rank  int
		coverage float64
	}{{6, 1, 0.96875}, {7, 1, 0.984375}, {8, 1, 0.9921875}, {9, 2, 0.9609375}, {10, 2, 0.978515625}, {20, 6, 0.958610},
		{21, 6, 0.973396}, {25, 8, 0.956715}, {50, 18, 0.967161}, {100, 40, 0.964800}} {
		i := MedianInterval(numbers(c.n), 0.95)
		require.Equal(t, float64(c.rank), i.Low, "%d samples", c.n)
		require.Equal(t, float64(c.n+1-c.rank), i.High, "%d samples", c.n)
		require.Equal(t, float64(c.n+1)/2, i.Value)
		require.InDelta(t, c.coverage, i.Coverage, 1e-6, "%d samples", c.n)
		require.Equal(t, 0.95, i.Confidence)
	}
}

// Fewer samples than an interval of 95 % needs give all of them, and say how much that covers; no value is excluded.
func TestMedianInterval_TooFewSamples(t *testing.T) {
	for n, coverage := range map[int]float64{1: 0, 2: 0.5, 3: 0.75, 4: 0.875, 5: 0.9375} {
		i := MedianInterval(numbers(n), 0.95)
		require.Equal(t, []float64{1, float64(n)}, []float64{i.Low, i.High})
		require.InDelta(t, coverage, i.Coverage, 1e-12)
		require.False(t, i.Excludes(1e9))
	}
	six := MedianInterval(numbers(6), 0.95)
	require.True(t, six.Excludes(0.5))
	require.True(t, six.Excludes(6.5))
	require.False(t, six.Excludes(1))
	require.True(t, math.IsNaN(MedianInterval(nil, 0.95).Value))
}
