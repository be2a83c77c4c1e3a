//go:build cuda

/* Launches. Only the first use of a kernel on a device allocates memory and enters Go. */
#include "launch.h"

#include <stdlib.h>

#include "../../internal/dl/dl.h"

/* The kernel that is loaded on a device; loads it if necessary. NULL with an error raised. */
static cu_built* built_for(cu_function* f, const cu_device* d) {
  cu_built* b = tvmgo_kernel_built(&f->k, d->index);
  if (TVMGO_LIKELY(b != NULL && b->epoch == atomic_load_explicit(&d->epoch, memory_order_relaxed))) return b;
  return tvmgo_kernel_build(&f->k, d->index);
}

/* ---- arguments ---- */

static int is_empty(const DLTensor* t) {
  for (int i = 0; i < t->ndim; i++)
    if (t->shape[i] == 0) return 1;
  return 0;
}

/* The address of a memory argument. 0, or -1 with an error raised. */
static inline int address_of(const cu_function* f, int i, const cu_device* d, const TVMFFIAny* v, uintptr_t* out) {
  const void* data;
  const DLTensor* t;
  if (tvmgo_kernel_memory(&f->k, i, kDLCUDA, d->index, v, &data, &t) != 0) return -1;
  *out = (uintptr_t)data;
  if (t != NULL) {
    if (TVMGO_UNLIKELY(t->device.device_type == kDLCUDA && t->device.device_id != d->index))
      return tvmgo_raise(TVMGO_VALUE_ERROR,
                         TVMGO_ARG " is an array of cuda:%d, the kernel runs on cuda:%d: copy it there, or make that "
                                   "device the active one",
                         f->k.name, i, (int)t->device.device_id, (int)d->index);
    *out += t->byte_offset;
  }
  return TVMGO_LIKELY(data != NULL) || (t != NULL && is_empty(t)) ? 0 : tvmgo_kernel_no_memory(&f->k, i, d->index);
}

/* The address of a CUtensorMap, which the driver copies. 0, or -1 with an error raised. */
static int map_of(const cu_function* f, int i, const TVMFFIAny* v, void** out) {
  if (v->type_index != kTVMFFIOpaquePtr || v->v_ptr == NULL)
    return tvmgo_raise(TVMGO_TYPE_ERROR,
                       TVMGO_ARG " must be a pointer to a tensor map (a CUtensorMap of %zu bytes), not %s",
                       f->k.name, i, sizeof(CUtensorMap), tvmgo_type_name(v->type_index));
  *out = v->v_ptr;
  return 0;
}

/* ---- sizes ---- */

/* The sizes of a launch, for messages. */
#define SHAPE TVMGO_SHAPE ", %zu bytes of shared memory"
#define SHAPE_ARGS(f, s, d) TVMGO_SHAPE_ARGS(&(f)->k, s, (d)->index), (s)[TVMGO_LAUNCH_SHARED]

static int too_large(const cu_function* f, const cu_device* d, const size_t* s, int i, int limit) {
  return tvmgo_raise(TVMGO_VALUE_ERROR, SHAPE ": the limit of %s.%c is %d", SHAPE_ARGS(f, s, d),
                     i < 3 ? "blockIdx" : "threadIdx", "xyz"[i % 3], limit);
}

static int too_many_threads(const cu_function* f, const cu_device* d, const cu_built* b, const size_t* s, size_t n) {
  return tvmgo_raise(TVMGO_VALUE_ERROR,
                     SHAPE ": the block has %zu threads; the limit of this kernel is %zu (of the device: %d)",
                     SHAPE_ARGS(f, s, d), n, b->max_threads, d->max_block);
}

/* Raises the kernel's limit of dynamic shared memory to that of a launch. 0, or -1 with an error raised if it exceeds
 * the device's limit. */
static int announce_shared(const cu_function* f, cu_device* d, cu_built* b, const size_t* s) {
  size_t want = s[TVMGO_LAUNCH_SHARED];
  size_t limit = (size_t)d->max_shared_optin > b->static_shared ? (size_t)d->max_shared_optin - b->static_shared : 0;
  cu_scope scope;
  if (want > limit)
    return tvmgo_raise(TVMGO_VALUE_ERROR,
                       SHAPE ": the limit is %zu: the device has %d, and the kernel's static shared memory is %zu",
                       SHAPE_ARGS(f, s, d), limit, d->max_shared_optin, b->static_shared);
  if (tvmgo_cu_enter_relaxed(d, &scope) != 0) return -1;
  CUresult rc = CUDA_SUCCESS;
  pthread_mutex_lock(&b->lock);
  if (want > atomic_load_explicit(&b->dynamic, memory_order_relaxed)) {
    rc = cuFuncSetAttribute(b->f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)want);
    if (rc == CUDA_SUCCESS) atomic_store_explicit(&b->dynamic, want, memory_order_release);
  }
  pthread_mutex_unlock(&b->lock);
  tvmgo_cu_leave(&scope);
  return rc == CUDA_SUCCESS ? 0 : tvmgo_cu_raise(rc, SHAPE ": raise the limit of shared memory", SHAPE_ARGS(f, s, d));
}

