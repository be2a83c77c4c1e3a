/* The resources that a process holds, for comparison with an earlier state. */
#ifndef USAGE_H_
#define USAGE_H_

#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

typedef struct {
  long lent;        /* allocated bytes of malloc: exact for C objects, because Go does not use malloc */
  long maps, files; /* mappings of files, memory files among them; open descriptors */
  long ranges;      /* all mappings */
  long threads;
  long temporary; /* files in $TMPDIR */
  long resident;  /* KiB */
} usage;

static inline long entries(const char* dir) {
  long n = 0;
  DIR* d = dir == NULL ? NULL : opendir(dir);
  while (d != NULL && readdir(d) != NULL) n++;
  if (d != NULL) closedir(d);
  return n;
}

/* Counts open descriptors, except the two that Go opens when it first waits with a time limit. */
static inline long descriptors(void) {
  long n = 0;
  DIR* d = opendir("/proc/self/fd");
  for (struct dirent* e; d != NULL && (e = readdir(d)) != NULL;) {
    char path[300], what[64] = "";
    snprintf(path, sizeof path, "/proc/self/fd/%s", e->d_name);
    if (readlink(path, what, sizeof what - 1) > 0 && strncmp(what, "anon_inode:[event", 17) == 0) continue;
    n++;
  }
  if (d != NULL) closedir(d);
  return n;
}

static inline usage measure(void) {
  usage u;
  char line[512];
  memset(&u, 0, sizeof u);
  malloc_trim(0);
  struct mallinfo2 m = mallinfo2();
  u.lent = (long)(m.uordblks + m.hblkhd);
  FILE* f = fopen("/proc/self/maps", "r"); /* "[heap]" and mappings without a name are not files */
  for (; f != NULL && fgets(line, sizeof line, f) != NULL; u.ranges++) u.maps += strchr(line, '/') != NULL;
  if (f != NULL) fclose(f);
  u.files = descriptors();
  u.threads = entries("/proc/self/task");
  u.temporary = entries(getenv("TMPDIR"));
  f = fopen("/proc/self/statm", "r");
  if (f != NULL && fscanf(f, "%*d %ld", &u.resident) == 1) u.resident *= 4;
  if (f != NULL) fclose(f);
  return u;
}

/* Compares two states. It allows `bytes` more of malloc, `threads` more threads with their stacks, and what the
 * allocators and Go keep for themselves: some memory, and mappings without a name. */
static inline void compare(usage before, usage after, long bytes, long threads) {
  /* a joined thread may not have exited yet */
  for (int i = 0; i < 2000 && after.threads > before.threads + threads; i++) {
    usleep(5000);
    after = measure();
  }
  if (after.lent - before.lent > bytes) FAIL("%ld bytes more are in use", after.lent - before.lent);
  if (after.maps > before.maps) FAIL("%ld more mappings of files", after.maps - before.maps);
  if (after.ranges > before.ranges + 16 + 3 * threads) FAIL("%ld more mappings", after.ranges - before.ranges);
  if (after.files > before.files) FAIL("%ld more open files", after.files - before.files);
  if (after.threads > before.threads + threads) FAIL("%ld more threads", after.threads - before.threads);
  if (after.temporary > before.temporary) FAIL("%ld more temporary files", after.temporary - before.temporary);
  if (after.resident - before.resident > 12 << 10) FAIL("%ld KiB more are resident", after.resident - before.resident);
}

#endif
