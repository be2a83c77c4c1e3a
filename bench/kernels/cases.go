package kernels

import (
	"math"

	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
)

// Case is an operator at the sizes at which it is measured.
type Case struct {
	Name  string
	Ops   int64 // floating-point operations of a matrix product, else 0
	Base  By    // what the case is compared with on a GPU
	build func() (ins []*te.Tensor, out *te.Tensor)

	// expect returns an element of the result. in returns an element of an input.
	expect func(in func(input, at int) float64, at int) float64
}

// OnCPU lists the cases for drivers that run kernels on a CPU.
var OnCPU = []Case{
	add("add", 16<<20),
	softmax("softmax", 4096, 1024),
	layerNorm("layernorm", 4096, 1024),
	transpose("transpose", 4096, 4096),
	matmul("matmul-512", 512, tir.Float32),
	matmul("matmul-1000", 1000, tir.Float32),
}

// OnGPU returns the cases for GPUs. Their largest arrays have 1 GiB, divided by 4 to the power of quarter, to try out
// the programs on slower devices; the matrices are smaller then, too.
func OnGPU(quarter int) []Case {
	all := []Case{
		add("add", 1<<28>>(2*quarter)),
		softmax("softmax", 1<<18>>(2*quarter), 1024),
		layerNorm("layernorm", 1<<18>>(2*quarter), 1024),
		transpose("transpose", 1<<14>>quarter, 1<<14>>quarter),
		sum("sum", 1<<28>>(2*quarter)),
		matmul("matmul-4096", 1<<12>>quarter, tir.Float32),
		matmul("matmul-4096-f16", 1<<12>>quarter, tir.Float16),
	}
	for i := range all {
		switch c := &all[i]; {
		case c.Ops > 0:
			c.Base = CuBLAS
		case c.Name == "sum":
			c.Base = Read
		default:
			c.Base = Copy
		}
	}
	return all
}

func input(name string, t tir.Type, sizes ...int32) *te.Tensor {
	return te.Placeholder(te.Dims(sizes...), t, name)
}

func add(name string, n int32) Case {
	return Case{Name: name, build: func() ([]*te.Tensor, *te.Tensor) {
		x, y := input("x", tir.Float32, n), input("y", tir.Float32, n)
		return []*te.Tensor{x, y}, ops.Add(x, y, "z")
	}, expect: func(in func(input, at int) float64, at int) float64 { return in(0, at) + in(1, at) }}
}

func softmax(name string, rows, columns int32) Case {
	return Case{Name: name, build: func() ([]*te.Tensor, *te.Tensor) {
		x := input("x", tir.Float32, rows, columns)
		return []*te.Tensor{x}, ops.Softmax(x, "y")
	}, expect: func(in func(input, at int) float64, at int) float64 {
		n := int(columns)
		first, largest, total := at/n*n, math.Inf(-1), 0.0
		for i := range n {
			largest = max(largest, in(0, first+i))
		}
		for i := range n {
			total += math.Exp(in(0, first+i) - largest)
		}
		return math.Exp(in(0, at)-largest) / total
	}}
}

const epsilon = 1e-5

func layerNorm(name string, rows, columns int32) Case {
	return Case{Name: name, build: func() ([]*te.Tensor, *te.Tensor) {
		x, gamma, beta := input("x", tir.Float32, rows, columns), input("gamma", tir.Float32, columns),
			input("beta", tir.Float32, columns)
		return []*te.Tensor{x, gamma, beta}, ops.LayerNorm(x, gamma, beta, "y", 1, epsilon)
	}, expect: func(in func(input, at int) float64, at int) float64 {
		n := int(columns)
		first, mean, variance := at/n*n, 0.0, 0.0
		for i := range n {
			mean += in(0, first+i) / float64(n)
		}
		for i := range n {
			d := in(0, first+i) - mean
			variance += d * d / float64(n)
		}
		return (in(0, at)-mean)/math.Sqrt(variance+epsilon)*in(1, at%n) + in(2, at%n)
	}}
}

func transpose(name string, rows, columns int32) Case {
	return Case{Name: name, build: func() ([]*te.Tensor, *te.Tensor) {
		x := input("x", tir.Float32, rows, columns)
		return []*te.Tensor{x}, ops.Transpose(x, "y")
	}, expect: func(in func(input, at int) float64, at int) float64 {
		return in(0, at%int(rows)*int(columns)+at/int(rows))
	}}
}

func sum(name string, n int32) Case {
	return Case{Name: name, build: func() ([]*te.Tensor, *te.Tensor) {
		x := input("x", tir.Float32, n)
		return []*te.Tensor{x}, ops.Sum(x, "y", []int{0}, false)
	}, expect: func(in func(input, at int) float64, at int) (total float64) {
		for i := range int(n) {
			total += in(0, i)
		}
		return total
	}}
}

func matmul(name string, size int32, t tir.Type) Case {
	n := int(size)
	return Case{Name: name, Ops: 2 * int64(n) * int64(n) * int64(n), build: func() ([]*te.Tensor, *te.Tensor) {
		x, y := input("x", t, size, size), input("y", t, size, size)
		return []*te.Tensor{x, y}, ops.Matmul(x, y, "z")
	}, expect: func(in func(input, at int) float64, at int) (total float64) {
		for k := range n {
			total += in(0, at/n*n+k) * in(1, k*n+at%n)
		}
		return total
	}}
}
