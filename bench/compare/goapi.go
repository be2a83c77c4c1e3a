package main

import (
	"context"
	"math"
	goruntime "runtime"
	"time"

	"tvmgo/bench/emptycgo"
	"tvmgo/dlpack"
	"tvmgo/runtime"
)

// goAPI measures a bound call of package runtime, of addone with two tensors of one element, and an
// empty cgo call in this process.
type goAPI struct {
	bound  *runtime.Bound
	launch map[dlpack.DeviceType]*runtime.Bound // kernel launches, bound at their first measurement
	n      int                                  // calls per batch
	allocs float64                              // allocations of a bound call; the maximum of all samples
}

func newGoAPI(path string, sample time.Duration) (*goAPI, error) {
	m, err := runtime.Load(context.Background(), path)
	if err != nil {
		return nil, err
	}
	f, err := m.Function("addone")
	if err != nil {
		return nil, err
	}
	var args []any
	for range 2 {
		t, err := runtime.FromSlice([]float32{1})
		if err != nil {
			return nil, err
		}
		args = append(args, t)
	}
	b, err := f.Bind(args...)
	if err != nil {
		return nil, err
	}
	return &goAPI{bound: b, launch: map[dlpack.DeviceType]*runtime.Bound{},
		n: int(sample / batches / (50 * time.Nanosecond))}, nil
}

// A sample is the best of a few batches, as in bench/program.
const batches = 5

func (g *goAPI) boundCall() (float64, error) {
	best := math.Inf(1)
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	for range batches {
		from := time.Now()
		for range g.n {
			if err := g.bound.Call(); err != nil {
				return 0, err
			}
		}
		best = min(best, float64(time.Since(from)))
	}
	goruntime.ReadMemStats(&after)
	g.allocs = max(g.allocs, float64(after.Mallocs-before.Mallocs)/float64(batches*g.n))
	return best / float64(g.n), nil
}

func (g *goAPI) emptyCall() (float64, error) {
	best := math.Inf(1)
	for range batches {
		from := time.Now()
		for range g.n {
			emptycgo.Call()
		}
		best = min(best, float64(time.Since(from)))
	}
	return best / float64(g.n), nil
}
