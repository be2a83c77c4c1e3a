// Reads a module's image: kernels with the sizes of their parameters, global variables, and the architecture.
#include <ctype.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>

#include "fake.h"

#define FATBIN_WRAPPER 0x466243b1u
#define FATBIN 0xBA55ED50u

void image_free(image *i) {
  for (int n = 0; n < i->nentries; n++) free(i->entries[n].name);
  for (int n = 0; n < i->nglobals; n++) free(i->globals[n].name);
  free(i->entries);
  free(i->globals);
  free(i->library);
  *i = (image){0};
}

static image_entry *add_entry(image *i, const char *name, size_t length) {
  i->entries = realloc(i->entries, (size_t)(i->nentries + 1) * sizeof *i->entries);
  i->entries[i->nentries] = (image_entry){.name = strndup(name, length)};
  return &i->entries[i->nentries++];
}

static void add_global(image *i, const char *name, size_t length, size_t bytes) {
  i->globals = realloc(i->globals, (size_t)(i->nglobals + 1) * sizeof *i->globals);
  i->globals[i->nglobals++] = (image_global){strndup(name, length), bytes};
}

// ---- PTX

static size_t word(const char *s) {
  size_t n = 0;
  while (isalnum((unsigned char)s[n]) || s[n] == '_' || s[n] == '$') n++;
  return n;
}

static uint32_t type_size(const char *s) { // s points behind the letter of a type such as .u64
  int bits = atoi(s);
  return bits > 0 ? (uint32_t)bits / 8 : 0;
}

// The n of [n] after a name; 1 if there is none.
static size_t extent(const char *s) {
  s += strspn(s, " \t");
  return *s == '[' ? strtoul(s + 1, NULL, 0) : 1;
}

// Reads parameters such as ".param .align 8 .b8 name[24]" up to the closing parenthesis.
static bool ptx_params(const char *s, const char *end, image_entry *e) {
  while ((s = strstr(s, ".param")) && s < end) {
    if (e->nparams == FAKECUDA_MAX_PARAMS) return false;
    const char *stop = s + strcspn(s, ",)");
    uint32_t size = 0;
    const char *at = s + 6;
    for (; at < stop; at++) {
      if (*at != '.') continue;
      if (strchr("usbf", at[1]) && isdigit((unsigned char)at[2])) {
        size = type_size(at + 2);
        at += 1 + word(at + 1);
        break;
      }
    }
    at += strspn(at, " \t");
    while (*at == '.') { // for example, .ptr .global .align 16 between type and name
      at += 1 + word(at + 1);
      at += strspn(at, " \t0123456789");
    }
    if (!size) return false;
    e->sizes[e->nparams++] = size * (uint32_t)extent(at + word(at));
    s = stop;
  }
  e->sized = true;
  return true;
}

static void ptx_globals(const char *text, image *out) {
  for (const char *s = text; (s = strstr(s, ".global")); s++) {
    if ((s != text && s[-1] != ' ' && s[-1] != '\n') || !isspace((unsigned char)s[7])) continue;
    const char *stop = s + strcspn(s, ";"), *type = s + 7;
    uint32_t size = 0;
    while ((type = memchr(type, '.', (size_t)(stop - type)))) {
      if (strchr("usbf", type[1]) && isdigit((unsigned char)type[2])) {
        size = type_size(type + 2);
        type += 1 + word(type + 1);
        type += strspn(type, " \t");
        add_global(out, type, word(type), size * extent(type + word(type)));
        break;
      }
      type++;
    }
  }
}

// The newest PTX version, times ten, that a driver of config.version supports.
static int newest_ptx(void) {
  static const struct { int driver, ptx; } known[] = {{13000, 90}, {12090, 88}, {12080, 87}, {12070, 86}, {12050, 85},
      {12000, 80}, {11000, 70}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (config.version < known[i].driver) continue;
    if (known[i].driver >= 12050 && known[i].driver < 13000) return known[i].ptx;
    return known[i].ptx + (config.version - known[i].driver) / 10; // each release has a new version of PTX
  }
  return 65;
}

