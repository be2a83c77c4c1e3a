/* TVMFFIBacktrace: where an error was raised, as lines that Python's tracebacks have.
 *
 * The first line is the caller's own description. Its callers follow, with their names (symbolize.c). No debug
 * information is read: the numbers after the names are offsets in bytes, which addr2line converts to lines. */
#include "object/object.h"
#include "object/symbolize.h"

#include <dlfcn.h> /* _dl_find_object */
#include <execinfo.h>
#include <gnu/libc-version.h>
#include <stdlib.h>
#include <sys/auxv.h>

enum { FRAMES_DEFAULT = 512, FRAMES_MAX = 4096, FRAMES_HIDDEN = 160, FRAMES_FEW = FRAMES_DEFAULT + FRAMES_HIDDEN };

/* How many frames the user wants to see: TVM_TRACEBACK_LIMIT. */
static int frame_limit(void) {
  const char* text = getenv("TVM_TRACEBACK_LIMIT");
  char* end;
  long n = text == NULL ? FRAMES_DEFAULT : strtol(text, &end, 10);
  if (text != NULL && (end == text || *end != 0 || n < 0)) n = FRAMES_DEFAULT;
  return n > FRAMES_MAX ? FRAMES_MAX : (int)n;
}

/* The first use loads the unwinder, which a forked child must not begin: another thread may have held
 * the dynamic linker's lock. */
static int walk(void** pcs, int n) {
  static _Atomic int loaded;
  if (!atomic_load_explicit(&loaded, memory_order_acquire)) {
    if (tvmgo_forks() != 0) return 0;
    backtrace(pcs, 1);
    atomic_store_explicit(&loaded, 1, memory_order_release);
  }
  return backtrace(pcs, n);
}

/* The load address of the object that contains an address, found without its symbols; 0 if there is none, or with a
 * glibc before 2.35. */
#if __GLIBC_PREREQ(2, 35)
extern __typeof__(_dl_find_object) _dl_find_object __attribute__((weak));

static uintptr_t object_of(const void* at) {
  struct dl_find_object found;
  if (_dl_find_object == NULL || _dl_find_object((void*)at, &found) != 0) return 0;
  return (uintptr_t)found.dlfo_map_start;
}
#else
static uintptr_t object_of(const void* at) { return (void)at, 0; }
#endif

/* The frames of this thread, at most `most`: in few, which has this capacity, or in memory that the caller frees. A
 * walk takes much of the time that an error takes, so there is a second one only for stacks that are deeper than
 * most. */
static int walk_all(void** few, int room, int most, void*** pcs) {
  *pcs = few;
  int n = walk(few, most < room ? most : room);
  if (n < room || most <= room) return n;
  void** many = malloc((size_t)most * sizeof *many);
  if (many == NULL) return n;
  *pcs = many;
  return walk(many, most);
}

/* The frames from the one that returns to `caller` on, without those of this library, and of the C
 * library, which starts programs and threads; the first has its line already when has_first is set.
 * Those of a Python interpreter are included only if cross is set, because its front end adds better ones. Where this
 * library is part of the program itself, its frames look like the program's. */
static void add_callers(tvmgo_text* t, void* caller, int has_first, int cross, int limit) {
  void *few[FRAMES_FEW], **pcs;
  if (limit <= has_first) return;
  uintptr_t own = object_of((void*)add_callers), libc = object_of((void*)gnu_get_libc_version);
  if (own == object_of((void*)getauxval(AT_ENTRY))) own = 0;
  int n = walk_all(few, FRAMES_FEW, 2 * limit + FRAMES_HIDDEN, &pcs), i = 0;
  while (i < n && pcs[i] != caller) i++;
  tvmgo_symbolizer s;
  tvmgo_symbolizer_begin(&s);
  for (int shown = has_first, skip = has_first; i < n && shown < limit; i++) {
    uintptr_t pc = (uintptr_t)pcs[i] - 1; /* an address in the call instruction, not after it */
    uintptr_t object = object_of((void*)pc);
    if (skip-- > 0 || (object != 0 && (object == own || object == libc))) continue;
    shown += tvmgo_symbolize(&s, t, pc, !cross);
  }
  if (pcs != few) free(pcs);
}

const TVMFFIByteArray* TVMFFIBacktrace(const char* filename, int lineno, const char* func,
                                       int cross_ffi_boundary) {
  tvmgo_thread* t = tvmgo_thread_get();
  tvmgo_text text = {0};
  int has_first = filename != NULL, limit = frame_limit();
  if (has_first && limit > 0) {
    tvmgo_text_put(&text, "  File \"");
    tvmgo_text_put(&text, filename);
    tvmgo_text_printf(&text, "\", line %d, in ", lineno);
    tvmgo_text_put(&text, func == NULL ? "?" : func);
    tvmgo_text_put(&text, "\n");
  }
  add_callers(&text, __builtin_return_address(0), has_first, cross_ffi_boundary, limit);
  tvmgo_text_add(&text, "", 1);
  free(t->backtrace_text);
  t->backtrace_text = text.failed ? NULL : text.data;
  if (text.failed) tvmgo_text_free(&text);
  t->backtrace = (TVMFFIByteArray){text.failed ? "" : text.data, text.failed ? 0 : text.size - 1};
  return &t->backtrace;
}
