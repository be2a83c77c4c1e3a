package gpuprograms

// BoundsKernels are kernels with indices that only a call determines, for the option bounds-check.
const BoundsKernels = `
func fill(A: handle, n: int32) {
  buffer A: float32[8], param A
  thread b in range(4), thread "blockIdx.x" { thread t in range(4), thread "threadIdx.x" { A[b * 4 + t - n] = 3.0 } }
}
func gather(A: handle, I: handle, B: handle) {
  buffer A: float32[8], param A
  buffer I: int32[8], param I
  buffer B: float32[8], param B
  thread b in range(8), thread "blockIdx.x" { B[b] = A[I[b]] + 1.0 }
}
func vectors(A: handle, n: int32) {
  buffer A: float32[8], param A
  thread b in range(3), thread "blockIdx.x" { A[ramp(b * 4 + n, 1, 4)] = broadcast(5.0, 4) }
}
func transpose(A: handle, B: handle) {
  buffer A: float32[4, 4], param A
  buffer B: float32[4, 4], param B
  thread i in range(4), thread "blockIdx.x" { thread j in range(4), thread "threadIdx.x" { B[j, i] = A[i, j] } }
}
func two(A: handle, I: handle, B: handle, n: int32) {
  buffer A: float32[8], param A
  buffer I: int32[8], param I
  buffer B: float32[8], param B
  thread a in range(8), thread "blockIdx.x" { A[a] = 1.0 }
  for i in range(n) {
    thread b in range(8), thread "blockIdx.x" { A[I[b] + i] = 2.0 }
  }
  if n == 3 { ret_none() }
  thread c in range(8), thread "blockIdx.x" { B[c] = A[c + n] }
}
func square(A: handle, I: handle, B: handle) {
  var n: int32
  buffer A: float32[n, 6], param A
  buffer I: int32[n], param I
  buffer B: float32[n], param B
  thread b in range(n), thread "blockIdx.x" { B[b] = A[b, I[b]] }
}
func pick(A: handle, I: handle, B: handle) {
  buffer A: float32[8], param A
  buffer I: int32[8], param I
  buffer B: float32[8], param B
  thread b in range(8), thread "blockIdx.x" { B[b] = select(I[b] < 8, A[I[b]], 7.0) }
}
func quads(A: handle, I: handle, B: handle) {
  buffer A: float32[8], param A
  buffer I: int32[8], param I
  buffer B: float32[8], param B
  thread b in range(2), thread "blockIdx.x" { vectorized j in range(4) { B[b * 4 + j] = A[I[b * 4 + j]] } }
}
func mirror(A: handle, B: handle) {
  var a: int32
  var b: int32
  buffer A: float32[8], param A, offset a
  buffer B: float32[8], param B, offset b
  thread i in range(8), thread "blockIdx.x" { B[i] = A[7 - i] }
}
func many(A: handle, B: handle, C: handle, D: handle, E: handle) {
  buffer A: float32[65536], param A
  buffer B: float32[65536], param B
  buffer C: float32[65536], param C
  buffer D: float32[65536], param D
  buffer E: float32[65536], param E
  thread i in range(1024), thread "blockIdx.x" { thread j in range(64), thread "threadIdx.x" {
    A[i * 64 + j] = 0.0 B[i * 64 + j] = 1.0 C[i * 64 + j] = 2.0 D[i * 64 + j] = 3.0 E[i * 64 + j] = 4.0
  } }
}
func relu(A: handle, B: handle) {
  buffer A: float32[4, 4], param A
  buffer B: float32[4, 4], param B
  thread i in range(4), thread "blockIdx.x" {
    thread j in range(4), thread "threadIdx.x" { B[i, j] = max(A[i, j], 0.0) }
  }
}
`
