/* Invalid files: each gives an error with the reason, and none reaches the dynamic linker. */
#include "loader/ctest/image_build.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "loader/elf_check.h"

static unsigned char* whole; /* a small library with every kind of table */
static size_t whole_size;

static int check_bytes(const void* p, size_t n) {
  tvmgo_elf elf;
  if (tvmgo_elf_check(&elf, "x.so", -1, p, n) != 0) return -1;
  tvmgo_elf_release(&elf);
  return 0;
}

static void drop_error(void) { tvmgo_object_release(tvmgo_error_take()); }

static void expect(const char* path, const char* kind, const char* text) {
  tvmgo_image* image = NULL;
  REQUIRE(path != NULL);
  CHECK_FAILS(tvmgo_image_open(path, NULL, 0, 0, &image), kind, text);
  CHECK(image == NULL);
}

static const char* write_file(const char* name, const void* data, size_t n) {
  const char* path = build_path(name);
  CHECK_EQ_INT(build_write(path, data, n), 0);
  return path;
}

static void test_no_library(void) {
  expect(build_path("absent.so"), TVMGO_NOT_FOUND_ERROR, "absent.so: no such file");
  expect(build_path("absent/x.so"), TVMGO_NOT_FOUND_ERROR, "no such file");
  expect(build_dir, TVMGO_CORRUPT_ERROR, "a directory");
  const char* fifo = build_path("fifo");
  REQUIRE(mkfifo(fifo, 0600) == 0);
  expect(fifo, TVMGO_CORRUPT_ERROR, "not a regular file");
  expect(write_file("empty.so", "", 0), TVMGO_CORRUPT_ERROR, "the file is empty");
}

