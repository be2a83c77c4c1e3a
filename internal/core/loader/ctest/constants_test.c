/* Constants of a mapped file: which are views, what the others cost, and that writes to them stay in the process. */
#include "ctest/check.h"
#include "loader/constants.h"
#include "loader/file_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SIZE = 6 << 20, MAX = 8 };

/* A mapped file whose byte i is pattern(i), and an object that stands for its owner. */
typedef struct {
  char path[64];
  char* data;
  TVMFFIObject* owner;
} mapped;

static unsigned char pattern(size_t i) { return (unsigned char)(i * 31 >> 3); }

static void map_file(mapped* m, int protection) {
  strcpy(m->path, "/tmp/tvmgo-constants-XXXXXX");
  int fd = mkstemp(m->path);
  char* content = malloc(SIZE);
  for (size_t i = 0; i < SIZE; i++) content[i] = (char)pattern(i);
  CHECK(fd >= 0 && write(fd, content, SIZE) == SIZE);
  free(content);
  m->data = mmap(NULL, SIZE, protection, MAP_PRIVATE, fd, 0);
  close(fd);
  CHECK(m->data != MAP_FAILED);
  TVMFFIAny owner;
  CHECK_OK(tvmgo_bytes_make("the owner of the file", 21, &owner));
  m->owner = owner.v_obj;
}

static void unmap_file(mapped* m) {
  CHECK_EQ_INT(m->owner->combined_ref_count & UINT32_MAX, 1);
  tvmgo_object_release(m->owner);
  munmap(m->data, SIZE);
  unlink(m->path);
}

typedef struct {
  size_t at, size;
} part;

static tvmgo_constants* place(const mapped* m, const part* parts, int n, int has_owner) {
  tvmgo_constant_bytes list[MAX];
  for (int i = 0; i < n; i++) list[i] = (tvmgo_constant_bytes){m->data + parts[i].at, parts[i].size};
  return tvmgo_constants_new(list, n, has_owner);
}

static TVMFFIObject* tensor_of(const mapped* m, tvmgo_constants* c, int i, size_t size) {
  int64_t shape[] = {(int64_t)size};
  DLTensor like = {.device = {kDLCPU, 1}, .ndim = 1, .dtype = {kDLUInt, 8, 1}, .shape = shape};
  return tvmgo_constants_tensor(c, i, &like, m->owner);
}

static int holds(TVMFFIObject* t, part p) {
  const unsigned char* data = tvmgo_tensor_dl(t)->data;
  for (size_t i = 0; i < p.size; i++)
    if (data[i] != pattern(p.at + i)) return 0;
  return (uintptr_t)data % 64 == 0;
}

/* The bytes of the mappings of a file that are in the memory of the process. */
static size_t resident(const mapped* m) {
  char line[512];
  size_t sum = 0, kib;
  int inside = 0;
  FILE* f = fopen("/proc/self/smaps", "r");
  while (f != NULL && fgets(line, sizeof line, f) != NULL) {
    if (strspn(line, "0123456789abcdef") >= 8) inside = strstr(line, m->path) != NULL;
    if (inside && sscanf(line, "Rss: %zu kB", &kib) == 1) sum += kib << 10;
  }
  if (f != NULL) fclose(f);
  return sum;
}

/* Views of aligned constants, and one copy of the others behind which the file's pages are released. What was written
 * to a view stays: here one ends in the page in which a small constant lies, before a large one. */
static void test_views_and_copies(void) {
  static const part parts[] = {{64, 5000}, {5072, 100}, {5180, 4 << 20}, {0, 0}, {5 << 20, 20000},
                               {(5 << 20) + 20001, 100000}};
  const int n = 6;
  mapped m;
  int64_t bytes = check_live(TVMGO_LIVE_TENSOR_BYTES);
  map_file(&m, PROT_READ);
  tvmgo_constants* c = place(&m, parts, n, 1);
  REQUIRE(c != NULL);
  CHECK_EQ_INT(tvmgo_constants_copied(c), 128 + (4 << 20) + 100032);
  TVMFFIObject* t[6];
  for (int i = 0; i < n; i++) t[i] = tensor_of(&m, c, i, parts[i].size);
  for (int i = 0; i < n; i++) REQUIRE(t[i] != NULL);
  CHECK_EQ_INT(tvmgo_tensor_dl(t[0])->device.device_id, 1);
  CHECK(tvmgo_tensor_dl(t[0])->data == m.data + 64 && tvmgo_tensor_dl(t[4])->data == m.data + (5 << 20));
  CHECK(resident(&m) < 1 << 20); /* nothing was read */
  unsigned char* last = (unsigned char*)tvmgo_tensor_dl(t[0])->data + 4999;
  unsigned char* middle = (unsigned char*)tvmgo_tensor_dl(t[4])->data + 9000;
  *last ^= 255;
  *middle ^= 255;
  tvmgo_constants_fill(c);
  CHECK_EQ_INT(*last, 255 ^ pattern(64 + 4999));
  CHECK_EQ_INT(*middle, 255 ^ pattern((5 << 20) + 9000));
  *last ^= 255;
  *middle ^= 255;
  CHECK(resident(&m) < 1 << 20);
  for (int i = 0; i < n; i++)
    if (i != 3) CHECK(holds(t[i], parts[i]));
  tvmgo_constants_release(c);
  tvmgo_object_release(t[1]);
  CHECK(holds(t[2], parts[2]));
  for (int i = 0; i < n; i++)
    if (i != 1) tvmgo_object_release(t[i]);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_TENSOR_BYTES), bytes);
  unmap_file(&m);
}

