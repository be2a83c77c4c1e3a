/* Symbols and relocations: they show the generation of a file, the names of this runtime that it imports, and where to
 * write their addresses. */
#include "loader/loader.h"
#include "loader/elf_bind.h"
#include "loader/elf_check.h"

#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#define R_COPY R_X86_64_COPY
#define R_RELATIVE R_X86_64_RELATIVE
enum { ADDEND_COUNTS = 0 }; /* GLOB_DAT and JUMP_SLOT ignore it */
#else
#define R_COPY R_AARCH64_COPY
#define R_RELATIVE R_AARCH64_RELATIVE
enum { ADDEND_COUNTS = 1 };
#endif

/* Symbol names that identify a generation or another property. */
enum {
  V21 = 1,
  MODERN = 2,
  CLASSIC = 4,      /* also the slot of v0.21 to v0.25 */
  CLASSIC_ONLY = 8,
  FFI_SLOT = 16,
  STATEFUL = 32,    /* looks up functions of its own module */
  REGISTERS = 64,
  REGISTERS_GLOBALS = 128
};

typedef struct {
  const char* name;
  unsigned marks;
} name_mark;

static const name_mark defined_marks[] = {
    {"__tvm_ffi_library_ctx", V21 | STATEFUL},
    {"__tvm_ffi_library_bin", V21},
    {"__tvm_ffi__library_ctx", MODERN | STATEFUL},
    {"__tvm_module_ctx", CLASSIC | CLASSIC_ONLY | STATEFUL},
    {"__tvm_dev_mblob", CLASSIC | CLASSIC_ONLY},
    {"__TVMFuncCall", CLASSIC | CLASSIC_ONLY},
    {"__TVMAPISetLastError", CLASSIC | CLASSIC_ONLY},
    {"__TVMBackendGetFuncFromEnv", CLASSIC | STATEFUL},
    {"__TVMFFIEnvModLookupFromImports", FFI_SLOT | STATEFUL},
};
static const name_mark imported_marks[] = {
    {"TVMFuncCall", CLASSIC | CLASSIC_ONLY},
    {"TVMAPISetLastError", CLASSIC | CLASSIC_ONLY},
    {"TVMBackendGetFuncFromEnv", CLASSIC | STATEFUL},
    {"TVMFFIEnvModLookupFromImports", STATEFUL},
    {"TVMFFIEnvModRegisterSystemLibSymbol", REGISTERS},
    {"TVMBackendRegisterSystemLibSymbol", REGISTERS},
    {"TVMFFIFunctionSetGlobal", REGISTERS_GLOBALS},
    {"TVMFFIFunctionSetGlobalFromMethodInfo", REGISTERS_GLOBALS},
    {"TVMFFITypeRegisterAttr", REGISTERS_GLOBALS},
    {"TVMFFITypeRegisterField", REGISTERS_GLOBALS},
    {"TVMFFITypeRegisterMetadata", REGISTERS_GLOBALS},
    {"TVMFFITypeRegisterMethod", REGISTERS_GLOBALS},
};

static unsigned mark_of(const name_mark* marks, size_t n, const char* name) {
  for (size_t i = 0; i < n; i++)
    if (strcmp(marks[i].name, name) == 0) return marks[i].marks;
  return 0;
}

static int is_slot_or_context(const char* name) {
  return name[0] == '_' && name[1] == '_' &&
         (strncmp(name + 2, "TVM", 3) == 0 || strncmp(name + 2, "tvm_", 4) == 0);
}

static unsigned marks_of(const Elf64_Sym* s, const char* name) {
  if (s->st_shndx == SHN_UNDEF)
    return strncmp(name, "TVM", 3) != 0
               ? 0
               : mark_of(imported_marks, sizeof imported_marks / sizeof *imported_marks, name);
  if (!is_slot_or_context(name)) return 0;
  unsigned m = mark_of(defined_marks, sizeof defined_marks / sizeof *defined_marks, name);
  if (m == 0 && strncmp(name, "__tvm_ffi_", 10) == 0) m = MODERN;
  if (m == 0 && strncmp(name, "__TVMFFI", 8) == 0) m = FFI_SLOT;
  return m;
}

