package cuda_test

// everything uses numbers of all types, control flow, barriers, both kinds of shared memory, shuffles and copies.
const everything = `
func everything(a: handle, b: handle, c: handle, d: handle, n: int32, x: float32) {
  buffer A: float16[64], param a
  buffer B: bfloat16[64], param b
  buffer C: int32[64], param c
  buffer D: float64[64], param d
  thread bx in range(n), thread "blockIdx.x" {
    thread t in range(64), thread "threadIdx.x" {
      alloc S: float16[64], scope "shared"
      alloc R: float32[64], scope "shared.dyn"
      alloc T: int32[64], scope "shared"
      alloc L: int8[4], scope "local"
      eval async_copy[void](address_of[handle](T[t]), address_of[handle](C[t]), 4)
      eval async_commit[void]()
      S[t] = A[t] + A[t] * cast(float16, n) - float16(inf)
      for i in range(4) {
        L[i] = cast(int8, floordiv(C[t], i - 2)) + cast(int8, x)
      }
      eval async_wait[void](0)
      eval storage_sync[void]("shared")
      R[t] = exp(cast(float32, S[63 - t])) + rsqrt(x) + cast(float32, T[63 - t])
      B[t] = max(cast(bfloat16, R[t]) / bfloat16(3.0), exp(B[t]))
      eval storage_sync[void]("warp")
      B[t] = warp_shuffle_xor[bfloat16](B[t], 1)
      C[t] = cast(int32, warp_shuffle_down[int8](L[3], 2)) + popcount(warp_shuffle[int32](C[t], 31 - t))
      D[t] = warp_shuffle_xor[float64](D[t], 16)
      if t < 32 {
        D[t] = floor(D[t]) + cast(float64, cast(float16, D[t + 1]))
      } else {
        D[t] = cast(float64, cast(bfloat16, cast(int64, D[t]))) + cast(float64, clz(cast(uint8, L[0])))
        C[t] = reinterpret[int32](x) + cast(int32, reinterpret[uint16](A[t])) + shift_left(C[t], n)
      }
    }
  }
}
`
