package suite

import (
	"fmt"
	"strings"

	"tvmgo/bench"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/text"
)

// matrixKernel consists of chains of products of small matrices: each warp adds A·B, of an m x k and a k x n matrix, to
// sums over and over, with B and another matrix B' alternately. A·(B + B') has small integers, so that all sums are
// exact, also in float16, and a product that is lost changes the result.
type matrixKernel struct {
	operand, sum tir.Type
	m, n, k      int
	warp, warps  int // work items of a warp, and warps of a group
	chains       int // of a warp, independent of each other
	pairs        int // products by B and by B', of each chain
}

// ops returns the operations of a group: two of each multiply-add.
func (p *matrixKernel) ops() float64 {
	return 2 * float64(p.m*p.n*p.k) * 2 * float64(p.pairs) * float64(p.chains*p.warps)
}

func (p *matrixKernel) block() runtime.Dim3 { return runtime.Dim3{p.warp, p.warps} }

func (p *matrixKernel) types() (in, out tir.Type) { return p.operand, p.sum }

func (p *matrixKernel) results() int { return p.warps * p.chains * p.m * p.n }

func (p *matrixKernel) facts() bench.Facts {
	return bench.Facts{"matrix": fmt.Sprintf("%dx%dx%d", p.m, p.n, p.k), "chains": p.chains, "sums": p.sum.String()}
}

// left returns A: its first column has 1 and 2, so that each row of a result has its own value.
func (p *matrixKernel) left(i, k int) float64 {
	if k == 0 {
		return float64(1 + i%2)
	}
	return float64((i+3*k)%3 - 1)
}

// right returns B, or B', which is -B and a first row of 1 and 0.
func (p *matrixKernel) right(which, k, j int) float64 {
	b := float64((2*k+j)%3 - 1)
	if which == 0 {
		return b
	}
	if k == 0 && j%4 != 3 {
		return 1 - b
	}
	return -b
}

// inputs returns A, and B and B' one after the other, all of them row by row.
func (p *matrixKernel) inputs() (a, b []float64) {
	for i := range p.m * p.k {
		a = append(a, p.left(i/p.k, i%p.k))
	}
	for which := range 2 {
		for i := range p.k * p.n {
			b = append(b, p.right(which, i/p.n, i%p.n))
		}
	}
	return a, b
}

// reference computes the matrices that a group stores: of each warp and each chain.
func (p *matrixKernel) reference() (list []float64) {
	for chain := range p.chains * p.warps {
		for i := range p.m * p.n {
			sum := 0.0
			for k := range p.k {
				sum += p.left(i/p.n, k) * (p.right(0, k, i%p.n) + p.right(1, k, i%p.n))
			}
			list = append(list, float64(chain%p.chains)+sum*float64(p.pairs))
		}
	}
	return list
}

// unrolledPairs are the pairs of an iteration of the loop.
const unrolledPairs = 4

