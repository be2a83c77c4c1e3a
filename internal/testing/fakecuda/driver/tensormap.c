// Tensor maps: 128 bytes that a kernel takes as a parameter. The fake's begin with a mark, then hold what was given.
#include "fake.h"

typedef struct {
  char mark[8]; // "FAKETMAP"
  uint64_t address;
  uint32_t type, rank;
  uint32_t dims[5], box[5], steps[5];
  uint64_t strides[4];
  uint8_t interleave, swizzle, promotion, fill;
  uint8_t rest[4];
} encoded;
_Static_assert(sizeof(encoded) == 128, "a tensor map has 128 bytes");

API CUresult cuTensorMapEncodeTiled(void *out, int type, uint32_t rank, void *address, const uint64_t *dims,
    const uint64_t *strides,
                                    const uint32_t *box, const uint32_t *steps, int interleave, int swizzle,
                                        int promotion,
                                        int fill) {
  static const uint32_t sizes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
  static const uint32_t spans[] = {0, 32, 64, 128};
  ENTER(0);
  encoded e = {.mark = "FAKETMA", .address = (uintptr_t)address, .type = (uint32_t)type, .rank = rank};
  e.mark[7] = 'P';
  if (!out || (uintptr_t)out % 64 || type < 0 || type > 12 || !rank || rank > 5 || !address || !dims || !box ||
      !steps ||
      (rank > 1 && !strides)) return CUDA_ERROR_INVALID_VALUE;
  if (interleave < 0 || interleave > 2 || swizzle < 0 || swizzle > 3 || promotion < 0 || promotion > 3 || fill < 0 ||
      fill > 1)
      return CUDA_ERROR_INVALID_VALUE;
  if ((uintptr_t)address % (interleave == 2 ? 32 : 16) || (interleave && rank < 3)) return CUDA_ERROR_INVALID_VALUE;
  for (uint32_t i = 0; i < rank; i++) {
    if (!dims[i] || dims[i] > 1ull << 32 || !box[i] || box[i] > 256 || !steps[i] || steps[i] > 8)
      return CUDA_ERROR_INVALID_VALUE;
    if (i && (strides[i - 1] % (interleave == 2 ? 32 : 16) || strides[i - 1] >= 1ull << 40))
      return CUDA_ERROR_INVALID_VALUE;
    e.dims[i] = (uint32_t)(dims[i] - 1);
    e.box[i] = box[i];
    e.steps[i] = steps[i];
    if (i) e.strides[i - 1] = strides[i - 1];
  }
  uint32_t inner = box[0] * sizes[type];
  if (!interleave && (inner % 16 || (swizzle && inner > spans[swizzle]))) return CUDA_ERROR_INVALID_VALUE;
  if (fill && (type < 6 || type > 12)) return CUDA_ERROR_INVALID_VALUE; // rubbish numbers are for floats alone
  e.interleave = (uint8_t)interleave;
  e.swizzle = (uint8_t)swizzle;
  e.promotion = (uint8_t)promotion;
  e.fill = (uint8_t)fill;
  memcpy(out, &e, sizeof e);
  return CUDA_SUCCESS;
}
