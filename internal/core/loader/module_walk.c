/* Walks over import trees: each module once, depth first, in the order of the imports. Without the
 * "once" a tree of diamonds, which a file can describe in a few bytes, takes exponential time. */
#include "loader/loader.h"

#include <stdlib.h>

typedef struct {
  tvmgo_module** seen; /* open addressing; a power of two */
  size_t cap, used;
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

/* Imports waiting to be visited. */
typedef struct {
  TVMFFISeqCell* imports; /* of a list in tvmgo_walked */
  int64_t next;
} level;

/* The array, with twice the capacity if it is full; NULL, and nothing changed, without memory. */
static void* with_capacity(void* array, size_t used, size_t* capacity, size_t size) {
  if (used < *capacity) return array;
  size_t more = *capacity == 0 ? 8 : *capacity * 2;
  void* grown = realloc(array, more * size);
  if (grown != NULL) *capacity = more;
  return grown;
}

int tvmgo_module_walk_keep(tvmgo_module* root, int (*visit)(void* ctx, tvmgo_module* m), void* ctx, tvmgo_walked* out) {
  walk w = {NULL, 0, 0};
  level* stack = NULL;
  size_t depth = 0, capacity = 0;
  tvmgo_module* m = root;
  int rc = 0;
  *out = (tvmgo_walked){NULL, 0, 0};
  for (;;) {
    if (m != NULL) { /* a module to visit, then to descend into */
      int fresh = mark(&w, m);
      if (fresh < 0) rc = -1;
      if (fresh > 0) rc = visit(ctx, m);
      if (rc != 0) break;
      if (fresh > 0) {
        level* levels = with_capacity(stack, depth, &capacity, sizeof *stack);
        if (levels != NULL) stack = levels;
        TVMFFIObject** lists = with_capacity(out->lists, out->count, &out->capacity, sizeof *lists);
        if (lists != NULL) out->lists = lists;
        if (levels == NULL || lists == NULL) {
          rc = tvmgo_raise_oom();
          break;
        }
        TVMFFIObject* imports = out->lists[out->count++] = tvmgo_module_imports(m);
        stack[depth++] = (level){tvmgo_seq_cell(imports), 0};
      }
    }
    if (depth == 0) break;
    level* top = &stack[depth - 1];
    m = NULL;
    if (top->next == top->imports->size) {
      depth--;
    } else {
      TVMFFIAny* item = (TVMFFIAny*)top->imports->data + top->next++;
      if (item->type_index == kTVMFFIModule) m = (tvmgo_module*)item->v_obj;
    }
  }
  free(stack);
  free(w.seen);
  return rc;
}

void tvmgo_walked_release(tvmgo_walked* w) {
  for (size_t i = 0; i < w->count; i++) tvmgo_object_release(w->lists[i]);
  free(w->lists);
}

int tvmgo_module_walk(tvmgo_module* root, int (*visit)(void* ctx, tvmgo_module* m), void* ctx) {
  tvmgo_walked walked;
  int rc = tvmgo_module_walk_keep(root, visit, ctx, &walked);
  tvmgo_walked_release(&walked);
  return rc;
}
