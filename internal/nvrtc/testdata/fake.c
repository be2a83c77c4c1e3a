/* An NVRTC of the tests: as old as MAJOR.MINOR says, without what NO_CUBIN and NO_ARCHS take away, failing as FAIL
 * says; it takes signals of the program for itself, when it is loaded and when it compiles. */
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
/* A compilation that takes half a minute, if it is let. */
static int (*asked)(void*, void*);
static void* of_it;

int nvrtcSetFlowCallback(char* p, int (*callback)(void*, void*), void* payload) {
  (void)p;
  asked = callback;
  of_it = payload;
  return FAIL == 9 ? 11 : 0;
}
#endif

int nvrtcCompileProgram(char* p, int n, const char* const* options) {
  (void)p, (void)n, (void)options;
  signal(SIGUSR2, steal);
#ifdef NEEDS
  if (dlopen(NEEDS, RTLD_NOW) == NULL) return 7;
#endif
#ifdef FLOW
  close(open(FLOW, O_WRONLY)); /* a pipe: whoever opens its other end knows that it began */
  for (int i = 0; i < 3000; i++, usleep(10000))
    if (asked(of_it, NULL) == 1) return 16;
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

/* The result is the source, so that a test sees what arrived. */
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
  list[1] = 70;
  return 0;
}
#endif
