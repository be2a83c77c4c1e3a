package suite

import "tvmgo/bench"

// Bandwidth returns the cases of suite bandwidth.
func Bandwidth() []*bench.Case { return nil }
