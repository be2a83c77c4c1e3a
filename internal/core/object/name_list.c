#include "object/name_list.h"

#include <stdlib.h>
#include <string.h>

int tvmgo_name_list_add(tvmgo_name_list* l, const char* name) {
  if (l->size == l->cap) {
    int64_t cap = l->cap == 0 ? 16 : l->cap * 2;
    TVMFFIAny* grown = realloc(l->items, (size_t)cap * sizeof *grown);
    if (grown == NULL) return tvmgo_raise_oom();
    l->items = grown;
    l->cap = cap;
  }
  TVMFFIAny v = {0};
  v.type_index = kTVMFFIRawStr;
  v.v_c_str = name;
  l->items[l->size++] = v;
  return 0;
}

static int by_text(const void* a, const void* b) {
  return strcmp(((const TVMFFIAny*)a)->v_c_str, ((const TVMFFIAny*)b)->v_c_str);
}

TVMFFIObject* tvmgo_name_list_take(tvmgo_name_list* l) {
  int64_t n = 0;
  if (l->size > 1) qsort(l->items, (size_t)l->size, sizeof *l->items, by_text);
  for (int64_t i = 0; i < l->size; i++)
    if (n == 0 || by_text(&l->items[n - 1], &l->items[i]) != 0) l->items[n++] = l->items[i];
  TVMFFIObject* names = tvmgo_array_new(l->items, n);
  free(l->items);
  *l = (tvmgo_name_list){0};
  return names;
}
