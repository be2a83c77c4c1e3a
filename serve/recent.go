package serve

import (
	"slices"
	"sync"
	"time"
)

// recent has the times of the last requests for the models of one name.
type recent struct {
	mu    sync.Mutex
	times [512]time.Duration
	n     int // of all that were added
}

func (r *recent) add(d time.Duration) {
	r.mu.Lock()
	r.times[r.n%len(r.times)] = d
	r.n++
	r.mu.Unlock()
}

// percentiles returns the times that so many hundredths of the last requests do not exceed; nil without requests.
func (r *recent) percentiles(of ...int) []time.Duration {
	r.mu.Lock()
	sorted := slices.Clone(r.times[:min(r.n, len(r.times))])
	r.mu.Unlock()
	if len(sorted) == 0 {
		return nil
	}
	slices.Sort(sorted)
	out := make([]time.Duration, len(of))
	for i, p := range of {
		out[i] = sorted[(len(sorted)-1)*p/100]
	}
	return out
}
