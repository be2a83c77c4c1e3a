/* Private mappings of files, from /proc/self/maps. */
#include "loader/file_memory.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct {
  uintptr_t begin, end;
  int properties;
} range;

struct tvmgo_file_maps {
  size_t count, capacity;
  range* ranges; /* ascending */
};

/* Adds a line such as "7f10-7f20 r--p 00001000 08:01 1234 /lib/x.so". */
static int add_line(tvmgo_file_maps* maps, const char* line) {
  uintptr_t begin, end;
  unsigned long inode;
  char mode[5];
  if (sscanf(line, "%zx-%zx %4s %*s %*s %lu", &begin, &end, mode, &inode) != 4) return 0;
  if (maps->count == maps->capacity) {
    size_t capacity = 2 * maps->capacity + 64;
    range* more = realloc(maps->ranges, capacity * sizeof *more);
    if (more == NULL) return -1;
    maps->ranges = more;
    maps->capacity = capacity;
  }
  int properties = inode == 0 || mode[0] != 'r' || mode[3] != 'p' ? 0
                   : TVMGO_FILE_MAPPED | (mode[1] == 'w' ? TVMGO_FILE_WRITABLE : 0) |
                         (mode[2] == 'x' ? TVMGO_FILE_CODE : 0);
  maps->ranges[maps->count++] = (range){begin, end, properties};
  return 0;
}

tvmgo_file_maps* tvmgo_file_maps_read(void) {
  FILE* file = fopen("/proc/self/maps", "re");
  tvmgo_file_maps* maps = file == NULL ? NULL : calloc(1, sizeof *maps);
  char* line = NULL;
  size_t size = 0;
  int rc = 0;
  while (maps != NULL && rc == 0 && getline(&line, &size, file) > 0) rc = add_line(maps, line);
  free(line);
  if (file != NULL) fclose(file);
  if (rc == 0) return maps;
  tvmgo_file_maps_free(maps);
  return NULL;
}

void tvmgo_file_maps_free(tvmgo_file_maps* maps) {
  if (maps == NULL) return;
  free(maps->ranges);
  free(maps);
}

int tvmgo_file_maps_find(const tvmgo_file_maps* maps, const void* p, size_t n) {
  uintptr_t at = (uintptr_t)p, end = at + n;
  int properties = 0;
  size_t low = 0, high = maps == NULL ? 0 : maps->count;
  while (low < high) { /* the first range that ends behind p */
    size_t middle = (low + high) / 2;
    if (maps->ranges[middle].end <= at) low = middle + 1;
    else high = middle;
  }
  for (; at < end; at = maps->ranges[low++].end) { /* a range that was unlocked in part is several */
    if (maps == NULL || low == maps->count || maps->ranges[low].begin > at || maps->ranges[low].properties == 0)
      return 0;
    properties |= maps->ranges[low].properties;
  }
  return properties;
}

size_t tvmgo_page_size(void) { return (size_t)sysconf(_SC_PAGESIZE); }

int tvmgo_file_unlock(const void* p, size_t n) {
  uintptr_t page = tvmgo_page_size(), begin = (uintptr_t)p / page * page;
  return mprotect((void*)begin, (uintptr_t)p + n - begin, PROT_READ | PROT_WRITE) == 0 ? 0 : -1;
}

void tvmgo_file_drop(const void* p, size_t n) {
  uintptr_t page = tvmgo_page_size(), begin = ((uintptr_t)p + page - 1) / page * page;
  uintptr_t end = ((uintptr_t)p + n) / page * page;
  if (begin < end) madvise((void*)begin, end - begin, MADV_DONTNEED);
}

void tvmgo_file_release(const void* p, size_t n) {
  if (n < tvmgo_page_size()) return;
  tvmgo_file_maps* maps = tvmgo_file_maps_read();
  int is = tvmgo_file_maps_find(maps, p, n);
  tvmgo_file_maps_free(maps);
  if (is != 0 && !(is & TVMGO_FILE_WRITABLE)) tvmgo_file_drop(p, n);
}
