/* Which bytes commands use, so that barriers stand only where one command must see what another did. */
#pragma once

#include <stdint.h>

enum { MOST_USES = 64 };

typedef struct {
  const void* buffer; /* which one; only compared */
  uint64_t from, to;
  int access;
} vk_use;

/* Uses since the last barrier: those of earlier commands, then those of the command to come. */
typedef struct {
  vk_use uses[MOST_USES];
  uint32_t num_earlier, num;
  int unknown; /* barriers may be missing: whatever comes next needs one */
} vk_hazards;

/* Notes a use of the command to come; 1 when a barrier must go before it, after which all earlier uses are
 * forgotten. */
int tvmgo_vk_hazard(vk_hazards* h, const void* buffer, uint64_t from, uint64_t to, int access);
/* The command was recorded: its uses are earlier ones from now on. */
void tvmgo_vk_hazard_next(vk_hazards* h);