static CUresult ptx_read(const char *text, int arch, image *out, char *why, size_t size) {
  const char *target = strstr(text, ".target"), *version = strstr(text, ".version");
  int major = 0, minor = 0;
  if (version && sscanf(version, ".version %d.%d", &major, &minor) != 2) {
    snprintf(why, size, "ptxas fatal   : Parsing error near '.version': syntax error");
    return CUDA_ERROR_INVALID_PTX;
  }
  if (major * 10 + minor > newest_ptx()) {
    snprintf(why, size, "ptxas application ptx input, line 1; fatal   : Unsupported .version %d.%d; current version "
                        "is '%d.%d'", major,
        minor, newest_ptx() / 10, newest_ptx() % 10);
    return 222; // unsupported PTX version
  }
  if (!target || !version || strstr(text, "SYNTAX_ERROR")) {
    snprintf(why, size, "ptxas fatal   : %s", !version ? "Missing .version directive" : !target
        ? "Missing .target directive" : "Parsing error near 'SYNTAX_ERROR': syntax error");
    return CUDA_ERROR_INVALID_PTX;
  }
  target += 7 + strspn(target + 7, " \t");
  if (strncmp(target, "sm_", 3) || (out->ptx_arch = atoi(target + 3)) <= 0) {
    snprintf(why, size, "ptxas fatal   : .target names no architecture");
    return CUDA_ERROR_INVALID_PTX;
  }
  const char *suffix = target + 3 + strspn(target + 3, "0123456789");
  if (out->ptx_arch > arch || (*suffix == 'a' && out->ptx_arch != arch)) {
    snprintf(why, size, "ptxas fatal   : SM version of the .target directive is sm_%d, the device has sm_%d",
             out->ptx_arch,
        arch);
    return CUDA_ERROR_INVALID_PTX;
  }
  out->binary_arch = arch;
  for (const char *s = text; (s = strstr(s, ".entry")); s++) {
    const char *name = s + 6 + strspn(s + 6, " \t\r\n");
    size_t n = word(name);
    const char *open = name + n + strspn(name + n, " \t\r\n");
    image_entry *e = add_entry(out, name, n);
    const char *body = open;
    if (*open == '(') {
      const char *close = strchr(open, ')');
      if (!close || !ptx_params(open, close, e)) {
        snprintf(why, size, "ptxas fatal   : Parsing error near '%.*s': syntax error", (int)n, name);
        return CUDA_ERROR_INVALID_PTX;
      }
      body = close;
    }
    e->sized = true;
    const char *brace = strchr(body, '{'), *most = strstr(body, ".maxntid");
    if (!n || !brace) {
      snprintf(why, size, "ptxas fatal   : Parsing error near '.entry': syntax error");
      return CUDA_ERROR_INVALID_PTX;
    }
    if (most && most < brace) {
      unsigned x = 1, y = 1, z = 1;
      if (sscanf(most + 8, "%u , %u , %u", &x, &y, &z) >= 1) e->max_threads = x * y * z;
    }
  }
  ptx_globals(text, out);
  return CUDA_SUCCESS;
}

// ---- cubin

#define EM_CUDA_MACHINE 190

// The offsets of parameters are in the .nv.info section of each kernel: attribute 0x17 holds ordinal and size.
static void cubin_params(const unsigned char *at, size_t n, image_entry *e) {
  while (n >= 4) {
    uint16_t length;
    memcpy(&length, at + 2, 2);
    size_t step = 4 + (at[0] == 4 ? length : 0u);
    if (step > n) return;
    if (at[0] == 4 && at[1] == 0x17 && length == 12) {
      uint16_t ordinal;
      uint32_t bits;
      memcpy(&ordinal, at + 8, 2);
      memcpy(&bits, at + 12, 4);
      if (ordinal < FAKECUDA_MAX_PARAMS) {
        e->sizes[ordinal] = bits >> 18;
        if (e->nparams <= ordinal) e->nparams = ordinal + 1;
      }
      e->sized = true;
    } else if (at[0] == 4 && at[1] == 0x05 && length == 12) {
      uint32_t dims[3];
      memcpy(dims, at + 4, 12);
      e->max_threads = dims[0] * dims[1] * dims[2];
    }
    at += step;
    n -= step;
  }
}

