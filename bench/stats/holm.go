package stats

import "slices"

// Holm adjusts the P of tests that are made together: if each test whose adjusted P is at most alpha counts as
// significant, the probability of any false alarm among all of them is at most alpha. The tests may depend on each
// other.
func Holm(p []float64) (adjusted []float64) {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		if p[i] < p[j] {
			return -1
		} else if p[i] > p[j] {
			return 1
		}
		return 0
	})
	adjusted = make([]float64, len(p))
	least := 0.0
	for rank, i := range order {
		least = min(1, max(least, float64(len(p)-rank)*p[i]))
		adjusted[i] = least
	}
	return adjusted
}
