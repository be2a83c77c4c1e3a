/* Tracks the bytes that commands use, so that barriers are added only between commands that conflict. */
#pragma once

#include <stdint.h>

enum { MAX_USES = 64 };

typedef struct {
  const void* buffer; /* identifies the buffer; never dereferenced */
  uint64_t from, to;
  int access;
} vk_use;

/* The uses since the last barrier: num_earlier uses of earlier commands, then those of the next command. */
typedef struct {
  vk_use uses[MAX_USES];
  uint32_t num_earlier, num;
  int unknown; /* earlier barriers may not have taken effect: the next use needs a barrier */
} vk_hazards;

/* Adds a use of the next command. 1 if the command needs a barrier before it; then all earlier uses are removed. */
int tvmgo_vk_hazard(vk_hazards* h, const void* buffer, uint64_t from, uint64_t to, int access);
/* Must be called after the command is recorded: its uses become earlier uses. */
void tvmgo_vk_hazard_next(vk_hazards* h);
