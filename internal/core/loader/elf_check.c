/* Checks the headers of a file: its format, its machine, and whether the file is complete. */
#include "loader/loader.h"
#include "loader/elf_check.h"
#include "loader/cpu_notes.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOADABLE "export it again as a shared library (.so)"

int tvmgo_elf_corrupt(const tvmgo_elf* elf, const char* format, ...) {
  char text[256];
  va_list ap;
  va_start(ap, format);
  vsnprintf(text, sizeof text, format, ap);
  va_end(ap);
  return tvmgo_raise(TVMGO_CORRUPT_ERROR, "load %s: damaged file: %s: copy or export it again",
                     elf->name, text);
}

int tvmgo_elf_peek(const tvmgo_elf* elf, uint64_t offset, void* to, uint64_t size) {
  const unsigned char* from = elf->fd < 0 ? elf->bytes : elf->head;
  if (elf->fd < 0 || (offset <= elf->head_size && size <= elf->head_size - offset)) {
    memcpy(to, from + offset, size);
    return 0;
  }
  for (uint64_t done = 0; done < size;) {
    ssize_t n = pread(elf->fd, (char*)to + done, size - done, (off_t)(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      return tvmgo_raise_system(errno, TVMGO_RUNTIME_ERROR, "load %s: reading failed: %s", elf->name,
                                strerror(errno));
    if (n == 0)
      return tvmgo_elf_corrupt(elf, "it became shorter while it was read");
    done += (uint64_t)n;
  }
  return 0;
}

void* tvmgo_elf_read(tvmgo_elf* elf, uint64_t offset, uint64_t size) {
  if (offset <= elf->head_size && size <= elf->head_size - offset) return elf->head + offset;
  void* p = elf->num_buffers < TVMGO_ELF_BUFFERS ? malloc(size) : NULL;
  if (p == NULL) {
    tvmgo_raise_oom();
    return NULL;
  }
  elf->buffers[elf->num_buffers++] = p;
  return tvmgo_elf_peek(elf, offset, p, size) == 0 ? p : NULL;
}

const Elf64_Phdr* tvmgo_elf_load_at(const tvmgo_elf* elf, uint64_t vaddr, uint64_t size,
                                    int in_file) {
  for (size_t i = 0; i < elf->phnum; i++) {
    const Elf64_Phdr* p = &elf->phdr[i];
    uint64_t room = in_file ? p->p_filesz : p->p_memsz;
    if (p->p_type == PT_LOAD && vaddr >= p->p_vaddr && vaddr - p->p_vaddr <= room &&
        size <= room - (vaddr - p->p_vaddr))
      return p;
  }
  return NULL;
}

static const char* machine_name(unsigned machine) {
  switch (machine) {
    case EM_X86_64: return "x86-64";
    case EM_AARCH64: return "aarch64";
    case EM_386: return "x86 (32-bit)";
    case EM_ARM: return "arm (32-bit)";
    case EM_RISCV: return "riscv";
    case EM_PPC64: return "ppc64";
    case EM_S390: return "s390";
    case EM_MIPS: return "mips";
    case EM_LOONGARCH: return "loongarch";
    case 164: return "hexagon";
    case EM_CUDA: return "NVIDIA GPUs (a cubin)";
    case EM_AMDGPU: return "AMD GPUs (a code object)";
    default: return NULL;
  }
}

/* The names of formats other than ELF, with what to do. */
static const char* looks_like(const unsigned char* p, size_t n) {
  static const struct {
    const char* magic;
    size_t size;
    const char* text;
  } known[] = {
      {"!<arch>\n", 8, "a static library: link it with cc -shared -Wl,--whole-archive"},
      {"!<thin>\n", 8, "a thin static library: link it with cc -shared -Wl,--whole-archive"},
      {"\xcf\xfa\xed\xfe", 4, "a Mach-O file for macOS: export it for Linux"},
      {"\xce\xfa\xed\xfe", 4, "a Mach-O file for macOS: export it for Linux"},
      {"\xca\xfe\xba\xbe", 4, "a universal Mach-O file for macOS: export it for Linux"},
      {"MZ", 2, "a Windows library (PE): export it for Linux"},
      {"BC\xc0\xde", 4, "LLVM bitcode: compile it and link it with cc -shared"},
      {"\x1f\x8b", 2, "gzip data: unpack it first"},
      {"PK\x03\x04", 4, "a zip archive: unpack it first"},
      {"\x28\xb5\x2f\xfd", 4, "zstd data: unpack it first"},
      {"#!", 2, "a script: " LOADABLE},
      {"INPUT", 5, "a linker script: load the library it names"},
      {"GROUP", 5, "a linker script: load the library it names"},
      {"/* GNU ld script", 16, "a linker script: load the library it names"},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (n >= known[i].size && memcmp(p, known[i].magic, known[i].size) == 0) return known[i].text;
  if (n >= 262 && memcmp(p + 257, "ustar", 5) == 0)
    return "a tar archive: export it under a name that ends in .so";
  if (n > 512) n = 512;
  size_t printable = 0, zero = 0;
  for (size_t i = 0; i < n; i++) {
    printable += (p[i] >= ' ' && p[i] != 127) || p[i] == '\n' || p[i] == '\t' || p[i] == '\r';
    zero += p[i] == 0;
  }
  if (printable == n) return "text: " LOADABLE;
  if (zero == n) return "only zeros, perhaps an unfinished copy: copy it again";
  return "unknown data: " LOADABLE;
}

static int check_ident(const tvmgo_elf* elf) {
  const unsigned char* id = elf->head;
  const char* name = elf->name;
  if (elf->size == 0)
    return tvmgo_raise(TVMGO_CORRUPT_ERROR, "load %s: the file is empty: copy or export it again",
                       name);
  if (elf->head_size < SELFMAG || memcmp(id, ELFMAG, SELFMAG) != 0)
    return tvmgo_raise(TVMGO_CORRUPT_ERROR, "load %s: not an ELF shared library but %s", name,
                       looks_like(id, elf->head_size));
  if (elf->head_size < sizeof(Elf64_Ehdr))
    return tvmgo_elf_corrupt(elf, "truncated: the ELF header needs %zu bytes, file has %llu",
                             sizeof(Elf64_Ehdr), (unsigned long long)elf->size);
  const Elf64_Ehdr* h = (const Elf64_Ehdr*)elf->head;
  unsigned machine = h->e_machine;
  if (id[EI_DATA] == ELFDATA2MSB) machine = (uint16_t)(machine >> 8 | machine << 8);
  const char* built_for = machine_name(machine);
  if (machine != TVMGO_ELF_MACHINE && built_for != NULL)
    return tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR,
                       "load %s: built for %s, this machine is " TVMGO_ELF_MACHINE_NAME
                       ": export it for this machine",
                       name, built_for);
  if (machine != TVMGO_ELF_MACHINE)
    return tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR,
                       "load %s: built for an unknown machine (ELF number %u), this machine is "
                       TVMGO_ELF_MACHINE_NAME ": export it for this machine",
                       name, machine);
  if (id[EI_CLASS] != ELFCLASS64)
    return tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR,
                       "load %s: a 32-bit library, this program is 64-bit: export it for "
                       TVMGO_ELF_MACHINE_NAME,
                       name);
  if (id[EI_DATA] != ELFDATA2LSB)
    return tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR,
                       "load %s: a big-endian library, this machine is little-endian: export it "
                       "for this machine",
                       name);
  if (id[EI_VERSION] != EV_CURRENT || h->e_version != EV_CURRENT)
    return tvmgo_elf_corrupt(elf, "unknown ELF version %u", (unsigned)h->e_version);
  switch (h->e_type) {
    case ET_DYN: return 0;
    case ET_EXEC:
      return tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR,
                         "load %s: an executable, not a shared library: link it with -shared", name);
    case ET_REL:
      return tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR,
                         "load %s: an object file, not a shared library: link it with cc -shared",
                         name);
    case ET_CORE:
      return tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR, "load %s: a core dump, not a shared library",
                         name);
    default: return tvmgo_elf_corrupt(elf, "unknown ELF type %u", (unsigned)h->e_type);
  }
}

