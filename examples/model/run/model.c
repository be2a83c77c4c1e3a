/* Loads the library that examples/model builds from tensor expressions, and calls its two functions: dense, which is
 * relu(A·B + bias), and softmax, with the result of dense.
 *
 *   model_c MODEL.so
 *
 * Compares all results with plain loops, and prints the first row. */
#include <tvm/runtime/c_runtime_api.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 30, INNER = 32, CLASSES = 10, MANY = 4 };

static void need(int ok, const char* what) {
  if (ok) return;
  fprintf(stderr, "%s: %s\n", what, TVMGetLastError());
  exit(1);
}

/* An array of floats of one or two dimensions, filled from values if there are any. */
static TVMArrayHandle array(const float* values, int64_t rows, int64_t columns) {
  const int64_t shape[2] = {rows, columns};
  TVMArrayHandle a;
  need(TVMArrayAlloc(shape, columns == 0 ? 1 : 2, kDLFloat, 32, 1, kDLCPU, 0, &a) == 0, "cannot allocate an array");
  const size_t bytes = sizeof(float) * (size_t)(columns == 0 ? rows : rows * columns);
  if (values != NULL) need(TVMArrayCopyFromBytes(a, (void*)(size_t)values, bytes) == 0, "cannot fill an array");
  return a;
}

/* Calls a function of the module; its last argument is the result. */
static void call(TVMModuleHandle m, const char* name, const TVMArrayHandle* arrays, int n) {
  TVMFunctionHandle f;
  need(TVMModGetFunction(m, name, 0, &f) == 0, "cannot look a function up");
  if (f == NULL) {
    fprintf(stderr, "there is no function \"%s\" in the library\n", name);
    exit(1);
  }
  TVMValue args[MANY], result;
  int codes[MANY], code;
  for (int i = 0; i < n; i++) args[i].v_handle = arrays[i], codes[i] = kTVMNDArrayHandle;
  need(TVMFuncCall(f, args, codes, n, &result, &code) == 0, "the call failed");
  need(TVMFuncFree(f) == 0, "cannot free a function");
}

static void print_row(const char* name, const float* values) {
  printf("row 0 of %-8s", name);
  for (int j = 0; j < CLASSES; j++) printf(" %.6f", values[j]);
  printf("\n");
}

static float a[ROWS][INNER], b[INNER][CLASSES], bias[CLASSES], dense[ROWS][CLASSES], probability[ROWS][CLASSES];

static void fill(void) {
  for (int i = 0; i < ROWS; i++)
    for (int k = 0; k < INNER; k++) a[i][k] = (float)((7 * i + 3 * k) % 11 - 5) * 0.25f;
  for (int k = 0; k < INNER; k++)
    for (int j = 0; j < CLASSES; j++) b[k][j] = (float)((5 * k + 2 * j) % 7 - 3) * 0.125f;
  for (int j = 0; j < CLASSES; j++) bias[j] = (float)(j - 4) * 0.5f;
}

static void check(void) {
  for (int i = 0; i < ROWS; i++) {
    float row[CLASSES];
    double sum = 0;
    for (int j = 0; j < CLASSES; j++) {
      row[j] = bias[j];
      for (int k = 0; k < INNER; k++) row[j] += a[i][k] * b[k][j];
      row[j] = row[j] > 0 ? row[j] : 0;
      sum += exp(row[j]);
    }
    for (int j = 0; j < CLASSES; j++)
      if (dense[i][j] != row[j] || !(fabs(probability[i][j] - exp(row[j]) / sum) <= 1e-6)) {
        fprintf(stderr, "wrong result: row %d, column %d is %g and %g, not %g and %g\n", i, j, dense[i][j],
            probability[i][j], row[j], exp(row[j]) / sum);
        exit(1);
      }
  }
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s MODEL.so\n", argv[0]);
    return 2;
  }
  TVMModuleHandle m;
  need(TVMModLoadFromFile(argv[1], "so", &m) == 0, "cannot load the library");
  fill();
  TVMArrayHandle arrays[] = {array(a[0], ROWS, INNER), array(b[0], INNER, CLASSES), array(bias, CLASSES, 0),
      array(NULL, ROWS, CLASSES),
                             array(NULL, ROWS, CLASSES)};
  call(m, "dense", arrays, 4);
  call(m, "softmax", arrays + 3, 2);
  need(TVMArrayCopyToBytes(arrays[3], dense, sizeof dense) == 0, "cannot read a result");
  need(TVMArrayCopyToBytes(arrays[4], probability, sizeof probability) == 0, "cannot read a result");
  check();
  print_row("dense:", dense[0]);
  print_row("softmax:", probability[0]);
  printf("all %d rows are as plain loops in C have them\n", ROWS);
  for (int i = 0; i < 5; i++) need(TVMArrayFree(arrays[i]) == 0, "cannot free an array");
  need(TVMModFree(m) == 0, "cannot free the module");
  return 0;
}
