/* The private copy: bytes into a memory file, our addresses into its symbol table. */
#include "loader/loader.h"
#include "loader/elf_bind.h"
#include "loader/copy_file.h"
#include "loader/elf_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int failed(const tvmgo_elf* elf, const char* what) {
  if (errno == ENOMEM) return tvmgo_raise_oom();
  return tvmgo_raise_system(errno, TVMGO_RUNTIME_ERROR, "load %s: making a private copy: %s: %s", elf->name, what,
                            strerror(errno));
}

static int copy_bytes(const tvmgo_elf* elf, int fd) {
  if (elf->fd < 0) return tvmgo_write_at(fd, elf->bytes, elf->size, 0) == 0 ? 0 : failed(elf, "write");
  int rc = tvmgo_copy_file(elf->fd, fd, elf->size);
  return rc == 0 ? 0 : rc < 0 ? failed(elf, "copy") : tvmgo_elf_corrupt(elf, "it became shorter while it was read");
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
  return tvmgo_write_at(fd, symbols + c.low, size, elf->symtab.offset + at) == 0 ? 0 : failed(elf, "write");
}

/* A dependency on a TVM runtime is removed if this library defines everything that the file needs from it. */
static int drop_runtime(tvmgo_elf* elf, int fd) {
  Elf64_Dyn* d = elf->dynamic.data;
  if (!elf->needs_runtime || elf->runtime_versioned || elf->imports_unknown) return 0;
  for (; d->d_tag != DT_NULL; d++)
    if (d->d_tag == DT_NEEDED &&
        tvmgo_elf_is_runtime_library(tvmgo_elf_string(elf, d->d_un.d_val)))
      d->d_tag = DT_DEBUG; /* means nothing in a library */
  return tvmgo_write_at(fd, elf->dynamic.data, elf->dynamic.size, elf->dynamic.offset) == 0
             ? 0
             : failed(elf, "write");
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
  int is_given = in_memory && elf->is_checked; /* it is such a copy already: a second one would cost as much again */
  out->fd = is_given    ? fcntl(elf->fd, F_DUPFD_CLOEXEC, 0)
            : in_memory ? tvmgo_memory_file(elf->name)
                        : open_temporary(out);
  if (out->fd < 0) {
    out->is_file = 0;
    return failed(elf, in_memory ? "memfd_create" : out->path);
  }
  if (in_memory) snprintf(out->path, sizeof out->path, "/proc/self/fd/%d", out->fd);
  if ((is_given || copy_bytes(elf, out->fd) == 0) && edit_symbols(elf, out->fd) == 0 &&
      drop_runtime(elf, out->fd) == 0) {
    if (elf->is_checked) tvmgo_seal_bytes(out->fd);
    return 0;
  }
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
