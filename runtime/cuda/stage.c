//go:build cuda

/* Copies of ordinary host memory through page-locked buffers: while the device copies one chunk, the CPU copies the
 * next. A device has a few buffers, which are allocated at their first use and freed by tvmgo_cu_trim. If none is free,
 * the driver does the copy, with its own buffers. */
#include "driver.h"

#include <string.h>

enum { CHUNK = 1 << 20 }; /* bytes; a copy of a single chunk is not staged, because nothing would overlap */

static void drop(cu_stage* g) {
  for (int i = 0; i < 2; i++)
    if (g->done[i] != NULL) cuEventDestroy(g->done[i]);
  if (g->at != NULL && cuMemFreeHost(g->at) != CUDA_SUCCESS) cuMemFreeHost(g->at); /* see tvmgo_cu_enter_to_free */
  memset(g, 0, sizeof *g);
}

static int make(cu_stage* g) {
  void* p = NULL;
  CUresult rc = cuMemHostAlloc(&p, 2 * (size_t)CHUNK, CU_MEMHOSTALLOC_PORTABLE);
  if (rc == CUDA_SUCCESS) g->at = p;
  for (int i = 0; i < 2 && rc == CUDA_SUCCESS; i++) rc = cuEventCreate(&g->done[i], CU_EVENT_DISABLE_TIMING);
  if (rc == CUDA_SUCCESS) return 0;
  drop(g);
  return -1;
}

/* A pair of buffers for one copy; NULL if none is free. */
static cu_stage* acquire(cu_device* d) {
  cu_stage* found = NULL;
  pthread_mutex_lock(&d->lock);
  for (int i = 0; i < NUM_STAGES && found == NULL; i++)
    if (!d->stages[i].busy && (d->stages[i].at != NULL || make(&d->stages[i]) == 0)) found = &d->stages[i];
  if (found != NULL) found->busy = 1;
  pthread_mutex_unlock(&d->lock);
  return found;
}

static void release(cu_device* d, cu_stage* g) {
  pthread_mutex_lock(&d->lock);
  g->busy = 0;
  pthread_mutex_unlock(&d->lock);
}

void tvmgo_cu_drop_stages(cu_device* d) {
  pthread_mutex_lock(&d->lock);
  for (int i = 0; i < NUM_STAGES; i++)
    if (!d->stages[i].busy && d->stages[i].at != NULL) drop(&d->stages[i]);
  pthread_mutex_unlock(&d->lock);
}

typedef struct {
  cu_stage* g;
  unsigned char* host;
  CUdeviceptr device;
  size_t nbytes;
  CUstream stream;
} staged;

static size_t size_of(const staged* c, size_t k) {
  size_t left = c->nbytes - k * CHUNK;
  return left < CHUNK ? left : CHUNK;
}

static unsigned char* buffer(const staged* c, size_t k) { return (unsigned char*)c->g->at + k % 2 * CHUNK; }

static CUresult upload(const staged* c) {
  CUresult rc = CUDA_SUCCESS;
  for (size_t k = 0; rc == CUDA_SUCCESS && k * CHUNK < c->nbytes; k++) {
    if (k >= 2) rc = cuEventSynchronize(c->g->done[k % 2]); /* the copy of chunk k-2 has read the buffer */
    if (rc != CUDA_SUCCESS) break;
    memcpy(buffer(c, k), c->host + k * CHUNK, size_of(c, k));
    rc = cuMemcpyHtoDAsync(c->device + k * CHUNK, buffer(c, k), size_of(c, k), c->stream);
    if (rc == CUDA_SUCCESS) rc = cuEventRecord(c->g->done[k % 2], c->stream);
  }
  return rc;
}

static CUresult fetch(const staged* c, size_t k) {
  CUresult rc = cuMemcpyDtoHAsync(buffer(c, k), c->device + k * CHUNK, size_of(c, k), c->stream);
  return rc == CUDA_SUCCESS ? cuEventRecord(c->g->done[k % 2], c->stream) : rc;
}

static CUresult download(const staged* c) {
  CUresult rc = fetch(c, 0);
  for (size_t k = 0; rc == CUDA_SUCCESS && k * CHUNK < c->nbytes; k++) {
    if ((k + 1) * CHUNK < c->nbytes) rc = fetch(c, k + 1);
    if (rc == CUDA_SUCCESS) rc = cuEventSynchronize(c->g->done[k % 2]);
    if (rc == CUDA_SUCCESS) memcpy(c->host + k * CHUNK, buffer(c, k), size_of(c, k));
  }
  return rc;
}

int tvmgo_cu_copy_staged(cu_device* d, void* host, CUdeviceptr device, size_t nbytes, int up, CUstream stream,
                         CUresult* out) {
  staged c = {.host = host, .device = device, .nbytes = nbytes, .stream = stream};
  if (nbytes <= CHUNK || (c.g = acquire(d)) == NULL) return 0;
  *out = up ? upload(&c) : download(&c);
  CUresult done = cuStreamSynchronize(stream); /* also after an error, so that the buffers can be reused */
  if (done != CUDA_SUCCESS && !tvmgo_cu_is_sticky(done)) cuStreamSynchronize(stream); /* see tvmgo_cu_enter_to_free */
  if (*out == CUDA_SUCCESS) *out = done;
  release(d, c.g);
  return 1;
}
