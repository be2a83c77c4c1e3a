/* Binding an opened file to this runtime: its relocation slots get our addresses (docs/abi.md I). */
#pragma once

#include "loader/elf_check.h"

/* The entry of tvmgo_bindings with this name, or NULL. */
const tvmgo_binding* tvmgo_binding_find(const char* name);

static inline void* tvmgo_binding_address(const tvmgo_binding* b, tvmgo_generation generation) {
  return generation == TVMGO_GENERATION_CLASSIC ? b->classic : b->modern;
}

/* True if the dynamic linker resolves each of our names that elf imports to our definition:
 * the program is linked with this library. */
int tvmgo_elf_sees_us(const tvmgo_elf* elf);

/* Writes our addresses into the file loaded at base. Call it before any function of the file runs
 * and while no other thread uses the mapping. */
int tvmgo_elf_bind(const tvmgo_elf* elf, char* base);

/* Raises the error of a file that imports undefined symbols; returns -1. */
int tvmgo_elf_raise_missing(const tvmgo_elf* elf, const char* symbol);

/* Raises an error that names the first imported function without a definition in this runtime or in a library visible
 * to handle: a call of it would end the process. */
int tvmgo_elf_check_lazy(const tvmgo_elf* elf, void* handle);
