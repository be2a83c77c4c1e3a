package suite

import "tvmgo/bench"

// Compute returns the cases of suite compute.
func Compute() []*bench.Case { return nil }
