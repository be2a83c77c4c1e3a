// The interpreter of inline PTX. It knows the instructions that generated kernels use; another one is an error when the
// kernel runs. Texts are parsed once.
#include "ptx.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "floats.h"

namespace cudarun {

bool instruction::has(const char *part) const {
  size_t n = strlen(part);
  for (const char *at = opcode; (at = strchr(at, '.')); at++) {
    if (!strncmp(at + 1, part, n) && (at[1 + n] == '.' || !at[1 + n])) return true;
  }
  return false;
}

unsigned long long instruction::get(const state_of_ptx *s, int group, int i) const {
  const reference *r = &all[first[group] + i];
  if (r->kind == reference::kNumber) return r->value;
  if (r->kind == reference::kLane) return static_cast<unsigned long long>(current->lane);
  return (r->kind == reference::kRegister ? s->registers[r->index] : s->operands[r->index].bits) + r->value;
}

void instruction::set(state_of_ptx *s, int group, unsigned long long bits, int i) const {
  const reference *r = &all[first[group] + i];
  if (r->kind == reference::kRegister) {
    s->registers[r->index] = bits;
    return;
  }
  operand *o = &s->operands[r->index];
  o->bits = bits;
  if (o->to) memcpy(o->to, &bits, o->size);
}

// ---- instructions

static void nothing(const instruction *, state_of_ptx *) {}
static void move(const instruction *in, state_of_ptx *s) { in->set(s, 0, in->get(s, 1)); }

static void compare(const instruction *in, state_of_ptx *s) {
  unsigned long long a = in->get(s, 1), b = in->get(s, 2);
  if (!in->has("b64") && !in->has("u64") && !in->has("s64")) a = static_cast<uint32_t>(a), b = static_cast<uint32_t>(b);
  bool is_signed = in->has("s32") || in->has("s64");
  long long x = in->has("s32") ? static_cast<int32_t>(a) : static_cast<long long>(a);
  long long y = in->has("s32") ? static_cast<int32_t>(b) : static_cast<long long>(b);
  bool less = is_signed ? x < y : a < b;
  in->set(s, 0, in->has("eq") ? a == b : in->has("ne") ? a != b : in->has("lt") ? less
              : in->has("le") ? less || a == b : in->has("gt") ? !less && a != b : !less);
}

static void copy_async(const instruction *in, state_of_ptx *s) {
  unsigned bytes = static_cast<unsigned>(in->get(s, 2));
  unsigned take = in->groups > 3 ? static_cast<unsigned>(in->get(s, 3)) : bytes;
  if (in->has("cg") && bytes != 16) fail_line(kLaunchFailed, s->line, "cp.async.cg of %u bytes: it copies 16", bytes);
  async_issue(shared_pointer(static_cast<uint32_t>(in->get(s, 0)), bytes), reinterpret_cast<void *>(in->get(s, 1)),
              bytes, take, s->line);
}
static void commit(const instruction *, state_of_ptx *) { async_commit(); }
static void wait_group(const instruction *in, state_of_ptx *s) {
  async_wait(static_cast<int>(in->get(s, 0)), s->line);
}
static void wait_all(const instruction *, state_of_ptx *s) { async_wait(-1, s->line); }
static void barrier_sync(const instruction *in, state_of_ptx *s) {
  if (in->groups != 1 || in->get(s, 0) != 0) {
    fail_line(kLaunchFailed, s->line, "bar.sync of another barrier than 0, or of some threads, is not known here");
  }
  barrier(s->line, "bar.sync", 0);
}
static void order_memory(const instruction *in, state_of_ptx *) {
  if (!in->has("cta")) memory_fence();
}

// The format that the n-th type of the opcode names; null if it names none.
static const format *format_of(const char *type) {
  if (!strncmp(type, "f16", 3)) return &kHalf;
  if (!strncmp(type, "bf16", 4)) return &kBfloat;
  if (!strncmp(type, "e4m3", 4)) return &kE4M3;
  if (!strncmp(type, "e5m2", 4)) return &kE5M2;
  return nullptr;
}

static int bits_of(const format *f) { return 1 + f->exponent + f->fraction; }

static double number(const char *type, unsigned long long bits) {
  if (const format *f = format_of(type)) return decode(*f, static_cast<uint32_t>(bits) & ((1u << bits_of(f)) - 1));
  float single;
  double result;
  memcpy(&single, &bits, 4);
  memcpy(&result, &bits, 8);
  if (!strncmp(type, "f32", 3)) return static_cast<double>(single);
  if (!strncmp(type, "f64", 3)) return result;
  return NAN;
}

// The parts of an opcode: cvt, rn, f16, f32.
struct parts {
  char text[96];
  const char *at[12];
  int n;
  explicit parts(const char *opcode) : n(0) {
    strncpy(text, opcode, sizeof text - 1);
    text[sizeof text - 1] = 0;
    for (char *s = strtok_r(text, ".", &rest); s && n < 12; s = strtok_r(nullptr, ".", &rest)) at[n++] = s;
  }
  char *rest;
};

// An integer as a number that rounds to a 16-bit float as the integer does: double holds 53 bits, so the last one
// stands for those that are lost.
static double sticky(unsigned long long magnitude, bool negative) {
  if (magnitude >> 53) magnitude = (magnitude >> 11 | ((magnitude & 2047) != 0)) << 11;
  double x = static_cast<double>(magnitude);
  return negative ? -x : x;
}

static double source_number(const char *type, unsigned long long bits) {
  if (!strcmp(type, "s32")) return static_cast<int32_t>(bits);
  if (!strcmp(type, "u32")) return static_cast<uint32_t>(bits);
  if (!strcmp(type, "s64")) {
    bool negative = bits >> 63;
    return sticky(negative ? 0 - bits : bits, negative);
  }
  if (!strcmp(type, "u64")) return sticky(bits, false);
  return number(type, bits);
}

static unsigned long long of_float(float x) {
  uint32_t bits;
  memcpy(&bits, &x, 4);
  return bits;
}

static void convert(const instruction *in, state_of_ptx *s) {
  parts p(in->opcode);
  const char *to = p.at[p.n - 2], *from = p.at[p.n - 1];
  const format *f = format_of(to);
  size_t n = strlen(to);
  if (!strcmp(to, "tf32")) { // cvt.rna.tf32.f32: 10 bits of fraction, ties away from zero
    uint32_t bits = static_cast<uint32_t>(in->get(s, 1));
    in->set(s, 0, (bits & 0x7F800000) == 0x7F800000 ? bits : (bits + 0x1000) & ~0x1FFFu);
  } else if (f && n > 2 && !strcmp(to + n - 2, "x2") && in->groups == 3) { // the first source is the upper half
    unsigned long long high = encode(*f, number(from, in->get(s, 1)), in->has("satfinite"));
    unsigned long long low = encode(*f, number(from, in->get(s, 2)), in->has("satfinite"));
    in->set(s, 0, high << bits_of(f) | low);
  } else if (f && n > 2 && !strcmp(to + n - 2, "x2")) { // of a packed pair
    const format *g = format_of(from);
    unsigned long long pair = in->get(s, 1), low = encode(*f, number(from, pair), in->has("satfinite"));
    in->set(s, 0, static_cast<unsigned long long>(encode(*f, number(from, pair >> bits_of(g)), in->has("satfinite")))
                      << bits_of(f) | low);
  } else if (f) {
    in->set(s, 0, encode(*f, source_number(from, in->get(s, 1)), in->has("satfinite")));
  } else if (!strcmp(to, "f32")) {
    in->set(s, 0, of_float(static_cast<float>(source_number(from, in->get(s, 1)))));
  } else if (!strcmp(to, "f64")) {
    double x = source_number(from, in->get(s, 1));
    unsigned long long bits;
    memcpy(&bits, &x, 8);
    in->set(s, 0, bits);
  } else {
    fail_line(kLaunchFailed, s->line, "PTX instruction %s is not known here: add it to engine/ptx.cpp", in->opcode);
  }
}

static double arithmetic(const char *name, double a, double b, double c) {
  if (!strcmp(name, "add")) return a + b;
  if (!strcmp(name, "sub")) return a - b;
  if (!strcmp(name, "mul")) return a * b;
  if (!strcmp(name, "min")) return fmin(a, b);
  if (!strcmp(name, "max")) return fmax(a, b);
  if (!strcmp(name, "neg")) return -a;
  if (!strcmp(name, "abs")) return fabs(a);
  return fma_odd(a, b, c);
}

// Arithmetic of 16-bit floats and of packed pairs, in double, where it is exact or rounds to odd.
static void compute(const instruction *in, state_of_ptx *s) {
  parts p(in->opcode);
  const char *type = p.at[p.n - 1];
  const format *f = format_of(type);
  if (!f) {
    fail_line(kLaunchFailed, s->line, "PTX instruction %s is not known here: add it to engine/ptx.cpp", in->opcode);
  }
  int lanes = strstr(type, "x2") ? 2 : 1;
  unsigned long long result = 0;
  for (int i = 0; i < lanes; i++) {
    double v[3] = {0, 0, 0};
    for (int g = 1; g < in->groups && g < 4; g++) v[g - 1] = number(type, in->get(s, g) >> (i * bits_of(f)));
    if (!strcmp(p.at[0], "add") || !strcmp(p.at[0], "sub")) { // a bfloat16 sum may have more bits than double
      v[2] = !strcmp(p.at[0], "sub") ? -v[1] : v[1];
      v[1] = 1;
    }
    double x = !strcmp(p.at[0], "add") || !strcmp(p.at[0], "sub") ? fma_odd(v[0], v[1], v[2])
                                                                  : arithmetic(p.at[0], v[0], v[1], v[2]);
    if (strstr(in->opcode, ".relu") && x < 0) x = 0;
    result |= static_cast<unsigned long long>(encode(*f, x)) << (i * bits_of(f));
  }
  in->set(s, 0, result);
}

static void load_global(const instruction *in, state_of_ptx *s) {
  parts p(in->opcode);
  size_t n = static_cast<size_t>(atoi(p.at[p.n - 1] + 1)) / 8, count = static_cast<size_t>(in->size[0]);
  const char *at = reinterpret_cast<const char *>(in->get(s, 1));
  if (reinterpret_cast<uintptr_t>(at) % (n * count)) fail_line(kMisaligned, s->line, "%s at %p", in->opcode, at);
  memory_read(at, n * count, nullptr);
  for (size_t i = 0; i < count; i++) {
    unsigned long long bits = 0;
    memcpy(&bits, at + i * n, n);
    in->set(s, 0, bits, static_cast<int>(i));
  }
}

static void unknown(const instruction *in, state_of_ptx *s) {
  fail_line(kLaunchFailed, s->line, "PTX instruction %s is not known here: add it to engine/ptx.cpp", in->opcode);
}

static const struct { const char *prefix; void (*execute)(const instruction *, state_of_ptx *); } kInstructions[] = {
    {"cp.async.commit_group", commit}, {"cp.async.wait_group", wait_group}, {"cp.async.wait_all", wait_all},
    {"cp.async.ca", copy_async}, {"cp.async.cg", copy_async}, {"prefetch", nothing}, {"mov", move},
    {"cvta", move}, {"cvt", convert}, {"setp", compare}, {"bar.sync", barrier_sync}, {"barrier.sync", barrier_sync},
    {"membar", order_memory}, {"fence", order_memory}, {"ld.global", load_global}, {"mma.sync", execute_mma},
    {"ldmatrix.sync", execute_ldmatrix}, {"add", compute}, {"sub", compute}, {"mul", compute}, {"fma", compute},
    {"neg", compute}, {"abs", compute}, {"min", compute}, {"max", compute},
};

// ---- the parser

struct reader {
  const char *at;
  char names[kMaxRegisters][32];
  int nnames;

