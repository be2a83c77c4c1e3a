/* What sessions and models use of memory, as module functions. */
#include "vm/session_state.h"

static int put(TVMFFIObject** map, const char* key, int64_t v) {
  const TVMFFIAny name = {.type_index = kTVMFFIRawStr, .v_c_str = key}, number = tvmgo_any_int(v);
  return tvmgo_map_set(map, &name, &number);
}

int tvmgo_vm_account_map(tvmgo_vm_account* a, int64_t weights, TVMFFIAny* result) {
  tvmgo_vm_memory now;
  tvmgo_vm_account_read(a, &now);
  TVMFFIObject* map = tvmgo_map_new(kTVMFFIMap);
  if (map == NULL) return -1;
  if (put(&map, "live", now.live) != 0 || put(&map, "peak", now.peak) != 0 ||
      put(&map, "storages", now.storages) != 0 || put(&map, "taken", now.taken) != 0 ||
      put(&map, "limit", now.limit) != 0 || put(&map, "weights", weights) != 0) {
    tvmgo_object_release(map);
    return -1;
  }
  *result = tvmgo_any_object(map);
  return 0;
}

static int64_t constant_bytes(const tvmgo_vm_program* p) {
  int64_t sum = 0;
  for (int64_t i = 0; i < p->num_constants; i++) sum += (int64_t)p->constants[i].nbytes;
  return sum;
}

int tvmgo_vm_memory_of_session(vm_session* s, const char* f, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  vm_use use;
  int64_t bound = 0;
  if (tvmgo_check_count(f, n, 0, 0) != 0) return -1;
  tvmgo_vm_session_peek(s, &use);
  int rc = tvmgo_vm_bound_bytes(use.params, &bound);
  if (rc == 0)
    rc = tvmgo_vm_account_map(s->account, bound + (use.model != NULL ? constant_bytes(s->program) : 0), result);
  tvmgo_vm_session_leave(&use);
  return rc;
}

int tvmgo_vm_memory_of_model(vm_session* s, const char* f, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  tvmgo_vm_program* p = s->program;
  if (tvmgo_check_count(f, n, 0, 0) != 0) return -1;
  int64_t constants = constant_bytes(p);
  pthread_mutex_lock(&p->lock);
  int64_t weights = tvmgo_vm_weight_bytes(p);
  for (const vm_uploaded* u = p->uploaded; u != NULL; u = u->next) weights += constants;
  pthread_mutex_unlock(&p->lock);
  return tvmgo_vm_account_map(p->account, weights, result);
}

int tvmgo_vm_account_take_limit(tvmgo_vm_account* a, const char* f, const TVMFFIAny* args, int32_t n) {
  int64_t limit;
  if (tvmgo_check_count(f, n, 1, 1) != 0 || tvmgo_arg_int(f, args, 0, &limit) != 0) return -1;
  if (limit < 0)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: the limit is %lld bytes: give a number of bytes, or 0 for none", f,
                       (long long)limit);
  tvmgo_vm_account_set_limit(a, limit);
  return 0;
}

int tvmgo_vm_limit_session(vm_session* s, const char* f, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  return tvmgo_vm_account_take_limit(s->account, f, args, n);
}

int tvmgo_vm_limit_model(vm_session* s, const char* f, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  return tvmgo_vm_account_take_limit(s->program->account, f, args, n);
}
