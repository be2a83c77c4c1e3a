#include "hazard.h"

#include <string.h>

#include "driver.h"

static int conflict(const vk_use* a, const vk_use* b) {
  return a->buffer == b->buffer && a->from < b->to && b->from < a->to && ((a->access | b->access) & USE_WRITE);
}

int tvmgo_vk_hazard(vk_hazards* h, const void* buffer, uint64_t from, uint64_t to, int access) {
  vk_use now = {buffer, from, to, access};
  int hit = h->full == 1;
  for (uint32_t i = 0; i < h->num_earlier && !hit; i++) hit = conflict(&h->uses[i], &now);
  if (hit || (h->num == MOST_USES && h->num_earlier > 0)) {
    hit = 1;
    h->num -= h->num_earlier;
    memmove(h->uses, h->uses + h->num_earlier, h->num * sizeof *h->uses);
    h->num_earlier = 0;
    if (h->full == 1) h->full = 0;
  }
  if (h->num < MOST_USES) h->uses[h->num++] = now;
  else h->full = 2; /* a command with that many buffers: the next one waits for it */
  return hit;
}

void tvmgo_vk_hazard_next(vk_hazards* h) {
  h->num_earlier = h->num;
  h->full = h->full != 0;
}
