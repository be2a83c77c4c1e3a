// Questions about addresses.
#include "fake.h"

API CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr at) {
  ENTER(F_CTX);
  block *b = block_find(at);
  if (!b || b->kind > MANAGED_MEMORY) return CUDA_ERROR_NOT_FOUND;
  if (base) *base = b->base;
  if (size) *size = b->size;
  return CUDA_SUCCESS;
}

API CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *out, void *p, unsigned flags) {
  ENTER(F_CTX);
  block *b = block_find((CUdeviceptr)(uintptr_t)p);
  if (!out || flags || !b || (b->kind != HOST_MEMORY && b->kind != REGISTERED_MEMORY)) return CUDA_ERROR_INVALID_VALUE;
  *out = (CUdeviceptr)(uintptr_t)p;
  return CUDA_SUCCESS;
}

API CUresult cuMemHostGetFlags(unsigned *flags, void *p) {
  ENTER(F_CTX);
  block *b = block_find((CUdeviceptr)(uintptr_t)p);
  if (!flags || !b || b->kind != HOST_MEMORY) return CUDA_ERROR_INVALID_VALUE;
  *flags = b->flags | 2; // mapped, as all is with unified addresses
  return CUDA_SUCCESS;
}

// Plain memory of the host is an error for one attribute and zero for several, as the real driver has it.
static CUresult attribute(void *out, int what, CUdeviceptr at) {
  const block *b = block_find(at);
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  bool host = b && (b->kind == HOST_MEMORY || b->kind == REGISTERED_MEMORY);
  if (b && b->freed) b = NULL;
  switch (what) {
    case 1: *(CUcontext *)out = b ? b->ctx : NULL; break;
    case 2: *(unsigned *)out = !b ? 0 : host ? MEMORYTYPE_HOST : MEMORYTYPE_DEVICE; break;
    case 3: *(CUdeviceptr *)out = b ? at : 0; break;
    case 4: *(void **)out = b && b->kind != DEVICE_MEMORY ? (void *)(uintptr_t)at : NULL; break;
    case 6: *(unsigned *)out = 0; break;
    case 7: *(unsigned long long *)out = b ? b->id : 0; break;
    case 8: *(unsigned *)out = b && b->kind == MANAGED_MEMORY; break;
    case 9: *(int *)out = b ? b->device : -2; break;
    case 11: *(CUdeviceptr *)out = b ? b->base : 0; break;
    case 12: *(size_t *)out = b ? b->size : 0; break;
    case 13: *(int *)out = b != NULL; break;
    case 17: *(CUmemoryPool *)out = b ? b->pool : NULL; break;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

API CUresult cuPointerGetAttribute(void *out, int what, CUdeviceptr at) {
  ENTER(F_CTX);
  if (!block_find(at)) return CUDA_ERROR_INVALID_VALUE;
  return attribute(out, what, at);
}

API CUresult cuPointerGetAttributes(unsigned count, int *what, void **out, CUdeviceptr at) {
  ENTER(F_CTX);
  if (!count || !what || !out) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < count; i++) {
    CUresult result = attribute(out[i], what[i], at);
    if (result) return result;
  }
  return CUDA_SUCCESS;
}

API CUresult cuPointerSetAttribute(const void *value, int what, CUdeviceptr at) {
  ENTER(F_CTX);
  if (!value || what != 6 || !block_find(at)) return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}
