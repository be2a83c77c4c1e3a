/* A fake of NVML with two GPUs, in another order than the fake driver of CUDA has. It reads the environment at each
 * call:
 *
 *   FAKENVML_FAIL_AT=K,CODE  the K-th call since the variable changed returns CODE, and so do all later ones if CODE is
 *                            15 (NVML_ERROR_GPU_IS_LOST)
 *   FAKENVML_LACKS=VALUE     clock, memory, temperature, power or reasons is not supported (3)
 *   FAKENVML_REASONS=BITS    throttle reasons
 *   FAKENVML_MHZ=N           the clock of the multiprocessors
 *   FAKENVML_LOG=FILE        appends the name of each call */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef OLD
#define REASONS nvmlDeviceGetCurrentClocksThrottleReasons
#else
#define REASONS nvmlDeviceGetCurrentClocksEventReasons
#endif

typedef struct {
  const char *pci, *uuid;
  unsigned mhz, memory, celsius, milliwatts;
} gpu;

static gpu gpus[] = {{"0000:29:00.0", "GPU-a0a1a2a3-a4a5-a6a7-a8a9-aaabacadae01", 1980, 3201, 61, 350250},
                     {"0000:19:00.0", "GPU-a0a1a2a3-a4a5-a6a7-a8a9-aaabacadae00", 345, 2619, 33, 75125}};
static int opened;

static const char* env(const char* name) {
  const char* v = getenv(name);
  return v == NULL ? "" : v;
}

static int fault(const char* call) {
  static char last[64];
  static long calls;
  const char* at = env("FAKENVML_FAIL_AT");
  if (*env("FAKENVML_LOG") != 0) {
    FILE* f = fopen(env("FAKENVML_LOG"), "a");
    fprintf(f, "%s\n", call);
    fclose(f);
  }
  if (strcmp(at, last) != 0) {
    snprintf(last, sizeof last, "%s", at);
    calls = 0;
  }
  long k = 0, code = 0, n = ++calls;
  if (sscanf(at, "%ld,%ld", &k, &code) == 2 && (n == k || (n > k && code == 15))) return (int)code;
  return opened ? 0 : 1;
}

int nvmlInit_v2(void) {
  opened++;
  int rc = fault("init");
  if (rc != 0) opened--;
  return rc;
}

int nvmlShutdown(void) {
  int rc = fault("shutdown");
  if (opened > 0) opened--;
  return rc;
}

#ifndef WITHOUT_TEXT
const char* nvmlErrorString(int code) {
  return code == 15 ? "GPU is lost" : code == 3 ? "Not Supported" : code == 6 ? "Not Found" : "Unknown Error";
}
#endif

int nvmlSystemGetDriverVersion(char* text, unsigned length) {
  int rc = fault("driver");
  if (rc == 0) snprintf(text, length, "550.54.14");
  return rc;
}

static int find(const char* call, const char* name, size_t offset, void** device) {
  int rc = fault(call);
  for (size_t i = 0; rc == 0 && i < sizeof gpus / sizeof *gpus; i++)
    if (strcmp(*(const char**)((char*)&gpus[i] + offset), name) == 0) {
      *device = &gpus[i];
      return 0;
    }
  return rc != 0 ? rc : 6;
}

#ifndef WITHOUT_UUID
int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  return find("uuid", uuid, offsetof(gpu, uuid), device);
}
#endif

int nvmlDeviceGetHandleByPciBusId_v2(const char* pci, void** device) {
  return find("pci", pci, offsetof(gpu, pci), device);
}

static int value(const char* call, unsigned from, unsigned* out) {
  int rc = fault(call);
  if (rc == 0 && strcmp(env("FAKENVML_LACKS"), call) == 0) rc = 3;
  if (rc == 0) *out = from;
  return rc;
}

int nvmlDeviceGetClockInfo(gpu* g, int type, unsigned* out) {
  unsigned mhz = *env("FAKENVML_MHZ") != 0 ? (unsigned)atoi(env("FAKENVML_MHZ")) : g->mhz;
  return type == 1 ? value("clock", mhz, out) : type == 2 ? value("memory", g->memory, out) : 2;
}

int nvmlDeviceGetTemperature(gpu* g, int sensor, unsigned* out) {
  return sensor == 0 ? value("temperature", g->celsius, out) : 2;
}

int nvmlDeviceGetPowerUsage(gpu* g, unsigned* out) { return value("power", g->milliwatts, out); }

int REASONS(gpu* g, unsigned long long* out) {
  unsigned bits = 0;
  int rc = value("reasons", (unsigned)strtoul(env("FAKENVML_REASONS"), NULL, 0), &bits);
  (void)g;
  if (rc == 0) *out = bits;
  return rc;
}
