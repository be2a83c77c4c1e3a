/* Symbol look-up by DT_GNU_HASH or DT_HASH. */
#include "loader/loader.h"
#include "loader/elf_symbol.h"

#include <string.h>

void tvmgo_elf_symbols_init(tvmgo_elf_symbols* t, const tvmgo_elf* elf, const char* base) {
  t->symbols = (const Elf64_Sym*)(const void*)(base + elf->symtab.vaddr);
  t->num_symbols = elf->num_hashed;
  t->strings = base + elf->strtab.vaddr;
  t->strings_size = elf->strtab.size;
  t->gnu = elf->gnu_hash.vaddr == 0 ? NULL
                                    : (const uint32_t*)(const void*)(base + elf->gnu_hash.vaddr);
  t->sysv = elf->hash.vaddr == 0 ? NULL : (const uint32_t*)(const void*)(base + elf->hash.vaddr);
}

TVMGO_BEHIND_LD_SO
const Elf64_Sym* tvmgo_elf_symbols_at(const tvmgo_elf_symbols* t, size_t i) {
  if (i >= t->num_symbols) return NULL;
  const Elf64_Sym* s = &t->symbols[i];
  unsigned bind = ELF64_ST_BIND(s->st_info), type = ELF64_ST_TYPE(s->st_info);
  int exported = bind == STB_GLOBAL || bind == STB_WEAK || bind == STB_GNU_UNIQUE;
  int callable_or_data = type <= STT_FUNC || type == STT_GNU_IFUNC;
  return exported && callable_or_data && s->st_shndx != SHN_UNDEF && s->st_shndx != SHN_ABS &&
                 s->st_name < t->strings_size
             ? s
             : NULL;
}

TVMGO_BEHIND_LD_SO
static const Elf64_Sym* match(const tvmgo_elf_symbols* t, size_t i, const char* name, size_t len) {
  const Elf64_Sym* s = tvmgo_elf_symbols_at(t, i);
  if (s == NULL || len >= t->strings_size - s->st_name) return NULL;
  const char* own = tvmgo_elf_symbols_name(t, s);
  return tvmgo_same_bytes(own, name, len) && own[len] == 0 ? s : NULL;
}

TVMGO_BEHIND_LD_SO
static const Elf64_Sym* find_gnu(const tvmgo_elf_symbols* t, const char* name, size_t len) {
  uint32_t h = 5381, num_buckets = t->gnu[0], first = t->gnu[1], words = t->gnu[2];
  for (size_t i = 0; i < len; i++) h = h * 33 + (unsigned char)name[i];
  const uint64_t* filter = (const uint64_t*)(const void*)(t->gnu + 4);
  uint64_t word = filter[h / 64 & (words - 1)];
  if (num_buckets == 0 || !(word >> h % 64 & word >> ((uint64_t)h >> t->gnu[3]) % 64 & 1))
    return NULL;
  const uint32_t* buckets = (const uint32_t*)(filter + words);
  const uint32_t* chains = buckets + num_buckets;
  size_t i = buckets[h % num_buckets];
  for (; i >= first && i > 0 && i < t->num_symbols; i++) {
    uint32_t c = chains[i - first];
    const Elf64_Sym* s = (c | 1) == (h | 1) ? match(t, i, name, len) : NULL;
    if (s != NULL) return s;
    if (c & 1) break;
  }
  return NULL;
}

TVMGO_BEHIND_LD_SO
static const Elf64_Sym* find_sysv(const tvmgo_elf_symbols* t, const char* name, size_t len) {
  uint32_t h = 0, num_buckets = t->sysv[0];
  for (size_t i = 0; i < len; i++) {
    h = (h << 4) + (unsigned char)name[i];
    h = (h ^ (h >> 24 & 0xf0)) & 0x0fffffff;
  }
  if (num_buckets == 0) return NULL;
  const uint32_t *buckets = t->sysv + 2, *chains = buckets + num_buckets;
  for (size_t i = buckets[h % num_buckets]; i != 0 && i < t->num_symbols; i = chains[i]) {
    const Elf64_Sym* s = match(t, i, name, len);
    if (s != NULL) return s;
  }
  return NULL;
}

const Elf64_Sym* tvmgo_elf_symbols_find(const tvmgo_elf_symbols* t, const char* name, size_t len) {
  if (len == 0 || memchr(name, 0, len) != NULL) return NULL;
  if (t->gnu != NULL) return find_gnu(t, name, len);
  return t->sysv != NULL ? find_sysv(t, name, len) : NULL;
}
