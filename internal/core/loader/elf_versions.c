/* Symbol versions: lists that ld.so walks from one relative link to the next. */
#include "loader/loader.h"
#include "loader/elf_check.h"

#include <string.h>

enum { MAX_VERSIONS = 0x8000 };

/* Reads size bytes at vaddr when they are in the file and aligned; 0, 1 = outside, -1 = error. */
static int fetch(const tvmgo_elf* elf, uint64_t vaddr, uint64_t align, void* to, uint64_t size) {
  const Elf64_Phdr* p = tvmgo_elf_load_at(elf, vaddr, size, 1);
  if (p == NULL || !(p->p_flags & PF_R) || vaddr % align != 0) return 1;
  return tvmgo_elf_peek(elf, p->p_offset + (vaddr - p->p_vaddr), to, size);
}

static int broken(const tvmgo_elf* elf, int rc) {
  return rc < 0 ? -1 : tvmgo_elf_corrupt(elf, "its list of symbol versions is broken");
}

static uint32_t hash_of(const char* s) {
  uint32_t h = 0;
  for (; *s != 0; s++) {
    h = (h << 4) + (unsigned char)*s;
    h = (h ^ (h >> 24 & 0xf0)) & 0x0fffffff;
  }
  return h;
}

/* ld.so asserts that the library of each version is one it depends on. */
static int is_needed(const tvmgo_elf* elf, const char* file) {
  for (const Elf64_Dyn* d = elf->dynamic.data; d->d_tag != DT_NULL; d++)
    if (d->d_tag == DT_NEEDED && strcmp(tvmgo_elf_string(elf, d->d_un.d_val), file) == 0) return 1;
  return 0;
}

/* *highest becomes the highest version number of the list, which ends with a link of 0. Version numbers have 15 bits: a
 * longer list is malicious. */
static int walk_needed(tvmgo_elf* elf, uint64_t at, unsigned* highest) {
  Elf64_Verneed need;
  Elf64_Vernaux aux;
  for (unsigned steps = 0;; at += need.vn_next) {
    int rc = fetch(elf, at, 4, &need, sizeof need);
    if (rc != 0 || need.vn_file >= elf->strtab.size) return broken(elf, rc);
    const char* file = tvmgo_elf_string(elf, need.vn_file);
    if (!is_needed(elf, file)) return broken(elf, 1);
    if (tvmgo_elf_is_runtime_library(file)) elf->runtime_versioned = 1;
    for (uint64_t a = at + need.vn_aux;; a += aux.vna_next) {
      rc = fetch(elf, a, 4, &aux, sizeof aux);
      if (rc != 0 || aux.vna_name >= elf->strtab.size || ++steps > MAX_VERSIONS)
        return broken(elf, rc);
      if (aux.vna_hash != hash_of(tvmgo_elf_string(elf, aux.vna_name))) return broken(elf, 1);
      unsigned number = aux.vna_other & 0x7fff;
      if (number > *highest) *highest = number;
      if (aux.vna_next == 0) break;
    }
    if (need.vn_next == 0) return 0;
  }
}

static int walk_defined(tvmgo_elf* elf, uint64_t at, unsigned* highest) {
  Elf64_Verdef def;
  Elf64_Verdaux aux;
  for (unsigned steps = 0;; at += def.vd_next) {
    int rc = fetch(elf, at, 4, &def, sizeof def);
    if (rc == 0) rc = fetch(elf, at + def.vd_aux, 4, &aux, sizeof aux);
    if (rc != 0 || aux.vda_name >= elf->strtab.size || ++steps > MAX_VERSIONS)
      return broken(elf, rc);
    unsigned number = def.vd_ndx & 0x7fff;
    if (number > *highest) *highest = number;
    if (def.vd_next == 0) return 0;
  }
}

int tvmgo_elf_check_versions(tvmgo_elf* elf, uint64_t verneed, uint64_t verdef) {
  unsigned highest = 1; /* 0 and 1 are local and global */
  int listed = verneed != 0 || verdef != 0;
  if (listed != (elf->versym != 0)) return broken(elf, 1);
  if (verneed != 0 && walk_needed(elf, verneed, &highest) != 0) return -1;
  if (verdef != 0 && walk_defined(elf, verdef, &highest) != 0) return -1;
  elf->max_version = highest;
  return 0;
}

int tvmgo_elf_check_symbol_versions(tvmgo_elf* elf) {
  if (elf->versym == 0) return 0;
  uint64_t size = elf->num_symbols * sizeof(uint16_t);
  const Elf64_Phdr* p = tvmgo_elf_load_at(elf, elf->versym, size, 1);
  if (p == NULL || !(p->p_flags & PF_R) || elf->versym % 2 != 0) return broken(elf, 1);
  const uint16_t* v = tvmgo_elf_read(elf, p->p_offset + (elf->versym - p->p_vaddr), size);
  if (v == NULL) return -1;
  for (size_t i = 0; i < elf->num_symbols; i++)
    if ((v[i] & 0x7fff) > elf->max_version) return broken(elf, 1);
  return 0;
}
