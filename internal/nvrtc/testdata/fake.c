/* A fake NVRTC for tests. MAJOR and MINOR set its version; NO_CUBIN and NO_ARCHS remove functions; OLDEST is the first
 * architecture; REFUSES is an option that it does not know; FAIL selects the function that fails. It installs signal
 * handlers when it is loaded and when it compiles. */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef MAJOR
#define MAJOR 11
#define MINOR 2
#endif
#ifndef FAIL
#define FAIL 0
#endif
#ifndef OLDEST
#define OLDEST 70
#endif

static void steal(int s) { (void)s; }

__attribute__((constructor)) static void loaded(void) { signal(SIGUSR1, steal); }

int nvrtcVersion(int* major, int* minor) {
  *major = MAJOR;
  *minor = MINOR;
  return FAIL == 1 ? 11 : 0;
}

const char* nvrtcGetErrorString(int rc) { return rc == 11 ? "FAKE_INTERNAL_ERROR" : "FAKE_OTHER"; }

int nvrtcCreateProgram(char** p, const char* code, const char* name, int n, const char* const* headers,
                       const char* const* names) {
  (void)name, (void)n, (void)headers, (void)names;
  if (FAIL == 2) return 11;
  *p = strdup(code);
  return 0;
}

int nvrtcDestroyProgram(char** p) {
  free(*p);
  *p = NULL;
  return 0;
}

#ifdef FLOW
/* A compilation takes half a minute unless the callback cancels it. */
static int (*flow_callback)(void*, void*);
static void* flow_payload;

int nvrtcSetFlowCallback(char* p, int (*callback)(void*, void*), void* payload) {
  (void)p;
  flow_callback = callback;
  flow_payload = payload;
  return FAIL == 9 ? 11 : 0;
}
#endif

int nvrtcCompileProgram(char* p, int n, const char* const* options) {
  (void)p, (void)n, (void)options;
  signal(SIGUSR2, steal);
#ifdef REFUSES
  for (int i = 0; i < n; i++)
    if (strcmp(options[i], REFUSES) == 0) return 5;
#endif
#ifdef NEEDS
  if (dlopen(NEEDS, RTLD_NOW) == NULL) return 7;
#endif
#ifdef FLOW
  close(open(FLOW, O_WRONLY)); /* a named pipe: returns when the test reads from it */
  for (int i = 0; i < 3000; i++, usleep(10000))
    if (flow_callback(flow_payload, NULL) == 1) return 16;
#endif
  return FAIL == 3 ? 11 : 0;
}

int nvrtcGetProgramLogSize(char* p, size_t* n) {
  (void)p;
  *n = 1;
  return 0;
}

int nvrtcGetProgramLog(char* p, char* log) {
  (void)p;
  *log = 0;
  return 0;
}

/* The result is the source, so that a test can check it. */
int nvrtcGetPTXSize(char* p, size_t* n) {
  *n = FAIL == 4 ? 0 : strlen(p) + 1;
  return FAIL == 5 ? 11 : 0;
}

int nvrtcGetPTX(char* p, char* out) {
  strcpy(out, p);
  return FAIL == 6 ? 11 : 0;
}

int nvrtcAddNameExpression(char* p, const char* name) {
  (void)p, (void)name;
  return FAIL == 7 ? 11 : 0;
}

int nvrtcGetLoweredName(char* p, const char* name, const char** lowered) {
  (void)p;
  *lowered = name;
  return FAIL == 8 ? 11 : 0;
}

#ifndef NO_CUBIN
int nvrtcGetCUBINSize(char* p, size_t* n) { return nvrtcGetPTXSize(p, n); }
int nvrtcGetCUBIN(char* p, char* out) { return nvrtcGetPTX(p, out); }
#endif

#ifndef NO_ARCHS
int nvrtcGetNumSupportedArchs(int* n) {
  *n = 2;
  return 0;
}
int nvrtcGetSupportedArchs(int* list) {
  list[0] = 80;
  list[1] = OLDEST;
  return 0;
}
#endif