static tvmgo_generation generation_of(unsigned m) {
  if (m & V21) return TVMGO_GENERATION_V21;
  if (m & MODERN) return TVMGO_GENERATION_MODERN;
  /* Slots of the new calls, but functions under plain names. */
  if ((m & FFI_SLOT) && !(m & CLASSIC_ONLY)) return TVMGO_GENERATION_V21;
  return m & CLASSIC ? TVMGO_GENERATION_CLASSIC : TVMGO_GENERATION_PLAIN;
}

static int read_symbols(tvmgo_elf* elf) {
  unsigned marks = 0;
  uint64_t size = elf->num_symbols * sizeof(Elf64_Sym);
  const Elf64_Sym* s = elf->symtab.data = tvmgo_elf_read(elf, elf->symtab.offset, size);
  if (s == NULL) return -1;
  elf->symtab.size = size;
  for (size_t i = 0; i < elf->num_symbols; i++) {
    if (s[i].st_name >= elf->strtab.size)
      return tvmgo_elf_corrupt(elf, "symbol %zu has no name", i);
    marks |= marks_of(&s[i], tvmgo_elf_string(elf, s[i].st_name));
  }
  elf->generation = generation_of(marks);
  elf->is_stateful = (marks & STATEFUL) != 0;
  elf->registers_system_lib = (marks & REGISTERS) != 0;
  elf->registers_globals = (marks & REGISTERS_GLOBALS) != 0;
  return 0;
}

/* Reads a table of relocations and checks each place and symbol number. */
static int read_relocations(tvmgo_elf* elf, tvmgo_elf_table* t) {
  if (t->size == 0) return 0;
  Elf64_Rela* r = t->data = tvmgo_elf_read(elf, t->offset, t->size);
  if (r == NULL) return -1;
  uint64_t width = elf->text_relocations ? 4 : 8;
  const Elf64_Phdr* p = NULL;
  for (size_t i = 0; i < t->size / sizeof *r; i++) {
    size_t symbol = ELF64_R_SYM(r[i].r_info);
    if (t == &elf->rela && i < elf->num_relative && ELF64_R_TYPE(r[i].r_info) != R_RELATIVE)
      return tvmgo_elf_corrupt(elf, "relocation %zu is not relative", i); /* ld.so asserts it */
    if (ELF64_R_TYPE(r[i].r_info) == 0) continue;
    if (p == NULL || r[i].r_offset < p->p_vaddr || r[i].r_offset - p->p_vaddr > p->p_memsz ||
        width > p->p_memsz - (r[i].r_offset - p->p_vaddr))
      p = tvmgo_elf_load_at(elf, r[i].r_offset, width, 0);
    if (p == NULL || !((p->p_flags & PF_W) || elf->text_relocations) ||
        ELF64_R_TYPE(r[i].r_info) == R_COPY)
      return tvmgo_elf_corrupt(elf, "relocation %zu does not point into its data", i);
    if (symbol >= elf->max_symbols)
      return tvmgo_elf_corrupt(elf, "relocation %zu names symbol %zu, which does not exist", i,
                               symbol);
    if (symbol >= elf->num_symbols) elf->num_symbols = symbol + 1;
  }
  return 0;
}

/* Doubles the capacity of an array that starts inside elf. */
static void* grow(void* array, const void* room, size_t* cap, size_t width) {
  void* p = realloc(array == room ? NULL : array, *cap * 2 * width);
  if (p == NULL) {
    tvmgo_raise_oom();
    return NULL;
  }
  if (array == room) memcpy(p, room, *cap * width);
  *cap *= 2;
  return p;
}

static int add_site(tvmgo_elf* elf, tvmgo_elf_site site) {
  if (elf->num_sites == elf->cap_sites) {
    void* p = grow(elf->sites, elf->site_room, &elf->cap_sites, sizeof *elf->sites);
    if (p == NULL) return -1;
    elf->sites = p;
  }
  elf->sites[elf->num_sites++] = site;
  return 0;
}

