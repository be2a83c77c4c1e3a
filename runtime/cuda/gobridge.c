//go:build cuda

#include "gobridge.h"

#include <stdio.h>
#include <string.h>

#include "../../internal/dl/dl.h"

static int has(const char* function) { return tvmgo_dl_has(&tvmgo_dl_cuda, function); }

static int renew(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  if (n != 1 || args[0].type_index != kTVMFFIInt)
    return tvmgo_raise(TVMGO_TYPE_ERROR, "tvmgo.cuda.renew takes one argument, the number of a device");
  int64_t index = args[0].v_int64;
  if (index != (int32_t)index)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "tvmgo.cuda.renew: there is no device number %lld", (long long)index);
  return tvmgo_cu_renew((int32_t)index);
}

/* Registers tvmgo.cuda.renew, for callers in C and Python. If the name is already registered, nothing changes. */
static void register_renew(void) {
  static const char name[] = "tvmgo.cuda.renew";
  TVMFFIByteArray text = {name, sizeof name - 1};
  TVMFFIObjectHandle f = NULL;
  if (TVMFFIFunctionCreate(NULL, renew, NULL, &f) == 0 && TVMFFIFunctionSetGlobal(&text, f, 0) == 0) {
    tvmgo_object_release(f);
    return;
  }
  tvmgo_object_release(f);
  tvmgo_object_release(tvmgo_error_take());
}

void tvmgo_cu_set_devices(const cu_found* found, int32_t n, int driver_version) {
  for (int32_t i = 0; i < n; i++) {
    const cu_found* f = &found[i];
    cu_device* d = &tvmgo_cu_devices[i];
    memset(d, 0, sizeof *d);
    d->index = i;
    d->id = f->id;
    snprintf(d->name, sizeof d->name, "%s", f->name);
    snprintf(d->broken, sizeof d->broken, "%s", f->broken);
    d->major = f->major;
    d->minor = f->minor;
    d->max_block = f->max_block;
    memcpy(d->max_threads, f->max_threads, sizeof d->max_threads);
    memcpy(d->max_grid, f->max_grid, sizeof d->max_grid);
    d->max_shared = f->max_shared;
    d->max_shared_optin = f->max_shared_optin;
    d->total_bytes = f->total_bytes;
    d->has_pools = f->pools && has("cuMemPoolCreate") && has("cuMemAllocFromPoolAsync") && has("cuMemFreeAsync") &&
                   has("cuMemPoolSetAttribute") && has("cuMemPoolGetAttribute") && has("cuMemPoolTrimTo");
    d->has_clusters = f->clusters && has("cuLaunchKernelEx");
    d->has_cooperative = f->cooperative;
    d->has_managed = f->managed;
    pthread_mutex_init(&d->lock, NULL);
  }
  tvmgo_cu_driver_version = driver_version;
  tvmgo_cu_num_devices = n;
  register_renew();
}

int tvmgo_cu_raise_code(CUresult code, const char* what) { return tvmgo_cu_raise(code, "%s", what); }

int tvmgo_cu_trim_device(int32_t index, int64_t* freed) {
  cu_scope s;
  cu_device* d = tvmgo_cu_device(index);
  *freed = 0;
  if (d == NULL) return -1;
  if (atomic_load(&d->context) == NULL) return 0; /* never used, so it holds no memory */
  tvmgo_cu_free_deferred();
  if (tvmgo_cu_enter_relaxed(d, &s) != 0) return -1;
  *freed = tvmgo_cu_trim(d);
  tvmgo_cu_leave(&s);
  return 0;
}
