package main

import (
	"context"
	"fmt"
	"math"
	"time"

	"tvmgo/dlpack"
	"tvmgo/runtime"
	_ "tvmgo/runtime/opencl" // with its build tag
)

// round is after how many launches the queue is waited for, as in bench/side/opencl.c.
const round = 256

// newBoundLaunch binds the kernel of addone with tensors of one element on the first OpenCL device.
func newBoundLaunch() (*runtime.Bound, error) {
	m, err := runtime.Load(context.Background(), openCLSO)
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
		t, err := runtime.NewTensor(dlpack.Float32, []int64{1}, openCL)
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

var openCL = dlpack.Device{Type: dlpack.OpenCL}

func (g *goAPI) boundLaunch() (float64, error) {
	const n = 4 * round
	if g.launch == nil {
		var err error
		if g.launch, err = newBoundLaunch(); err != nil {
			return 0, fmt.Errorf("OpenCL from Go: %w", err)
		}
	}
	best := math.Inf(1)
	for range batches {
		from := time.Now()
		for i := range n {
			if err := g.launch.Call(); err != nil {
				return 0, err
			}
			if i%round == round-1 {
				if err := runtime.SyncDevice(context.Background(), openCL); err != nil {
					return 0, err
				}
			}
		}
		best = min(best, float64(time.Since(from)))
	}
	return best / n, nil
}
