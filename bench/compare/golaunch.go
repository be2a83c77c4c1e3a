package main

import (
	"context"
	"fmt"
	"math"
	"time"

	"tvmgo/dlpack"
	"tvmgo/runtime"
	_ "tvmgo/runtime/all"
)

// round is the number of launches between two waits for the queue, as in bench/program/addone.h.
const round = 256

// newBoundLaunch binds the kernel of addone with tensors of one element on the first device of a type.
func newBoundLaunch(on dlpack.Device, file string) (*runtime.Bound, error) {
	m, err := runtime.Load(context.Background(), file)
	if err != nil {
		return nil, err
	}
	imports, err := m.Imports()
	if err != nil {
		return nil, err
	}
	f, err := imports[0].Function("addone_kernel")
	if err != nil {
		return nil, err
	}
	var args []any
	for range 2 {
		t, err := runtime.NewTensor(dlpack.Float32, []int64{1}, on)
		if err != nil {
			return nil, err
		}
		args = append(args, t)
	}
	b, err := f.Bind(append(args, 1, 1, 1)...) // elements, grid, block
	if err != nil {
		return nil, err
	}
	return b, b.Call()
}

func (g *goAPI) boundLaunch(on dlpack.DeviceType, file string) (float64, error) {
	const n = 4 * round
	dev := dlpack.Device{Type: on}
	launch := g.launch[on]
	if launch == nil {
		var err error
		if launch, err = newBoundLaunch(dev, file); err != nil {
			return 0, fmt.Errorf("%v from Go: %w", on, err)
		}
		g.launch[on] = launch
	}
	best := math.Inf(1)
	for range batches {
		from := time.Now()
		for i := range n {
			if err := launch.Call(); err != nil {
				return 0, err
			}
			if i%round == round-1 {
				if err := runtime.SyncDevice(context.Background(), dev); err != nil {
					return 0, err
				}
			}
		}
		best = min(best, float64(time.Since(from)))
	}
	return best / n, nil
}
