package suite

// The limits that cases cite in Case.Limits. Each is a case or a family of cases; of a family the best row counts. A
// multiply-add is two operations.
const (
	FP32 = "compute/fp32" // multiply-adds of float32 outside of matrix units, at any width of vectors
	FP64 = "compute/fp64"
	FP16 = "compute/fp16"

	Int32       = "compute/int32"
	Int8Dotprod = "compute/int8-dotprod" // dot products of four int8

	// Products of small matrices: tensor cores, cooperative matrices.
	FP16Matrix     = "compute/fp16-matrix"      // of float16, with sums of float16
	FP16MatrixFP32 = "compute/fp16-matrix-fp32" // of float16, with sums of float32
	BF16Matrix     = "compute/bf16-matrix"      // of bfloat16, with sums of float32
	TF32Matrix     = "compute/tf32-matrix"      // of float32 rounded to TensorFloat-32, with sums of float32
	Int8Matrix     = "compute/int8-matrix"      // of int8, with sums of int32

	// Kernels that access global memory, by what they read for each byte that they write.
	GlobalCopy = "bandwidth/copy"                    // a byte: copies and scaling
	GlobalSum  = "bandwidth/sum"                     // two bytes: sums of two arrays
	GlobalRead = "bandwidth/global_memory_bandwidth" // all: they write almost nothing

	LocalBandwidth = "bandwidth/local" // reads and writes of shared memory
)

// BandwidthLimits returns the limits of a kernel that reads and writes numbers of bytes of global memory. Most memories
// read faster than they write, and caches read what is to be overwritten: a kernel that reads more has higher limits,
// too, of which the highest counts.
func BandwidthLimits(read, written float64) []string {
	switch {
	case read > 16*written:
		return []string{GlobalRead, GlobalSum, GlobalCopy}
	case read >= 1.5*written:
		return []string{GlobalSum, GlobalCopy}
	}
	return []string{GlobalCopy}
}