static void test_other_formats(void) {
  static const struct {
    const char* data;
    size_t size;
    const char* text;
  } cases[] = {
      {"hello, world\n", 13, "not an ELF shared library but text"},
      {"{\"nodes\": []}", 13, "but text"},
      {"#!/bin/sh\n", 10, "a script"},
      {"INPUT(libx.so.1)\n", 17, "a linker script"},
      {"!<arch>\nx", 9, "a static library"},
      {"\xcf\xfa\xed\xfe\0\0\0\0", 8, "Mach-O"},
      {"\xca\xfe\xba\xbe\0\0\0\0", 8, "Mach-O"},
      {"MZ\x90\0", 4, "Windows"},
      {"BC\xc0\xde", 4, "LLVM bitcode"},
      {"PK\x03\x04", 4, "a zip archive"},
      {"\x1f\x8b\x08\0", 4, "gzip"},
      {"\0\0\0\0\0\0", 6, "only zeros"},
      {"\x01\x02\x03", 3, "unknown data"},
      {"\x7f" "EL", 3, "unknown data"},
      {"\x7f" "ELF\2\1\1", 7, "truncated: the ELF header needs 64 bytes, file has 7"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    expect(write_file("format.so", cases[i].data, cases[i].size), TVMGO_CORRUPT_ERROR, cases[i].text);
  char tar[512] = "model.o";
  memcpy(tar + 257, "ustar", 5);
  expect(write_file("format.so", tar, sizeof tar), TVMGO_CORRUPT_ERROR, "a tar archive");
}

/* The library with one field of its ELF header changed. */
static void expect_header(size_t at, const void* value, size_t n, const char* kind,
                          const char* text) {
  unsigned char* copy = malloc(whole_size);
  REQUIRE(copy != NULL);
  memcpy(copy, whole, whole_size);
  memcpy(copy + at, value, n);
  expect(write_file("header.so", copy, whole_size), kind, text);
  free(copy);
}

static void test_other_machines(void) {
  uint16_t other = TVMGO_ELF_MACHINE == EM_X86_64 ? EM_AARCH64 : EM_X86_64;
  uint16_t odd = 0xfe01, i386 = EM_386;
  const size_t machine = offsetof(Elf64_Ehdr, e_machine), type = offsetof(Elf64_Ehdr, e_type);
  expect_header(machine, &other, 2, TVMGO_NOT_SUPPORTED_ERROR,
                TVMGO_ELF_MACHINE == EM_X86_64
                    ? "built for aarch64, this machine is x86-64: export it for this machine"
                    : "built for x86-64, this machine is aarch64: export it for this machine");
  expect_header(machine, &odd, 2, TVMGO_NOT_SUPPORTED_ERROR, "ELF number 65025");
  expect_header(machine, &i386, 2, TVMGO_NOT_SUPPORTED_ERROR, "x86 (32-bit)");
  expect_header(EI_CLASS, "\1", 1, TVMGO_NOT_SUPPORTED_ERROR, "a 32-bit library");
  uint16_t swapped = (uint16_t)(TVMGO_ELF_MACHINE << 8 | TVMGO_ELF_MACHINE >> 8), core = ET_CORE;
  unsigned char* copy = malloc(whole_size);
  REQUIRE(copy != NULL);
  memcpy(copy, whole, whole_size);
  copy[EI_DATA] = ELFDATA2MSB;
  memcpy(copy + machine, &swapped, 2);
  expect(write_file("header.so", copy, whole_size), TVMGO_NOT_SUPPORTED_ERROR, "big-endian");
  free(copy);
  expect_header(type, &core, 2, TVMGO_NOT_SUPPORTED_ERROR, "a core dump");
  expect_header(EI_VERSION, "\7", 1, TVMGO_CORRUPT_ERROR, "unknown ELF version");
}

static void test_other_elf_types(void) {
  const char* source = "int main(void) { return 0; }";
  expect(build("pie", "-fPIE -pie", source), TVMGO_NOT_SUPPORTED_ERROR, "an executable");
  expect(build("exec", "-no-pie", source), TVMGO_NOT_SUPPORTED_ERROR, "an executable");
  expect(build("object.so", "-c", source), TVMGO_NOT_SUPPORTED_ERROR, "an object file");
}

/* Where the last byte that the dynamic linker maps lies. */
static size_t loaded_end(void) {
  const Elf64_Ehdr* h = (const Elf64_Ehdr*)(const void*)whole;
  const Elf64_Phdr* p = (const Elf64_Phdr*)(const void*)(whole + h->e_phoff);
  size_t end = 0;
  for (int i = 0; i < h->e_phnum; i++)
    if (p[i].p_type == PT_LOAD && p[i].p_offset + p[i].p_filesz > end)
      end = p[i].p_offset + p[i].p_filesz;
  return end;
}

static void test_every_truncation(void) {
  size_t end = loaded_end();
  REQUIRE(end > 0 && end < whole_size);
  const char* path = write_file("cut.so", whole, whole_size);
  for (size_t n = whole_size; n-- > 0;) {
    tvmgo_image* image = NULL;
    REQUIRE(truncate(path, (off_t)n) == 0);
    /* Section headers after the last segment are not needed; tests some of those lengths. */
    if (n >= end && n % 97 != 0 && n != end) continue;
    int rc = tvmgo_image_open(path, NULL, 0, 0, &image);
    if ((rc == 0) != (n >= end)) check_fail(__FILE__, __LINE__, "%zu bytes: %d", n, rc);
    tvmgo_object_release(image);
    drop_error();
  }
  unsigned char* cut = malloc(end - 1);
  REQUIRE(cut != NULL);
  memcpy(cut, whole, end - 1);
  expect(write_file("cut.so", cut, end - 1), TVMGO_CORRUPT_ERROR, "truncated: segment needs");
  free(cut);
}

/* Bytes in memory of exactly their size, so that the address sanitizer detects reads beyond them. */
static void test_every_truncation_in_memory(void) {
  size_t end = loaded_end();
  for (size_t n = 1; n < end; n += n < 4096 ? 1 : 13) {
    unsigned char* cut = malloc(n);
    REQUIRE(cut != NULL);
    memcpy(cut, whole, n);
    if (check_bytes(cut, n) == 0) check_fail(__FILE__, __LINE__, "%zu bytes pass", n);
    drop_error();
    free(cut);
  }
}

/* Sets every byte that the dynamic linker interprets to harmful values. Whether a change is detected or harmless, the
 * check returns. */
static void change_range(size_t from, size_t to) {
  static const unsigned char values[] = {0, 1, 2, 0x10, 0x40, 0x7f, 0x80, 0xff};
  for (size_t at = from; at < to && at < whole_size; at++) {
    unsigned char old = whole[at];
    for (size_t i = 0; i < sizeof values + 8; i++) {
      whole[at] = i < 8 ? (unsigned char)(old ^ 1u << i) : values[i - 8];
      if (check_bytes(whole, whole_size) != 0) drop_error();
    }
    whole[at] = old;
  }
}

static void test_changed_headers(void) {
  const Elf64_Ehdr* h = (const Elf64_Ehdr*)(const void*)whole;
  change_range(0, sizeof *h + h->e_phnum * sizeof(Elf64_Phdr));
  CHECK_EQ_INT(check_bytes(whole, whole_size), 0);
}

static void test_changed_tables(void) {
  tvmgo_elf elf;
  REQUIRE(CHECK_OK(tvmgo_elf_check(&elf, "x.so", -1, whole, whole_size)));
  CHECK(elf.gnu_hash.vaddr != 0 && elf.hash.vaddr != 0 && elf.versym != 0 && elf.num_sites > 0);
  change_range(elf.dynamic.offset, elf.dynamic.offset + elf.dynamic.size);
  change_range(elf.gnu_hash.offset, elf.gnu_hash.offset + elf.gnu_hash.size + 32);
  change_range(elf.hash.offset, elf.hash.offset + elf.hash.size);
  change_range(elf.symtab.offset, elf.symtab.offset + elf.symtab.size);
  change_range(elf.strtab.offset + elf.strtab.size - 1, elf.strtab.offset + elf.strtab.size);
  change_range(elf.rela.offset, elf.rela.offset + elf.rela.size);
  change_range(elf.jmprel.offset, elf.jmprel.offset + elf.jmprel.size);
  size_t versions = elf.versym; /* the first segment lies at 0: versym, then verneed */
  change_range(versions, versions + elf.num_symbols * 2 + 96);
  CHECK_EQ_INT(check_bytes(whole, whole_size), 0);
  tvmgo_elf_release(&elf);
}

/* The first number that is too large, in tables whose size another table determines: nothing after the end is read. */
static void test_first_beyond_the_end(void) {
  tvmgo_elf elf;
  REQUIRE(CHECK_OK(tvmgo_elf_check(&elf, "x.so", -1, whole, whole_size)));
  const uint32_t* head = (const uint32_t*)(const void*)(whole + elf.gnu_hash.offset);
  uint32_t* buckets = (uint32_t*)(void*)(whole + elf.gnu_hash.offset + 16 + (size_t)head[2] * 8);
  int changed = 0;
  for (uint32_t i = 0; i < head[0]; i++) {
    uint32_t old = buckets[i];
    if (old == 0) continue;
    buckets[i] = (uint32_t)elf.max_symbols;
    CHECK_FAILS(check_bytes(whole, whole_size), TVMGO_CORRUPT_ERROR, "a bucket of the hash table names no symbol");
    buckets[i] = old;
    changed++;
  }
  CHECK(changed > 0);
  changed = 0;
  for (Elf64_Dyn* d = (Elf64_Dyn*)(void*)(whole + elf.dynamic.offset); d->d_tag != DT_NULL; d++) {
    Elf64_Xword old = d->d_un.d_val;
    if (d->d_tag != DT_NEEDED && d->d_tag != DT_SONAME) continue;
    d->d_un.d_val = elf.strtab.size;
    CHECK_FAILS(check_bytes(whole, whole_size), TVMGO_CORRUPT_ERROR, "a name of the dynamic section lies outside its "
        "string table");
    d->d_un.d_val = old;
    changed++;
  }
  CHECK(changed > 0);
  tvmgo_elf_release(&elf);
}

/* Several changes at once, always the same ones. */
static void test_many_changes(void) {
  uint64_t seed = 88172645463325252u;
  unsigned char* copy = malloc(whole_size);
  REQUIRE(copy != NULL);
  size_t tables = 0x800 < whole_size ? 0x800 : whole_size;
  for (int round = 0; round < 20000; round++) {
    memcpy(copy, whole, whole_size);
    for (int i = 0; i < 4; i++) {
      seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
      copy[64 + seed % (tables - 64)] = (unsigned char)(seed >> 32);
    }
    if (check_bytes(copy, whole_size) != 0) drop_error();
  }
  free(copy);
}

/* ---- larger pages ---- */

/* The size of pages that the loader sees; 0: the system's. */
static long page_size;
long __sysconf(int name);
long sysconf(int name) { return name == _SC_PAGESIZE && page_size != 0 ? page_size : __sysconf(name); }

static void test_page_sizes(void) {
  static const char source[] = "#include <stdio.h>\nint (*const p)(const char*, ...) = printf; int n = 1;\n"
                               "int f(void) { return p(\"\") + n; }\n";
  static const char* const large[] = {"-Wl,-z,max-page-size=65536,-z,relro,-z,now",
                                      "-Wl,-z,max-page-size=65536,-z,common-page-size=65536,-z,relro,-z,now"};
  size_t n = 0;
  for (size_t i = 0; i < 2; i++) {
    unsigned char* b = build_read(build_so("large.so", large[i], source), &n);
    REQUIRE(b != NULL);
    for (page_size = 4096; page_size <= 65536; page_size *= 4) CHECK_OK(check_bytes(b, n));
    page_size = 0;
    free(b);
  }
  unsigned char* b = build_read(build_so("small.so", "-Wl,-z,max-page-size=4096,-z,separate-code", source), &n);
  REQUIRE(b != NULL);
  page_size = 4096;
  CHECK_OK(check_bytes(b, n));
  page_size = 16384;
  CHECK_FAILS(check_bytes(b, n), TVMGO_NOT_SUPPORTED_ERROR,
              "linked for pages of 4096 bytes, this system has pages of 16384: link it with "
              "-Wl,-z,max-page-size=65536");
  page_size = 65536;
  CHECK_FAILS(check_bytes(b, n), TVMGO_NOT_SUPPORTED_ERROR, "this system has pages of 65536");
  page_size = 0;
  free(b);
}

int main(int argc, char** argv) {
  check_begin(argc, argv);
  build_begin();
  int64_t before = check_live(TVMGO_LIVE_MAPPINGS);
  const char* path = build_so(
      "whole.so", "-s -Wl,--hash-style=both,--no-as-needed -lm",
      CALLS_VERSION "float expf(float); float use(float x) { return expf(x); }\n"
                    "void* __tvm_ffi__library_ctx; int data = 5;\n"
                    "void* taken(void) { return TVMFFIGetVersion; }\n");
  whole = path == NULL ? NULL : build_read(path, &whole_size);
  if (whole == NULL) return 1;
  RUN(test_no_library);
  RUN(test_other_formats);
  RUN(test_other_machines);
  RUN(test_other_elf_types);
  RUN(test_every_truncation);
  RUN(test_every_truncation_in_memory);
  RUN(test_changed_headers);
  RUN(test_changed_tables);
  RUN(test_first_beyond_the_end);
  RUN(test_many_changes);
  RUN(test_page_sizes);
  free(whole);
  return check_end() || check_live(TVMGO_LIVE_MAPPINGS) != before;
}
