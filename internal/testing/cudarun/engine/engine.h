// Declarations of the engine that runs the threads of a block as fibers: what its parts share. The libraries of kernels
// share one engine, which runs one launch at a time.
#pragma once

#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>

#include "../device/builtin.h"
#include "../fakecuda_kernel.h"

extern "C" {
extern uint3 cudarun_thread asm("threadIdx"), cudarun_block asm("blockIdx");
}

namespace cudarun {

constexpr int kMaxThreads = 1024, kLanes = 32;
constexpr size_t kStack = 256 << 10, kMaxDynamic = 228 << 10, kRedZone = 4096;

// ---- threads and warps (block.cpp)
enum state { kReady, kBarrier, kCollective, kDone };

struct copy { // of cp.async
  char *to;
  const char *from;
  uint32_t bytes, take; // bytes beyond take are zeros
  int line;
};

struct thread {
  void *sp, *stack;
  uint3 idx;
  int linear, warp, lane;
  state at;
  int line;          // of the source, where it waits
  const char *doing; // what it waits in: "__syncthreads"
  uint32_t clock;    // the interval between synchronizations, as the race detector counts it
  // a barrier or collective operation
  uint32_t mask;
  void *argument;
  void (*complete)(collective *);
  int predicate, result;
  // cp.async: copies that are not complete, oldest first. groups[i] is the number of copies in the i-th open group.
  copy *copies;
  int ncopies, capcopies;
  int *groups, ngroups, capgroups, uncommitted;
};

CUDARUN_API extern thread *current;
extern thread threads[kMaxThreads];
extern int nthreads;
extern uint32_t known[kMaxThreads][kLanes]; // known[t][l]: lane l's clock at its last warp synchronization with t
extern uint32_t barrier_clock;              // of all threads at the last __syncthreads
extern uint32_t first_clock;                // of all threads when the block began
extern uint32_t launch_clock;               // of the first block of the launch
extern uint3 block_index;

// Runs one block. The caller has set up the arguments of run_thread.
void run_block(const fakecuda_launch *l, uint3 block, uint64_t *seed, void (*body)(void));

// ---- failures (report.cpp)
// Ends the launch with a code of the driver. The text begins with the kernel, the block and the thread. at is an
// address in the kernel's code whose source line the text names; NULL to name no line.
[[noreturn]] void fail(int code, const void *at, const char *format, ...) __attribute__((format(printf, 3, 4)));
CUDARUN_API [[noreturn]] void fail_line(int code, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
const char *thread_name(int linear); // "thread (1, 2, 0)"; valid until the fourth next call
enum { kInvalid = 1, kIllegalAddress = 700, kMisaligned = 716, kLaunchFailed = 719 };

// ---- libraries (library.cpp)
// Who accessed a byte: each number is the thread, whether the access was atomic (bit 10), and from bit 11 on the clock;
// 0 is none.
struct record {
  uint32_t written, first, last; // first and last are reads by different threads
};
struct variable { // in static shared memory
  size_t offset, bytes;
  const char *function, *name;
};
struct library {
  char *shared; // its static shared memory
  size_t bytes;
  record *records;
  int *owners; // the index of the variable of each byte; -1 for none
  variable *variables;
  int nvariables;
  const char *low, *high; // its own memory, with constants
  library *next;
};
extern library *libraries;

// ---- memory (memory.cpp)
void memory_begin(library *of, const fakecuda_launch *l, const fakecuda_kernel *k); // of a launch
void memory_block(uint3 block);                                        // before each block
void memory_end(void);
CUDARUN_API void memory_read(const void *p, size_t n, const void *pc);
CUDARUN_API void memory_write(void *p, size_t n, const void *pc);
void memory_atomic(void *p, size_t n, const void *pc);
bool is_shared(const void *p, size_t n);
void shared_in_flight(char *p, size_t n, int line);  // a copy into p has been issued
void shared_landed(char *p, size_t n);               // it is complete
void memory_fence(void);                             // __threadfence: orders global accesses of this launch
uint32_t shared_offset(const void *p);               // the address in the shared window
char *shared_pointer(uint32_t offset, size_t n);
extern char dynamic_area[2 * kRedZone + kMaxDynamic];

// ---- cp.async (async.cpp)
void async_issue(void *to, const void *from, unsigned bytes, unsigned take, int line);
void async_commit(void);
void async_wait(int groups, int line);
void async_end(thread *t); // at the end of the thread

// ---- launches (launch.cpp)
struct running {
  const fakecuda_launch *launch;
  const char *kernel;
  jmp_buf out;
  int code;
  char text[2048];
};
extern running run;
uint64_t next_random(uint64_t *seed);

} // namespace cudarun
