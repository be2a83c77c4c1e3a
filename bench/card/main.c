/* Compares the library with direct use of the CUDA driver on a GPU, and prints one JSON object.
 *
 *   cuda_card [--rounds N] [--quick] [--device N] [--json FILE] FOLDER ARTIFACT.so
 *
 * FOLDER contains kernels.ptx and kernels.tvm_meta.json, like the folder of this file. ARTIFACT.so is a library with a
 * function addone that Apache TVM exported for CUDA. Each round takes one sample of the library and then one of the
 * driver; a row has the medians. --quick uses small sizes and two rounds, to check that the program works. The exit
 * status is 1 after an error or a wrong result, 2 after wrong arguments; a missed target is not an error. */
#include "card.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROUNDS = 1001 };

void card_fail(const char* format, ...) {
  TVMFFIObjectHandle error = NULL;
  va_list args;
  va_start(args, format);
  fputs("cuda_card: ", stderr);
  vfprintf(stderr, format, args);
  va_end(args);
  TVMFFIErrorMoveFromRaised(&error);
  if (error != NULL) {
    const TVMFFIErrorCell* e = TVMFFIErrorGetCellPtr(error);
    fprintf(stderr, ": %.*s", (int)e->message.size, e->message.data);
  }
  fputc('\n', stderr);
  exit(1);
}

static int usage(const char* why, const char* what) {
  fprintf(stderr, "cuda_card: %s%s\nusage: cuda_card [--rounds N] [--quick] [--device N] [--json FILE] FOLDER "
                  "ARTIFACT.so\n", why, what);
  return 2;
}

static int number_of(const char* s, int least, int most, int* out) {
  char* end;
  errno = 0;
  long n = s == NULL ? LONG_MIN : strtol(s, &end, 10);
  if (s == NULL || errno != 0 || end == s || *end != 0 || n < least || n > most) return 0;
  *out = (int)n;
  return 1;
}

/* ---- samples ---- */

typedef struct {
  double samples[MAX_ROUNDS];
  int n;
} series;

static int ascending(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double quantile(series* s, double q) {
  qsort(s->samples, (size_t)s->n, sizeof *s->samples, ascending);
  double at = q * (s->n - 1);
  int i = (int)at;
  return i + 1 < s->n ? s->samples[i] + (at - i) * (s->samples[i + 1] - s->samples[i]) : s->samples[i];
}

static void measure(const card_row* r, int rounds, series* ours, series* of_raw) {
  r->ours(); /* warm up */
  if (r->raw != NULL) r->raw();
  ours->n = of_raw->n = 0;
  for (int i = 0; i < rounds; i++) {
    ours->samples[ours->n++] = r->ours();
    if (r->raw != NULL) of_raw->samples[of_raw->n++] = r->raw();
  }
}

/* ---- JSON ---- */

static void print_text(FILE* f, const char* s) {
  fputc('"', f);
  for (; *s != 0; s++) {
    if (*s == '"' || *s == '\\') fprintf(f, "\\%c", *s);
    else if ((unsigned char)*s < 32) fprintf(f, "\\u%04x", *s);
    else fputc(*s, f);
  }
  fputc('"', f);
}

/* The bandwidth of the memory in GB/s, computed from its clock and width; 0 if the driver does not report them. */
static double peak_of(CUdevice d) {
  int khz = 0, bits = 0;
  raw.cuDeviceGetAttribute(&khz, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, d);
  raw.cuDeviceGetAttribute(&bits, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, d);
  return 2.0 * khz * 1e3 * (bits / 8.0) / 1e9; /* two transfers per clock */
}

static void print_machine(FILE* f, int device, int rounds, int quick) {
  char name[256] = "";
  int version = 0, major = 0, minor = 0;
  CUdevice d;
  raw_check(raw.cuDeviceGet(&d, device), "cuDeviceGet");
  raw_check(raw.cuDriverGetVersion(&version), "cuDriverGetVersion");
  raw_check(raw.cuDeviceGetName(name, sizeof name, d), "cuDeviceGetName");
  raw_check(raw.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, d), "cuDeviceGetAttribute");
  raw_check(raw.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, d), "cuDeviceGetAttribute");
  fputs("{\n  \"device\": ", f);
  print_text(f, name);
  fprintf(f, ",\n  \"compute_capability\": \"%d.%d\",\n  \"driver_version\": \"%d.%d\",\n", major, minor,
          version / 1000, version % 1000 / 10);
  fprintf(f, "  \"peak_gb_per_s\": %.6g,\n  \"rounds\": %d,\n  \"quick\": %s,\n", peak_of(d), rounds, quick ? "true"
          : "false");
  fprintf(f, "  \"sizes\": {\"launches\": %d, \"graph_launches\": %d, \"copy_bytes\": %zu, \"device_copy_bytes\": "
             "%zu, \"vadd_elements\": %zu},\n",
          sizes.launches, sizes.graph_launches, sizes.copy, sizes.device_copy, sizes.elements);
  fputs("  \"rows\": [", f);
}

