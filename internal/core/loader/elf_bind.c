/* Binding: names to addresses, addresses into relocation slots. */
#include "loader/loader.h"
#include "loader/elf_bind.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- names ---- */

enum { NUM_SLOTS = 512 };
static uint16_t slots[NUM_SLOTS]; /* index into tvmgo_bindings, plus one */

static uint32_t hash_of(const char* s) {
  uint32_t h = 2166136261u;
  for (; *s != 0; s++) h = (h ^ (unsigned char)*s) * 16777619u;
  return h ^ h >> 15;
}

static void prepare(void) {
  for (size_t i = 0; tvmgo_bindings[i].name != NULL && i < NUM_SLOTS - 1; i++) {
    uint32_t h = hash_of(tvmgo_bindings[i].name) % NUM_SLOTS;
    while (slots[h] != 0) h = (h + 1) % NUM_SLOTS;
    slots[h] = (uint16_t)(i + 1);
  }
}

static void prepare_once(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, prepare);
}

const tvmgo_binding* tvmgo_binding_find(const char* name) {
  if (name[0] != 'T' || name[1] != 'V' || name[2] != 'M') return NULL;
  prepare_once();
  for (uint32_t h = hash_of(name) % NUM_SLOTS; slots[h] != 0; h = (h + 1) % NUM_SLOTS) {
    const tvmgo_binding* b = &tvmgo_bindings[slots[h] - 1];
    if (strcmp(b->name, name) == 0) return b;
  }
  return NULL;
}

/* The handle of global scope is made without a lock of ours: dlopen takes ld.so's, under which a
 * constructor may be waiting for us. */
static void* find_global(const char* name) {
  static _Atomic(void*) global_scope;
  void* scope = atomic_load_explicit(&global_scope, memory_order_acquire);
  if (scope == NULL) {
    scope = dlopen(NULL, RTLD_LAZY);
    atomic_store_explicit(&global_scope, scope, memory_order_release);
  }
  return scope == NULL ? NULL : dlsym(scope, name);
}

int tvmgo_elf_sees_us(const tvmgo_elf* elf) {
  for (size_t i = 0; i < elf->num_sites; i++) {
    const tvmgo_binding* b = elf->sites[i].binding;
    if (b != NULL && find_global(b->name) != tvmgo_binding_address(b, elf->generation)) return 0;
  }
  return 1;
}

int tvmgo_elf_raise_missing(const tvmgo_elf* elf, const char* symbol) {
  const char* cure = strncmp(symbol, "TVM", 3) == 0
                         ? "this runtime does not have: export it for a version that it supports"
                         : "no loaded library defines: link it with the library that does";
  return tvmgo_raise(TVMGO_NOT_FOUND_ERROR, "load %s: it needs \"%s\", which %s", elf->name, symbol,
                     cure);
}

int tvmgo_elf_check_lazy(const tvmgo_elf* elf, void* handle) {
  for (size_t i = 0; i < elf->num_lazy; i++)
    if (dlsym(handle, elf->lazy[i]) == NULL && find_global(elf->lazy[i]) == NULL)
      return tvmgo_elf_raise_missing(elf, elf->lazy[i]);
  return 0;
}

/* ---- addresses ---- */

/* Makes pages writable that ld.so has made read-only, while they are written. */
typedef struct {
  char *start, *end;
  int prot;
} opened_pages;

static int protect(const tvmgo_elf* elf, const opened_pages* p, int prot) {
  if (p->start == p->end || mprotect(p->start, (size_t)(p->end - p->start), prot) == 0) return 0;
  return tvmgo_raise_system(errno, TVMGO_RUNTIME_ERROR, "load %s: binding its imports: mprotect: %s", elf->name,
                            strerror(errno));
}

static int reopen(const tvmgo_elf* elf, opened_pages* now, const opened_pages* next) {
  if (protect(elf, now, now->prot) != 0) return -1;
  now->start = now->end = NULL;
  if (protect(elf, next, PROT_READ | PROT_WRITE | (next->prot & PROT_EXEC)) != 0) return -1;
  *now = *next;
  return 0;
}

/* The pages around a location that is not writable; start == end if it is writable. */
static opened_pages pages_of(const tvmgo_elf* elf, char* base, uint64_t offset, uint64_t page) {
  opened_pages p = {NULL, NULL, PROT_READ};
  uint64_t from = elf->relro_vaddr & ~(page - 1);
  uint64_t to = (elf->relro_vaddr + elf->relro_size) & ~(page - 1);
  const Elf64_Phdr* load = tvmgo_elf_load_at(elf, offset, 8, 0);
  if (load != NULL && !(load->p_flags & PF_W)) { /* text relocations */
    p.prot = ((load->p_flags & PF_R) ? PROT_READ : 0) | ((load->p_flags & PF_X) ? PROT_EXEC : 0);
    from = load->p_vaddr & ~(page - 1);
    to = (load->p_vaddr + load->p_memsz + page - 1) & ~(page - 1);
  }
  if (from <= offset && offset < to) {
    p.start = base + from;
    p.end = base + to;
  }
  return p;
}

TVMGO_BEHIND_LD_SO
int tvmgo_elf_bind(const tvmgo_elf* elf, char* base) {
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  opened_pages open = {NULL, NULL, 0};
  for (size_t i = 0; i < elf->num_sites; i++) {
    const tvmgo_elf_site* s = &elf->sites[i];
    char* at = base + s->offset;
    uint64_t value = s->value, old;
    value += s->binding == NULL ? (uint64_t)(uintptr_t)base
                                : (uint64_t)(uintptr_t)tvmgo_binding_address(s->binding,
                                                                             elf->generation);
    memcpy(&old, at, sizeof old);
    if (old == value) continue;
    opened_pages p = pages_of(elf, base, s->offset, page);
    if (p.start != p.end && (p.start != open.start || p.end != open.end) &&
        reopen(elf, &open, &p) != 0)
      return -1;
    if ((uintptr_t)at % 8 == 0)
      __atomic_store_n((uint64_t*)(void*)at, value, __ATOMIC_RELEASE);
    else
      memcpy(at, &value, sizeof value);
  }
  return protect(elf, &open, open.prot);
}
