/* The private copy: bytes into a memory file, our addresses into its symbol table. */
#include "loader/loader.h"
#include "loader/elf_bind.h"
#include "loader/elf_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#ifndef MFD_EXEC
#define MFD_EXEC 0x10u
#endif

static int failed(const tvmgo_elf* elf, const char* what) {
  if (errno == ENOMEM) return tvmgo_raise_oom();
  return tvmgo_raise_system(errno, TVMGO_RUNTIME_ERROR, "load %s: making a private copy: %s: %s", elf->name, what,
                            strerror(errno));
}

static int write_at(int fd, const void* data, uint64_t size, uint64_t offset) {
  for (uint64_t done = 0; done < size;) {
    ssize_t n = pwrite(fd, (const char*)data + done, size - done, (off_t)(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return -1;
    done += (uint64_t)n;
  }
  return 0;
}

/* For file systems that sendfile cannot read from. */
static int copy_by_hand(const tvmgo_elf* elf, int fd, uint64_t from) {
  enum { CHUNK = 1 << 16 };
  char* buffer = malloc(CHUNK);
  if (buffer == NULL) return tvmgo_raise_oom();
  int rc = 0;
  while (rc == 0 && from < elf->size) {
    uint64_t n = elf->size - from < CHUNK ? elf->size - from : CHUNK;
    rc = tvmgo_elf_peek(elf, from, buffer, n);
    if (rc == 0 && write_at(fd, buffer, n, from) != 0) rc = failed(elf, "write");
    from += n;
  }
  free(buffer);
  return rc;
}

static int copy_bytes(const tvmgo_elf* elf, int fd) {
  if (elf->fd < 0) return write_at(fd, elf->bytes, elf->size, 0) == 0 ? 0 : failed(elf, "write");
  off_t from = 0;
  while ((uint64_t)from < elf->size) {
    ssize_t n = sendfile(fd, elf->fd, &from, elf->size - (uint64_t)from);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == ENOSPC || errno == ENOMEM || errno == EIO)) return failed(elf, "write");
    if (n <= 0) return copy_by_hand(elf, fd, (uint64_t)from);
  }
  return 0;
}

/* A range of the symbol table that was changed. */
typedef struct {
  size_t low, high; /* low > high: nothing */
} changed;

static void change(changed* c, size_t i) {
  if (i < c->low) c->low = i;
  if (i > c->high) c->high = i;
}

/* Turns each undefined name of ours into a local, absolute definition. A local symbol is bound
 * without a look-up, so neither a missing nor a foreign definition of the name matters, and NOW
 * flags may stay: a file linked with them has no code to bind its other imports later. ld.so before
 * glibc 2.28 adds the load address to absolute symbols; tvmgo_elf_bind corrects that afterwards. */
static void define_ours(tvmgo_elf* elf, changed* c) {
  Elf64_Sym* symbols = elf->symtab.data;
  for (size_t i = 0; i < elf->num_sites; i++) {
    const tvmgo_elf_site* s = &elf->sites[i];
    if (s->binding == NULL) continue;
    Elf64_Sym* sym = &symbols[s->symbol];
    sym->st_info = ELF64_ST_INFO(STB_LOCAL, STT_NOTYPE);
    sym->st_other = STV_HIDDEN;
    sym->st_shndx = SHN_ABS;
    sym->st_value = (uint64_t)(uintptr_t)tvmgo_binding_address(s->binding, elf->generation);
    change(c, s->symbol);
  }
}

/* Makes unique definitions ordinary ones. gcc binds the inline statics of C++ as unique: one in the process, whoever
 * else defines the name. A private copy shares nothing, and glibc never unmaps a library of which it has bound such a
 * name. */
static void own_unique(tvmgo_elf* elf, changed* c) {
  Elf64_Sym* symbols = elf->symtab.data;
  for (size_t i = 1; i < elf->num_symbols; i++) {
    Elf64_Sym* sym = &symbols[i];
    if (ELF64_ST_BIND(sym->st_info) != STB_GNU_UNIQUE || sym->st_shndx == SHN_UNDEF) continue;
    sym->st_info = ELF64_ST_INFO(STB_GLOBAL, ELF64_ST_TYPE(sym->st_info));
    change(c, i);
  }
}