/* Checks the sizes of a launch, for errors that name the limit. */
static inline int check_sizes(const cu_function* f, cu_device* d, cu_built* b, const size_t* s) {
  size_t threads = 1;
  for (int i = 0; i < 3; i++) {
    if (TVMGO_UNLIKELY(s[i] > (size_t)d->max_grid[i])) return too_large(f, d, s, i, d->max_grid[i]);
    if (TVMGO_UNLIKELY(s[3 + i] > (size_t)d->max_threads[i])) return too_large(f, d, s, 3 + i, d->max_threads[i]);
    threads *= s[3 + i]; /* cannot overflow: each is within the device's limits */
  }
  if (TVMGO_UNLIKELY(threads > b->max_threads)) return too_many_threads(f, d, b, s, threads);
  if (TVMGO_UNLIKELY(s[TVMGO_LAUNCH_SHARED] > atomic_load_explicit(&b->dynamic, memory_order_acquire)))
    return announce_shared(f, d, b, s);
  return 0;
}

/* ---- launches ---- */

static size_t volume(const size_t* s) { return s[0] * s[1] * s[2]; }

/* Checks that the device supports clusters and that the grid is a multiple of the cluster. */
static int check_cluster(const cu_function* f, const cu_device* d, const size_t* s, const size_t* c, const char* what) {
  if (!d->has_clusters)
    return tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR,
                       SHAPE ": a %s of [%zu, %zu, %zu] blocks: %s has compute capability %d.%d; clusters need 9.0 "
                             "and a driver of CUDA 11.8 or newer",
                       SHAPE_ARGS(f, s, d), what, c[0], c[1], c[2], d->name, d->major, d->minor);
  for (int i = 0; i < 3; i++)
    if (c[i] > s[i] || s[i] % c[i] != 0) /* also keeps the volume below 2^64 */
      return tvmgo_raise(TVMGO_VALUE_ERROR, SHAPE ": the grid is not a multiple of the %s of [%zu, %zu, %zu] blocks",
                         SHAPE_ARGS(f, s, d), what, c[0], c[1], c[2]);
  return 0;
}

/* Allows the kernel clusters of more than PORTABLE_CLUSTER blocks, if the device supports them. The device's context is
 * current. */
