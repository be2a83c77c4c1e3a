/* Lifetime of mappings, and the table of open files. */
#include "loader/loader.h"
#include "loader/mapping.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

/* Held for a few instructions only, never across a call of ld.so: a constructor may load a file, and
 * it runs under ld.so's own lock. */
pthread_mutex_t tvmgo_mapping_lock = PTHREAD_MUTEX_INITIALIZER;
static tvmgo_mapping* all;
/* A mapping was opened or removed. */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
enum { OPENING_SECONDS = 60 };

tvmgo_mapping* tvmgo_mapping_new(const tvmgo_elf* elf, const struct stat* file) {
  size_t n = 0;
  for (size_t i = 0; i < elf->phnum; i++) n += elf->phdr[i].p_type == PT_LOAD;
  tvmgo_mapping* m = calloc(1, sizeof *m + n * sizeof *m->ranges);
  if (m == NULL) {
    tvmgo_raise_oom();
    return NULL;
  }
  m->refs = 1;
  m->file = *file;
  m->generation = elf->generation;
  m->copy.fd = -1;
  m->num_ranges = n;
  return m;
}

static int same_file(const struct stat* a, const struct stat* b) {
  return a->st_ino != 0 && a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

/* A file that was overwritten in place keeps its inode number. */
static int same_content(const struct stat* a, const struct stat* b) {
  return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
         a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Under the lock: a mapping that can be shared, or else one that another load is opening and that must not be opened
 * twice, to wait for. *unchecked: mine was checked, and there is one that was not and that must not be opened twice. */
static tvmgo_mapping* find_same(tvmgo_mapping* mine, tvmgo_mapping** pending, int* unchecked) {
  *pending = NULL;
  for (tvmgo_mapping* o = all; o != NULL; o = o->next) {
    if (!same_file(&o->file, &mine->file)) continue;
    if (o->is_direct) mine->is_direct = 0;
    if (!mine->is_shareable || !o->is_shareable || !same_content(&o->file, &mine->file)) continue;
    if (mine->is_checked && !o->is_checked) {
      *unchecked |= mine->is_kept;
      continue;
    }
    if (o->is_open) return o;
    if (mine->is_kept) *pending = o;
  }
  return NULL;
}

/* Under the lock, which is released while waiting. 0 if the table may have changed. */
static int wait_for(const tvmgo_mapping* pending, const char* name) {
  struct timespec until;
  if (pthread_equal(pending->opener, pthread_self()))
    return tvmgo_raise(TVMGO_RUNTIME_ERROR, "load %s: a constructor of it loads it again", name);
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += OPENING_SECONDS;
  if (pthread_cond_timedwait(&changed, &tvmgo_mapping_lock, &until) == 0) return 0;
  return tvmgo_raise(TVMGO_RUNTIME_ERROR,
                     "load %s: another thread has been loading it for %d s and is not done; it must be "
                     "loaded once only, because it registers functions or types",
                     name, OPENING_SECONDS);
}

int tvmgo_mapping_enter(tvmgo_mapping** m, const char* name) {
  tvmgo_mapping *mine = *m, *pending, *shared;
  int rc = 0, unchecked = 0;
  mine->opener = pthread_self();
  TVMFFIObject* earlier = tvmgo_error_take();
  pthread_mutex_lock(&tvmgo_mapping_lock);
  while ((shared = find_same(mine, &pending, &unchecked)) == NULL && pending != NULL && rc == 0)
    rc = wait_for(pending, name);
  if (shared != NULL) {
    shared->refs++;
  } else if (unchecked) {
    rc = -1;
  } else if (rc == 0) {
    mine->next = all;
    if (all != NULL) all->prev = mine;
    all = mine;
  }
  pthread_mutex_unlock(&tvmgo_mapping_lock);
  tvmgo_error_put_back(earlier);
  if (shared == NULL && unchecked)
    tvmgo_raise(TVMGO_UNTRUSTED_ERROR,
                "load %s: the process has loaded it before without a check of its signature, and it must be loaded "
                "once only, because it registers functions or types: check its signature the first time",
                name);
  if (shared == NULL && rc == 0) return 0;
  free(mine);
  *m = shared;
  return shared != NULL ? 1 : -1;
}

void tvmgo_mapping_leave_file(tvmgo_mapping* m) {
  pthread_mutex_lock(&tvmgo_mapping_lock);
  m->is_direct = 0;
  pthread_mutex_unlock(&tvmgo_mapping_lock);
}

void tvmgo_mapping_settle(tvmgo_mapping* m) {
  if (!m->is_kept) tvmgo_live_add(TVMGO_LIVE_MAPPINGS, 1);
  pthread_mutex_lock(&tvmgo_mapping_lock);
  m->is_open = 1;
  m->refs += (size_t)m->is_kept; /* that of the process */
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&tvmgo_mapping_lock);
}

void tvmgo_mapping_release(tvmgo_mapping* m) {
  pthread_mutex_lock(&tvmgo_mapping_lock);
  int last = --m->refs == 0;
  if (last) {
    if (m->prev != NULL) m->prev->next = m->next;
    else all = m->next;
    if (m->next != NULL) m->next->prev = m->prev;
    pthread_cond_broadcast(&changed);
  }
  pthread_mutex_unlock(&tvmgo_mapping_lock);
  if (!last) return;
  if (tvmgo_can_enter_loader()) {
    if (m->handle != NULL) dlclose(m->handle);
    while (m->num_origin > 0) dlclose(m->origin[--m->num_origin]);
  }
  tvmgo_elf_copy_close(&m->copy);
  if (m->is_open) tvmgo_live_add(TVMGO_LIVE_MAPPINGS, -1);
  free(m->origin);
  free(m);
}

TVMGO_BEHIND_LD_SO
static int is_checked_file(const tvmgo_elf* elf, const struct link_map* map, const tvmgo_mapping* m) {
  if ((uintptr_t)map->l_ld - map->l_addr != elf->dynamic.vaddr) return 0;
  /* The program headers, if they are loaded: in the first segment, as a rule. */
  const Elf64_Ehdr* h = (const Elf64_Ehdr*)elf->head;
  uint64_t size = elf->phnum * sizeof *elf->phdr, k = 0;
  for (size_t i = 0; i < elf->phnum; i++) {
    const Elf64_Phdr* p = &elf->phdr[i];
    if (p->p_type != PT_LOAD) continue;
    const tvmgo_range* r = &m->ranges[k++];
    if (!(p->p_flags & PF_R) || p->p_offset > h->e_phoff ||
        h->e_phoff - p->p_offset > p->p_filesz || size > p->p_filesz - (h->e_phoff - p->p_offset))
      continue;
    return tvmgo_same_bytes((const char*)r->start + (h->e_phoff - p->p_offset), elf->phdr, size);
  }
  return 1;
}

TVMGO_BEHIND_LD_SO
int tvmgo_mapping_attach(tvmgo_mapping* m, const tvmgo_elf* elf, void* handle) {
  struct link_map* map = NULL;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map == NULL) {
    const char* why = dlerror();
    return tvmgo_raise(TVMGO_INTERNAL_ERROR, "load %s: dlinfo: %s", elf->name,
                       why == NULL ? "no link map" : why);
  }
  size_t k = 0;
  m->base = (char*)map->l_addr;
  for (size_t i = 0; i < elf->phnum; i++) {
    const Elf64_Phdr* p = &elf->phdr[i];
    if (p->p_type != PT_LOAD) continue;
    uintptr_t start = (uintptr_t)m->base + p->p_vaddr;
    m->ranges[k++] =
        (tvmgo_range){start, start + p->p_filesz, start + p->p_memsz, (p->p_flags & PF_W) != 0,
            (p->p_flags & PF_R) != 0};
  }
  m->relro = (uintptr_t)m->base + elf->relro_vaddr;
  m->relro_end = m->relro + elf->relro_size;
  if (!is_checked_file(elf, map, m)) return 1;
  tvmgo_elf_symbols_init(&m->symbols, elf, m->base);
  return 0;
}

const tvmgo_range* tvmgo_mapping_range(const tvmgo_mapping* m, uintptr_t p) {
  for (size_t i = 0; i < m->num_ranges; i++)
    if (p - m->ranges[i].start < m->ranges[i].end - m->ranges[i].start) return &m->ranges[i];
  return NULL;
}
