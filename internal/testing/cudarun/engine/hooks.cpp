// The functions that compilers call for -fsanitize=thread, alignment and bounds.
#include <string.h>

#include "engine.h"

using namespace cudarun;

#define PC __builtin_return_address(0)
#define HOOK extern "C" __attribute__((visibility("hidden"))) void

#define ACCESS(n)                                                                                                      \
  HOOK __tsan_read##n(void *p) { memory_read(p, n, PC); }                                                              \
  HOOK __tsan_write##n(void *p) { memory_write(p, n, PC); }                                                            \
  HOOK __tsan_unaligned_read##n(void *p) { memory_read(p, n, PC); }                                                    \
  HOOK __tsan_unaligned_write##n(void *p) { memory_write(p, n, PC); }                                                  \
  HOOK __tsan_volatile_read##n(void *p) { memory_read(p, n, PC); }                                                     \
  HOOK __tsan_volatile_write##n(void *p) { memory_write(p, n, PC); }
ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)

HOOK __tsan_read_range(void *p, size_t n) { memory_read(p, n, PC); }
HOOK __tsan_write_range(void *p, size_t n) { memory_write(p, n, PC); }
HOOK __tsan_init(void) {}
HOOK __tsan_func_entry(void *) {}
HOOK __tsan_func_exit(void) {}

// The types of the sanitizer's descriptions (compiler-rt, ubsan_handlers.h).
struct location { const char *file; uint32_t line, column; };
struct description { uint16_t kind, info; char name[1]; };
struct mismatch { location at; description *type; unsigned char log_alignment, check; };
struct bounds { location at; description *array, *index; };

HOOK __ubsan_handle_type_mismatch_v1(mismatch *m, uintptr_t p) {
  uintptr_t alignment = uintptr_t{1} << m->log_alignment;
  if (!current) return;
  fail_line(p ? kMisaligned : kIllegalAddress, static_cast<int>(m->at.line), "accesses %s at %s%p, which needs an "
            "alignment of %zu bytes", m->type->name, p ? "" : "null ", reinterpret_cast<void *>(p),
            static_cast<size_t>(alignment));
}

HOOK __ubsan_handle_out_of_bounds(bounds *b, uintptr_t index) {
  if (!current) return;
  fail_line(kIllegalAddress, static_cast<int>(b->at.line), "index %td is outside of the array of type %s",
            static_cast<ptrdiff_t>(index), b->array->name);
}
