package suite

import "tvmgo/bench"

// Kernels returns the cases of suite kernels.
func Kernels() []*bench.Case { return nil }