static CUresult announce_clusters(cu_built* b) {
  CUresult rc = CUDA_SUCCESS;
  pthread_mutex_lock(&b->lock);
  if (!atomic_load_explicit(&b->non_portable, memory_order_relaxed)) {
    rc = cuFuncSetAttribute(b->f, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
    if (rc == CUDA_SUCCESS) atomic_store_explicit(&b->non_portable, 1, memory_order_release);
  }
  pthread_mutex_unlock(&b->lock);
  return rc;
}

enum { PORTABLE_CLUSTER = 8 }; /* blocks of a cluster that every device with clusters supports */

/* Launches a kernel with launch attributes. The device's context is current. 0, or -1 with an error raised. */
static __attribute__((noinline)) int launch_special(const cu_function* f, const cu_device* d, cu_built* b,
                                                    const size_t* s, CUstream stream, void** params) {
  const size_t *cluster = s + TVMGO_LAUNCH_CLUSTER, *preferred = s + TVMGO_LAUNCH_PREFERRED;
  CUlaunchAttribute attrs[4] = {{0}};
  unsigned n = 0;
  if (cluster[0] > 1 || cluster[1] > 1 || cluster[2] > 1) {
    if (check_cluster(f, d, s, cluster, "cluster") != 0) return -1;
    attrs[n].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attrs[n].value.clusterDim.x = (unsigned)cluster[0];
    attrs[n].value.clusterDim.y = (unsigned)cluster[1];
    attrs[n++].value.clusterDim.z = (unsigned)cluster[2];
  }
  if (preferred[0] > 1 || preferred[1] > 1 || preferred[2] > 1) {
    if (check_cluster(f, d, s, preferred, "preferred cluster") != 0) return -1;
    attrs[n].id = CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION;
    attrs[n].value.preferredClusterDim.x = (unsigned)preferred[0];
    attrs[n].value.preferredClusterDim.y = (unsigned)preferred[1];
    attrs[n++].value.preferredClusterDim.z = (unsigned)preferred[2];
  }
  if (f->k.programmatic) {
    attrs[n].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attrs[n++].value.programmaticStreamSerializationAllowed = 1;
  }
  if (f->k.cooperative) {
    if (!d->has_cooperative)
      return tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR,
                         SHAPE ": the kernel needs a cooperative launch, which %s does not support",
                         SHAPE_ARGS(f, s, d), d->name);
    attrs[n].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attrs[n++].value.cooperative = 1;
  }
  CUresult rc = CUDA_SUCCESS;
  if (volume(cluster) > PORTABLE_CLUSTER || volume(preferred) > PORTABLE_CLUSTER) rc = announce_clusters(b);
  if (rc == CUDA_SUCCESS && n == 0) {
    rc = cuLaunchKernel(b->f, (unsigned)s[0], (unsigned)s[1], (unsigned)s[2], (unsigned)s[3], (unsigned)s[4],
                        (unsigned)s[5], (unsigned)s[TVMGO_LAUNCH_SHARED], stream, params, NULL);
  } else if (rc == CUDA_SUCCESS) {
    CUlaunchConfig config = {.gridDimX = (unsigned)s[0], .gridDimY = (unsigned)s[1], .gridDimZ = (unsigned)s[2],
                             .blockDimX = (unsigned)s[3], .blockDimY = (unsigned)s[4], .blockDimZ = (unsigned)s[5],
                             .sharedMemBytes = (unsigned)s[TVMGO_LAUNCH_SHARED], .hStream = stream,
                             .attrs = attrs, .numAttrs = n};
    rc = cuLaunchKernelEx(&config, b->f, params, NULL);
  }
  if (rc == CUDA_SUCCESS) return 0;
  const char* need = "";
  if (rc != CUDA_SUCCESS && !tvmgo_dl_has(&tvmgo_dl_cuda, "cuLaunchKernelEx"))
    need = ": clusters, cooperative and programmatic launches need cuLaunchKernelEx: install a driver of CUDA 11.8 or "
           "newer";
  else if (volume(preferred) > 1)
    need = " (a preferred cluster needs compute capability 10.0 and a driver of CUDA 12.8 or newer)";
  return tvmgo_cu_raise(rc, "launch " SHAPE "%s", SHAPE_ARGS(f, s, d), need);
}

static int launch(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  cu_function* f = self;
  if (tvmgo_kernel_is_profiled()) return tvmgo_kernel_launch_profiled(&f->k, args, n, result);
  size_t s[TVMGO_MAX_LAUNCH];
  tvmgo_kernel_slot slots[TVMGO_MAX_KERNEL_ARGS];
  void* params[TVMGO_MAX_KERNEL_ARGS];
  cu_scope scope;
  int32_t id = tvmgo_kernel_begin(&f->k, kDLCUDA, n);
  cu_device* d = id < 0 ? NULL : tvmgo_cu_device(id);
  if (d == NULL || tvmgo_kernel_sizes(&f->k, args + f->k.num_args, s) != 0) return -1;
  if (tvmgo_kernel_is_empty(s)) return 0;
  cu_built* b = built_for(f, d);
  if (b == NULL || check_sizes(f, d, b, s) != 0) return -1;
  for (int i = 0; i < f->k.num_args; i++) {
    params[i] = &slots[i];
    switch ((tvmgo_kernel_arg)f->k.args[i]) {
      case TVMGO_ARG_MEMORY:
        if (address_of(f, i, d, &args[i], &slots[i].address) != 0) return -1;
        break;
      case TVMGO_ARG_TENSOR_MAP:
        if (map_of(f, i, &args[i], &params[i]) != 0) return -1;
        break;
      default:
        if (tvmgo_kernel_scalar(&f->k, i, &args[i], &slots[i]) != 0) return -1;
    }
  }
  CUstream stream = (CUstream)tvmgo_stream_get(kDLCUDA, d->index);
  if (tvmgo_cu_check_stream(stream, f->k.name) != 0 || tvmgo_cu_enter(d, &scope) != 0) return -1;
  int rc = 0;
  CUresult code = CUDA_SUCCESS;
  if (TVMGO_UNLIKELY(f->special))
    rc = launch_special(f, d, b, s, stream, params);
  else
    code = cuLaunchKernel(b->f, (unsigned)s[0], (unsigned)s[1], (unsigned)s[2], (unsigned)s[3], (unsigned)s[4],
                          (unsigned)s[5], (unsigned)s[TVMGO_LAUNCH_SHARED], stream, params, NULL);
  tvmgo_cu_leave(&scope);
  tvmgo_cu_note(d, b->name, stream);
  return TVMGO_LIKELY(code == CUDA_SUCCESS) ? rc : tvmgo_cu_raise(code, "launch " SHAPE, SHAPE_ARGS(f, s, d));
}

