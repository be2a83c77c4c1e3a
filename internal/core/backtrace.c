/* TVMFFIBacktrace: where an error was raised, as lines that Python's tracebacks have.
 *
 * The first line is what the caller says of itself. Its callers follow, with the names that the
 * dynamic symbol tables have, for there is no reading of debug information here: the numbers behind
 * the names are offsets in bytes, which addr2line turns into lines. */
#include "core.h"
#include "text.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <gnu/libc-version.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

enum { FRAMES_MAX = 128, FRAMES_DEFAULT = 32 };

/* C++ names are shown as they are written where the process has a C++ library. */
typedef char* (*demangler)(const char* name, char* buffer, size_t* size, int* status);

static void add_name(tvmgo_text* t, const char* name) {
  static _Atomic(uintptr_t) found; /* 1: there is none */
  uintptr_t f = atomic_load_explicit(&found, memory_order_relaxed);
  if (f == 0) {
    f = (uintptr_t)dlsym(RTLD_DEFAULT, "__cxa_demangle");
    if (f == 0) f = 1;
    atomic_store_explicit(&found, f, memory_order_relaxed);
  }
  int status = -1;
  char* plain = f == 1 ? NULL : ((demangler)f)(name, NULL, NULL, &status);
  tvmgo_text_put(t, status == 0 && plain != NULL ? plain : name);
  free(plain);
}

static void add_frame(tvmgo_text* t, uintptr_t pc, const Dl_info* at) {
  tvmgo_text_put(t, "  File \"");
  tvmgo_text_put(t, at->dli_fname != NULL && at->dli_fname[0] != 0 ? at->dli_fname : "<unknown>");
  tvmgo_text_put(t, "\", line 0, in ");
  uintptr_t from = (uintptr_t)at->dli_fbase;
  if (at->dli_sname != NULL) {
    add_name(t, at->dli_sname);
    tvmgo_text_put(t, "+");
    from = (uintptr_t)at->dli_saddr;
  }
  tvmgo_text_printf(t, "0x%" PRIxPTR "\n", pc - from);
}

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

/* Where the object begins that holds an address, found without a look at its symbols; 0 when there is
 * none, or with a glibc before 2.35. */
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

/* The frames from the one that returns to `caller` on, without those of the C library, which starts
 * programs and threads; the first has told its name and line already when told is set. Unless cross is
 * set, they end where this library was called: who called it adds what is above. Where this library is
 * part of the program itself, that place is not seen. */
static void add_callers(tvmgo_text* t, void* caller, int told, int cross, int limit) {
  void* pcs[FRAMES_MAX + 8];
  Dl_info at;
  if (limit <= told) return;
  uintptr_t own = object_of((void*)add_callers), libc = object_of((void*)gnu_get_libc_version);
  int ends = own != 0 && !cross && own != object_of((void*)getauxval(AT_ENTRY));
  int n = walk(pcs, (int)(sizeof pcs / sizeof *pcs)), i = 0;
  while (i < n && pcs[i] != caller) i++;
  for (int shown = told, skip = told; i < n && shown < limit; i++) {
    uintptr_t pc = (uintptr_t)pcs[i] - 1; /* in the call, not behind it */
    uintptr_t object = object_of((void*)pc);
    if (ends && object == own) break;
    if (skip-- > 0 || (libc != 0 && object == libc)) continue;
    if (dladdr((void*)pc, &at) == 0) break;
    add_frame(t, pc, &at);
    shown++;
  }
}

const TVMFFIByteArray* TVMFFIBacktrace(const char* filename, int lineno, const char* func,
                                       int cross_ffi_boundary) {
  tvmgo_thread* t = tvmgo_thread_get();
  tvmgo_text text = {0};
  int told = filename != NULL, limit = frame_limit();
  if (told && limit > 0) {
    tvmgo_text_put(&text, "  File \"");
    tvmgo_text_put(&text, filename);
    tvmgo_text_printf(&text, "\", line %d, in ", lineno);
    tvmgo_text_put(&text, func == NULL ? "?" : func);
    tvmgo_text_put(&text, "\n");
  }
  add_callers(&text, __builtin_return_address(0), told, cross_ffi_boundary, limit);
  tvmgo_text_add(&text, "", 1);
  free(t->backtrace_text);
  t->backtrace_text = text.failed ? NULL : text.data;
  if (text.failed) tvmgo_text_free(&text);
  t->backtrace = (TVMFFIByteArray){text.failed ? "" : text.data, text.failed ? 0 : text.size - 1};
  return &t->backtrace;
}
