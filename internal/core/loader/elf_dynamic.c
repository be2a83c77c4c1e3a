/* The dynamic section: every table that it names must be in the loaded part of the file, with the sizes that ld.so
 * assumes. */
#include "loader/loader.h"
#include "loader/elf_check.h"

#include <string.h>

#ifndef DT_RELR
#define DT_RELRSZ 35
#define DT_RELR 36
#define DT_RELRENT 37
#endif
#ifndef DF_1_PIE
#define DF_1_PIE 0x08000000
#endif

enum { NUM_LOW = 38 }; /* tags that are kept by number */

/* Values by tag; the last one of a tag counts, as it does for ld.so. */
typedef struct {
  uint64_t low[NUM_LOW];
  uint64_t has; /* bit per tag below NUM_LOW */
  uint64_t gnu_hash, flags_1, rela_count, versym, verneed, verdef;
} tags;

static int has(const tags* t, int tag) { return t->has >> tag & 1; }

static int read_tags(const tvmgo_elf* elf, tags* t) {
  const Elf64_Dyn* d = elf->dynamic.data;
  size_t n = elf->dynamic.size / sizeof *d, i = 0;
  memset(t, 0, sizeof *t);
  for (; i < n && d[i].d_tag != DT_NULL; i++) {
    uint64_t v = d[i].d_un.d_val;
    if (d[i].d_tag > 0 && d[i].d_tag < NUM_LOW) {
      t->low[d[i].d_tag] = v;
      t->has |= UINT64_C(1) << d[i].d_tag;
    }
    switch (d[i].d_tag) {
      case DT_GNU_HASH: t->gnu_hash = v; break;
      case DT_FLAGS_1: t->flags_1 = v; break;
      case DT_RELACOUNT: t->rela_count = v; break;
      case DT_VERSYM: t->versym = v; break;
      case DT_VERNEED: t->verneed = v; break;
      case DT_VERDEF: t->verdef = v; break;
    }
  }
  return i < n ? 0 : tvmgo_elf_corrupt(elf, "the dynamic section has no end");
}

/* Returns the position of a table in the file; its data is read on use. */
static int place(const tvmgo_elf* elf, const char* what, uint64_t vaddr, uint64_t size,
                 uint64_t align, tvmgo_elf_table* out) {
  const Elf64_Phdr* p = tvmgo_elf_load_at(elf, vaddr, size, 1);
  if (p == NULL || !(p->p_flags & PF_R) || vaddr % align != 0)
    return tvmgo_elf_corrupt(elf, "%s lies outside the loaded part", what);
  out->vaddr = vaddr;
  out->size = size;
  out->offset = p->p_offset + (vaddr - p->p_vaddr);
  out->data = NULL;
  return 0;
}

static int place_relocations(tvmgo_elf* elf, const tags* t) {
  tvmgo_elf_table relr;
  if (has(t, DT_RELA)) {
    if (t->low[DT_RELAENT] != sizeof(Elf64_Rela) ||
        t->low[DT_RELASZ] % sizeof(Elf64_Rela) != 0 ||
        t->rela_count > t->low[DT_RELASZ] / sizeof(Elf64_Rela))
      return tvmgo_elf_corrupt(elf, "relocations of unknown size");
    if (place(elf, "the relocation table", t->low[DT_RELA], t->low[DT_RELASZ], 8, &elf->rela) != 0)
      return -1;
    elf->num_relative = t->rela_count;
  }
  if (has(t, DT_JMPREL)) {
    if (t->low[DT_PLTREL] != DT_RELA || t->low[DT_PLTRELSZ] % sizeof(Elf64_Rela) != 0)
      return tvmgo_elf_corrupt(elf, "PLT relocations of unknown kind");
    if (place(elf, "the PLT relocation table", t->low[DT_JMPREL], t->low[DT_PLTRELSZ], 8,
              &elf->jmprel) != 0)
      return -1;
    /* Lazy binding writes the second and third word of it. */
    const Elf64_Phdr* got = tvmgo_elf_load_at(elf, t->low[DT_PLTGOT], 24, 0);
    if (!has(t, DT_PLTGOT) || got == NULL || !(got->p_flags & PF_W) || t->low[DT_PLTGOT] % 8 != 0)
      return tvmgo_elf_corrupt(elf, "PLT relocations without a table to fill");
  }
  if (has(t, DT_RELR) && (t->low[DT_RELRENT] != 8 || t->low[DT_RELRSZ] % 8 != 0 ||
                          place(elf, "the relative relocation table", t->low[DT_RELR],
                                t->low[DT_RELRSZ], 8, &relr) != 0))
    return tvmgo_elf_corrupt(elf, "relative relocations of unknown size");
  if (has(t, DT_REL) && t->low[DT_RELSZ] != 0)
    return tvmgo_elf_corrupt(elf, "relocations of a kind this machine does not have");
  return 0;
}

