// Launches: runs the blocks of a grid one after the other, and reports the first failure.
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

extern "C" {
// For kernels these are constants.
CUDARUN_API uint3 cudarun_thread asm("threadIdx"), cudarun_block asm("blockIdx");
CUDARUN_API uint3 cudarun_block_size asm("blockDim"), cudarun_grid asm("gridDim");
}

namespace cudarun {

running run;
uint32_t launches;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

const char *thread_name(int linear) {
  static char texts[4][64];
  static unsigned next;
  char *text = texts[next++ % 4];
  uint3 i = threads[linear].idx;
  snprintf(text, sizeof texts[0], "thread (%u, %u, %u)", i.x, i.y, i.z);
  return text;
}

// The source line of an address in the kernel's code, by the program addr2line; "" if it is not found.
static void line_of(const void *at, char *out, size_t size) {
  Dl_info info;
  char command[4400];
  *out = 0;
  if (!at || !dladdr(at, &info)) return;
  snprintf(command, sizeof command, "addr2line -e '%s' %zx 2>/dev/null", info.dli_fname,
           static_cast<size_t>(static_cast<const char *>(at) - static_cast<const char *>(info.dli_fbase)) - 1);
  FILE *f = popen(command, "r");
  if (!f) return;
  char text[512] = "";
  if (fgets(text, sizeof text, f)) {
    const char *colon = strrchr(text, ':');
    if (colon && atoi(colon + 1) > 0) snprintf(out, size, ", line %d", atoi(colon + 1));
  }
  pclose(f);
}

[[noreturn]] static void failed(int code, const char *where, const char *format, va_list args) {
  const char *comma = current ? ", " : "", *name = current ? thread_name(current->linear) : "";
  int n = snprintf(run.text, sizeof run.text, "kernel %s, block (%u, %u, %u)%s%s%s: ", run.kernel, block_index.x,
                   block_index.y, block_index.z, comma, name, where);
  vsnprintf(run.text + n, sizeof run.text - static_cast<size_t>(n), format, args);
  run.code = code;
  longjmp(run.out, 1);
}

void fail(int code, const void *at, const char *format, ...) {
  char where[64] = "";
  va_list args;
  line_of(at, where, sizeof where);
  va_start(args, format);
  failed(code, where, format, args);
}

void fail_line(int code, int line, const char *format, ...) {
  char where[64];
  va_list args;
  snprintf(where, sizeof where, ", line %d", line);
  va_start(args, format);
  failed(code, where, format, args);
}

void trap(int line, const char *why) { fail_line(kLaunchFailed, line, "%s", why); }

static void run_grid(const fakecuda_launch *l, void (*body)(void)) {
  uint64_t blocks = uint64_t{l->grid[0]} * l->grid[1] * l->grid[2];
  const char *chosen = getenv("CUDARUN_SEED");
  uint64_t seed = chosen && *chosen ? strtoull(chosen, nullptr, 10) : launches;
  if (seed > 1) next_random(&seed);
  bool backwards = seed % 2;
  launches++;
  for (uint64_t n = 0; n < blocks; n++) {
    uint64_t i = backwards ? blocks - 1 - n : n;
    uint3 at = {static_cast<unsigned>(i % l->grid[0]), static_cast<unsigned>(i / l->grid[0] % l->grid[1]),
                static_cast<unsigned>(i / l->grid[0] / l->grid[1])};
    run_block(l, at, &seed, body);
  }
}

CUDARUN_API int launch(library *of, const fakecuda_launch *l, const fakecuda_kernel *k, void (*body)(void)) {
  pthread_mutex_lock(&lock);
  run.launch = l;
  run.kernel = k->name;
  run.code = 0;
  cudarun_block_size.x = l->block[0], cudarun_block_size.y = l->block[1], cudarun_block_size.z = l->block[2];
  cudarun_grid.x = l->grid[0], cudarun_grid.y = l->grid[1], cudarun_grid.z = l->grid[2];
  memory_begin(of, l, k);
  if (!setjmp(run.out)) {
    run_grid(l, body);
  } else {
    first_clock += 1 << 10; // beyond the clocks of the threads that did not end
    for (int i = 0; i < nthreads; i++) {
      if (threads[i].clock >= first_clock) first_clock = threads[i].clock + 1;
    }
    current = nullptr;
  }
  memory_end();
  int code = run.code;
  if (code && l->report) l->report(run.text);
  pthread_mutex_unlock(&lock);
  return code;
}

CUDARUN_API const void *parameter(int i) { return run.launch->params[i]; }

} // namespace cudarun
