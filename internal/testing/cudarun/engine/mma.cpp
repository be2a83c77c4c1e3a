// Matrix products of a warp (mma.sync) and loads of their operands (ldmatrix), with the layouts of the PTX manual:
// which lane and register has which element.
#include <string.h>

#include "floats.h"
#include "ptx.h"

namespace cudarun {

struct mma_lane {
  const instruction *in;
  unsigned long long inputs[24]; // A, B, C
  unsigned long long outputs[8];
};

struct shape {
  int m, n, k;
  char d[8], a[8], b[8], c[8];
};

static bool shape_of(const char *opcode, shape *s) {
  return sscanf(opcode, "mma.sync.aligned.m%dn%dk%d.row.col.%7[a-z0-9].%7[a-z0-9].%7[a-z0-9].%7[a-z0-9]", &s->m, &s->n,
                &s->k, s->d, s->a, s->b, s->c) == 7;
}

static int type_bits(const char *t) {
  if (!strcmp(t, "f16") || !strcmp(t, "bf16")) return 16;
  if (!strcmp(t, "e4m3") || !strcmp(t, "e5m2") || !strcmp(t, "s8") || !strcmp(t, "u8")) return 8;
  return 32;
}

static double element(const char *type, unsigned long long reg, int at) {
  uint32_t bits = static_cast<uint32_t>(reg) >> (at * type_bits(type));
  if (!strcmp(type, "f16")) return decode(kHalf, bits & 0xFFFF);
  if (!strcmp(type, "bf16")) return decode(kBfloat, bits & 0xFFFF);
  if (!strcmp(type, "e4m3")) return decode(kE4M3, bits & 0xFF);
  if (!strcmp(type, "e5m2")) return decode(kE5M2, bits & 0xFF);
  if (!strcmp(type, "s8")) return static_cast<int8_t>(bits);
  if (!strcmp(type, "u8")) return static_cast<uint8_t>(bits);
  if (!strcmp(type, "s32")) return static_cast<int32_t>(bits);
  if (!strcmp(type, "tf32")) bits &= ~0x1FFFu; // the hardware ignores the last bits
  float x;
  memcpy(&x, &bits, 4);
  return static_cast<double>(x);
}

// Operands A and B have, in each 32 bits, `per` elements along k. Register r of lane l has row (A) or column (B)
// l / 4 (+ 8 in every second register of A, with 16 rows), and k from l % 4 · per on, + 4 · per in later registers.
static void multiply(collective *c) {
  mma_lane *lanes[kLanes];
  for (int l = 0; l < kLanes; l++) lanes[l] = static_cast<mma_lane *>(c->arguments[l]);
  shape s;
  shape_of(lanes[0]->in->opcode, &s);
  const instruction *in = lanes[0]->in;
  static double a[16][64], b[64][8], acc[16][8];
  int per = 32 / type_bits(s.a), na = in->size[1], nb = in->size[2];
  int sides = s.m / 8, sums = 2 * sides; // of 8 rows; of a lane
  bool half = !strcmp(s.c, "f16");
  for (int l = 0; l < kLanes; l++) {
    const unsigned long long *r = lanes[l]->inputs;
    for (int i = 0; i < na; i++) {
      for (int e = 0; e < per; e++) {
        a[l / 4 + i % sides * 8][l % 4 * per + e + i / sides * 4 * per] = element(s.a, r[i], e);
      }
    }
    for (int i = 0; i < nb; i++) {
      for (int e = 0; e < per; e++) b[l % 4 * per + e + i * 4 * per][l / 4] = element(s.b, r[na + i], e);
    }
    for (int i = 0; i < sums; i++) { // C has rows l / 4 and l / 4 + 8, columns 2 · (l % 4) and the next
      unsigned long long v = r[na + nb + (half ? i / 2 : i)];
      acc[l / 4 + i / 2 * 8][l % 4 * 2 + i % 2] = element(s.c, v, half ? i % 2 : 0);
    }
  }
  for (int m = 0; m < s.m; m++) {
    for (int n = 0; n < 8; n++) {
      double sum = 0;
      for (int k = 0; k < s.k; k++) sum += a[m][k] * b[k][n];
      acc[m][n] += sum;
    }
  }
  for (int l = 0; l < kLanes; l++) {
    memset(lanes[l]->outputs, 0, sizeof lanes[l]->outputs);
    for (int i = 0; i < sums; i++) {
      double x = acc[l / 4 + i / 2 * 8][l % 4 * 2 + i % 2];
      unsigned long long *to = lanes[l]->outputs;
      if (!strcmp(s.d, "f16")) {
        to[i / 2] |= static_cast<unsigned long long>(encode(kHalf, x)) << (i % 2 * 16);
      } else if (!strcmp(s.d, "s32")) {
        to[i] = static_cast<uint32_t>(static_cast<int64_t>(x));
      } else {
        float single = static_cast<float>(x);
        memcpy(&to[i], &single, 4);
      }
    }
  }
}

void execute_mma(const instruction *in, state_of_ptx *st) {
  shape s;
  if (!shape_of(in->opcode, &s) || (s.m != 8 && s.m != 16) || s.n != 8 || in->groups != 4 ||
      in->size[1] * (32 / type_bits(s.a)) * 4 * 8 != s.k * s.m ||
      in->size[3] * (32 / type_bits(s.c)) * 4 != s.m ||
      in->size[2] * (32 / type_bits(s.b)) * 4 != s.k) {
    fail_line(kLaunchFailed, st->line, "PTX instruction %s with these operands is not known here: add it to "
              "engine/mma.cpp", in->opcode);
  }
  if (threads[current->warp * kLanes].linear + kLanes > nthreads) {
    fail_line(kLaunchFailed, st->line, "mma.sync in a warp that has fewer than 32 threads");
  }
  mma_lane lane;
  lane.in = in;
  int n = 0;
  for (int g = 1; g < 4; g++) {
    for (int i = 0; i < in->size[g]; i++) lane.inputs[n++] = in->get(st, g, i);
  }
  together(0xFFFFFFFF, &lane, multiply, st->line, "mma.sync");
  for (int i = 0; i < in->size[0]; i++) in->set(st, 0, lane.outputs[i], i);
}

struct matrix_lane {
  char *row; // of 16 bytes; null if this lane gives no address
  unsigned long long out[4];
  int count;
  bool transposed;
};

static void load_matrices(collective *c) {
  for (int l = 0; l < kLanes; l++) {
    matrix_lane *to = static_cast<matrix_lane *>(c->arguments[l]);
    for (int j = 0; j < to->count; j++) {
      uint16_t pair[2];
      for (int e = 0; e < 2; e++) {
        int row = to->transposed ? l % 4 * 2 + e : l / 4, column = to->transposed ? l / 4 : l % 4 * 2 + e;
        memcpy(&pair[e], static_cast<matrix_lane *>(c->arguments[j * 8 + row])->row + 2 * column, 2);
      }
      to->out[j] = static_cast<unsigned long long>(pair[1]) << 16 | pair[0];
    }
  }
}

void execute_ldmatrix(const instruction *in, state_of_ptx *st) {
  matrix_lane lane = {nullptr, {}, in->size[0], in->has("trans")};
  if (!in->has("m8n8") || !in->has("b16") || lane.count > 4 ||
      lane.count != (in->has("x4") ? 4 : in->has("x2") ? 2 : 1)) {
    fail_line(kLaunchFailed, st->line, "PTX instruction %s is not known here: add it to engine/mma.cpp", in->opcode);
  }
  if (current->lane < 8 * lane.count) {
    uint32_t at = static_cast<uint32_t>(in->get(st, 1));
    lane.row = shared_pointer(at, 16);
    if (reinterpret_cast<uintptr_t>(lane.row) % 16) {
      fail_line(kMisaligned, st->line, "ldmatrix of a row at an address that is no multiple of 16 bytes");
    }
    memory_read(lane.row, 16, nullptr);
  }
  together(0xFFFFFFFF, &lane, load_matrices, st->line, "ldmatrix");
  for (int i = 0; i < lane.count; i++) in->set(st, 0, lane.out[i], i);
}

} // namespace cudarun
