/* The functions of an NVRTC that was opened at run time, and the compilation of one program. Only the functions that
 * are used are declared. The declarations are valid for NVRTC 11.2 to 13. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>

typedef struct _nvrtcProgram* nvrtcProgram;

/* The addresses of the functions. A function with a version in its comment may be NULL, because older libraries do not
 * have it. */
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
  int (*on_flow)(nvrtcProgram, int (*)(void*, void*), void* payload); /* 12.9; to cancel */
} tvmgo_nvrtc;

/* A program to compile, and its result. */
typedef struct {
  const char* code;
  const char* name;
  int num_headers, num_options, num_names;
  const char* const* header_code;
  const char* const* header_names;
  const char* const* options;
  const char* const* names; /* C++ expressions whose lowered names are returned */
  int cubin;                /* 1: make a cubin; 0: make PTX */
  int assemble;             /* 1: return the cubin in addition */
  _Atomic int* stop;        /* a value other than 0 cancels the compilation; read while it runs */

  int rc;             /* the result of the function that failed; 0 if none failed */
  const char* failed; /* the name of that function */
  char* log;          /* allocated with malloc, like the fields that follow; NULL when there is none */
  size_t log_size;
  char* image;
  size_t image_size;
  char* cubin_image; /* with assemble */
  size_t cubin_size;
  char** lowered; /* num_names of them */
} tvmgo_nvrtc_job;

enum { TVMGO_NVRTC_NO_MEMORY = 1 }; /* NVRTC_ERROR_OUT_OF_MEMORY */

/* Compiles the job's program and stores the result in the job; tvmgo_nvrtc_done frees the result. Threads may call it
 * concurrently with different jobs. */
void tvmgo_nvrtc_run(const tvmgo_nvrtc* api, tvmgo_nvrtc_job* job);
void tvmgo_nvrtc_done(tvmgo_nvrtc_job* job);

/* For Go, which cannot call C function pointers. */
int tvmgo_nvrtc_version(const tvmgo_nvrtc* api, int* major, int* minor);
const char* tvmgo_nvrtc_error(const tvmgo_nvrtc* api, int rc);
/* Writes the supported architectures to list. Returns their number; 0 when the library does not report them, or when
 * there are more than max. */
int tvmgo_nvrtc_archs(const tvmgo_nvrtc* api, int* list, int max);