enum { LEAST_PAGE = 4096 }; /* of all machines */

static int is_power_of_two(uint64_t n) { return (n & (n - 1)) == 0; }

/* One PT_LOAD: inside the file, and above the one before it (ld.so reserves from first to last). */
static int check_load(const tvmgo_elf* elf, const Elf64_Phdr* p, uint64_t page, uint64_t* top) {
  const uint64_t limit = UINT64_C(1) << 47;
  if (p->p_filesz > elf->size || p->p_offset > elf->size - p->p_filesz)
    return tvmgo_elf_corrupt(elf, "truncated: segment needs %llu bytes, file has %llu",
                             (unsigned long long)(p->p_offset + p->p_filesz < p->p_filesz
                                                      ? UINT64_MAX
                                                      : p->p_offset + p->p_filesz),
                             (unsigned long long)elf->size);
  if (p->p_memsz < p->p_filesz || p->p_vaddr > limit || p->p_memsz > limit)
    return tvmgo_elf_corrupt(elf, "a segment of impossible size or address");
  /* A linker may align segments to small pages, for machines that have no others. */
  const uint64_t align = p->p_align;
  if (align >= LEAST_PAGE && align < page && is_power_of_two(align) && ((p->p_vaddr - p->p_offset) & (align - 1)) == 0)
    return tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR,
                       "load %s: linked for pages of %llu bytes, this system has pages of %llu: link it with "
                       "-Wl,-z,max-page-size=65536",
                       elf->name, (unsigned long long)align, (unsigned long long)page);
  if (((p->p_vaddr - p->p_offset) & (page - 1)) != 0 || !is_power_of_two(p->p_align) ||
      (p->p_align & (page - 1)) != 0)
    return tvmgo_elf_corrupt(elf, "a segment that cannot be mapped in pages of %llu bytes",
                             (unsigned long long)page);
  if (*top != UINT64_MAX && p->p_vaddr < *top)
    return tvmgo_elf_corrupt(elf, "segments that overlap or are out of order");
  *top = p->p_vaddr + p->p_memsz;
  return 0;
}

