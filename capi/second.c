/* Two tvmgo libraries in one process, libtvmgo.so and libtvmgo_runtime.so for example, would be two runtimes with a
 * table of functions, a pool of memory and threads each, and objects of one would be invalid in the other. The library
 * that is initialized second finds the first one, and its functions are errors that name both.
 *
 * A library is found by an ELF note, which a linker keeps in a program that contains the static library, too, and which
 * needs no symbol. */
#include "core.h"
#include "object/usable.h"

#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the note refers to. Another build of the library reads it, so it does not change. */
typedef struct instance {
  int32_t is_first; /* it is initialized, and no other was before it */
} instance;

__attribute__((used)) instance tvmgo_instance;

#define NOTE_NAME "tvmgo"
enum { NOTE_TYPE = 1 };

/* The note's content is the distance from itself to the instance, which needs no relocation when it is loaded. */
__asm__(".pushsection .note.tvmgo, \"a\", %note\n"
        ".balign 4\n"
        ".long 6, 4, 1\n"
        ".asciz \"" NOTE_NAME "\"\n"
        ".balign 4\n"
        ".long tvmgo_instance - .\n"
        ".popsection\n");

typedef struct search {
  const char *own, *first; /* paths; "" is the program's. first is NULL if there is none */
} search;

static size_t padded(uint32_t n) { return ((size_t)n + 3) & ~(size_t)3; }

static const instance* instance_of(const ElfW(Nhdr)* note) {
  const char* name = (const char*)(note + 1);
  const char* content = name + padded(note->n_namesz);
  int32_t distance;
  if (note->n_type != NOTE_TYPE || note->n_namesz != sizeof NOTE_NAME || note->n_descsz != sizeof distance ||
      memcmp(name, NOTE_NAME, sizeof NOTE_NAME) != 0)
    return NULL;
  memcpy(&distance, content, sizeof distance);
  return (const instance*)(content + distance);
}

static int look(struct dl_phdr_info* info, size_t size, void* ctx) {
  search* s = ctx;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr)* h = &info->dlpi_phdr[i];
    if (h->p_type != PT_NOTE || h->p_align > 4) continue; /* notes of 8 bytes' alignment are the compiler's */
    const char *p = (const char*)(info->dlpi_addr + h->p_vaddr), *end = p + h->p_memsz;
    while ((size_t)(end - p) >= sizeof(ElfW(Nhdr))) {
      const ElfW(Nhdr)* note = (const ElfW(Nhdr)*)p;
      size_t bytes = sizeof *note + padded(note->n_namesz) + padded(note->n_descsz);
      if (bytes > (size_t)(end - p)) break;
      const instance* found = instance_of(note);
      if (found == &tvmgo_instance) s->own = info->dlpi_name;
      if (found != NULL && found != &tvmgo_instance && found->is_first) s->first = info->dlpi_name;
      p += bytes;
    }
  }
  return 0;
}

static const char* named(const char* path) { return path[0] == 0 ? "the program itself, by a static library" : path; }

/* Last, because registrations of the others may not fail. ld.so initializes one library at a time. */
__attribute__((constructor(65535))) static void find_first(void) {
  static const char form[] = "this process has two tvmgo libraries, %s and later %s: they would be two runtimes that "
      "cannot use each other's objects: link or load only one of them (libtvmgo.so has all that "
      "libtvmgo_runtime.so has)";
  search s = {.own = ""};
  dl_iterate_phdr(look, &s);
  if (s.first == NULL) {
    tvmgo_instance.is_first = 1;
    return;
  }
  char* reason;
  if (asprintf(&reason, form, named(s.first), named(s.own)) < 0) reason = "another tvmgo library is loaded";
  tvmgo_unusable = reason;
}
