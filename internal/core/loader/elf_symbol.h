/* Finds symbols that one loaded file defines, in the file's own hash table: dlsym would also search its dependencies
 * and find "expf" in libm. */
#pragma once

#include "loader/elf_check.h"

/* The tables in memory, with the sizes that elf_check verified. */
typedef struct {
  const Elf64_Sym* symbols;
  const char* strings;
  size_t num_symbols, strings_size;
  const uint32_t* gnu;  /* NULL when the file has no such table */
  const uint32_t* sysv;
} tvmgo_elf_symbols;

void tvmgo_elf_symbols_init(tvmgo_elf_symbols* t, const tvmgo_elf* elf, const char* base);

/* The defined, exported function, object or untyped symbol of that name; NULL if there is none. */
const Elf64_Sym* tvmgo_elf_symbols_find(const tvmgo_elf_symbols* t, const char* name, size_t len);

/* Symbol i of the table if find could return it, else NULL. */
const Elf64_Sym* tvmgo_elf_symbols_at(const tvmgo_elf_symbols* t, size_t i);

static inline const char* tvmgo_elf_symbols_name(const tvmgo_elf_symbols* t, const Elf64_Sym* s) {
  return t->strings + s->st_name;
}
