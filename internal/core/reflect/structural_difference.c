#include "reflect/structural_difference.h"

#include <stdlib.h>

void tvmgo_difference_forget(tvmgo_difference* d, size_t n) {
  while (d->num_steps > n) tvmgo_object_release(d->steps[--d->num_steps]);
}

void tvmgo_difference_free(tvmgo_difference* d) {
  tvmgo_difference_forget(d, 0);
  free(d->steps);
}

int tvmgo_difference_add(tvmgo_difference* d, tvmgo_step_kind left, const TVMFFIAny* left_key,
                         tvmgo_step_kind right, const TVMFFIAny* right_key) {
  if (!d->is_wanted) return 0;
  if (d->num_steps + 2 > d->capacity) {
    size_t capacity = d->capacity == 0 ? 16 : 2 * d->capacity;
    tvmgo_access_step** steps = realloc(d->steps, capacity * sizeof *steps);
    if (steps == NULL) return tvmgo_raise_oom();
    d->steps = steps;
    d->capacity = capacity;
  }
  tvmgo_access_step* l = tvmgo_access_step_new(left, left_key);
  tvmgo_access_step* r = l == NULL ? NULL : tvmgo_access_step_new(right, right_key);
  if (r == NULL) {
    tvmgo_object_release(l);
    return -1;
  }
  d->steps[d->num_steps++] = l;
  d->steps[d->num_steps++] = r;
  return 0;
}

int tvmgo_difference_add_field(tvmgo_difference* d, TVMFFIByteArray name) {
  TVMFFIAny key;
  if (!d->is_wanted) return 0;
  if (tvmgo_string_make(name.data, name.size, &key) != 0) return -1;
  int rc = tvmgo_difference_add(d, TVMGO_STEP_FIELD, &key, TVMGO_STEP_FIELD, &key);
  tvmgo_any_clear(&key);
  return rc;
}

static tvmgo_access_path* path_of(const tvmgo_difference* d, size_t side) {
  tvmgo_access_path* path = tvmgo_access_path_root();
  for (size_t i = d->num_steps; path != NULL && i > 0; i -= 2) {
    tvmgo_access_path* next = tvmgo_access_path_extend(path, d->steps[i - 2 + side]);
    tvmgo_object_release(path);
    path = next;
  }
  return path;
}

int tvmgo_difference_paths(const tvmgo_difference* d, tvmgo_access_path* paths[2]) {
  paths[0] = path_of(d, 0);
  paths[1] = paths[0] == NULL ? NULL : path_of(d, 1);
  if (paths[1] != NULL) return 0;
  tvmgo_object_release(paths[0]);
  paths[0] = NULL;
  return -1;
}