static int edit_symbols(tvmgo_elf* elf, int fd) {
  changed c = {SIZE_MAX, 0};
  define_ours(elf, &c);
  own_unique(elf, &c);
  if (c.low > c.high) return 0;
  const Elf64_Sym* symbols = elf->symtab.data;
  uint64_t at = (uint64_t)c.low * sizeof *symbols, size = ((uint64_t)c.high - c.low + 1) * sizeof *symbols;
  return write_at(fd, symbols + c.low, size, elf->symtab.offset + at) == 0 ? 0 : failed(elf, "write");
}

/* A dependency on a TVM runtime is removed if this library defines everything that the file needs from it. */
static int drop_runtime(tvmgo_elf* elf, int fd) {
  Elf64_Dyn* d = elf->dynamic.data;
  if (!elf->needs_runtime || elf->runtime_versioned || elf->imports_unknown) return 0;
  for (; d->d_tag != DT_NULL; d++)
    if (d->d_tag == DT_NEEDED &&
        tvmgo_elf_is_runtime_library(tvmgo_elf_string(elf, d->d_un.d_val)))
      d->d_tag = DT_DEBUG; /* means nothing in a library */
  return write_at(fd, elf->dynamic.data, elf->dynamic.size, elf->dynamic.offset) == 0
             ? 0
             : failed(elf, "write");
}

/* The name is what /proc/self/maps shows. */
static int open_memory(const tvmgo_elf* elf) {
  char name[64];
  const char* slash = strrchr(elf->name, '/');
  snprintf(name, sizeof name, "tvmgo:%s", slash == NULL ? elf->name : slash + 1);
  int fd = memfd_create(name, MFD_CLOEXEC | MFD_EXEC);
  /* Kernels before 6.3 do not know the second flag, and do not need it. */
  return fd < 0 && errno == EINVAL ? memfd_create(name, MFD_CLOEXEC) : fd;
}

static int open_temporary(tvmgo_elf_copy* c) {
  const char* dir = getenv("TMPDIR");
  if (dir == NULL || dir[0] != '/' || strchr(dir, '$') != NULL) dir = "/tmp";
  int n = snprintf(c->path, sizeof c->path, "%s/tvmgo-XXXXXX.so", dir);
  if (n < 0 || (size_t)n >= sizeof c->path)
    snprintf(c->path, sizeof c->path, "/tmp/tvmgo-XXXXXX.so");
  return mkostemps(c->path, 3, O_CLOEXEC);
}

int tvmgo_elf_copy_make(tvmgo_elf* elf, int in_memory, tvmgo_elf_copy* out) {
  out->is_file = !in_memory;
  out->fd = in_memory ? open_memory(elf) : open_temporary(out);
  if (out->fd < 0) {
    out->is_file = 0;
    return failed(elf, in_memory ? "memfd_create" : out->path);
  }
  if (in_memory) snprintf(out->path, sizeof out->path, "/proc/self/fd/%d", out->fd);
  if (copy_bytes(elf, out->fd) == 0 && edit_symbols(elf, out->fd) == 0 &&
      drop_runtime(elf, out->fd) == 0)
    return 0;
  tvmgo_elf_copy_opened(out);
  tvmgo_elf_copy_close(out);
  return -1;
}

int tvmgo_elf_copy_rename(tvmgo_elf_copy* copy) {
  int fd = copy->is_file ? -1 : fcntl(copy->fd, F_DUPFD_CLOEXEC, copy->fd + 1);
  if (fd < 0) return -1;
  close(copy->fd);
  copy->fd = fd;
  snprintf(copy->path, sizeof copy->path, "/proc/self/fd/%d", fd);
  return 0;
}

void tvmgo_elf_copy_opened(tvmgo_elf_copy* copy) {
  if (!copy->is_file) return;
  unlink(copy->path);
  copy->is_file = 0;
  tvmgo_elf_copy_close(copy); /* the path was unique: the file need not be kept */
}

void tvmgo_elf_copy_close(tvmgo_elf_copy* copy) {
  if (copy->fd >= 0) close(copy->fd);
  copy->fd = -1;
}
