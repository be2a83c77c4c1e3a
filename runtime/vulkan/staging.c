/* Staging memory for copies from and to host memory. */
#include "memory.h"

vk_memory* tvmgo_vk_staging_take(vk_device* d, memory_use use) {
  vk_memory* m = NULL;
  pthread_mutex_lock(&d->heap->lock);
  vk_memory** kept = d->heap->staging[use == MEMORY_DOWNLOAD];
  for (int i = 0; i < SHARED_BUFFERS && m == NULL; i++) {
    m = kept[i];
    kept[i] = NULL;
  }
  pthread_mutex_unlock(&d->heap->lock);
  return m != NULL ? m : tvmgo_vk_memory_new(d, STAGING, use);
}

void tvmgo_vk_staging_give(vk_memory* m, memory_use use) {
  vk_heap* heap = m->d->heap;
  pthread_mutex_lock(&heap->lock);
  vk_memory** kept = heap->staging[use == MEMORY_DOWNLOAD];
  for (int i = 0; i < SHARED_BUFFERS && m != NULL; i++)
    if (kept[i] == NULL) {
      kept[i] = m;
      m = NULL;
    }
  pthread_mutex_unlock(&heap->lock);
  if (m != NULL) tvmgo_vk_memory_drop(m);
}

void tvmgo_vk_staging_trim(vk_device* d) {
  for (int i = 0; i < 2 * SHARED_BUFFERS; i++) {
    pthread_mutex_lock(&d->heap->lock);
    vk_memory** kept = &d->heap->staging[i / SHARED_BUFFERS][i % SHARED_BUFFERS];
    vk_memory* m = *kept;
    *kept = NULL;
    pthread_mutex_unlock(&d->heap->lock);
    if (m != NULL) tvmgo_vk_memory_drop(m);
  }
}
