//go:build opencl

/* OpenCL's handles. */
#include "driver.h"

static const char* const kind_names[] = {"nothing in use", "memory", "an image", "a stream", "an event", "a timer"};
static tvmgo_handles handles = {.api = "opencl", .size = sizeof(cl_handle), .kind_names = kind_names};
_Static_assert(sizeof(cl_handle) <= 96, "a handle is small");

cl_handle* tvmgo_cl_handle_new(handle_kind kind, int32_t device) { return tvmgo_handle_new(&handles, kind, device); }
void tvmgo_cl_handle_free(cl_handle* h) { tvmgo_handle_free(&handles, h); }
handle_kind tvmgo_cl_handle_kind(const void* p) { return tvmgo_handle_kind(&handles, p); }
cl_handle* tvmgo_cl_handle_need(const void* p, handle_kind kind, const char* what) {
  return tvmgo_handle_need(&handles, p, kind, what);
}
