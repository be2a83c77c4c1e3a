/* Whether this machine's CPU has the instructions that the notes of a file name. */
#include "loader/loader.h"
#include "loader/cpu_notes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>

typedef enum { ANY, AVX, AVX512 } registers; /* which registers the system must save */
typedef enum { EAX, EBX, ECX, EDX } answer;

/* A feature is a bit of one of the answers to a question (leaf and subleaf). */
static const struct {
  const char* name;
  unsigned leaf, sub;
  answer in;
  unsigned bit;
  registers need;
} features[] = {
    {"sse3", 1, 0, ECX, 0, ANY},
    {"ssse3", 1, 0, ECX, 9, ANY},
    {"fma", 1, 0, ECX, 12, AVX},
    {"sse4.1", 1, 0, ECX, 19, ANY},
    {"sse4.2", 1, 0, ECX, 20, ANY},
    {"movbe", 1, 0, ECX, 22, ANY},
    {"popcnt", 1, 0, ECX, 23, ANY},
    {"avx", 1, 0, ECX, 28, AVX},
    {"f16c", 1, 0, ECX, 29, AVX},
    {"bmi", 7, 0, EBX, 3, ANY},
    {"avx2", 7, 0, EBX, 5, AVX},
    {"bmi2", 7, 0, EBX, 8, ANY},
    {"avx512f", 7, 0, EBX, 16, AVX512},
    {"avx512dq", 7, 0, EBX, 17, AVX512},
    {"avx512cd", 7, 0, EBX, 28, AVX512},
    {"avx512bw", 7, 0, EBX, 30, AVX512},
    {"avx512vl", 7, 0, EBX, 31, AVX512},
    {"avx512vbmi", 7, 0, ECX, 1, AVX512},
    {"avx512vbmi2", 7, 0, ECX, 6, AVX512},
    {"avx512vnni", 7, 0, ECX, 11, AVX512},
    {"avx512vpopcntdq", 7, 0, ECX, 14, AVX512},
    {"avx512fp16", 7, 0, EDX, 23, AVX512},
    {"avxvnni", 7, 1, EAX, 4, AVX},
    {"avx512bf16", 7, 1, EAX, 5, AVX512},
    {"lzcnt", 0x80000001, 0, ECX, 5, ANY},
    {"xop", 0x80000001, 0, ECX, 11, AVX},
    {"fma4", 0x80000001, 0, ECX, 16, AVX},
};

/* The states that the system saves when it switches threads: XCR0. */
static unsigned saved_states(void) {
  unsigned a, b, c, d, low, high;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 27 & 1)) return 0; /* no OSXSAVE */
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

/* Unknown names are taken for present: a newer tool may have written them. */
static int has_feature(const char* name, size_t n) {
  for (size_t i = 0; i < sizeof features / sizeof *features; i++) {
    if (strlen(features[i].name) != n || memcmp(features[i].name, name, n) != 0) continue;
    unsigned all[4] = {0};
    const unsigned states = features[i].need == ANY ? 0 : features[i].need == AVX ? 0x6 : 0xe6;
    if (!__get_cpuid_count(features[i].leaf, features[i].sub, &all[EAX], &all[EBX], &all[ECX], &all[EDX])) return 0;
    return (all[features[i].in] >> features[i].bit & 1) != 0 && (saved_states() & states) == states;
  }
  return 1;
}
#elif defined(__aarch64__)
#include <sys/auxv.h>
#include <sys/prctl.h>

/* A feature is a bit of what the kernel tells each process about the CPU. */
static const struct {
  const char* name;
  unsigned long in;
  unsigned bit;
} features[] = {
    {"lse", AT_HWCAP, 8},        {"fullfp16", AT_HWCAP, 10}, {"rdm", AT_HWCAP, 12},  {"complxnum", AT_HWCAP, 14},
    {"rcpc", AT_HWCAP, 15},      {"dotprod", AT_HWCAP, 20},  {"sve", AT_HWCAP, 22},  {"sve2", AT_HWCAP2, 1},
    {"i8mm", AT_HWCAP2, 13},     {"bf16", AT_HWCAP2, 14},
};