static int check_array(const tvmgo_elf* elf, const tags* t, int tag, int size_tag,
                       tvmgo_elf_table* out) {
  if (!has(t, tag)) return 0;
  if (t->low[size_tag] % 8 != 0)
    return tvmgo_elf_corrupt(elf, "a list of constructors of odd size");
  return place(elf, "a list of constructors", t->low[tag], t->low[size_tag], 8, out);
}

static int check_code(tvmgo_elf* elf, const tags* t) {
  for (int tag = DT_INIT; tag <= DT_FINI; tag++) {
    const Elf64_Phdr* p = has(t, tag) ? tvmgo_elf_load_at(elf, t->low[tag], 1, 1) : NULL;
    if (has(t, tag) && (p == NULL || !(p->p_flags & PF_X)))
      return tvmgo_elf_corrupt(elf, "its constructor is no code");
  }
  if (check_array(elf, t, DT_INIT_ARRAY, DT_INIT_ARRAYSZ, &elf->init_array) != 0) return -1;
  return check_array(elf, t, DT_FINI_ARRAY, DT_FINI_ARRAYSZ, &elf->fini_array);
}

/* Tags that come together. */
static int check_pairs(const tvmgo_elf* elf, const tags* t) {
  static const unsigned char pairs[][2] = {
      {DT_RELA, DT_RELASZ},   {DT_RELA, DT_RELAENT},           {DT_JMPREL, DT_PLTRELSZ},
      {DT_JMPREL, DT_PLTREL}, {DT_INIT_ARRAY, DT_INIT_ARRAYSZ}, {DT_FINI_ARRAY, DT_FINI_ARRAYSZ},
      {DT_RELR, DT_RELRSZ},   {DT_RELR, DT_RELRENT},
  };
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
    if (has(t, pairs[i][0]) != has(t, pairs[i][1]))
      return tvmgo_elf_corrupt(elf, "half of a pair of dynamic tags (%u, %u) is missing",
                               pairs[i][0], pairs[i][1]);
  return 0;
}

int tvmgo_elf_is_runtime_library(const char* file) {
  static const char* const names[] = {"libtvm_ffi",      "libtvm_runtime",    "libtvm",
                                      "libtvm_compiler", "libtvm_allvisible", "libtvmgo"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    size_t n = strlen(names[i]); /* followed by ".so", or by a packager's hash and ".so" */
    if (strncmp(file, names[i], n) == 0 && (file[n] == '.' || file[n] == '-')) return 1;
  }
  return 0;
}

