/* The number of worker threads, from the environment, the cgroup or the affinity mask.
 *
 * TVM_EXCLUDE_WORKER0 and TVM_BIND_THREADS, which other TVM runtimes know, have no effect: the
 * calling thread always runs task 0, and threads are not bound to cores. */
#include "parallel/parallel.h"
#include "parallel/thread_count.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int tvmgo_parallel_parse(const char* text) {
  if (text == NULL) return 0;
  while (isspace((unsigned char)*text)) text++;
  if (!isdigit((unsigned char)*text)) return 0;
  long n = 0;
  for (; isdigit((unsigned char)*text); text++) {
    n = n * 10 + (*text - '0');
    if (n > TVMGO_PARALLEL_MAX_THREADS) n = TVMGO_PARALLEL_MAX_THREADS;
  }
  while (isspace((unsigned char)*text)) text++;
  return *text == '\0' || *text == ',' ? (int)n : 0;
}

/* Reads a file of one short line; 0 when it can't be read. */
static int read_line(const char* path, char* line, int cap) {
  FILE* f = fopen(path, "re");
  if (f == NULL) return 0;
  char* got = fgets(line, cap, f);
  fclose(f);
  return got != NULL;
}

static int cores_of_quota(long long quota, long long period) {
  if (quota <= 0 || period <= 0) return 0;
  long long cores = quota / period + (quota % period != 0);
  return cores > TVMGO_PARALLEL_MAX_THREADS ? TVMGO_PARALLEL_MAX_THREADS : (int)cores;
}

/* Quota of one folder: cpu.max of version 2, cpu.cfs_quota_us and cpu.cfs_period_us of version 1. */
static int quota_of_folder(const char* folder, int version) {
  char path[PATH_MAX], line[128];
  long long quota, period;
  if (version == 2) {
    if (snprintf(path, sizeof path, "%s/cpu.max", folder) >= (int)sizeof path) return 0;
    if (!read_line(path, line, sizeof line)) return 0;
    return sscanf(line, "%lld %lld", &quota, &period) == 2 ? cores_of_quota(quota, period) : 0;
  }
  if (snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder) >= (int)sizeof path) return 0;
  if (!read_line(path, line, sizeof line) || sscanf(line, "%lld", &quota) != 1) return 0;
  if (snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder) >= (int)sizeof path) return 0;
  if (!read_line(path, line, sizeof line) || sscanf(line, "%lld", &period) != 1) return 0;
  return cores_of_quota(quota, period);
}

/* The smallest quota from root/group up to root itself. In a container the group's path may be that of the host:
 * directories that do not exist have no quota. */
static int quota_of_group(const char* root, const char* group, int version) {
  char folder[PATH_MAX];
  int n = snprintf(folder, sizeof folder, "%s%s", root, group);
  if (n < 0 || n >= (int)sizeof folder) return 0;
  size_t root_len = strlen(root);
  int least = 0;
  for (;;) {
    int cores = quota_of_folder(folder, version);
    if (cores > 0 && (least == 0 || cores < least)) least = cores;
    char* slash = strrchr(folder, '/');
    if (slash == NULL || (size_t)(slash - folder) < root_len) return least;
    *slash = '\0';
  }
}

/* True when the comma-separated list names the cpu controller. */
static int lists_cpu(const char* list) {
  for (const char* p = list; p != NULL; p = strchr(p, ',')) {
    if (*p == ',') p++;
    if (strncmp(p, "cpu", 3) == 0 && (p[3] == ',' || p[3] == '\0')) return 1;
  }
  return 0;
}

int tvmgo_parallel_quota(const char* membership, const char* root) {
  FILE* f = fopen(membership, "re");
  if (f == NULL) return 0;
  char line[PATH_MAX + 64];
  int least = 0;
  while (fgets(line, sizeof line, f) != NULL) { /* id:controllers:group */
    line[strcspn(line, "\n")] = '\0';
    char* controllers = strchr(line, ':');
    char* group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
    if (group == NULL) continue;
    *group++ = '\0';
    controllers++;
    int cores = 0;
    if (*controllers == '\0') {
      cores = quota_of_group(root, group, 2);
    } else if (lists_cpu(controllers)) {
      char mount[PATH_MAX];
      if (snprintf(mount, sizeof mount, "%s/%s", root, controllers) >= (int)sizeof mount) continue;
      cores = quota_of_group(mount, group, 1);
      if (cores == 0 && snprintf(mount, sizeof mount, "%s/cpu", root) < (int)sizeof mount)
        cores = quota_of_group(mount, group, 1);
    }
    if (cores > 0 && (least == 0 || cores < least)) least = cores;
  }
  fclose(f);
  return least;
}

int tvmgo_parallel_affinity(cpu_set_t* set) {
  CPU_ZERO(set);
  return sched_getaffinity(getpid(), sizeof *set, set) == 0 ? CPU_COUNT(set) : 0;
}

int tvmgo_parallel_cores(void) {
  cpu_set_t set;
  int cores = tvmgo_parallel_affinity(&set);
  if (cores < 1) { /* more cores than a cpu_set_t holds */
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    cores = online < 1 ? 1 : online > INT_MAX ? INT_MAX : (int)online;
  }
  if (cores > TVMGO_PARALLEL_MAX_THREADS) cores = TVMGO_PARALLEL_MAX_THREADS;
  int quota = tvmgo_parallel_quota("/proc/self/cgroup", "/sys/fs/cgroup");
  return quota > 0 && quota < cores ? quota : cores;
}

int tvmgo_parallel_default(void) {
  int n = tvmgo_parallel_parse(getenv("TVM_NUM_THREADS"));
  if (n == 0) n = tvmgo_parallel_parse(getenv("OMP_NUM_THREADS"));
  return n != 0 ? n : tvmgo_parallel_cores();
}
