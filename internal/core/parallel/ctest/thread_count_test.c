/* How many threads a launch has. */
#include "parallel/ctest/launches.h"
#include "parallel/thread_count.h"

#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

static void test_size_from_environment(void) {
  int cores = tvmgo_parallel_cores();
  CHECK(cores >= 1 && cores <= TVMGO_PARALLEL_MAX_THREADS);
  const struct {
    const char *tvm, *omp;
    int want;
  } cases[] = {
      {"3", "5", 3},       {NULL, "5", 5},     {"0", "5", 5},      {"-2", "5", 5},
      {"many", "5", 5},    {"3x", "5", 5},     {"", "5", 5},       {" 3 ", "5", 3},
      {NULL, "4,2", 4},    {NULL, "0", cores}, {NULL, NULL, cores}, {"1e3", NULL, cores},
      {"99999999999999999999", NULL, TVMGO_PARALLEL_MAX_THREADS},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    set_env(cases[i].tvm, cases[i].omp);
    CHECK_EQ_INT(tvmgo_parallel_default(), cases[i].want);
  }
  set_env("4", NULL);
}

static void write_file(const char* dir, const char* name, const char* text) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  for (char* p = path + 1; (p = strchr(p, '/')) != NULL; p++) {
    *p = '\0';
    mkdir(path, 0700);
    *p = '/';
  }
  FILE* f = fopen(path, "w");
  REQUIRE(f != NULL);
  fputs(text, f);
  fclose(f);
}

static int quota(const char* dir) {
  char membership[512];
  snprintf(membership, sizeof membership, "%s/cgroup", dir);
  return tvmgo_parallel_quota(membership, dir);
}

static void test_quota_of_cgroup(void) {
  char v2[] = "/tmp/tvmgo-cgroup-XXXXXX", v1[] = "/tmp/tvmgo-cgroup-XXXXXX";
  REQUIRE(mkdtemp(v2) != NULL && mkdtemp(v1) != NULL);
  CHECK_EQ_INT(quota(v2), 0); /* nothing there */
  write_file(v2, "cgroup", "0::/pod/job\n");
  CHECK_EQ_INT(quota(v2), 0);
  write_file(v2, "pod/job/cpu.max", "max 100000\n");
  CHECK_EQ_INT(quota(v2), 0);
  write_file(v2, "pod/job/cpu.max", "250000 100000\n");
  CHECK_EQ_INT(quota(v2), 3); /* rounded up */
  write_file(v2, "pod/cpu.max", "150000 100000\n");
  CHECK_EQ_INT(quota(v2), 2); /* the group above is tighter */
  write_file(v2, "cpu.max", "1000 100000\n");
  CHECK_EQ_INT(quota(v2), 1);
  write_file(v2, "cpu.max", "garbage\n");
  CHECK_EQ_INT(quota(v2), 2);
  write_file(v2, "cgroup", "0::/not/mounted/here\n");
  CHECK_EQ_INT(quota(v2), 0);
  write_file(v2, "cpu.max", "400000 100000\n"); /* a container's own group is the root */
  CHECK_EQ_INT(quota(v2), 4);

  write_file(v1, "cgroup", "5:memory:/job\n4:cpu,cpuacct:/job\n1:cpuset:/job\n");
  CHECK_EQ_INT(quota(v1), 0);
  write_file(v1, "cpu,cpuacct/job/cpu.cfs_quota_us", "-1\n");
  write_file(v1, "cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  CHECK_EQ_INT(quota(v1), 0);
  write_file(v1, "cpu,cpuacct/job/cpu.cfs_quota_us", "620000\n");
  CHECK_EQ_INT(quota(v1), 7);
  char command[128];
  snprintf(command, sizeof command, "rm -r %s %s", v1, v2);
  CHECK_EQ_INT(system(command), 0);
}

static void test_configure(void) {
  CHECK_FAILS(tvmgo_parallel_configure(TVMGO_PARALLEL_MAX_THREADS + 1), TVMGO_VALUE_ERROR,
              "at most 1024");
  for (int n = 1; n <= 9; n++) {
    record r = {0};
    CHECK_OK(tvmgo_parallel_configure(n));
    CHECK_EQ_INT(tvmgo_parallel_threads(), n);
    CHECK_OK(TVMBackendParallelLaunch(note, &r, 0));
    check_ran(&r, n);
  }
  record r = {0};
  CHECK_OK(tvmgo_parallel_configure(1));
  CHECK_OK(TVMBackendParallelLaunch(note, &r, 3)); /* one thread runs everything as one task */
  check_ran(&r, 1);
  CHECK_OK(tvmgo_parallel_configure(0));
  CHECK_EQ_INT(tvmgo_parallel_threads(), tvmgo_parallel_default());
  CHECK_OK(tvmgo_parallel_configure(THREADS));
}

int main(int argc, char** argv) {
  set_env("4", NULL);
  check_begin(argc, argv);
  RUN(test_size_from_environment);
  RUN(test_quota_of_cgroup);
  RUN(test_configure);
  return check_end();
}
