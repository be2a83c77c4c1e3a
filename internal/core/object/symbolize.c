/* Names of functions: those that dladdr finds in the dynamic symbol table, and for the others those of the file's
 * .symtab, which has local functions and is not in memory. It is read when a name is needed, and only the names are
 * kept. */
#include "object/symbolize.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- .symtab --------------------------------------------------------------------------------- */

enum {
  NAME_MAX_BYTES = 4096,    /* a longer name is truncated */
  SYMBOLS_AT_ONCE = 1024,
  SYMBOLS_MOST = 1 << 22,   /* for one backtrace: further frames have only addresses */
  HEADERS_MOST = 64
};

static int read_at(int fd, void* to, size_t size, uint64_t offset) {
  for (char* p = to; size > 0;) {
    ssize_t n = pread(fd, p, size, (off_t)offset);
    if (n <= 0) return -1;
    p += n, size -= (size_t)n, offset += (uint64_t)n;
  }
  return 0;
}

/* Whether the file is still the one that is mapped at base: the name may now belong to another file. *bias is the
 * difference between addresses in memory and in the file. */
static int is_mapped(int fd, const char* base, Elf64_Ehdr* ehdr, uintptr_t* bias) {
  Elf64_Phdr phdrs[HEADERS_MOST];
  if (read_at(fd, ehdr, sizeof *ehdr, 0) != 0 || memcmp(ehdr->e_ident, ELFMAG, SELFMAG) != 0 ||
      ehdr->e_ident[EI_CLASS] != ELFCLASS64 || memcmp(ehdr, base, sizeof *ehdr) != 0 ||
      ehdr->e_phentsize != sizeof *phdrs || ehdr->e_phnum == 0 || ehdr->e_phnum > HEADERS_MOST ||
      read_at(fd, phdrs, ehdr->e_phnum * sizeof *phdrs, ehdr->e_phoff) != 0)
    return 0;
  for (int i = 0; i < ehdr->e_phnum; i++) {
    if (phdrs[i].p_type != PT_LOAD) continue;
    if (phdrs[i].p_offset != 0) return 0; /* the headers are elsewhere in memory */
    uint64_t end = ehdr->e_phoff + ehdr->e_phnum * sizeof *phdrs;
    if (end > phdrs[i].p_filesz || memcmp(base + ehdr->e_phoff, phdrs, ehdr->e_phnum * sizeof *phdrs) != 0) return 0;
    *bias = (uintptr_t)base - (phdrs[i].p_vaddr & ~(uint64_t)(getpagesize() - 1));
    return 1;
  }
  return 0;
}

/* The function of the table that holds an address: its name in *name, its beginning in *start. */
static int scan(tvmgo_symbolizer* s, int fd, const Elf64_Shdr* table, const Elf64_Shdr* strings, uint64_t vaddr,
    char* name,
                uint64_t* start) {
  Elf64_Sym few[SYMBOLS_AT_ONCE / 16], *symbols = malloc(SYMBOLS_AT_ONCE * sizeof *symbols);
  size_t at_once = symbols == NULL ? sizeof few / sizeof *few : SYMBOLS_AT_ONCE;
  Elf64_Sym* batch = symbols == NULL ? few : symbols;
  uint64_t count = table->sh_size / sizeof *symbols;
  int found = 0;
  for (uint64_t done = 0; !found && done < count;) {
    size_t n = count - done < at_once ? (size_t)(count - done) : at_once;
    if (s->symbols_left < n || read_at(fd, batch, n * sizeof *batch,
        table->sh_offset + done * sizeof *batch) != 0) break;
    s->symbols_left -= n;
    done += n;
    for (size_t i = 0; !found && i < n; i++) {
      const Elf64_Sym* f = &batch[i];
      if (ELF64_ST_TYPE(f->st_info) != STT_FUNC || f->st_shndx == SHN_UNDEF || vaddr < f->st_value ||
          vaddr - f->st_value >= f->st_size || f->st_name >= strings->sh_size)
        continue;
      uint64_t room = strings->sh_size - f->st_name;
      size_t size = room < NAME_MAX_BYTES ? (size_t)room : NAME_MAX_BYTES;
      *start = f->st_value;
      name[size] = 0;
      found = read_at(fd, name, size, strings->sh_offset + f->st_name) == 0 && name[0] != 0;
      if (!found) done = count;
    }
  }
  free(symbols);
  return found;
}