static void print_series(FILE* f, const char* name, series* s) {
  if (s->n == 0) {
    fprintf(f, ", \"%s\": null", name);
    return;
  }
  fprintf(f, ", \"%s\": %.6g, \"%s_quartiles\": [%.6g, %.6g]", name, quantile(s, 0.5), name, quantile(s, 0.25),
          quantile(s, 0.75));
}

static void print_row(FILE* f, const card_row* r, series* ours, series* of_raw, double peak) {
  static const char* const relations[] = {"ratio at most", "ratio at least", "difference at most", "record"};
  double x = quantile(ours, 0.5);
  fputs("\n    {\"name\": ", f);
  print_text(f, r->name);
  fprintf(f, ", \"unit\": \"%s\"", r->unit);
  print_series(f, "ours", ours);
  print_series(f, "raw", of_raw);
  if (of_raw->n > 0) {
    double y = quantile(of_raw, 0.5), value = r->relation == CARD_DIFFERENCE ? x - y : x / y;
    fprintf(f, ", \"%s\": %.6g", r->relation == CARD_DIFFERENCE ? "difference" : "ratio", value);
    if (r->relation != CARD_RECORD)
      fprintf(f, ", \"relation\": \"%s\", \"target\": %g, \"met\": %s", relations[r->relation], r->target,
              (r->relation == CARD_RATIO_AT_LEAST ? value >= r->target : value <= r->target) ? "true" : "false");
  }
  if (r->relation == CARD_RECORD) fputs(", \"relation\": \"record\", \"target\": null, \"met\": null", f);
  if (r->bytes > 0 && strcmp(r->unit, "us") == 0) {
    double bandwidth = (double)r->bytes / (x * 1e3);
    fprintf(f, ", \"gb_per_s\": %.6g", bandwidth);
    if (peak > 0) fprintf(f, ", \"share_of_peak\": %.6g", bandwidth / peak);
  }
  fputc('}', f);
}

/* ---- main ---- */

int main(int argc, char** argv) {
  const char *json = NULL, *paths[2] = {NULL, NULL};
  int rounds = 0, quick = 0, device = 0, n_paths = 0;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--quick") == 0) quick = 1;
    else if (strcmp(argv[i], "--rounds") == 0) {
      if (!number_of(argv[++i], 1, MAX_ROUNDS, &rounds)) return usage("--rounds needs a number from 1 to 1001", "");
    } else if (strcmp(argv[i], "--device") == 0) {
      if (!number_of(argv[++i], 0, 63, &device)) return usage("--device needs the number of a device", "");
    } else if (strcmp(argv[i], "--json") == 0) {
      if ((json = argv[++i]) == NULL) return usage("--json needs a file", "");
    } else if (argv[i][0] == '-') return usage("there is no option ", argv[i]);
    else if (n_paths == 2) return usage("too many arguments: ", argv[i]);
    else paths[n_paths++] = argv[i];
  }
  if (n_paths != 2) return usage("a folder with kernels and a library are required", "");
  if (rounds == 0) rounds = quick ? 2 : 21;
  sizes = quick ? (card_sizes){16, 20, 2, 1 << 20, 1 << 20, 1 << 16} /* small enough for any queue */
                : (card_sizes){256, 1000, 5, 64 << 20, 256 << 20, 64 << 20};
  rows_prepare(paths[0], paths[1], device);

  char* text = NULL; /* printed at the end */
  size_t size = 0;
  FILE* f = open_memstream(&text, &size);
  if (f == NULL) card_fail("no memory for the result");
  CUdevice d;
  raw_check(raw.cuDeviceGet(&d, device), "cuDeviceGet");
  print_machine(f, device, rounds, quick);
  for (const card_row* r = card_rows; r->name != NULL; r++) {
    static series ours, of_raw;
    measure(r, rounds, &ours, &of_raw);
    if (r != card_rows) fputc(',', f);
    print_row(f, r, &ours, &of_raw, peak_of(d));
  }
  fputs("\n  ]\n}\n", f);
  if (fclose(f) != 0) card_fail("no memory for the result");
  rows_close();
  FILE* out = json == NULL ? stdout : fopen(json, "w");
  if (out == NULL) card_fail("write %s: %s", json, strerror(errno));
  int failed = fputs(text, out) < 0;
  failed |= fflush(out) != 0;
  if (json != NULL) failed |= fclose(out) != 0;
  if (failed) card_fail("write %s: %s", json == NULL ? "the result" : json, strerror(errno));
  free(text);
  return 0;
}
