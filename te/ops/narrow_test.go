//go:build cgo

package ops

import (
	"fmt"
	"testing"

	"tvmgo/dlpack"
	"tvmgo/te"
	"tvmgo/tir"
)

// Narrow products, whose blocks fetch operands by a part of their threads, have the values of the reference.
func TestMatmul_NarrowOnDevices(t *testing.T) {
	var cases []opCase
	for _, size := range [][3]int{{8, 64, 40}, {16, 4, 64}, {33, 8, 40}, {4, 64, 72}} {
		m, n, depth := size[0], size[1], size[2]
		x, y := sample(tir.Float32, m, depth), sample(tir.Float32, depth, n)
		want := each(tir.Float32, []int{m, n}, func(i []int) (sum float64) {
			for k := range depth {
				sum += x.at(i[0], k) * y.at(k, i[1])
			}
			return sum
		})
		cases = append(cases, opCase{name: fmt.Sprint(size), ins: []*nd{x, y}, want: want, tol: 1e-4,
			make: func(in []*te.Tensor) *te.Tensor { return Matmul(in[0], in[1], "Z") }})
	}
	for _, kind := range []dlpack.DeviceType{dlpack.OpenCL, dlpack.CUDA, dlpack.Vulkan} {
		t.Run(kind.String(), func(t *testing.T) {
			for _, to := range deviceTargets(t, kind) {
				runScheduled(t, cases, to, func(int, *te.Tensor) *Config { return nil })
			}
		})
	}
}