// Only the image's own headers give its length, so this has to trust them, like a real driver.
static CUresult cubin_read(const unsigned char *data, int arch, image *out, char *why, size_t size) {
  const Elf64_Ehdr *h = (const void *)data;
  snprintf(why, size, "device kernel image is invalid");
  if (h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_machine != EM_CUDA_MACHINE || !h->e_shoff ||
      h->e_shentsize != sizeof(Elf64_Shdr) || h->e_shstrndx >= h->e_shnum) return CUDA_ERROR_INVALID_IMAGE;
  // The flags contain the architecture: in the lowest byte, or, since ABI 8, in the second.
  int low = h->e_flags & 0xFF, second = h->e_flags >> 8 & 0xFF;
  int built = h->e_ident[EI_ABIVERSION] >= 8 ? second : low;
  if (built / 10 != arch / 10 || built > arch) {
    snprintf(why, size, "the image is for sm_%d, the device has sm_%d", built, arch);
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  out->ptx_arch = out->binary_arch = built;
  const Elf64_Shdr *sections = (const void *)(data + h->e_shoff);
  const char *names = (const char *)data + sections[h->e_shstrndx].sh_offset;
  for (int i = 0; i < h->e_shnum; i++) {
    if (sections[i].sh_type != SHT_SYMTAB || sections[i].sh_link >= h->e_shnum) continue;
    const Elf64_Sym *symbols = (const void *)(data + sections[i].sh_offset);
    const char *strings = (const char *)data + sections[sections[i].sh_link].sh_offset;
    for (size_t k = 0; k < sections[i].sh_size / sizeof *symbols; k++) {
      const char *name = strings + symbols[k].st_name;
      int type = ELF64_ST_TYPE(symbols[k].st_info);
      if (ELF64_ST_BIND(symbols[k].st_info) == STB_LOCAL || symbols[k].st_shndx == SHN_UNDEF ||
          symbols[k].st_shndx >= h->e_shnum) continue;
      if (type == STT_OBJECT) add_global(out, name, strlen(name), symbols[k].st_size);
      if (type != STT_FUNC || !(symbols[k].st_other & 0x10)) continue; // 0x10: a kernel
      image_entry *e = add_entry(out, name, strlen(name));
      for (int s = 0; s < h->e_shnum; s++) {
        const char *section = names + sections[s].sh_name;
        if (!strncmp(section, ".nv.info.", 9) && !strcmp(section + 9, name)) cubin_params(data + sections[s].sh_offset,
            sections[s].sh_size, e);
      }
    }
  }
  return CUDA_SUCCESS;
}

// ---- fat binaries: a header, then images, each with its own header

static CUresult fatbin_read(const unsigned char *data, int arch, image *out, char *why, size_t size) {
  uint16_t header;
  uint64_t total;
  memcpy(&header, data + 6, 2);
  memcpy(&total, data + 8, 8);
  CUresult result = CUDA_ERROR_NO_BINARY_FOR_GPU;
  snprintf(why, size, "the fat binary has nothing for sm_%d", arch);
  for (int pass = 0; pass < 2; pass++) { // first machine code, then PTX
    for (uint64_t at = header, end = header + total; at + 64 <= end;) {
      uint16_t kind;
      uint32_t head;
      uint64_t payload;
      memcpy(&kind, data + at, 2);
      memcpy(&head, data + at + 4, 4);
      memcpy(&payload, data + at + 8, 8);
      if (head < 64 || at + head + payload > end) return CUDA_ERROR_INVALID_IMAGE;
      const unsigned char *content = data + at + head;
      at += head + payload;
      if (pass == 0 ? kind != 2 : kind != 1) continue;
      image one = {0};
      CUresult got = kind == 2 ? cubin_read(content, arch, &one, why, size) : ptx_read((const char *)content, arch,
          &one, why,
          size);
      if (!got) {
        *out = one;
        return got;
      }
      image_free(&one);
      if (got == CUDA_ERROR_INVALID_IMAGE) result = got;
    }
  }
  return result;
}

// ---- a library of host functions, which package cudarun makes of CUDA C

#define HOST_IMAGE "// fakecuda: kernels on the host: "

static CUresult host_read(const char *text, int arch, image *out, char *why, size_t size) {
  const char *path = text + strlen(HOST_IMAGE);
  out->library = strndup(path, strcspn(path, "\n"));
  out->ptx_arch = out->binary_arch = arch;
  fakecuda_node **list = kernel_list(out->library);
  if (!list) {
    snprintf(why, size, "there are no kernels in %s", out->library);
    return CUDA_ERROR_INVALID_IMAGE;
  }
  for (fakecuda_node *n = *list; n; n = n->next) add_entry(out, n->kernel->name, strlen(n->kernel->name));
  return CUDA_SUCCESS;
}

CUresult image_read(const void *data, int arch, image *out, char *why, size_t size) {
  uint32_t magic;
  memcpy(&magic, data, 4);
  *out = (image){0};
  *why = 0;
  CUresult result = CUDA_ERROR_INVALID_IMAGE;
  if (magic == FATBIN_WRAPPER) {
    memcpy(&data, (const char *)data + 8, sizeof data);
    memcpy(&magic, data, 4);
  }
  if (magic == FATBIN) {
    result = fatbin_read(data, arch, out, why, size);
  } else if (!memcmp(data, ELFMAG, 4)) {
    result = cubin_read(data, arch, out, why, size);
  } else {
    const char *text = data;
    size_t printable = 0;
    while (printable < 64 && (isprint((unsigned char)text[printable]) || isspace((unsigned char)text[printable])))
      printable++;
    bool as_text = printable == 64 || (printable && !text[printable]);
    if (as_text && !strncmp(text, HOST_IMAGE, strlen(HOST_IMAGE))) {
      result = host_read(text, arch, out, why, size);
    } else if (as_text && (strstr(text, ".version") || strstr(text, ".target"))) {
      result = ptx_read(text, arch, out, why, size);
    } else {
      snprintf(why, size, "device kernel image is invalid");
    }
  }
  if (result) image_free(out);
  return result;
}
