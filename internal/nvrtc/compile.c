/* Compiles one program from its source to its image. */
#include "compile.h"

#include <stdlib.h>
#include <string.h>

/* NVRTC calls this while it compiles; a result other than 0 cancels the compilation. */
static int is_cancelled(void* payload, void* reserved) {
  return atomic_load((_Atomic int*)payload) != 0;
}

/* Records in the job the first call that failed. Returns rc. */
static int failed(tvmgo_nvrtc_job* job, int rc, const char* call) {
  if (rc != 0 && job->rc == 0) {
    job->rc = rc;
    job->failed = call;
  }
  return rc;
}

/* An empty log has the size 1, for its terminating zero. */
static void take_log(const tvmgo_nvrtc* api, tvmgo_nvrtc_job* job, nvrtcProgram p) {
  size_t n = 0;
  if (api->log_size(p, &n) != 0 || n <= 1) return;
  char* text = calloc(n + 1, 1);
  if (text != NULL && api->log(p, text) == 0) {
    job->log = text;
    job->log_size = strlen(text);
  } else {
    free(text);
  }
}

/* Stores the cubin, or else the PTX, in *image. */
static void take_image(const tvmgo_nvrtc* api, tvmgo_nvrtc_job* job, nvrtcProgram p, int cubin, char** image,
                       size_t* size) {
  size_t n = 0;
  if (cubin) {
    if (failed(job, api->cubin_size(p, &n), "nvrtcGetCUBINSize")) return;
  } else {
    if (failed(job, api->ptx_size(p, &n), "nvrtcGetPTXSize")) return;
  }
  if (n == 0) return;
  *image = malloc(n);
  if (*image == NULL) {
    failed(job, TVMGO_NVRTC_NO_MEMORY, "malloc");
    return;
  }
  if (cubin) {
    if (failed(job, api->cubin(p, *image), "nvrtcGetCUBIN")) return;
  } else {
    if (failed(job, api->ptx(p, *image), "nvrtcGetPTX")) return;
  }
  *size = n;
}

static void take_names(const tvmgo_nvrtc* api, tvmgo_nvrtc_job* job, nvrtcProgram p) {
  if (job->num_names == 0) return;
  job->lowered = calloc((size_t)job->num_names, sizeof *job->lowered);
  if (job->lowered == NULL) {
    failed(job, TVMGO_NVRTC_NO_MEMORY, "malloc");
    return;
  }
  for (int i = 0; i < job->num_names; i++) {
    const char* name = NULL; /* owned by the program */
    if (failed(job, api->lowered(p, job->names[i], &name), "nvrtcGetLoweredName")) return;
    job->lowered[i] = strdup(name);
    if (job->lowered[i] == NULL) failed(job, TVMGO_NVRTC_NO_MEMORY, "malloc");
  }
}

void tvmgo_nvrtc_run(const tvmgo_nvrtc* api, tvmgo_nvrtc_job* job) {
  nvrtcProgram p = NULL;
  int rc = api->create(&p, job->code, job->name, job->num_headers, job->header_code, job->header_names);
  if (failed(job, rc, "nvrtcCreateProgram")) return;
  for (int i = 0; i < job->num_names && job->rc == 0; i++)
    failed(job, api->add_name(p, job->names[i]), "nvrtcAddNameExpression");
  if (job->rc == 0 && api->on_flow != NULL)
    failed(job, api->on_flow(p, is_cancelled, job->stop), "nvrtcSetFlowCallback");
  if (job->rc == 0) {
    failed(job, api->compile(p, job->num_options, job->options), "nvrtcCompileProgram");
    take_log(api, job, p); /* also after a success, for the warnings */
  }
  if (job->rc == 0) take_image(api, job, p, job->cubin, &job->image, &job->image_size);
  if (job->rc == 0 && job->assemble) take_image(api, job, p, 1, &job->cubin_image, &job->cubin_size);
  if (job->rc == 0) take_names(api, job, p);
  api->destroy(&p);
}

void tvmgo_nvrtc_done(tvmgo_nvrtc_job* job) {
  free(job->log);
  free(job->image);
  free(job->cubin_image);
  for (int i = 0; job->lowered != NULL && i < job->num_names; i++) free(job->lowered[i]);
  free(job->lowered);
}

int tvmgo_nvrtc_version(const tvmgo_nvrtc* api, int* major, int* minor) { return api->version(major, minor); }

const char* tvmgo_nvrtc_error(const tvmgo_nvrtc* api, int rc) { return api->error_string(rc); }

int tvmgo_nvrtc_archs(const tvmgo_nvrtc* api, int* list, int max) {
  int n = 0;
  if (api->num_archs == NULL || api->archs == NULL || api->num_archs(&n) != 0 || n <= 0 || n > max) return 0;
  return api->archs(list) == 0 ? n : 0;
}
