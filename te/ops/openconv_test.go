//go:build cgo

package ops

import (
	"fmt"
	"testing"

	"tvmgo/dlpack"
	"tvmgo/tir"
)

// openConvs are convolutions of images of any number and size.
func openConvs() (cases []openCase) {
	one, two := [2]int{1, 1}, [2]int{2, 2}
	add := func(c conv, sizes string, of, result tir.Type, images ...[3]int) {
		o := openCase{sizes: []string{sizes}}
		for _, i := range images {
			c.x = []int{i[0], c.x[1], i[1], i[2]}
			call := c.of(of, of, result, result)
			call.name += fmt.Sprint(c.x)
			o.calls = append(o.calls, call)
		}
		cases = append(cases, o)
	}
	mixed := conv{"mixed", []int{0, 10}, 4, 3, 3, [2]int{2, 3}, [2]int{2, 1}, [4]int{2, 0, 1, 0}, 1, false, true}
	add(mixed, "b _ h w", tir.Float32, tir.Float32, [3]int{2, 7, 9}, [3]int{1, 19, 33}, [3]int{0, 5, 5}, [3]int{3, 1, 2})
	wide := conv{"wide", []int{0, 6}, 3, 1, 2, [2]int{3, 2}, two, [4]int{2, 0, 1, 2}, 1, false, false}
	add(wide, "_ _ _ w", tir.UInt64, tir.UInt64, [3]int{2, 13, 5}, [3]int{2, 13, 38}, [3]int{2, 13, 0})
	last := conv{"nhwc", []int{0, 32}, 64, 2, 3, one, one, [4]int{}, 1, true, true}
	add(last, "b _ w _", tir.Float32, tir.Float32, [3]int{2, 16, 7}, [3]int{1, 16, 3}, [3]int{3, 16, 20})
	add(last, "b h w _", tir.Float16, tir.Float32, [3]int{2, 5, 7}, [3]int{1, 2, 3}, [3]int{1, 18, 9})
	groups := conv{"groups", []int{0, 6}, 9, 3, 2, [2]int{1, 2}, one, [4]int{1, 1, 1, 0}, 3, false, true}
	add(groups, "b _ h w", tir.Float32, tir.Float32, [3]int{2, 7, 9}, [3]int{1, 30, 21}, [3]int{1, 1, 1})
	groups.nhwc = true
	add(groups, "b h w _", tir.Int32, tir.Int32, [3]int{2, 7, 9}, [3]int{1, 30, 21}, [3]int{1, 1, 1})
	depth := conv{"depthwise", []int{0, 6}, 6, 3, 3, [2]int{2, 1}, [2]int{1, 2}, [4]int{1, 1, 1, 2}, 6, false, true}
	add(depth, "b _ h w", tir.Float32, tir.Float32, [3]int{2, 7, 9}, [3]int{1, 37, 41}, [3]int{1, 1, 2}, [3]int{0, 4, 4})
	depth.nhwc = true
	add(depth, "b h w _", tir.Float32, tir.Float32, [3]int{2, 7, 9}, [3]int{1, 37, 41}, [3]int{1, 1, 2})
	return cases
}

// Convolutions of variable sizes are built once, and called with images of several sizes.
func TestOpenConvolutions(t *testing.T) {
	for kind, part := range map[dlpack.DeviceType]int{dlpack.OpenCL: 2, dlpack.Vulkan: 1, dlpack.CUDA: 4} {
		t.Run(kind.String(), func(t *testing.T) {
			for _, to := range deviceTargets(t, kind) {
				runOpen(t, to, nil, sampled(t, openConvs(), part))
			}
		})
	}
}
