/* Walks over import trees: each module once, depth first, in the order of the imports. Without the
 * "once" a tree of diamonds, which a file can describe in a few bytes, takes exponential time. */
#include "loader/loader.h"

#include <stdlib.h>

typedef struct {
  tvmgo_module** seen; /* open addressing; a power of two */
  size_t cap, used;
  int (*visit)(void* ctx, tvmgo_module* m);
  void* ctx;
} walk;

static size_t slot_of(const walk* w, const tvmgo_module* m) {
  size_t i = ((uintptr_t)m >> 4) * 0x9e3779b97f4a7c15u & (w->cap - 1);
  while (w->seen[i] != NULL && w->seen[i] != m) i = (i + 1) & (w->cap - 1);
  return i;
}

/* 1 when m was new, 0 when it was seen before, -1 without memory. */
static int mark(walk* w, tvmgo_module* m) {
  if (2 * (w->used + 1) > w->cap) {
    walk grown = *w;
    grown.cap = w->cap == 0 ? 16 : w->cap * 2;
    grown.seen = calloc(grown.cap, sizeof *grown.seen);
    if (grown.seen == NULL) return tvmgo_raise_oom();
    for (size_t i = 0; i < w->cap; i++)
      if (w->seen[i] != NULL) grown.seen[slot_of(&grown, w->seen[i])] = w->seen[i];
    free(w->seen);
    *w = grown;
  }
  size_t i = slot_of(w, m);
  if (w->seen[i] != NULL) return 0;
  w->seen[i] = m;
  w->used++;
  return 1;
}

/* Imports waiting to be visited, with the reference that keeps their module's list alive. */
typedef struct {
  TVMFFIObject* imports;
  int64_t next;
} level;

int tvmgo_module_walk(tvmgo_module* root, int (*visit)(void* ctx, tvmgo_module* m), void* ctx) {
  walk w = {NULL, 0, 0, visit, ctx};
  level* stack = NULL;
  size_t depth = 0, cap = 0;
  tvmgo_module* m = root;
  int rc = 0;
  for (;;) {
    if (m != NULL) { /* a module to visit, then to descend into */
      int fresh = mark(&w, m);
      if (fresh < 0) rc = -1;
      if (fresh > 0) rc = visit(ctx, m);
      if (rc != 0) break;
      if (fresh > 0) {
        if (depth == cap) {
          size_t more = cap == 0 ? 8 : cap * 2;
          level* grown = realloc(stack, more * sizeof *grown);
          if (grown == NULL) {
            rc = tvmgo_raise_oom();
            break;
          }
          stack = grown;
          cap = more;
        }
        stack[depth++] = (level){tvmgo_module_imports(m), 0};
      }
    }
    if (depth == 0) break;
    level* top = &stack[depth - 1];
    TVMFFISeqCell* seq = tvmgo_seq_cell(top->imports);
    m = NULL;
    if (top->next == seq->size) {
      tvmgo_object_release(top->imports);
      depth--;
    } else {
      TVMFFIAny* item = (TVMFFIAny*)seq->data + top->next++;
      if (item->type_index == kTVMFFIModule) m = (tvmgo_module*)item->v_obj;
    }
  }
  while (depth > 0) tvmgo_object_release(stack[--depth].imports);
  free(stack);
  free(w.seen);
  return rc;
}
