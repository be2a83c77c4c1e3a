/* Calling an NVRTC that was opened at run time. The declarations are of the subset that is used, as of NVRTC 11.2 to
 * 13. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>

typedef struct _nvrtcProgram* nvrtcProgram;

/* Addresses in the library; those that NVRTC got later than 11.0 may be NULL. */
typedef struct {
  int (*version)(int* major, int* minor);
  const char* (*error_string)(int);
  int (*create)(nvrtcProgram*, const char* code, const char* name, int n, const char* const* headers,
                const char* const* names);
  int (*destroy)(nvrtcProgram*);
  int (*compile)(nvrtcProgram, int n, const char* const* options);
  int (*log_size)(nvrtcProgram, size_t*);
  int (*log)(nvrtcProgram, char*);
  int (*ptx_size)(nvrtcProgram, size_t*);
  int (*ptx)(nvrtcProgram, char*);
  int (*add_name)(nvrtcProgram, const char*);
  int (*lowered)(nvrtcProgram, const char*, const char**);
  int (*cubin_size)(nvrtcProgram, size_t*);                          /* 11.1 */
  int (*cubin)(nvrtcProgram, char*);                                 /* 11.1 */
  int (*num_archs)(int*);                                            /* 11.2 */
  int (*archs)(int*);                                                /* 11.2 */
  int (*on_flow)(nvrtcProgram, int (*)(void*, void*), void* payload); /* 12.9: to give up in the middle */
} tvmgo_nvrtc;

/* What is to be compiled, and what came of it. */
typedef struct {
  const char* code;
  const char* name;
  int num_headers, num_options, num_names;
  const char* const* header_code;
  const char* const* header_names;
  const char* const* options;
  const char* const* names; /* expressions whose names in the result are asked for */
  int cubin;                /* or PTX */
  _Atomic int* stop;        /* not 0: give up; read while it runs */

  int rc;             /* of the call that failed; 0 if none did */
  const char* failed; /* its name */
  char* log;          /* by malloc, as is what follows; NULL when there is none */
  size_t log_size;
  char* image;
  size_t image_size;
  char** lowered; /* num_names of them */
} tvmgo_nvrtc_job;

enum { TVMGO_NVRTC_NO_MEMORY = 1 }; /* NVRTC_ERROR_OUT_OF_MEMORY */

/* Compiles; the answers are in the job, which tvmgo_nvrtc_done empties. Any thread, many at once. */
void tvmgo_nvrtc_run(const tvmgo_nvrtc* api, tvmgo_nvrtc_job* job);
void tvmgo_nvrtc_done(tvmgo_nvrtc_job* job);

/* For Go, which cannot call through a pointer. */
int tvmgo_nvrtc_version(const tvmgo_nvrtc* api, int* major, int* minor);
const char* tvmgo_nvrtc_error(const tvmgo_nvrtc* api, int rc);
/* Up to max of the architectures; how many were written. */
int tvmgo_nvrtc_archs(const tvmgo_nvrtc* api, int* list, int max);
