/* Copies of files: in memory, or without a name. */
#pragma once

#include <stdint.h>

/* An empty file in memory, which can be mapped as code and sealed. name is what /proc/self/maps shows. -1 with errno:
 * the system has none, or forbids it. */
int tvmgo_memory_file(const char* name);

/* Copies the first size bytes of a file. 0; -1 with errno; 1 if the file is shorter. */
int tvmgo_copy_file(int from, int to, uint64_t size);

/* Writes all bytes. 0; -1 with errno. */
int tvmgo_write_at(int fd, const void* data, uint64_t size, uint64_t offset);

/* Forbids to change the size of a memory file from now on, or also its bytes. Without effect on other files. */
void tvmgo_seal_size(int fd);
void tvmgo_seal_bytes(int fd);
