// Blocks: each thread is a fiber with a stack. A thread runs until it ends or waits at a barrier or in an operation of
// its warp; then the next thread runs, in an order that the launch's seed determines. If none can run, the reason why
// is the error.
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "engine.h"

namespace cudarun {

thread *current;
thread threads[kMaxThreads];
int nthreads;
uint32_t known[kMaxThreads][kLanes];
uint32_t barrier_clock, first_clock;
uint3 block_index;
static int order[kMaxThreads];
static void *scheduler;
static void (*kernel_body)(void);
static const char kCanary[64] = "the end of a stack, which a thread must not overwrite";

// ---- the switch from one stack to another

extern "C" void cudarun_switch(void **from, void *to);
extern "C" void cudarun_enter(void);

#if defined(__x86_64__)
asm(R"(
.text
.hidden cudarun_switch
.globl cudarun_switch
.type cudarun_switch, @function
cudarun_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size cudarun_switch, .-cudarun_switch
)");

static void *first_frame(char *end) {
  void **sp = reinterpret_cast<void **>(end) - 1; // aligned as after a call
  *--sp = reinterpret_cast<void *>(cudarun_enter);
  for (int i = 0; i < 6; i++) *--sp = nullptr;
  return sp;
}
#elif defined(__aarch64__)
asm(R"(
.text
.hidden cudarun_switch
.globl cudarun_switch
.type cudarun_switch, %function
cudarun_switch:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size cudarun_switch, .-cudarun_switch
)");

static void *first_frame(char *end) {
  void **sp = reinterpret_cast<void **>(end) - 20;
  memset(sp, 0, 160);
  sp[11] = reinterpret_cast<void *>(cudarun_enter);
  return sp;
}
#else
#error "no context switch for this processor: add one"
#endif

static void to_scheduler(void) { cudarun_switch(&current->sp, scheduler); }

extern "C" void cudarun_enter(void) {
  kernel_body();
  async_end(current);
  current->at = kDone;
  to_scheduler();
  abort();
}

static void resume(thread *t) {
  current = t;
  cudarun_thread = t->idx;
  cudarun_switch(&scheduler, t->sp);
  if (memcmp(t->stack, kCanary, sizeof kCanary)) {
    fail(kIllegalAddress, nullptr, "uses more than %zu bytes of stack", kStack);
  }
  current = nullptr;
}

// ---- waiting

static void wait(state at, int line, const char *doing) {
  current->at = at;
  current->line = line;
  current->doing = doing;
  to_scheduler();
}

int barrier(int line, const char *doing, int predicate) {
  current->predicate = predicate != 0;
  wait(kBarrier, line, doing);
  return current->result;
}

static void release_barrier(void) {
  const char *doing = threads[0].doing;
  int count = 0;
  uint32_t clock = 0;
  for (int i = 0; i < nthreads; i++) {
    count += threads[i].predicate;
    if (threads[i].clock > clock) clock = threads[i].clock;
  }
  int result = !strcmp(doing, "__syncthreads_and") ? count == nthreads
             : !strcmp(doing, "__syncthreads_or")  ? count > 0
                                                   : count;
  barrier_clock = clock + 1;
  for (int i = 0; i < nthreads; i++) {
    threads[i].clock = barrier_clock;
    threads[i].result = result;
    threads[i].at = kReady;
  }
}

static bool same(const thread *a, const thread *b) {
  return a->at == b->at && a->line == b->line && a->mask == b->mask && a->complete == b->complete;
}

// Completes the operation of the warp in which the current thread has just arrived, if all lanes of its mask are there.
static void try_complete(thread *t) {
  collective c = {};
  thread *warp = threads + t->warp * kLanes;
  for (int l = 0; l < kLanes; l++) {
    if (!(t->mask >> l & 1) || t->warp * kLanes + l >= nthreads) continue;
    if (!same(t, &warp[l])) return;
    c.mask |= 1u << l;
    c.arguments[l] = warp[l].argument;
  }
  c.line = t->line;
  c.doing = t->doing;
  bool orders = t->complete == nullptr; // __syncwarp
  if (t->complete) t->complete(&c);
  uint32_t joined[kLanes] = {};
  for (int l = 0; l < kLanes; l++) {
    if (!(c.mask >> l & 1)) continue;
    warp[l].at = kReady;
    for (int m = 0; orders && m < kLanes; m++) {
      uint32_t k = known[t->warp * kLanes + l][m];
      joined[m] = k > joined[m] ? k : joined[m];
    }
  }
  for (int l = 0; orders && l < kLanes; l++) {
    if (c.mask >> l & 1) joined[l] = ++warp[l].clock;
  }
  for (int l = 0; orders && l < kLanes; l++) {
    if (c.mask >> l & 1) memcpy(known[t->warp * kLanes + l], joined, sizeof joined);
  }
}

void together(unsigned mask, void *argument, void (*complete)(collective *), int line, const char *doing) {
  thread *t = current;
  if (!(mask >> t->lane & 1)) {
    fail_line(kLaunchFailed, line, "%s with mask 0x%08x, which lacks lane %d that executes it", doing, mask, t->lane);
  }
  t->at = kCollective;
  t->line = line;
  t->doing = doing;
  t->mask = mask;
  t->argument = argument;
  t->complete = complete;
  try_complete(t);
  if (t->at != kReady) to_scheduler();
}

static void active(collective *) {}

unsigned active_mask(int line) {
  thread *t = current;
  t->mask = 0;
  t->argument = nullptr;
  t->complete = active;
  wait(kCollective, line, "__activemask");
  return t->mask;
}

// ---- the scheduler

// Lanes that wait for the same __activemask when no thread of the block can run are active together.
static bool release_active(void) {
  bool any = false;
  for (int i = 0; i < nthreads; i++) {
    thread *t = &threads[i];
    if (t->at != kCollective || t->complete != active) continue;
    uint32_t mask = 0;
    thread *warp = threads + t->warp * kLanes;
    for (int l = 0; l < kLanes && t->warp * kLanes + l < nthreads; l++) {
      if (warp[l].at == kCollective && warp[l].complete == active && warp[l].line == t->line) mask |= 1u << l;
    }
    for (int l = 0; l < kLanes; l++) {
      if (!(mask >> l & 1)) continue;
      warp[l].mask = mask;
      warp[l].at = kReady;
    }
    any = true;
  }
  return any;
}

[[noreturn]] static void stuck(void) {
  for (int i = 0; i < nthreads; i++) { // a warp's operation comes first, because it keeps others from the barrier
    const thread *t = &threads[i];
    if (t->at != kCollective) continue;
    for (int l = 0; l < kLanes; l++) {
      const thread *other = &threads[t->warp * kLanes + l];
      if (!(t->mask >> l & 1) || other - threads >= nthreads || same(t, other)) continue;
      current = &threads[i];
      if (other->at == kDone) {
        fail_line(kLaunchFailed, t->line, "%s with mask 0x%08x waits for lane %d, which has ended", t->doing, t->mask,
                  l);
      }
      fail_line(kLaunchFailed, t->line, "%s with mask 0x%08x waits for lane %d, which waits at %s in line %d%s",
                t->doing, t->mask, l, other->doing, other->line, other->line == t->line ? " with another mask" : "");
    }
  }
  for (int i = 0; i < nthreads; i++) {
    const thread *t = &threads[i];
    if (t->at != kBarrier) continue;
    for (int j = 0; j < nthreads; j++) {
      const thread *other = &threads[j];
      if (other->at == kBarrier && other->line == t->line && !strcmp(other->doing, t->doing)) continue;
      current = &threads[i];
      if (other->at == kDone) {
        fail_line(kLaunchFailed, t->line, "%s is not reached by %s, which has ended", t->doing, thread_name(j));
      }
      fail_line(kLaunchFailed, t->line, "%s is not reached by %s, which waits at %s in line %d", t->doing,
                thread_name(j), other->doing, other->line);
    }
  }
  abort();
}

static void schedule(void) {
  for (;;) {
    bool ran = false;
    int done = 0, waiting = 0;
    for (int i = 0; i < nthreads; i++) {
      thread *t = &threads[order[i]];
      if (t->at == kReady) {
        resume(t);
        ran = true;
      }
    }
    for (int i = 0; i < nthreads; i++) {
      const thread *t = &threads[i];
      done += t->at == kDone;
      waiting += t->at == kBarrier && t->line == threads[0].line && !strcmp(t->doing, threads[0].doing);
    }
    if (done == nthreads) return;
    if (waiting == nthreads) {
      release_barrier();
    } else if (!ran && !release_active()) {
      stuck();
    }
  }
}

uint64_t next_random(uint64_t *seed) {
  uint64_t z = *seed += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

static char *stacks(void) {
  static char *all;
  if (!all) {
    void *p = mmap(nullptr, kStack * kMaxThreads, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    if (p == MAP_FAILED) abort();
    all = static_cast<char *>(p);
    for (int i = 0; i < kMaxThreads; i++) memcpy(all + static_cast<size_t>(i) * kStack, kCanary, sizeof kCanary);
  }
  return all;
}

// seed 0 runs the threads forwards, 1 backwards; others determine a random order, a new one for each block.
void run_block(const fakecuda_launch *l, uint3 block, uint64_t *seed, void (*body)(void)) {
  kernel_body = body;
  block_index = block;
  cudarun_block = block;
  nthreads = static_cast<int>(l->block[0] * l->block[1] * l->block[2]);
  memory_block(block);
  for (int i = 0; i < nthreads; i++) {
    thread *t = &threads[i];
    unsigned u = static_cast<unsigned>(i);
    t->idx = uint3{u % l->block[0], u / l->block[0] % l->block[1], u / l->block[0] / l->block[1]};
    t->linear = i;
    t->warp = i / kLanes;
    t->lane = i % kLanes;
    t->at = kReady;
    t->mask = 0;
    t->complete = nullptr;
    t->clock = first_clock;
    t->stack = stacks() + static_cast<size_t>(i) * kStack;
    t->sp = first_frame(static_cast<char *>(t->stack) + kStack);
    t->ncopies = t->ngroups = t->uncommitted = 0;
    memset(known[i], 0, sizeof known[i]);
    order[i] = *seed == 1 ? nthreads - 1 - i : i;
  }
  for (int i = nthreads - 1; *seed > 1 && i > 0; i--) {
    int j = static_cast<int>(next_random(seed) % (static_cast<unsigned>(i) + 1)), swapped = order[i];
    order[i] = order[j];
    order[j] = swapped;
  }
  schedule();
  uint32_t last = first_clock;
  for (int i = 0; i < nthreads; i++) last = threads[i].clock > last ? threads[i].clock : last;
  first_clock = last + 1;
}

} // namespace cudarun
