package winograd

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
)

// The matrices compute convolutions: for all pairs of an element of a tile and one of the filter, in one dimension, the
// results are exact.
func TestMatrices(t *testing.T) {
	exact := func(v float64) *big.Rat { // the nearest fraction with a denominator of 240, which all factors have
		r := big.NewRat(int64(math.Round(v*240)), 240)
		f, _ := r.Float64()
		require.Equal(t, v, f)
		return r
	}
	for e := range Tile {
		for k := range 3 {
			for out := range Results {
				sum := new(big.Rat)
				for p := range Tile {
					product := new(big.Rat).Mul(exact(Image()[p][e]), exact(Filters()[p][k]))
					sum.Add(sum, product.Mul(product, exact(Result()[out][p])))
				}
				want := int64(0)
				if out+k == e {
					want = 1
				}
				require.Zero(t, sum.Cmp(big.NewRat(want, 1)), "element %d, filter %d, result %d: %v", e, k, out, sum)
			}
		}
	}
}
