package kernels

import (
	"tvmgo/bench/operators"
	"tvmgo/tir"
)

// Case is an operator at the sizes at which it is measured.
type Case struct {
	*operators.Operator
	Base By // what the case is compared with on a GPU
}

// OnCPU lists the cases for drivers that run kernels on a CPU.
var OnCPU = []Case{
	{Operator: operators.Add(16 << 20)},
	{Operator: operators.Softmax(4096, 1024)},
	{Operator: operators.LayerNorm(4096, 1024)},
	{Operator: operators.Transpose(4096, 4096)},
	{Operator: operators.Matmul(512, tir.Float32).Named("matmul-512")},
	{Operator: operators.Matmul(1000, tir.Float32).Named("matmul-1000")},
}

// OnGPU returns the cases for GPUs. Their largest arrays have 1 GiB, divided by 4 to the power of quarter, to try out
// the programs on slower devices; the matrices are smaller then, too.
func OnGPU(quarter int) []Case {
	return []Case{
		{operators.Add(1 << 28 >> (2 * quarter)), Copy},
		{operators.Softmax(1<<18>>(2*quarter), 1024), Copy},
		{operators.LayerNorm(1<<18>>(2*quarter), 1024), Copy},
		{operators.Transpose(1<<14>>quarter, 1<<14>>quarter), Copy},
		{operators.Sum(1 << 28 >> (2 * quarter)).Named("sum"), Read},
		{operators.Matmul(1<<12>>quarter, tir.Float32).Named("matmul-4096"), CuBLAS},
		{operators.Matmul(1<<12>>quarter, tir.Float16).Named("matmul-4096-f16"), CuBLAS},
	}
}