/* The length of the vectors of SVE, in bits; 0: there are none. */
static unsigned vector_bits(void) {
  enum { GET_LENGTH = 51, MASK = 0xffff }; /* PR_SVE_GET_VL, PR_SVE_VL_LEN_MASK */
  const int length = prctl(GET_LENGTH, 0, 0, 0, 0);
  return length < 0 ? 0 : (unsigned)(length & MASK) * 8;
}

/* Unknown names are taken for present: a newer tool may have written them. */
static int has_feature(const char* name, size_t n) {
  unsigned bits;
  char text[32] = "";
  if (n < sizeof text) memcpy(text, name, n);
  if (sscanf(text, "sve of %u bits", &bits) == 1) return vector_bits() == bits;
  for (size_t i = 0; i < sizeof features / sizeof *features; i++)
    if (strcmp(text, features[i].name) == 0) return (getauxval(features[i].in) >> features[i].bit & 1) != 0;
  return 1;
}
#else
static int has_feature(const char* name, size_t n) { return 1; }
#endif

enum { OWNER = 6, NOTES_MOST = 1 << 16, NAME_MOST = 32 };

typedef struct {
  char text[160];
  size_t used;
} missing;

static void add(missing* m, const char* name, size_t n) {
  char word[NAME_MOST + 2];
  snprintf(word, sizeof word, " %.*s,", (int)n, name);
  size_t size = strlen(word);
  if (strstr(m->text, word) != NULL || m->used + size >= sizeof m->text) return; /* several objects have the note */
  memcpy(m->text + m->used, word, size + 1);
  m->used += size;
}

/* The notes of a segment: three numbers, the owner and the text, each of them padded to 4 bytes. */
static void read_notes(const unsigned char* p, uint64_t size, missing* m) {
  uint32_t head[3];
  while (size >= sizeof head) {
    memcpy(head, p, sizeof head);
    uint64_t owner = ((uint64_t)head[0] + 3) & ~UINT64_C(3), text = ((uint64_t)head[1] + 3) & ~UINT64_C(3);
    if (owner + text > size - sizeof head) return;
    const char* name = (const char*)p + sizeof head + owner;
    size_t n = strnlen(name, head[1]);
    if (head[0] == OWNER && head[2] == 1 && memcmp(p + sizeof head, "tvmgo", OWNER) == 0 && n <= NAME_MOST &&
        !has_feature(name, n))
      add(m, name, n);
    p += sizeof head + owner + text;
    size -= sizeof head + owner + text;
  }
}

int tvmgo_elf_check_cpu(const tvmgo_elf* elf) {
  missing m = {"", 0};
  for (size_t i = 0; i < elf->phnum; i++) {
    const Elf64_Phdr* p = &elf->phdr[i];
    if (p->p_type != PT_NOTE || p->p_filesz == 0 || p->p_filesz > NOTES_MOST || p->p_align > 4) continue;
    const Elf64_Phdr* in = tvmgo_elf_load_at(elf, p->p_vaddr, p->p_filesz, 1); /* it was found before */
    unsigned char* notes = malloc(p->p_filesz);
    if (notes == NULL) return tvmgo_raise_oom();
    int rc = tvmgo_elf_peek(elf, in->p_offset + (p->p_vaddr - in->p_vaddr), notes, p->p_filesz);
    if (rc == 0) read_notes(notes, p->p_filesz, &m);
    free(notes);
    if (rc != 0) return rc;
  }
  if (m.used == 0) return 0;
  return tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR,
                     "load %s: its code may use instructions that this machine's CPU does not have (%.*s): build it "
                     "for this CPU, or without -march, -mcpu and -mattr for every CPU",
                     elf->name, (int)m.used - 2, m.text + 1);
}