/* Tags whose value is a name. */
static int check_names(tvmgo_elf* elf) {
  for (const Elf64_Dyn* d = elf->dynamic.data; d->d_tag != DT_NULL; d++) {
    switch (d->d_tag) {
      case DT_NEEDED:
      case DT_SONAME:
      case DT_RPATH:
      case DT_RUNPATH:
      case DT_AUXILIARY:
      case DT_FILTER:
      case DT_CONFIG:
      case DT_DEPAUDIT:
      case DT_AUDIT: break;
      default: continue;
    }
    if (d->d_un.d_val >= elf->strtab.size)
      return tvmgo_elf_corrupt(elf, "a name of the dynamic section lies outside its string table");
    const char* s = tvmgo_elf_string(elf, d->d_un.d_val);
    if (d->d_tag == DT_NEEDED && tvmgo_elf_is_runtime_library(s)) elf->needs_runtime = 1;
    if (d->d_tag == DT_NEEDED && strcmp(s, "libm.so.6") == 0) elf->needs_libm = 1;
    if ((d->d_tag == DT_RPATH || d->d_tag == DT_RUNPATH) &&
        (strstr(s, "$ORIGIN") != NULL || strstr(s, "${ORIGIN}") != NULL))
      elf->uses_origin = 1;
  }
  return 0;
}

int tvmgo_elf_check_dynamic(tvmgo_elf* elf) {
  tags t;
  if (read_tags(elf, &t) != 0) return -1;
  if (t.flags_1 & DF_1_PIE)
    return tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR,
                       "load %s: an executable, not a shared library: link it with -shared",
                       elf->name);
  if (!has(&t, DT_STRTAB) || !has(&t, DT_SYMTAB) || !has(&t, DT_STRSZ) ||
      (has(&t, DT_SYMENT) && t.low[DT_SYMENT] != sizeof(Elf64_Sym)))
    return tvmgo_elf_corrupt(elf, "it has no usable symbol table");
  if (place(elf, "the string table", t.low[DT_STRTAB], t.low[DT_STRSZ], 1, &elf->strtab) != 0 ||
      place(elf, "the symbol table", t.low[DT_SYMTAB], sizeof(Elf64_Sym), 8, &elf->symtab) != 0)
    return -1;
  elf->strtab.data = tvmgo_elf_read(elf, elf->strtab.offset, elf->strtab.size);
  if (elf->strtab.data == NULL) return -1;
  if (elf->strtab.size == 0 || *tvmgo_elf_string(elf, elf->strtab.size - 1) != 0)
    return tvmgo_elf_corrupt(elf, "the string table has no end");

  /* The file does not state the number of symbols: they end at the string table or at the segment's end. */
  const Elf64_Phdr* p = tvmgo_elf_load_at(elf, elf->symtab.vaddr, sizeof(Elf64_Sym), 1);
  uint64_t end = p->p_vaddr + p->p_filesz;
  if (elf->strtab.vaddr > elf->symtab.vaddr && elf->strtab.vaddr < end) end = elf->strtab.vaddr;
  elf->max_symbols = (end - elf->symtab.vaddr) / sizeof(Elf64_Sym);
  if (elf->max_symbols > UINT32_MAX) elf->max_symbols = UINT32_MAX;

  uint64_t flags = t.low[DT_FLAGS];
  elf->bind_now = has(&t, DT_BIND_NOW) || (flags & DF_BIND_NOW) || (t.flags_1 & DF_1_NOW);
  elf->text_relocations = has(&t, DT_TEXTREL) || (flags & DF_TEXTREL);
  /* One entry belongs to the C start-up code. */
  elf->has_constructors = t.low[DT_INIT_ARRAYSZ] > 8;
  if (t.gnu_hash != 0 && place(elf, "the hash table", t.gnu_hash, 16, 8, &elf->gnu_hash) != 0)
    return -1;
  if (has(&t, DT_HASH) && place(elf, "the hash table", t.low[DT_HASH], 8, 4, &elf->hash) != 0)
    return -1;
  elf->has_relr = has(&t, DT_RELR);
  if (check_pairs(elf, &t) != 0 || place_relocations(elf, &t) != 0 || check_code(elf, &t) != 0 ||
      check_names(elf) != 0)
    return -1;
  elf->versym = t.versym;
  return tvmgo_elf_check_versions(elf, t.verneed, t.verdef);
}