  void space() {
    while (*at && (isspace(static_cast<unsigned char>(*at)) || *at == ',')) at++;
  }
  int name(bool add) { // the register with the name at this position; -1 for none
    char text[32];
    size_t n = 0;
    while (isalnum(static_cast<unsigned char>(at[n])) || at[n] == '_' || at[n] == '$') n++;
    snprintf(text, sizeof text, "%.*s", static_cast<int>(n), at);
    at += n;
    for (int i = 0; i < nnames; i++) {
      if (!strcmp(names[i], text)) return i;
    }
    if (!add || nnames == kMaxRegisters || n == 0) return -1;
    snprintf(names[nnames], sizeof names[0], "%s", text);
    return nnames++;
  }
  bool operand(reference *r) {
    space();
    *r = {};
    if (*at == '[') {
      at++;
      if (!operand(r)) return false;
      r->memory = true;
      space();
      if (*at == '+') r->value = strtoull(at + 1, const_cast<char **>(&at), 0);
      space();
      return *at++ == ']';
    }
    if (!strncmp(at, "%%laneid", 8)) {
      at += 8;
      r->kind = reference::kLane;
      return true;
    }
    if (*at == '%') {
      r->kind = reference::kOperand;
      r->index = static_cast<int>(strtol(at + 1, const_cast<char **>(&at), 10));
      return true;
    }
    if (isdigit(static_cast<unsigned char>(*at)) || *at == '-') {
      r->kind = reference::kNumber;
      if (at[0] == '0' && (at[1] == 'f' || at[1] == 'F' || at[1] == 'd' || at[1] == 'D')) {
        r->value = strtoull(at + 2, const_cast<char **>(&at), 16); // 0f3F800000
      } else {
        r->value = static_cast<unsigned long long>(strtoll(at, const_cast<char **>(&at), 0));
      }
      return true;
    }
    r->kind = reference::kRegister;
    r->index = name(false);
    return r->index >= 0;
  }
};

static bool parse(reader *in, instruction *out) {
  *out = {};
  out->guard = -1;
  if (*in->at == '@') {
    in->at++;
    if (*in->at == '!') out->negated = true, in->at++;
    if ((out->guard = in->name(false)) < 0) return false;
    in->space();
  }
  size_t n = strcspn(in->at, " \t\n");
  snprintf(out->opcode, sizeof out->opcode, "%.*s", static_cast<int>(n), in->at);
  in->at += n;
  int used = 0;
  for (in->space(); *in->at; in->space()) {
    bool list = *in->at == '{';
    if (out->groups == kMaxGroups) return false;
    in->at += list;
    out->first[out->groups] = used;
    do {
      if (used == kMaxReferences || !in->operand(&out->all[used++])) return false;
      in->space();
    } while (list && *in->at && *in->at != '}');
    in->at += list;
    out->size[out->groups] = used - out->first[out->groups];
    out->groups++;
  }
  out->execute = unknown;
  for (auto &known : kInstructions) {
    size_t k = strlen(known.prefix);
    if (!strncmp(out->opcode, known.prefix, k) && (!out->opcode[k] || out->opcode[k] == '.')) {
      out->execute = known.execute;
      break;
    }
  }
  return true;
}

ptx::ptx(const char *text, int at_line) : code(nullptr), count(0), line(at_line) {
  char *all = strdup(text), *rest = nullptr;
  reader in = {};
  for (char *s = strtok_r(all, ";", &rest); s; s = strtok_r(nullptr, ";", &rest)) {
    while (isspace(static_cast<unsigned char>(*s)) || *s == '{' || *s == '}') s++;
    if (!*s) continue;
    in.at = s;
    if (!strncmp(s, ".reg", 4)) {
      in.at += 4;
      in.space();
      in.at += strcspn(in.at, " \t"); // the type
      for (in.space(); *in.at; in.space()) {
        if (in.name(true) < 0) break;
      }
      continue;
    }
    code = static_cast<instruction *>(realloc(code, static_cast<size_t>(count + 1) * sizeof *code));
    if (!parse(&in, &code[count])) {
      snprintf(code[count].opcode, sizeof code->opcode, "%.90s", s);
      code[count].execute = unknown;
      code[count].guard = -1;
    }
    count++;
  }
  free(all);
}

void ptx::run(operand *operands) const {
  state_of_ptx s;
  s.operands = operands;
  s.line = line;
  for (int i = 0; i < count; i++) {
    const instruction *in = &code[i];
    if (in->guard >= 0 && (s.registers[in->guard] != 0) == in->negated) continue;
    in->execute(in, &s);
  }
}

size_t shared_window(const void *p) { return shared_offset(p); }
void atomic_access(void *p, size_t n) { memory_atomic(p, n, __builtin_return_address(0)); }

} // namespace cudarun
