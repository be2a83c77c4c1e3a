/* The memory after an address in any loaded object. */
#include "loader/loader.h"

#include <link.h>

typedef struct {
  uintptr_t at;
  size_t extent;
} query;

static int visit(struct dl_phdr_info* info, size_t size, void* arg) {
  query* q = arg;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr)* p = &info->dlpi_phdr[i];
    uintptr_t start = info->dlpi_addr + p->p_vaddr;
    if (p->p_type == PT_LOAD && q->at >= start && q->at - start < p->p_filesz) {
      q->extent = p->p_filesz - (q->at - start);
      return 1;
    }
  }
  return 0;
}

size_t tvmgo_address_extent(const void* p) {
  query q = {(uintptr_t)p, 0};
  dl_iterate_phdr(visit, &q);
  return q.extent;
}
