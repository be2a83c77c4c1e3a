/* Reads an ELF file with pread before the dynamic linker opens it: is it complete and built for this machine, what does
 * it import from this runtime, and which TVM generation is it from?
 *
 * ld.so trusts the files that it opens: a truncated file ends in SIGBUS, a wrong table in SIGSEGV or abort(). A file
 * that passes these checks gives an error at worst. Only headers, the dynamic section and the tables it names are read,
 * never the code and data of a large file. */
#pragma once

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

#include "loader/image.h"

#if defined(__x86_64__)
#define TVMGO_ELF_MACHINE EM_X86_64
#define TVMGO_ELF_MACHINE_NAME "x86-64"
#define TVMGO_R_JUMP_SLOT 7u
#define TVMGO_R_GLOB_DAT 6u
#define TVMGO_R_ABS64 1u
#elif defined(__aarch64__)
#define TVMGO_ELF_MACHINE EM_AARCH64
#define TVMGO_ELF_MACHINE_NAME "aarch64"
#define TVMGO_R_JUMP_SLOT 1026u
#define TVMGO_R_GLOB_DAT 1025u
#define TVMGO_R_ABS64 257u
#else
#error "relocation numbers of this machine are missing"
#endif

/* For functions that read memory of ld.so or of libraries. The thread sanitizer knows neither ld.so's locks nor that
 * another library may now use an address. */
#if defined(__SANITIZE_THREAD__)
#define TVMGO_BEHIND_LD_SO __attribute__((no_sanitize_thread))
#else
#define TVMGO_BEHIND_LD_SO
#endif

/* memcmp for those functions, because the sanitizer intercepts the C library's. */
TVMGO_BEHIND_LD_SO static inline int tvmgo_same_bytes(const void* a, const void* b, size_t n) {
  const char *p = a, *q = b;
  size_t i = 0;
  while (i < n && p[i] == q[i]) i++;
  return i == n;
}

/* In most files all tables are within this size, so that one read is enough. */
enum { TVMGO_ELF_HEAD = 8192, TVMGO_ELF_BUFFERS = 16, TVMGO_ELF_ROOM = 24 };

/* A location in the file that receives an address. binding == NULL: the address of the file's own definition, for names
 * that another library in global scope must not override (slots, context). */
typedef struct {
  uint64_t offset; /* from the load address */
  uint64_t value;  /* added to the address; for own definitions the symbol's value as well */
  const tvmgo_binding* binding;
  uint32_t symbol;
} tvmgo_elf_site;

/* A range of the file that a dynamic tag names. */
typedef struct {
  uint64_t vaddr, offset, size;
  void* data; /* NULL until read */
} tvmgo_elf_table;

typedef struct tvmgo_elf {
  const char* name;           /* for messages */
  int fd;                     /* -1: the bytes */
  const unsigned char* bytes;
  uint64_t size;
  int is_checked;             /* fd is a copy of our own, whose signature was checked: trust.h */

  const Elf64_Phdr* phdr;
  size_t phnum;
  uint64_t relro_vaddr, relro_size;
  tvmgo_elf_table init_array, fini_array;
  tvmgo_elf_table dynamic, strtab, symtab, hash, gnu_hash, rela, jmprel;
  size_t num_hashed;          /* symbols that a look-up can find lie below */
  size_t num_symbols;         /* entries of symtab that have been checked */
  size_t max_symbols;         /* entries of symtab that fit into the file */
  uint64_t versym;            /* address of the symbols' version numbers; 0 = none */
  unsigned max_version;
  size_t num_relative;        /* leading entries of rela without a symbol */
  int bind_now, text_relocations, has_constructors, has_relr;
  int needs_runtime;          /* a DT_NEEDED names a TVM runtime library */
  int runtime_versioned;      /* and symbol versions of it are required */
  int needs_libm;             /* a DT_NEEDED names the C library's mathematics */
  int owns_unique;            /* unique definitions in symtab.data are ordinary ones now: elf_copy.c */
  int uses_origin;            /* DT_RPATH or DT_RUNPATH speaks of $ORIGIN */

  tvmgo_generation generation;
  int is_stateful;            /* keeps a module's context: two loads need two mappings */
  int registers_system_lib;   /* calls a registration function, from a constructor */
  int registers_globals;      /* registers functions or types, which nothing takes back */
  int calls_ours;             /* imports at least one of our names through a PLT slot */
  int needs_definition;       /* ld.so rejects it unless our names are defined somewhere */
  int imports_unknown;        /* imports a TVM name that is not in our table */

  tvmgo_elf_site* sites;
  size_t num_sites, cap_sites;
  const char** lazy; /* other names, looked up at their first call: if absent the process ends */
  size_t num_lazy, cap_lazy;

  void* buffers[TVMGO_ELF_BUFFERS];
  size_t num_buffers;
  size_t head_size;
  tvmgo_elf_site site_room[TVMGO_ELF_ROOM];
  const char* lazy_room[TVMGO_ELF_ROOM];
  _Alignas(16) unsigned char head[TVMGO_ELF_HEAD];
} tvmgo_elf;

/* Reads and checks a whole file: fd, or size bytes when fd < 0. name, fd and bytes must outlive elf.
 * Raises an error that starts with "load <name>: "; *elf then needs no release. */
int tvmgo_elf_check(tvmgo_elf* elf, const char* name, int fd, const void* bytes, uint64_t size);
void tvmgo_elf_release(tvmgo_elf* elf);

/* ---- between elf_check.c, elf_dynamic.c, elf_versions.c and elf_imports.c ---- */

/* size bytes at offset, which lie inside the file. NULL with an error raised. */
void* tvmgo_elf_read(tvmgo_elf* elf, uint64_t offset, uint64_t size);
/* Copies instead of keeping; for walking long tables. */
int tvmgo_elf_peek(const tvmgo_elf* elf, uint64_t offset, void* to, uint64_t size);
/* The PT_LOAD that holds [vaddr, vaddr+size) in memory, or in its file-backed part; NULL if none. */
const Elf64_Phdr* tvmgo_elf_load_at(const tvmgo_elf* elf, uint64_t vaddr, uint64_t size, int in_file);
/* Raises CorruptModuleError: "load <name>: damaged file: <format>"; returns -1. */
int tvmgo_elf_corrupt(const tvmgo_elf* elf, const char* format, ...)
    __attribute__((format(printf, 2, 3)));

static inline const char* tvmgo_elf_string(const tvmgo_elf* elf, uint64_t offset) {
  return (const char*)elf->strtab.data + offset;
}

/* elf_dynamic.c: fills the tables and flags. */
int tvmgo_elf_check_dynamic(tvmgo_elf* elf);
/* elf_hash.c: counts the symbols that the hash tables list. */
int tvmgo_elf_check_hash(tvmgo_elf* elf);
/* True for the file names of TVM runtimes: libtvm_ffi.so, libtvm_runtime.so.0, ... */
int tvmgo_elf_is_runtime_library(const char* file);
/* elf_versions.c: the lists of versions (0 = absent), then the number that each symbol has. */
int tvmgo_elf_check_versions(tvmgo_elf* elf, uint64_t verneed, uint64_t verdef);
int tvmgo_elf_check_symbol_versions(tvmgo_elf* elf);
/* elf_imports.c: symbols and relocations. */
int tvmgo_elf_check_imports(tvmgo_elf* elf);
