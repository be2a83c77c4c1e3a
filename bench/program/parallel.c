/* Parallel launches of two empty tasks: their mean, and the median and the 99th percentile of single launches. */
#include "program.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <tvm/runtime/c_backend_api.h>

static int empty_task(int task_id, TVMParallelGroupEnv* env, void* cdata) {
  (void)task_id, (void)env, (void)cdata;
  return 0;
}

static void launches(int64_t n) {
  for (int64_t i = 0; i < n; i++)
    bench_check(TVMBackendParallelLaunch(empty_task, NULL, 2), "launch");
}

/* A lower bound for the time of a launch: a thread on another core sees that a word has changed, and changes another
 * word. */
static _Alignas(128) _Atomic uint64_t word_there;
static _Alignas(128) _Atomic uint64_t word_back;

static void* echo(void* last) {
  uint64_t word = 0;
  while (word != (uintptr_t)last) {
    uint64_t now;
    while ((now = atomic_load_explicit(&word_there, memory_order_acquire)) == word) continue;
    word = now;
    atomic_store_explicit(&word_back, word, memory_order_release);
  }
  return NULL;
}

static void* call_out(void* last) {
  for (uint64_t word = 1; word <= (uintptr_t)last; word++) {
    atomic_store_explicit(&word_there, word, memory_order_release);
    while (atomic_load_explicit(&word_back, memory_order_acquire) != word) continue;
  }
  return NULL;
}

static void handovers(int64_t n) {
  word_there = word_back = 0;
  bench_run_two(echo, (void*)(uintptr_t)n, call_out, (void*)(uintptr_t)n);
}

/* The times of launches made within SPAN_NS, sorted: many time slices of a machine whose cores other processes use. */
enum { SPAN_NS = 100000000, MOST = 1 << 20 };

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int by_size(const void* a, const void* b) {
  int64_t x = *(const int64_t*)a, y = *(const int64_t*)b;
  return (x > y) - (x < y);
}

static double percentile(int percent) {
  static int64_t took[MOST];
  int64_t n = 0, from, last;
  launches(10); /* after the pause since the last sample, workers may sleep */
  for (last = from = now_ns(); n < MOST && last - from < SPAN_NS; n++) {
    bench_check(TVMBackendParallelLaunch(empty_task, NULL, 2), "launch");
    int64_t now = now_ns();
    took[n] = now - last;
    last = now;
  }
  qsort(took, (size_t)n, sizeof *took, by_size);
  return (double)took[n * percent / 100];
}

static double median(void) { return percentile(50); }
static double p99(void) { return percentile(99); }

const bench_row bench_parallel_rows[] = {
    {"launch", NULL, launches},
    {"handover", NULL, handovers},
    {0},
};

const bench_figure bench_parallel_figures[] = {{"launch-median", median}, {"launch-p99", p99}, {0}};