/* ld.so reads notes about CPU features where the header says they are. */
static int notes_outside(const tvmgo_elf* elf, const Elf64_Phdr* p) {
  return p->p_filesz > 0 && tvmgo_elf_load_at(elf, p->p_vaddr, p->p_filesz, 1) == NULL;
}

static int check_segments(tvmgo_elf* elf) {
  const Elf64_Ehdr* h = (const Elf64_Ehdr*)elf->head;
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), table = (uint64_t)h->e_phnum * sizeof(Elf64_Phdr);
  uint64_t top = UINT64_MAX;
  const Elf64_Phdr *dynamic = NULL, *tls = NULL, *relro = NULL;
  if (h->e_phnum == 0 || h->e_phentsize != sizeof(Elf64_Phdr) || h->e_phoff % 8 != 0)
    return tvmgo_elf_corrupt(elf, "no usable program headers");
  if (table > elf->size || h->e_phoff > elf->size - table)
    return tvmgo_elf_corrupt(elf, "truncated: program headers need %llu bytes, file has %llu",
                             (unsigned long long)(h->e_phoff + table),
                             (unsigned long long)elf->size);
  elf->phdr = tvmgo_elf_read(elf, h->e_phoff, table);
  if (elf->phdr == NULL) return -1;
  elf->phnum = h->e_phnum;
  for (size_t i = 0; i < elf->phnum; i++) {
    const Elf64_Phdr* p = &elf->phdr[i];
    if (p->p_type == PT_LOAD && check_load(elf, p, page, &top) != 0) return -1;
    if (p->p_type == PT_DYNAMIC && dynamic != NULL)
      return tvmgo_elf_corrupt(elf, "two dynamic sections");
    if (p->p_type == PT_DYNAMIC) dynamic = p;
    if (p->p_type == PT_TLS) tls = p;
    if ((p->p_type == PT_NOTE || p->p_type == PT_GNU_PROPERTY) && notes_outside(elf, p))
      return tvmgo_elf_corrupt(elf, "notes outside the loaded part");
    if (p->p_type == PT_GNU_RELRO) relro = p;
  }
  if (top == UINT64_MAX) return tvmgo_elf_corrupt(elf, "nothing in it is to be loaded");
  if (dynamic == NULL)
    return tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR,
                       "load %s: a statically linked program, not a shared library: link it with "
                       "-shared",
                       elf->name);
  if (tls != NULL && (tls->p_memsz < tls->p_filesz || tls->p_memsz > UINT64_C(1) << 30 ||
                      !is_power_of_two(tls->p_align) || tls->p_align > UINT64_C(1) << 20 ||
                      !tvmgo_elf_load_at(elf, tls->p_vaddr, tls->p_filesz, 1)))
    return tvmgo_elf_corrupt(elf, "thread-local data outside the loaded part");
  if (relro != NULL) {
    /* Linkers round its end up to a page, past the last byte of data. */
    uint64_t end = relro->p_vaddr + relro->p_memsz;
    const Elf64_Phdr* in = tvmgo_elf_load_at(elf, relro->p_vaddr, 1, 0);
    uint64_t last = in == NULL ? 0 : (in->p_vaddr + in->p_memsz + page - 1) & ~(page - 1);
    if (relro->p_memsz > 0 && (in == NULL || end < relro->p_vaddr || end > last))
      return tvmgo_elf_corrupt(elf, "a protected range outside the loaded part");
    elf->relro_vaddr = relro->p_vaddr;
    elf->relro_size = relro->p_memsz;
  }
  const Elf64_Phdr* in = dynamic->p_memsz % sizeof(Elf64_Dyn) != 0 || dynamic->p_vaddr % 8 != 0
                             ? NULL
                             : tvmgo_elf_load_at(elf, dynamic->p_vaddr, dynamic->p_memsz, 1);
  if (in == NULL || dynamic->p_memsz == 0 || !(in->p_flags & PF_R) ||
      ((dynamic->p_flags & PF_W) && !(in->p_flags & PF_W)))
    return tvmgo_elf_corrupt(elf, "the dynamic section lies outside the loaded part");
  elf->dynamic.vaddr = dynamic->p_vaddr;
  elf->dynamic.size = dynamic->p_memsz;
  elf->dynamic.offset = in->p_offset + (dynamic->p_vaddr - in->p_vaddr);
  elf->dynamic.data = tvmgo_elf_read(elf, elf->dynamic.offset, elf->dynamic.size);
  return elf->dynamic.data == NULL ? -1 : 0;
}

