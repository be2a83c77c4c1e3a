/* The stack of a call: frames with their registers, in pieces that do not move. */
#include "vm/engine.h"

enum { FRAME_SLOTS = (sizeof(vm_frame) + sizeof(TVMFFIAny) - 1) / sizeof(TVMFFIAny) };

static int too_deep(const vm_function* f, int nested) {
  return tvmgo_raise(TVMGO_RUNTIME_ERROR,
                     "function \"%s\" is called too deep: %d calls are in progress%s, which is the limit: does the "
                     "recursion end?",
                     f->name, nested ? TVMGO_VM_MAX_NESTED : TVMGO_VM_MAX_FRAMES,
                     nested ? " through closures or other functions in C" : "");
}

/* ---- the thread's stack ----
 * A call through C needs a few hundred bytes of it, with a sanitizer a few thousand. */

enum { STACK_RESERVE = 64 << 10 }; /* for kernels, drivers and callbacks; half of a smaller stack */

static __thread struct {
  uintptr_t begin;  /* lowest address */
  uintptr_t margin; /* bytes from there that a call must leave; 0: not known yet */
} stack __attribute__((tls_model("initial-exec")));

static void measure_stack(void) {
  pthread_attr_t attr;
  void* begin = NULL;
  size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attr) == 0) {
    if (pthread_attr_getstack(&attr, &begin, &size) != 0) size = 0;
    pthread_attr_destroy(&attr);
  }
  stack.begin = (uintptr_t)begin;
  stack.margin = size / 2 > STACK_RESERVE ? STACK_RESERVE : size / 2 + 1;
}

int tvmgo_vm_stack_ends(const vm_function* f) {
  if (TVMGO_UNLIKELY(stack.margin == 0)) measure_stack();
  uintptr_t left = (uintptr_t)__builtin_frame_address(0) - stack.begin; /* large on a stack that is not the thread's */
  if (TVMGO_LIKELY(left >= stack.margin)) return 0;
  tvmgo_raise(TVMGO_RUNTIME_ERROR,
              "function \"%s\" is called too deep: the thread has %lld KiB of stack left: does the recursion end? If "
              "it does, call it on a thread with a larger stack",
              f->name, (long long)(left >> 10));
  return 1;
}

/* ---- frames ---- */

/* Makes slots for a frame that the current piece has no capacity for. */
static int next_chunk(tvmgo_vm_call* c, int64_t need) {
  vm_chunk* chunk = c->spare;
  c->spare = NULL;
  if (chunk != NULL && chunk->end - chunk->slots < need) {
    free(chunk);
    chunk = NULL;
  }
  if (chunk == NULL) {
    int64_t slots = need > CHUNK_SLOTS ? need : CHUNK_SLOTS;
    chunk = malloc(sizeof *chunk + (size_t)slots * sizeof(TVMFFIAny));
    if (chunk == NULL) return tvmgo_raise_oom();
    chunk->end = chunk->slots + slots;
  }
  chunk->below = c->chunk;
  c->chunk = chunk;
  c->top = chunk->slots;
  c->end = chunk->end;
  return 0;
}

vm_frame* tvmgo_vm_frame_push(tvmgo_vm_call* c, const vm_function* f, int64_t slots) {
  if (TVMGO_UNLIKELY(c->frames >= TVMGO_VM_MAX_FRAMES || c->nested > TVMGO_VM_MAX_NESTED)) {
    too_deep(f, c->frames < TVMGO_VM_MAX_FRAMES);
    return NULL;
  }
  TVMFFIAny* top = c->top;
  vm_chunk* chunk = c->chunk;
  int64_t need = FRAME_SLOTS + slots;
  if (TVMGO_UNLIKELY(c->end - c->top < need) && next_chunk(c, need) != 0) return NULL;
  vm_frame* frame = (vm_frame*)c->top;
  *frame = (vm_frame){.caller = c->frame, .function = f, .registers = c->top + FRAME_SLOTS, .top = top,
                      .chunk = chunk};
  memset(frame->registers, 0, (size_t)f->registers * sizeof(TVMFFIAny));
  c->top += need;
  c->frame = frame;
  c->frames++;
  return frame;
}

void tvmgo_vm_frame_pop(tvmgo_vm_call* c) {
  vm_frame* frame = c->frame;
  TVMFFIAny* r = frame->registers;
  for (int32_t i = frame->borrowed; i < frame->function->registers; i++)
    if (r[i].type_index >= kTVMFFIStaticObjectBegin) tvmgo_object_release(r[i].v_obj);
  c->frame = frame->caller;
  c->frames--;
  c->top = frame->top;
  if (TVMGO_UNLIKELY(frame->chunk != c->chunk)) {
    vm_chunk* above = c->chunk;
    c->chunk = frame->chunk;
    c->end = c->chunk == NULL ? c->first + FIRST_SLOTS : c->chunk->end;
    free(c->spare); /* one is kept, so that a loop at the end of a piece does not allocate */
    c->spare = above;
  }
}
