#include "hazard.h"

#include <string.h>

#include "driver.h"

static int conflict(const vk_use* a, const vk_use* b) {
  return a->buffer == b->buffer && a->from < b->to && b->from < a->to && ((a->access | b->access) & USE_WRITE);
}

int tvmgo_vk_hazard(vk_hazards* h, const void* buffer, uint64_t from, uint64_t to, int access) {
  vk_use now = {buffer, from, to, access};
  /* A barrier empties a full list of earlier uses. A list that is full because one command has too many uses also needs
   * a barrier, since some uses are not in it. */
  int hit = h->unknown || (h->num == MAX_USES && h->num_earlier > 0);
  for (uint32_t i = 0; i < h->num_earlier && !hit; i++) hit = conflict(&h->uses[i], &now);
  if (hit) {
    h->num -= h->num_earlier;
    memmove(h->uses, h->uses + h->num_earlier, h->num * sizeof *h->uses);
    h->num_earlier = 0;
    h->unknown = 0;
  }
  if (h->num < MAX_USES) h->uses[h->num++] = now;
  return hit;
}

void tvmgo_vk_hazard_next(vk_hazards* h) { h->num_earlier = h->num; }
