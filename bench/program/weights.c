/* A model with weights: what it costs to load it, compared with mapping its file, and how much memory it takes.
 *
 *   weights load SMALL FILE      nanoseconds to load FILE and to make a session of its executable on the CPU
 *   weights map SMALL FILE       nanoseconds to map FILE, without reading it
 *   weights first SMALL FILE     nanoseconds of the first call, which reads every weight
 *   weights resident SMALL FILE  bytes of memory that the process has more after the first call
 *   weights peak SMALL FILE      bytes of memory that the process had more at most
 *   weights bytes SMALL FILE     bytes of the weights
 *
 * The function main of the executable calls the global function bench.weights with its constants. SMALL, a model with a
 * function main and without weights, is loaded before, so that the runtime has started. */
#include "program.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

void bench_fail(const char* what) {
  TVMFFIObjectHandle error = NULL;
  TVMFFIErrorMoveFromRaised(&error);
  const TVMFFIErrorCell* cell = error == NULL ? NULL : TVMFFIErrorGetCellPtr(error);
  fprintf(stderr, "weights: %s: %.*s\n", what, cell == NULL ? 0 : (int)cell->message.size,
          cell == NULL ? "" : cell->message.data);
  exit(1);
}

TVMFFIObjectHandle bench_global(const char* name) {
  TVMFFIByteArray n = {name, strlen(name)};
  TVMFFIObjectHandle f = NULL;
  if (TVMFFIFunctionGetGlobal(&n, &f) != 0 || f == NULL) bench_fail(name);
  return f;
}

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000 + t.tv_nsec;
}

/* A line of /proc/self/status, in bytes. */
static int64_t status(const char* key) {
  char line[256];
  long long kib = -1;
  FILE* f = fopen("/proc/self/status", "r");
  while (f != NULL && fgets(line, sizeof line, f) != NULL)
    if (strncmp(line, key, strlen(key)) == 0) sscanf(line + strlen(key), ": %lld", &kib);
  if (kib < 0) bench_fail(key);
  fclose(f);
  return kib << 10;
}

static size_t bytes_read;

/* bench.weights(tensors...): reads them. */
static int read_weights(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  (void)self;
  uint64_t sum = 0;
  for (int32_t i = 0; i < n; i++) {
    const DLTensor* t = TVMFFITensorGetDLTensorPtr(args[i].v_obj);
    size_t words = 1;
    for (int d = 0; d < t->ndim; d++) words *= (size_t)t->shape[d];
    const uint32_t* data = t->data; /* elements of 32 bits */
    for (size_t k = 0; k < words; k++) sum += data[k];
    bytes_read += 4 * words;
  }
  *result = bench_int((int64_t)(sum >> 1));
  return 0;
}

static TVMFFIAny function_of(TVMFFIAny module, const char* name) {
  TVMFFIObjectHandle get = bench_global("ffi.ModuleGetFunction");
  TVMFFIAny args[3] = {module, bench_text(name), {.type_index = kTVMFFIBool}};
  TVMFFIAny f = bench_call(get, args, 3);
  if (f.type_index != kTVMFFIFunction) bench_fail(name);
  TVMFFIObjectDecRef(get);
  return f;
}

/* The function main of a session; what made it is released. */
static TVMFFIAny load(const char* file) {
  TVMFFIObjectHandle load_file = bench_global("ffi.ModuleLoadFromFile");
  TVMFFIAny path = bench_text(file), library = bench_call(load_file, &path, 1);
  TVMFFIAny make = function_of(library, "vm_load_executable"), session = bench_call(make.v_obj, NULL, 0);
  TVMFFIAny start = function_of(session, "vm_initialization");
  TVMFFIAny host[3] = {bench_int(kDLCPU), bench_int(0), bench_int(2)};
  bench_release(bench_call(start.v_obj, host, 3));
  TVMFFIAny f = function_of(session, "main");
  TVMFFIAny done[] = {start, session, make, library};
  for (size_t i = 0; i < sizeof done / sizeof *done; i++) bench_release(done[i]);
  TVMFFIObjectDecRef(load_file);
  return f;
}

static int64_t map(const char* file) {
  struct stat s;
  int64_t from = now();
  int fd = open(file, O_RDONLY | O_CLOEXEC);
  if (fd < 0 || fstat(fd, &s) != 0 || mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED)
    bench_fail(file);
  close(fd);
  return now() - from;
}

int main(int argc, char** argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: weights load|map|first|resident|peak|bytes SMALL FILE\n");
    return 2;
  }
  const char *what = argv[1], *file = argv[3];
  if (strcmp(what, "map") == 0) {
    printf("%lld\n", (long long)map(file));
    return 0;
  }
  TVMFFIByteArray name = {"bench.weights", strlen("bench.weights")};
  TVMFFIObjectHandle read = NULL;
  bench_check(TVMFFIFunctionCreate(NULL, read_weights, NULL, &read), "make a function");
  bench_check(TVMFFIFunctionSetGlobal(&name, read, 0), "register a function");
  bench_release(load(argv[2]));
  int64_t resident = status("VmRSS"), begin = now();
  TVMFFIAny f = load(file);
  int64_t loaded = now();
  if (strcmp(what, "load") == 0) {
    printf("%lld\n", (long long)(loaded - begin));
    return 0;
  }
  bench_release(bench_call(f.v_obj, NULL, 0));
  long long first = now() - loaded, more = status("VmRSS") - resident, most = status("VmHWM") - resident;
  printf("%lld\n", strcmp(what, "first") == 0      ? first
                   : strcmp(what, "resident") == 0 ? more
                   : strcmp(what, "peak") == 0     ? most
                                                   : (long long)bytes_read);
  return 0;
}
