/* Other TVM runtimes in the process, and which libraries are there already. */
#include "loader/loader.h"
#include "loader/elf_check.h"
#include "loader/loaded_objects.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>

TVMGO_BEHIND_LD_SO static int is_us(const struct dl_phdr_info* info) {
  static const char here;
  uintptr_t p = (uintptr_t)&here;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr)* h = &info->dlpi_phdr[i];
    if (h->p_type == PT_LOAD && p - (info->dlpi_addr + h->p_vaddr) < h->p_memsz) return 1;
  }
  return 0;
}

/* Runs under the dynamic linker's lock, so it must not call the dynamic linker. */
TVMGO_BEHIND_LD_SO static int note(struct dl_phdr_info* info, size_t size, void* ctx) {
  tvmgo_loaded* l = ctx;
  if (l->count == l->cap) {
    uintptr_t* grown = realloc(l->bases == l->room ? NULL : l->bases, l->cap * 2 * sizeof *grown);
    if (grown == NULL) return l->no_memory = 1;
    if (l->bases == l->room) memcpy(grown, l->room, sizeof l->room);
    l->bases = grown;
    l->cap *= 2;
  }
  l->bases[l->count++] = info->dlpi_addr;
  const char* name = info->dlpi_name;
  for (const char* p = name; *p != 0; p++)
    if (*p == '/') name = p + 1;
  if (name[0] == 'l' && name[1] == 'i' && name[2] == 'b' && name[3] == 't' &&
      tvmgo_elf_is_runtime_library(name) && !is_us(info))
    l->has_peer = 1;
  return 0;
}

int tvmgo_loaded_look(tvmgo_loaded* loaded) {
  loaded->bases = loaded->room;
  loaded->count = 0;
  loaded->cap = TVMGO_LOADED_ROOM;
  loaded->has_peer = loaded->no_memory = 0;
  dl_iterate_phdr(note, loaded);
  if (!loaded->no_memory) return 0;
  tvmgo_loaded_release(loaded);
  return tvmgo_raise_oom();
}

void tvmgo_loaded_release(tvmgo_loaded* loaded) {
  if (loaded->bases != loaded->room) free(loaded->bases);
}

int tvmgo_loaded_holds(const tvmgo_loaded* loaded, uintptr_t base) {
  for (size_t i = loaded->count; i-- > 0;)
    if (loaded->bases[i] == base) return 1;
  return 0;
}