static int add_lazy(tvmgo_elf* elf, const char* name) {
  if (elf->num_lazy == elf->cap_lazy) {
    void* p = grow(elf->lazy, elf->lazy_room, &elf->cap_lazy, sizeof *elf->lazy);
    if (p == NULL) return -1;
    elf->lazy = p;
  }
  elf->lazy[elf->num_lazy++] = name;
  return 0;
}

static int is_own(const Elf64_Sym* s, const char* name) {
  int type = ELF64_ST_TYPE(s->st_info);
  return s->st_shndx < SHN_LORESERVE && type <= STT_FUNC && is_slot_or_context(name);
}

static int plan_table(tvmgo_elf* elf, const tvmgo_elf_table* t, size_t first, int is_plt) {
  const Elf64_Rela* r = t->data;
  const Elf64_Sym* symbols = elf->symtab.data;
  for (size_t i = first; i < t->size / sizeof *r; i++) {
    size_t index = ELF64_R_SYM(r[i].r_info);
    uint32_t type = ELF64_R_TYPE(r[i].r_info);
    int is_slot = type == TVMGO_R_JUMP_SLOT || type == TVMGO_R_GLOB_DAT;
    if (index == 0) continue;
    const Elf64_Sym* s = &symbols[index];
    const char* name = tvmgo_elf_string(elf, s->st_name);
    int undefined = s->st_shndx == SHN_UNDEF, required = ELF64_ST_BIND(s->st_info) != STB_WEAK;
    const tvmgo_binding* b = undefined ? tvmgo_binding_find(name) : NULL;
    if (b != NULL && required && (!is_plt || elf->bind_now)) elf->needs_definition = 1;
    if (b != NULL && is_plt) elf->calls_ours = 1;
    if (b == NULL && undefined && required) {
      if (strncmp(name, "TVM", 3) == 0) elf->imports_unknown = 1;
      if (is_plt && type == TVMGO_R_JUMP_SLOT && !elf->bind_now && add_lazy(elf, name) != 0)
        return -1;
    }
    if (!(is_slot || type == TVMGO_R_ABS64) || (b == NULL && (undefined || !is_own(s, name))))
      continue;
    tvmgo_elf_site site = {r[i].r_offset, b == NULL ? s->st_value : 0, b, (uint32_t)index};
    if (!is_slot || ADDEND_COUNTS) site.value += (uint64_t)r[i].r_addend;
    if (add_site(elf, site) != 0) return -1;
  }
  return 0;
}

/* ld.so calls each entry of such a list: all must have been made the address of code. */
static int check_calls(const tvmgo_elf* elf, const tvmgo_elf_table* list) {
  const Elf64_Rela* r = elf->rela.data;
  uint64_t made = 0;
  if (elf->has_relr) return 0; /* their values are in the data itself */
  for (size_t i = 0; i < elf->rela.size / sizeof *r; i++) {
    if (r[i].r_offset - list->vaddr >= list->size || r[i].r_offset % 8 != 0) continue;
    const Elf64_Phdr* p = tvmgo_elf_load_at(elf, (uint64_t)r[i].r_addend, 1, 1);
    made += ELF64_R_TYPE(r[i].r_info) == R_RELATIVE ? p != NULL && (p->p_flags & PF_X) != 0
                                                     : ELF64_R_SYM(r[i].r_info) != 0;
  }
  return made >= list->size / 8 ? 0 : tvmgo_elf_corrupt(elf, "a constructor that is no code");
}

int tvmgo_elf_check_imports(tvmgo_elf* elf) {
  elf->num_symbols = elf->num_hashed > 0 ? elf->num_hashed : 1;
  if (read_relocations(elf, &elf->rela) != 0 || read_relocations(elf, &elf->jmprel) != 0 ||
      check_calls(elf, &elf->init_array) != 0 || check_calls(elf, &elf->fini_array) != 0 ||
      read_symbols(elf) != 0 || tvmgo_elf_check_symbol_versions(elf) != 0)
    return -1;
  if (plan_table(elf, &elf->rela, elf->num_relative, 0) != 0) return -1;
  return plan_table(elf, &elf->jmprel, 0, 1);
}