// program returns peak(A, B, Z, groups).
func (p *matrixKernel) program() (*tir.IRModule, error) {
	var b strings.Builder
	fmt.Fprintf(&b, `
func peak(a: handle, b: handle, z: handle, groups: int32) {
buffer A: %[1]s[%[3]d, %[5]d], param a
buffer B: %[1]s[2, %[5]d, %[4]d], param b
buffer Z: %[2]s[groups, %[7]d, %[6]d, %[3]d, %[4]d], param z
thread group in range(groups), thread "blockIdx.x" {
thread warp in range(%[7]d), thread "threadIdx.y" {
thread lane in range(%[8]d), thread "threadIdx.x" {
alloc FA: %[1]s[%[9]d], scope "fragment.a"
alloc FB: %[1]s[2, %[10]d], scope "fragment.b"
alloc F: %[2]s[%[6]d, %[11]d], scope "fragment.acc"
`, p.operand, p.sum, p.m, p.n, p.k, p.chains, p.warps, p.warp, p.m*p.k, p.k*p.n, p.m*p.n)
	call := func(name, fragment, format string, args ...any) {
		fmt.Fprintf(&b, "fragment_%s[void](address_of[handle](%s), %d, %d, %d, ", name, fragment, p.m, p.n, p.k)
		fmt.Fprintf(&b, format+")\n", args...)
	}
	call("load", "FA[0]", "address_of[handle](A[0, 0]), %d, \"row_major\"", p.k)
	for which := range 2 {
		call("load", fmt.Sprintf("FB[%d, 0]", which), "address_of[handle](B[%d, 0, 0]), %d, \"row_major\"", which, p.n)
	}
	for chain := range p.chains {
		value := fmt.Sprintf("%s(%d.0)", p.sum, chain)
		if tir.IsInt(p.sum) {
			value = fmt.Sprint(chain)
		}
		call("fill", fmt.Sprintf("F[%d, 0]", chain), "%s", value)
	}
	fmt.Fprintf(&b, "for step in range(%d) {\n", p.pairs/unrolledPairs)
	for step := range 2 * unrolledPairs {
		for chain := range p.chains {
			call("mma", fmt.Sprintf("F[%d, 0]", chain), "address_of[handle](FA[0]), address_of[handle](FB[%d, 0])", step%2)
		}
	}
	b.WriteString("}\n")
	for chain := range p.chains {
		call("store", fmt.Sprintf("F[%d, 0]", chain), "address_of[handle](Z[group, warp, %d, 0, 0]), %d, \"row_major\"",
			chain, p.n)
	}
	b.WriteString("}\n}\n}\n}\n")
	return text.Parse(b.String())
}

// matrixPeak is a case of products of matrices.
type matrixPeak struct {
	name, doc    string
	operand, sum tir.Type
}

var matrixPeaks = []matrixPeak{
	{"fp16-matrix", "products of small matrices of float16, sums of float16", tir.Float16, tir.Float16},
	{"fp16-matrix-fp32", "products of small matrices of float16, sums of float32", tir.Float16, tir.Float32},
	{"bf16-matrix", "products of small matrices of bfloat16, sums of float32", tir.BFloat16, tir.Float32},
	{"tf32-matrix", "products of small matrices of float32 as TensorFloat-32, sums of float32", tir.Float32, tir.Float32},
	{"int8-matrix", "products of small matrices of int8, sums of int32", tir.Int8, tir.Int32},
}

// kernelFor returns the kernel for a target, or why there is none.
func (p matrixPeak) kernelFor(to *target.Target) (k *matrixKernel, why string) {
	k = &matrixKernel{operand: p.operand, sum: p.sum, m: 16, n: 8, k: 16, warp: 32, warps: 8, chains: 8, pairs: 512}
	switch to.Kind().Name() {
	case "cuda":
		least := 75
		if p.operand == tir.BFloat16 || p.operand == tir.Float32 {
			least = 80
		}
		if arch := archOf(to); arch != 0 && arch < least {
			return nil, fmt.Sprintf("tensor cores compute this from sm_%d on, and the device has sm_%d", least, arch)
		}
		k.k = map[tir.Type]int{tir.Float32: 8, tir.Int8: 32}[p.operand]
		if k.k == 0 {
			k.k = 16
		}
		return k, ""
	case "vulkan":
		attrs := to.Attrs()
		switch {
		case attrs["supports_cooperative_matrix"] != true:
			return nil, "the device has no cooperative matrices (VK_KHR_cooperative_matrix)"
		case p.operand == tir.BFloat16 && attrs["supports_bfloat16"] != true:
			return nil, "the device has no bfloat16 (VK_KHR_shader_bfloat16)"
		case p.operand != tir.Float16 && p.operand != tir.BFloat16:
			return nil, fmt.Sprintf("kernels have cooperative matrices of float16 and bfloat16, not of %s", p.operand)
		}
		size, _ := attrs["thread_warp_size"].(int64)
		k.n, k.warp, k.warps = 16, max(int(size), 1), 4
		return k, ""
	}
	return nil, "generated code for " + to.Kind().Name() + " has no products of matrices"
}
