package main

import (
	"context"
	goruntime "runtime"
	"time"

	"tvmgo/bench/emptycgo"
	"tvmgo/runtime"
)

// goAPI measures a bound call of package runtime, of addone with two tensors of one element, and an
// empty cgo call in this process.
type goAPI struct {
	bound  *runtime.Bound
	n      int
	allocs float64 // by one bound call; the most that any sample saw
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
	return &goAPI{bound: b, n: int(sample / (50 * time.Nanosecond))}, nil
}

func (g *goAPI) boundCall() (float64, error) {
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	from := time.Now()
	for range g.n {
		if err := g.bound.Call(); err != nil {
			return 0, err
		}
	}
	took := time.Since(from)
	goruntime.ReadMemStats(&after)
	g.allocs = max(g.allocs, float64(after.Mallocs-before.Mallocs)/float64(g.n))
	return float64(took) / float64(g.n), nil
}

func (g *goAPI) emptyCall() (float64, error) {
	from := time.Now()
	for range g.n {
		emptycgo.Call()
	}
	return float64(time.Since(from)) / float64(g.n), nil
}