int tvmgo_elf_check(tvmgo_elf* elf, const char* name, int fd, const void* bytes, uint64_t size) {
  memset(elf, 0, offsetof(tvmgo_elf, site_room));
  elf->name = name;
  elf->fd = fd;
  elf->bytes = bytes;
  elf->size = size;
  elf->sites = elf->site_room;
  elf->cap_sites = elf->cap_lazy = TVMGO_ELF_ROOM;
  elf->lazy = elf->lazy_room;
  uint64_t head = size < TVMGO_ELF_HEAD ? size : TVMGO_ELF_HEAD;
  if (tvmgo_elf_peek(elf, 0, elf->head, head) == 0) {
    elf->head_size = (size_t)head;
    if (check_ident(elf) == 0 && check_segments(elf) == 0 && tvmgo_elf_check_dynamic(elf) == 0 &&
        tvmgo_elf_check_hash(elf) == 0 && tvmgo_elf_check_imports(elf) == 0 && tvmgo_elf_check_cpu(elf) == 0)
      return 0;
  }
  tvmgo_elf_release(elf);
  return -1;
}

void tvmgo_elf_release(tvmgo_elf* elf) {
  for (size_t i = 0; i < elf->num_buffers; i++) free(elf->buffers[i]);
  if (elf->sites != elf->site_room) free(elf->sites);
  if (elf->lazy != elf->lazy_room) free(elf->lazy);
  elf->num_buffers = 0;
}
