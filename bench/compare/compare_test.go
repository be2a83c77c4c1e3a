package main

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSummarize(t *testing.T) {
	tests := []struct {
		samples []float64
		want    summary
	}{
		{[]float64{3}, summary{Median: 3, P25: 3, P75: 3, Min: 3, Samples: 1}},
		{[]float64{4, 1}, summary{Median: 2.5, P25: 1.75, P75: 3.25, Min: 1, Samples: 2}},
		{[]float64{9, 1, 5, 3, 7}, summary{Median: 5, P25: 3, P75: 7, Min: 1, Samples: 5}},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, summarize(tt.samples))
	}
	require.True(t, math.IsNaN(summarize(nil).Median))
}

func TestVerdict(t *testing.T) {
	tests := []struct {
		row        row
		ours, base float64
		text       string
		met        bool
	}{
		{row{Limit: 0.9}, 9, 10, "0.90 ×", true},
		{row{Limit: 0.9}, 10, 10, "1.00 ×", false},
		{row{Limit: 10, Relation: difference}, 35, 25, "+10 ns", true},
		{row{Limit: 10, Relation: difference}, 40, 25, "+15 ns", false},
		{row{Relation: record}, 40, 20, "2.00 ×", true},
		{row{Limit: 50, Relation: absolute}, 50, 50, "50 ns", true},
		{row{Limit: 50, Relation: absolute}, 51, 51, "51 ns", false},
	}
	for _, tt := range tests {
		_, text, met := tt.row.verdict(tt.ours, tt.base)
		require.Equal(t, tt.text, text)
		require.Equal(t, tt.met, met)
	}
}

// Every measure of the table is in exactly one group, or derived from measures that are.
func TestTable_IsMeasured(t *testing.T) {
	groupOf := map[string]int{"ours.size": -1, "peer.size": -1, "runtime.size": -1, "floor.size": -1,
		"floor-fmt.size": -1}
	for i, g := range groups {
		for _, m := range g.measures {
			require.NotContains(t, groupOf, m)
			groupOf[m] = i
		}
	}
	for _, r := range table {
		for m := range neededFor(r) {
			require.Contains(t, groupOf, m)
		}
	}
}