/* The name of a local function, in name (NAME_MAX_BYTES + 1), and where it begins; 0 when it is not known. */
static uintptr_t local_name(tvmgo_symbolizer* s, const char* file, const char* base, uintptr_t pc, char* name) {
  Elf64_Ehdr ehdr;
  Elf64_Shdr table, strings;
  uintptr_t bias = 0, from = 0;
  if (s->symbols_left == 0) return 0;
  int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return 0;
  if (is_mapped(fd, base, &ehdr, &bias) && ehdr.e_shentsize == sizeof table) {
    for (unsigned i = 0; i < ehdr.e_shnum; i++) {
      if (read_at(fd, &table, sizeof table, ehdr.e_shoff + i * sizeof table) != 0) break;
      if (table.sh_type != SHT_SYMTAB) continue;
      uint64_t start;
      if (table.sh_entsize == sizeof(Elf64_Sym) && table.sh_link < ehdr.e_shnum &&
          read_at(fd, &strings, sizeof strings, ehdr.e_shoff + table.sh_link * sizeof strings) == 0 &&
          scan(s, fd, &table, &strings, pc - bias, name, &start))
        from = bias + start;
      break;
    }
  }
  close(fd);
  return from;
}

/* ---- Lines ------------------------------------------------------------------------------------- */

/* C++ names are demangled if the process has a C++ library, which need not be in the global scope. */
typedef char* (*demangler)(const char* name, char* buffer, size_t* size, int* status);

static demangler find_demangler(void) {
  static _Atomic(uintptr_t) found;
  uintptr_t f = atomic_load_explicit(&found, memory_order_relaxed);
  if (f != 0) return (demangler)f;
  f = (uintptr_t)dlsym(RTLD_DEFAULT, "__cxa_demangle");
  void* library = f == 0 && tvmgo_forks() == 0 ? dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD) : NULL;
  if (library != NULL) f = (uintptr_t)dlsym(library, "__cxa_demangle"); /* which then stays loaded */
  atomic_store_explicit(&found, f, memory_order_relaxed);
  return (demangler)f;
}

static void add_name(tvmgo_text* t, const char* name) {
  demangler f = strncmp(name, "_Z", 2) == 0 ? find_demangler() : NULL;
  int status = -1;
  char* plain = f == NULL ? NULL : f(name, NULL, NULL, &status);
  tvmgo_text_put(t, status == 0 && plain != NULL ? plain : name);
  free(plain);
}

static int is_interpreter(const char* file) {
  const char* base = strrchr(file, '/');
  base = base == NULL ? file : base + 1;
  return strncmp(base, "libpython", 9) == 0 || strncmp(base, "python", 6) == 0;
}

/* 1 if the frame is code of an interpreter. */
static int write_line(tvmgo_symbolizer* s, tvmgo_text* t, uintptr_t pc) {
  Dl_info at = {0};
  char local[NAME_MAX_BYTES + 1];
  uintptr_t from = 0;
  int known = dladdr((void*)pc, &at) != 0;
  const char *file = known && at.dli_fname != NULL && at.dli_fname[0] != 0 ? at.dli_fname : NULL, *name = NULL;
  if (known && at.dli_sname != NULL) {
    name = at.dli_sname;
    from = (uintptr_t)at.dli_saddr;
  } else if (file != NULL && (from = local_name(s, file, at.dli_fbase, pc, local)) != 0) {
    name = local;
  } else if (known) {
    from = (uintptr_t)at.dli_fbase;
  }
  tvmgo_text_put(t, "  File \"");
  tvmgo_text_put(t, file != NULL ? file : "<unknown>");
  tvmgo_text_put(t, "\", line 0, in ");
  if (name != NULL) {
    add_name(t, name);
    tvmgo_text_put(t, "+");
  }
  tvmgo_text_printf(t, "0x%" PRIxPTR "\n", pc - from);
  return file != NULL && is_interpreter(file);
}