/* ---- the class of kernels ---- */

static void free_built(void* built) {
  for (cu_built *b = built, *older; b != NULL; b = older) {
    older = b->older;
    pthread_mutex_destroy(&b->lock);
    free(b);
  }
}

static int is_current(const void* built, int32_t device) {
  return ((const cu_built*)built)->epoch == atomic_load(&tvmgo_cu_devices[device].epoch);
}

static int complete(tvmgo_kernel* k) {
  cu_function* f = (cu_function*)k;
  f->special = k->programmatic || k->cooperative;
  for (int i = 0; i < k->num_launch; i++)
    if (k->launch[i] >= TVMGO_LAUNCH_CLUSTER && k->launch[i] < TVMGO_LAUNCH_SHARED) f->special = 1;
  return 0;
}

/* Queries a number about a kernel; -1 if the driver does not know it. The device's context is current. */
static int64_t number(CUfunction f, CUfunction_attribute what) {
  int v = 0;
  return cuFuncGetAttribute(&v, what, f) == CUDA_SUCCESS ? v : -1;
}

static int report(const tvmgo_kernel* k, void* built, int32_t device, int64_t threads, size_t dynamic,
                  tvmgo_kernel_report* out) {
  const cu_built* b = built;
  cu_device* d = tvmgo_cu_device(device);
  cu_scope scope;
  int blocks = 0;
  if (d == NULL || tvmgo_cu_enter_relaxed(d, &scope) != 0) return -1;
  out->registers = number(b->f, CU_FUNC_ATTRIBUTE_NUM_REGS);
  out->local_bytes = number(b->f, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
  out->shared_bytes = (int64_t)b->static_shared;
  out->constant_bytes = number(b->f, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
  out->max_threads = (int64_t)b->max_threads;
  if (threads > 0 && threads <= (int64_t)b->max_threads &&
      tvmgo_dl_has(&tvmgo_dl_cuda, "cuOccupancyMaxActiveBlocksPerMultiprocessor") &&
      cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, b->f, (int)threads, dynamic) == CUDA_SUCCESS)
    out->blocks = blocks;
  tvmgo_cu_leave(&scope);
  return 0;
}

const tvmgo_kernel_class tvmgo_cu_kernels = {.kernel_size = sizeof(cu_function),
                                             .device_type = kDLCUDA,
                                             .copy_advice = ", or allocate it on cuda_host or cuda_managed",
                                             .launch = launch,
                                             .complete = complete,
                                             .free_built = free_built,
                                             .is_current = is_current,
                                             .report = report};

/* Queries an attribute of a kernel. The device's context is current. */
static CUresult query(CUfunction f, CUfunction_attribute what, size_t* out) {
  int v = 0;
  CUresult rc = cuFuncGetAttribute(&v, what, f);
  *out = v > 0 ? (size_t)v : 0;
  return rc;
}

int tvmgo_cu_built_make(cu_function* f, cu_device* d, CUmodule module) {
  cu_scope scope;
  size_t dynamic = 0;
  cu_built* b = calloc(1, sizeof *b);
  if (b == NULL) return tvmgo_raise_oom();
  pthread_mutex_init(&b->lock, NULL);
  if ((b->name = tvmgo_cu_intern_name(f->k.name)) == NULL) {
    free_built(b);
    return tvmgo_raise_oom();
  }
  if (tvmgo_cu_enter_relaxed(d, &scope) != 0) {
    free_built(b);
    return -1;
  }
  CUresult rc = cuModuleGetFunction(&b->f, module, f->k.symbol), queried = CUDA_SUCCESS;
  if (rc == CUDA_SUCCESS) queried = query(b->f, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &b->max_threads);
  if (rc == CUDA_SUCCESS && queried == CUDA_SUCCESS)
    queried = query(b->f, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &b->static_shared);
  if (rc == CUDA_SUCCESS && queried == CUDA_SUCCESS)
    queried = query(b->f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, &dynamic);
  tvmgo_cu_leave(&scope);
  if (rc == CUDA_SUCCESS && queried == CUDA_SUCCESS) {
    if (b->max_threads > (size_t)d->max_block) b->max_threads = (size_t)d->max_block;
    b->dynamic = dynamic;
    b->epoch = atomic_load(&d->epoch);
    b->older = tvmgo_kernel_built(&f->k, d->index); /* launches may still use it; freed with the kernel */
    tvmgo_kernel_set_built(&f->k, d->index, b);
    return 0;
  }
  free_built(b);
  return rc != CUDA_SUCCESS ? (int)rc : tvmgo_cu_raise(queried, "kernel %s on cuda:%d", f->k.name, (int)d->index);
}
