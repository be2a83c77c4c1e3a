//go:build cgo

package ops

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/testseed"
	"tvmgo/te"
	"tvmgo/tir"
)

// TestConv2D_RandomOnDevices compares convolutions of random shapes, strides, pads, dilations, groups, layouts and
// types on devices, with the default parameters of their schedules and with random ones.
func TestConv2D_RandomOnDevices(t *testing.T) {
	for kind, count := range map[dlpack.DeviceType]int{dlpack.OpenCL: 6, dlpack.Vulkan: 12, dlpack.CUDA: 16} {
		if os.Getenv(everyCase) != "" {
			count = 150
		}
		t.Run(kind.String(), func(t *testing.T) {
			rng := testseed.Rand(t)
			for _, to := range deviceTargets(t, kind) {
				var cases []opCase
				for n := range count {
					cases = append(cases, randomConv(rng, n/2))
				}
				base := must.Get(DefaultConfig(to))(t)
				runScheduled(t, cases, to, func(n int, out *te.Tensor) *Config {
					if n%2 == 0 {
						return nil
					}
					c := *base
					randomConvConfig(rng, &c)
					return &c
				})
			}
		})
	}
}

// randomConv returns a convolution of one of four kinds, whose sums are exact in all types.
func randomConv(rng *rand.Rand, kind int) opCase {
	upTo := func(least, most int) int { return least + rng.IntN(most-least+1) }
	c := conv{kh: upTo(1, 4), kw: upTo(1, 4), strides: [2]int{upTo(1, 3), upTo(1, 3)},
		dilate: [2]int{upTo(1, 2), upTo(1, 3)}, groups: 1, nhwc: rng.IntN(3) == 0, bias: rng.IntN(2) == 0}
	perIn, perOut := upTo(1, 6), upTo(1, 9)
	switch kind % 4 {
	case 0: // depthwise
		c.groups, perIn, perOut = upTo(1, 9), 1, upTo(1, 2)
	case 1:
		c.groups = upTo(2, 3)
	case 2:
		c.kh, c.kw, c.strides, c.dilate = 1, 1, [2]int{1, 1}, [2]int{1, 1}
		perIn, perOut = upTo(1, 40), upTo(1, 40)
	}
	if c.kh > 1 || c.kw > 1 {
		for d := range c.pads {
			c.pads[d] = rng.IntN(3)
		}
	}
	reach := func(k, d int) int { return (k-1)*d + 1 }
	c.x = []int{upTo(1, 2), perIn * c.groups, reach(c.kh, c.dilate[0]) + rng.IntN(12),
		reach(c.kw, c.dilate[1]) + rng.IntN(40)}
	c.out = perOut * c.groups
	types := []tir.Type{tir.Float32, tir.Float32, tir.Float64, tir.Float16, tir.BFloat16, tir.Int32, tir.Int8}
	dt := types[rng.IntN(len(types))]
	acc, result := tir.Void, dt
	if dt == tir.Int8 {
		acc, result = tir.Int32, tir.Int32
	}
	c.name = fmt.Sprintf("%+v", c)
	return c.of(dt, dt, acc, result)
}

// randomConvConfig changes the parameters of the schedules of convolutions.
func randomConvConfig(rng *rand.Rand, c *Config) {
	upTo := func(least, most int) int { return least + rng.IntN(most-least+1) }
	v := &c.Convolution
	v.Depthwise.Vectors, v.Depthwise.Across, v.Depthwise.Rows = upTo(1, 2), upTo(1, 3), upTo(1, 5)
	v.Dense.Vectors, v.Dense.Across, v.Dense.Rows = upTo(1, 2), upTo(1, 5), upTo(1, 2)
	v.All = rng.IntN(3) > 0
	v.ColumnBytes, v.ChannelBytes = 1<<rng.IntN(7), 1<<rng.IntN(7)
	v.Threads, v.Blocks = upTo(1, 64), 1<<rng.IntN(10)
	v.Registers, v.Unrolled = 1<<upTo(2, 10), 1<<upTo(0, 7)
	m := &c.Matmul
	if !m.Shared { // its parameters depend on each other
		return
	}
	thread := func() int { return 1 << upTo(0, 2) }
	m.ThreadM, m.ThreadN = thread(), thread()
	m.BlockM, m.BlockN, m.BlockK = m.ThreadM<<upTo(0, 3), m.ThreadN<<upTo(0, 3), 1<<upTo(0, 4)
	m.VectorBytes, m.Stages, m.Blocks, m.MinBlock, m.Part = 1<<rng.IntN(6), upTo(1, 3), 1<<rng.IntN(6), 4, upTo(1, 40)
}