/* ---- Lines that were written before ------------------------------------------------------------ */

typedef struct {
  uintptr_t pc; /* 0: free */
  char* line;
  uint32_t size, is_interpreter;
} kept;

/* A hash table with open addressing, at most half full. It is cleared when it is full, and when a library was unloaded,
 * because another library may now have its addresses. */
enum { KEPT_SLOTS = 8192 };
static kept* table; /* under the lock */
static size_t num_kept;
static unsigned long long kept_unloads;
pthread_mutex_t tvmgo_symbolize_lock = PTHREAD_MUTEX_INITIALIZER;

static kept* slot_of(uintptr_t pc) {
  size_t i = (size_t)(pc * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (KEPT_SLOTS - 1);
  while (table[i].pc != 0 && table[i].pc != pc) i = (i + 1) & (KEPT_SLOTS - 1);
  return &table[i];
}

static void forget_all(void) {
  for (size_t i = 0; num_kept > 0 && i < KEPT_SLOTS; i++) {
    if (table[i].pc == 0) continue;
    free(table[i].line);
    table[i] = (kept){0};
    num_kept--;
  }
}

static int count_unloads(struct dl_phdr_info* info, size_t size, void* unloads) {
  if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs)
    *(unsigned long long*)unloads = info->dlpi_subs;
  return 1;
}

/* In a forked child another thread of the parent may have held the dynamic linker's lock. */
void tvmgo_symbolizer_begin(tvmgo_symbolizer* s) {
  *s = (tvmgo_symbolizer){SYMBOLS_MOST, 0};
  if (tvmgo_forks() == 0) dl_iterate_phdr(count_unloads, &s->unloads);
  pthread_mutex_lock(&tvmgo_symbolize_lock);
  if (tvmgo_forks() != 0) s->unloads = kept_unloads;
  if (s->unloads != kept_unloads) forget_all();
  kept_unloads = s->unloads;
  pthread_mutex_unlock(&tvmgo_symbolize_lock);
}

/* Caches the text in t from offset on as the line of pc. If memory is exhausted, it is computed again next time. */
static void keep(const tvmgo_symbolizer* s, const tvmgo_text* t, size_t offset, uintptr_t pc, int of_interpreter) {
  if (t->failed || t->size - offset > UINT32_MAX) return;
  size_t size = t->size - offset;
  char* line = malloc(size);
  if (line == NULL) return;
  memcpy(line, t->data + offset, size);
  pthread_mutex_lock(&tvmgo_symbolize_lock);
  if (table == NULL) table = calloc(KEPT_SLOTS, sizeof *table);
  if (table != NULL && s->unloads == kept_unloads) {
    if (num_kept >= KEPT_SLOTS / 2) forget_all();
    kept* k = slot_of(pc);
    if (k->pc == 0) {
      *k = (kept){pc, line, (uint32_t)size, (uint32_t)of_interpreter};
      num_kept++;
      line = NULL;
    }
  }
  pthread_mutex_unlock(&tvmgo_symbolize_lock);
  free(line);
}

int tvmgo_symbolize(tvmgo_symbolizer* s, tvmgo_text* t, uintptr_t pc, int hide_interpreter) {
  pthread_mutex_lock(&tvmgo_symbolize_lock);
  const kept* k = table == NULL ? NULL : slot_of(pc);
  int found = k != NULL && k->pc == pc, hidden = found && hide_interpreter && k->is_interpreter;
  if (found && !hidden) tvmgo_text_add(t, k->line, k->size);
  pthread_mutex_unlock(&tvmgo_symbolize_lock);
  if (found) return !hidden;
  size_t offset = t->size;
  int of_interpreter = write_line(s, t, pc);
  keep(s, t, offset, pc, of_interpreter);
  if (!of_interpreter || !hide_interpreter) return 1;
  if (!t->failed) t->size = offset;
  return 0;
}
