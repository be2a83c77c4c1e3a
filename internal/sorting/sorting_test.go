package sorting

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// By sorts as slices.SortStableFunc does, and keeps the order of equal elements.
func TestBy(t *testing.T) {
	type pair struct{ key, number int }
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 200 {
		var got []pair
		for i := range n {
			got = append(got, pair{r.IntN(10), i})
		}
		want := slices.Clone(got)
		slices.SortStableFunc(want, func(a, b pair) int { return cmp.Compare(a.key, b.key) })
		By(got, func(a, b pair) int { return cmp.Compare(a.key, b.key) })
		require.Equal(t, want, got)
	}
}
