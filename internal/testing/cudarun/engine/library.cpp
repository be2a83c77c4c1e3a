// Libraries of kernels: the variables in their static shared memory, which the symbol table lists.
#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

namespace cudarun {

library *libraries;

// Reads names such as _ZZ4gemmE5tileA: function gemm, variable tileA. Other names are kept whole.
static void split_name(const char *symbol, variable *v) {
  char *rest;
  v->function = "";
  v->name = symbol;
  if (strncmp(symbol, "_ZZ", 3)) return;
  size_t n = strtoul(symbol + 3, &rest, 10);
  if (!n || strlen(rest) < n) return;
  v->function = strndup(rest, n);
  const char *local = strchr(rest + n, 'E');
  if (!local) return;
  n = strtoul(local + 1, &rest, 10);
  if (n && strlen(rest) >= n) v->name = strndup(rest, n);
}

static void read_symbols(library *l, const char *path, uintptr_t load) {
  FILE *f = fopen(path, "rb");
  if (!f) return;
  Elf64_Ehdr h;
  if (fread(&h, sizeof h, 1, f) != 1) {
    fclose(f);
    return;
  }
  Elf64_Shdr *sections = static_cast<Elf64_Shdr *>(calloc(h.e_shnum, sizeof *sections));
  if (fseek(f, static_cast<long>(h.e_shoff), SEEK_SET) || fread(sections, sizeof *sections, h.e_shnum, f) != h.e_shnum)
    abort();
  for (int i = 0; i < h.e_shnum; i++) {
    if (sections[i].sh_type != SHT_SYMTAB) continue;
    const Elf64_Shdr *names = &sections[sections[i].sh_link];
    Elf64_Sym *symbols = static_cast<Elf64_Sym *>(malloc(sections[i].sh_size));
    char *strings = static_cast<char *>(malloc(names->sh_size));
    if (fseek(f, static_cast<long>(sections[i].sh_offset), SEEK_SET) ||
        fread(symbols, 1, sections[i].sh_size, f) != sections[i].sh_size ||
        fseek(f, static_cast<long>(names->sh_offset), SEEK_SET) ||
        fread(strings, 1, names->sh_size, f) != names->sh_size)
      abort();
    size_t n = sections[i].sh_size / sizeof *symbols;
    l->variables = static_cast<variable *>(calloc(n, sizeof *l->variables));
    for (size_t s = 0; s < n; s++) {
      size_t at = load + symbols[s].st_value - reinterpret_cast<uintptr_t>(l->shared);
      const char *name = strings + symbols[s].st_name;
      if (ELF64_ST_TYPE(symbols[s].st_info) != STT_OBJECT || at >= l->bytes || strstr(name, "cudarun_red")) continue;
      variable *v = &l->variables[l->nvariables];
      v->offset = at;
      v->bytes = symbols[s].st_size;
      split_name(strdup(name), v);
      for (size_t b = 0; b < v->bytes && at + b < l->bytes; b++) l->owners[at + b] = l->nvariables;
      l->nvariables++;
    }
    free(symbols);
    free(strings);
  }
  free(sections);
  fclose(f);
}

static int find_image(struct dl_phdr_info *info, size_t, void *data) {
  library *l = static_cast<library *>(data);
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *p = &info->dlpi_phdr[i];
    const char *low = reinterpret_cast<const char *>(info->dlpi_addr + p->p_vaddr);
    if (p->p_type != PT_LOAD || l->shared < low || l->shared >= low + p->p_memsz) continue;
    l->low = reinterpret_cast<const char *>(info->dlpi_addr);
    l->high = low + p->p_memsz;
    read_symbols(l, info->dlpi_name, info->dlpi_addr);
    return 1;
  }
  return 0;
}

CUDARUN_API library *add_library(char *shared, char *shared_end) {
  library *l = static_cast<library *>(calloc(1, sizeof *l));
  l->shared = shared;
  l->bytes = static_cast<size_t>(shared_end - shared);
  l->owners = static_cast<int *>(malloc(l->bytes * sizeof *l->owners));
  for (size_t i = 0; i < l->bytes; i++) l->owners[i] = -1;
  l->records = static_cast<record *>(calloc(l->bytes, sizeof *l->records));
  dl_iterate_phdr(find_image, l);
  l->next = libraries;
  libraries = l;
  return l;
}

CUDARUN_API size_t static_shared(const library *l, const char *kernel) {
  size_t bytes = 0;
  for (int i = 0; i < l->nvariables; i++) {
    if (!strcmp(l->variables[i].function, kernel)) bytes += (l->variables[i].bytes + 15) / 16 * 16;
  }
  return bytes;
}

} // namespace cudarun