/* There are no views of memory without owner, of memory that can be written already, and of memory of no file. */
static void test_copies(void) {
  static const part parts[] = {{64, 3 << 20}, {4 << 20, 100}};
  for (int k = 0; k < 3; k++) {
    mapped m;
    map_file(&m, k == 1 ? PROT_READ | PROT_WRITE : PROT_READ);
    char *file = m.data, *heap = aligned_alloc(64, SIZE);
    memcpy(heap, m.data, SIZE);
    if (k == 2) m.data = heap;
    tvmgo_constants* c = place(&m, parts, 2, k > 0);
    m.data = file;
    REQUIRE(c != NULL);
    CHECK_EQ_INT(tvmgo_constants_copied(c), (3 << 20) + 128);
    TVMFFIObject* t = tensor_of(&m, c, 0, parts[0].size);
    if (k == 1) m.data[70000] ^= 255; /* stays, because pages that can be written are not released */
    tvmgo_constants_fill(c);
    if (k == 1) {
      CHECK_EQ_INT((unsigned char)m.data[70000], 255 ^ pattern(70000));
      ((char*)tvmgo_tensor_dl(t)->data)[70000 - 64] ^= 255;
    }
    CHECK(holds(t, parts[0]));
    tvmgo_object_release(t);
    tvmgo_constants_release(c);
    free(heap);
    unmap_file(&m);
  }
}

/* A view keeps the owner alive, also when the constants are released. */
static void test_owner(void) {
  static const part parts[] = {{128, 4096}, {8192, 4096}};
  mapped m;
  map_file(&m, PROT_READ);
  tvmgo_constants* c = place(&m, parts, 2, 1);
  REQUIRE(c != NULL);
  CHECK_EQ_INT(tvmgo_constants_copied(c), 0);
  TVMFFIObject *a = tensor_of(&m, c, 0, 4096), *b = tensor_of(&m, c, 1, 4096);
  tvmgo_constants_release(c);
  CHECK_EQ_INT(m.owner->combined_ref_count & UINT32_MAX, 3);
  tvmgo_object_release(a);
  CHECK(holds(b, parts[1]));
  tvmgo_object_release(b);
  unmap_file(&m);
}

static tvmgo_constants* shared;
static TVMFFIObject* shared_tensor;

static void* fill_and_read(void* wrong) {
  static const part p = {65, 5 << 20};
  tvmgo_constants_fill(shared);
  if (!holds(shared_tensor, p)) atomic_fetch_add((_Atomic int*)wrong, 1);
  return NULL;
}

/* Many threads make the first call at once: one copies, and the others wait for it. */
static void test_threads(void) {
  static const part p = {65, 5 << 20};
  enum { THREADS = 8 };
  pthread_t threads[THREADS];
  _Atomic int wrong = 0;
  mapped m;
  map_file(&m, PROT_READ);
  shared = place(&m, &p, 1, 1);
  REQUIRE(shared != NULL);
  shared_tensor = tensor_of(&m, shared, 0, p.size);
  for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, fill_and_read, &wrong);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  CHECK_EQ_INT(wrong, 0);
  tvmgo_object_release(shared_tensor);
  tvmgo_constants_release(shared);
  unmap_file(&m);
}

/* Properties of memory that consists of several mappings, of none, and of the program's code. */
static void test_maps(void) {
  mapped m;
  map_file(&m, PROT_READ);
  size_t page = tvmgo_page_size();
  CHECK_EQ_INT(tvmgo_file_unlock(m.data + 10 * page + 7, 100), 0);
  m.data[10 * page] = 1;
  tvmgo_file_maps* maps = tvmgo_file_maps_read();
  REQUIRE(maps != NULL);
  CHECK_EQ_INT(tvmgo_file_maps_find(maps, m.data, 10 * page), TVMGO_FILE_MAPPED);
  CHECK_EQ_INT(tvmgo_file_maps_find(maps, m.data, 10 * page + 1), TVMGO_FILE_MAPPED | TVMGO_FILE_WRITABLE);
  CHECK_EQ_INT(tvmgo_file_maps_find(maps, m.data + 11 * page, SIZE - 11 * page), TVMGO_FILE_MAPPED);
  CHECK_EQ_INT(tvmgo_file_maps_find(maps, m.data, SIZE), TVMGO_FILE_MAPPED | TVMGO_FILE_WRITABLE);
  CHECK_EQ_INT(tvmgo_file_maps_find(maps, (char*)test_maps, 1), TVMGO_FILE_MAPPED | TVMGO_FILE_CODE);
  CHECK_EQ_INT(tvmgo_file_maps_find(maps, &m, sizeof m), 0);
  CHECK_EQ_INT(tvmgo_file_maps_find(maps, (void*)(uintptr_t)4096, 1), 0);
  CHECK_EQ_INT(tvmgo_file_maps_find(NULL, m.data, 1), 0);
  tvmgo_file_maps_free(maps);
  unmap_file(&m);
}

int main(int argc, char** argv) {
  check_begin(argc, argv);
  RUN(test_views_and_copies);
  RUN(test_copies);
  RUN(test_owner);
  RUN(test_threads);
  RUN(test_maps);
  return check_end();
}
