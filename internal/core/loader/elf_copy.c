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

/* Notes why the copy cannot be made there. */
static int failed(tvmgo_elf_copy* c, const char* what) {
  if (errno == ENOMEM) return tvmgo_raise_oom();
  snprintf(c->why, sizeof c->why, "%s: %s", what, strerror(errno));
  return 1;
}

static int copy_bytes(const tvmgo_elf* elf, tvmgo_elf_copy* c) {
  if (elf->fd < 0) return tvmgo_write_at(c->fd, elf->bytes, elf->size, 0) == 0 ? 0 : failed(c, "write");
  int rc = tvmgo_copy_file(elf->fd, c->fd, elf->size);
  return rc == 0 ? 0 : rc < 0 ? failed(c, "write") : tvmgo_elf_corrupt(elf, "it became shorter while it was read");
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
  if (elf->owns_unique) { /* the table in memory has changed for an earlier copy */
    change(c, 0);
    change(c, elf->num_symbols - 1);
  }
  for (size_t i = 1; i < elf->num_symbols; i++) {
    Elf64_Sym* sym = &symbols[i];
    if (ELF64_ST_BIND(sym->st_info) != STB_GNU_UNIQUE || sym->st_shndx == SHN_UNDEF) continue;
    sym->st_info = ELF64_ST_INFO(STB_GLOBAL, ELF64_ST_TYPE(sym->st_info));
    elf->owns_unique = 1;
    change(c, i);
  }
}

static int edit_symbols(tvmgo_elf* elf, tvmgo_elf_copy* copy) {
  changed c = {SIZE_MAX, 0};
  define_ours(elf, &c);
  own_unique(elf, &c);
  if (c.low > c.high) return 0;
  const Elf64_Sym* symbols = elf->symtab.data;
  uint64_t at = (uint64_t)c.low * sizeof *symbols, size = ((uint64_t)c.high - c.low + 1) * sizeof *symbols;
  return tvmgo_write_at(copy->fd, symbols + c.low, size, elf->symtab.offset + at) == 0 ? 0 : failed(copy, "write");
}

/* A dependency on a TVM runtime is removed if this library defines everything that the file needs from it. */
static int drop_runtime(tvmgo_elf* elf, tvmgo_elf_copy* copy) {
  Elf64_Dyn* d = elf->dynamic.data;
  if (!elf->needs_runtime || elf->runtime_versioned || elf->imports_unknown) return 0;
  for (; d->d_tag != DT_NULL; d++)
    if (d->d_tag == DT_NEEDED &&
        tvmgo_elf_is_runtime_library(tvmgo_elf_string(elf, d->d_un.d_val)))
      d->d_tag = DT_DEBUG; /* means nothing in a library */
  return tvmgo_write_at(copy->fd, elf->dynamic.data, elf->dynamic.size, elf->dynamic.offset) == 0
             ? 0
             : failed(copy, "write");
}

static int open_named(tvmgo_elf_copy* c) {
  snprintf(c->path, sizeof c->path, "%s/tvmgo-XXXXXX.so", tvmgo_temporary_folder());
  return mkostemps(c->path, 3, O_CLOEXEC);
}

/* The file that was checked is such a copy already: a second one would cost as much again. */
static int is_given(const tvmgo_elf* elf, tvmgo_copy_place place) {
  if (!elf->is_checked) return 0;
  return place == (tvmgo_is_sealed(elf->fd) ? TVMGO_COPY_IN_MEMORY : TVMGO_COPY_NAMELESS);
}

int tvmgo_elf_copy_make(tvmgo_elf* elf, tvmgo_copy_place place, tvmgo_elf_copy* out) {
  int given = is_given(elf, place), rc = 0;
  out->is_file = 0;
  out->why[0] = 0;
  out->fd = given                           ? fcntl(elf->fd, F_DUPFD_CLOEXEC, 0)
            : place == TVMGO_COPY_IN_MEMORY ? tvmgo_memory_file(elf->name)
            : place == TVMGO_COPY_NAMELESS  ? tvmgo_nameless_file()
                                            : open_named(out);
  if (out->fd < 0) return failed(out, place == TVMGO_COPY_IN_MEMORY ? "memfd_create" : "no file can be made in it");
  out->is_file = place == TVMGO_COPY_NAMED;
  if (!out->is_file) snprintf(out->path, sizeof out->path, "/proc/self/fd/%d", out->fd);
  if ((given || (rc = copy_bytes(elf, out)) == 0) && (rc = edit_symbols(elf, out)) == 0 &&
      (rc = drop_runtime(elf, out)) == 0) {
    if (elf->is_checked) tvmgo_seal_bytes(out->fd);
    return 0;
  }
  tvmgo_elf_copy_opened(out);
  tvmgo_elf_copy_close(out);
  return rc;
}

int tvmgo_elf_copy_raise(const tvmgo_elf* elf, char why[TVMGO_COPY_PLACES][160]) {
  static const char cure[] = "set TMPDIR to a folder where this process may write and execute code";
  const char* file = why[TVMGO_COPY_NAMED][0] != 0 ? why[TVMGO_COPY_NAMED] : why[TVMGO_COPY_NAMELESS];
  const char* dir = tvmgo_temporary_folder();
  if (why[TVMGO_COPY_IN_MEMORY][0] != 0)
    return tvmgo_raise(TVMGO_RUNTIME_ERROR,
                       "load %s: making a private copy: in memory: %s; in %s: %s: allow memfd_create, or %s", elf->name,
                       why[TVMGO_COPY_IN_MEMORY], dir, file, cure);
  if (elf->is_checked)
    return tvmgo_raise(TVMGO_RUNTIME_ERROR,
                       "load %s: /proc is not mounted: without it, the copy whose signature was checked can be opened "
                       "only by a name, which another file could get: mount /proc",
                       elf->name);
  return tvmgo_raise(TVMGO_RUNTIME_ERROR,
                     "load %s: making a private copy: in memory: /proc is not mounted; in %s: %s: mount /proc, or %s",
                     elf->name, dir, file, cure);
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
