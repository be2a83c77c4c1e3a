package suite

import "tvmgo/bench"

// Launch returns the cases of suite launch.
func Launch() []*bench.Case { return nil }
