/* Package bridge: the functions that Go calls. A goroutine may move to another thread between two cgo calls, so each
 * function sets the state of the thread, does its work and returns its error in one call.
 *
 * Depends on all packages below it but record and kernel. Results and errors are owned by the caller, arguments are
 * borrowed. Any thread may call, a bound call one at a time. The package has no lock.
 *
 * Handles travel as uintptr_t: cgo then neither checks nor escapes them. */
#pragma once

#include "loader/loader.h"

/* err: owned Error object, or 0. */
typedef struct {
  uintptr_t value;
  uintptr_t err;
} tvmgo_ret;

typedef struct {
  TVMFFIAny value; /* owned */
  uintptr_t err;
} tvmgo_any_ret;

/* A stream to make current during a call; device_type 0 = change nothing. */
typedef struct {
  int32_t device_type, device_id;
  uintptr_t stream;
} tvmgo_place;

/* A call whose arguments were packed once. Made by tvmgo_bound_new, one caller at a time. */
typedef struct {
  TVMFFIObject* function; /* owned */
  int32_t num_args;
  tvmgo_place place;
  TVMFFIAny result; /* owned, of the last call */
  TVMFFIObject* err; /* owned, of the last call */
  TVMFFIAny args[];  /* owned where they are objects */
} tvmgo_bound;

tvmgo_any_ret tvmgo_bridge_call(uintptr_t function, const TVMFFIAny* args, int32_t n,
                                tvmgo_place place);
/* args: views; objects are retained by the bound call. */
tvmgo_ret tvmgo_bound_new(uintptr_t function, const TVMFFIAny* args, int32_t n, tvmgo_place place);
/* 0, or non-zero with err set. */
int tvmgo_bound_call(uintptr_t bound);
void tvmgo_bound_free(uintptr_t bound);

/* Loads bytes, or the file if they are NULL. verifier: a handle of Go that checks the files of this load and of those
 * within it, 0 = that of the thread. */
tvmgo_ret tvmgo_bridge_load(const char* path, const void* bytes, size_t n, unsigned flags, uintptr_t verifier);
/* value: an open copy of the open file fd whose signature was checked, + 1; 0 if the load checks none. */
tvmgo_ret tvmgo_bridge_trust_open(const char* path, int fd, uintptr_t verifier);
tvmgo_ret tvmgo_bridge_get_function(uintptr_t m, const char* name, size_t len, int query_imports);
tvmgo_ret tvmgo_bridge_import(uintptr_t m, uintptr_t dep);
tvmgo_ret tvmgo_bridge_clear_imports(uintptr_t m);
tvmgo_ret tvmgo_bridge_system_lib(const char* prefix, size_t len);
tvmgo_ret tvmgo_bridge_function_names(uintptr_t m, int with_imports);
/* The constants of the library that defines the function found by a look-up. value: its image, owned, 0 unless the
 * library is of the tvm-ffi generation that prints signatures. Writes *n parts, at most cap. */
typedef struct {
  uintptr_t data;
  size_t size;
} tvmgo_part;
tvmgo_ret tvmgo_bridge_constants(uintptr_t m, const char* name, size_t len, tvmgo_part* parts, int32_t cap, int32_t* n);
/* The number of the text to read from a module: 0 source (text = format), 1 bytes, 2 metadata, 3 doc (text = name). */
tvmgo_any_ret tvmgo_bridge_module_text(uintptr_t m, int what, const char* text, size_t len);
tvmgo_ret tvmgo_bridge_write_file(uintptr_t m, const char* path, const char* format);

tvmgo_ret tvmgo_bridge_tensor_new(const int64_t* shape, int32_t ndim, DLDataType dtype, DLDevice dev,
                                  const char* scope);
tvmgo_ret tvmgo_bridge_tensor_view(uintptr_t t, const int64_t* shape, int32_t ndim, DLDataType dtype,
                                   const int64_t* strides, uint64_t byte_offset);
/* A view of foreign memory. release(owner) is called once, when the tensor is freed; NULL: nobody owns the memory.
 * After an error, the caller still owns it. */
tvmgo_ret tvmgo_bridge_tensor_wrap(uintptr_t dl, uintptr_t owner, void (*release)(void* owner));
tvmgo_ret tvmgo_bridge_tensor_bytes(uintptr_t t, void* bytes, size_t n, int to_tensor);
tvmgo_ret tvmgo_bridge_tensor_copy(uintptr_t from, uintptr_t to, uintptr_t stream);
tvmgo_ret tvmgo_bridge_to_dlpack(uintptr_t t, int versioned);
tvmgo_ret tvmgo_bridge_from_dlpack(uintptr_t managed, int versioned);

tvmgo_any_ret tvmgo_bridge_device_attr(int32_t type, int32_t id, int32_t kind);
tvmgo_any_ret tvmgo_bridge_device_property(int32_t type, int32_t id, const char* name);
tvmgo_ret tvmgo_bridge_sync(DLDevice dev, uintptr_t stream);
tvmgo_ret tvmgo_bridge_stream_create(DLDevice dev);
tvmgo_ret tvmgo_bridge_stream_create_with_priority(DLDevice dev, int32_t priority);
tvmgo_ret tvmgo_bridge_stream_priorities(DLDevice dev, int32_t* least, int32_t* greatest);
tvmgo_ret tvmgo_bridge_stream_free(DLDevice dev, uintptr_t stream);
tvmgo_ret tvmgo_bridge_stream_order(DLDevice dev, uintptr_t src, uintptr_t dst);
tvmgo_ret tvmgo_bridge_timer_new(DLDevice dev);
tvmgo_ret tvmgo_bridge_timer_mark(DLDevice dev, uintptr_t timer, uintptr_t stream, int stop);
/* value: nanoseconds. */
tvmgo_ret tvmgo_bridge_timer_read(DLDevice dev, uintptr_t timer);
int tvmgo_bridge_timer_on_device(DLDevice dev);
void tvmgo_bridge_timer_free(DLDevice dev, uintptr_t timer);
tvmgo_ret tvmgo_bridge_memory_stats(DLDevice dev, TVMGOMemoryStats* out);
tvmgo_ret tvmgo_bridge_workspace_new(const int64_t* shape, int32_t ndim, DLDataType dtype, DLDevice dev,
                                     uintptr_t stream);
tvmgo_ret tvmgo_bridge_tensor_on_stream(const int64_t* shape, int32_t ndim, DLDataType dtype, DLDevice dev,
                                        uintptr_t stream);
/* value: a recording, which becomes a graph; owned. */
tvmgo_ret tvmgo_bridge_graph_begin(DLDevice dev, uintptr_t stream);
tvmgo_ret tvmgo_bridge_graph_end(uintptr_t graph, int discard);
tvmgo_ret tvmgo_bridge_graph_launch(uintptr_t graph, uintptr_t stream);
tvmgo_ret tvmgo_bridge_pinned_new(const int64_t* shape, int32_t ndim, DLDataType dtype, DLDevice dev);
tvmgo_ret tvmgo_bridge_workspace_stats(DLDevice dev, tvmgo_workspace_stats* out);
/* value: bytes given back. */
tvmgo_ret tvmgo_bridge_workspace_trim(DLDevice dev);
/* The value is the limit before. */
tvmgo_ret tvmgo_bridge_workspace_set_limit(DLDevice dev, int64_t bytes);

tvmgo_ret tvmgo_bridge_configure_threads(int n);
tvmgo_ret tvmgo_bridge_global_set(const char* name, size_t len, uintptr_t f, int allow_override);
tvmgo_any_ret tvmgo_bridge_string(const char* data, size_t n, int bytes);
tvmgo_ret tvmgo_bridge_shape(const int64_t* dims, size_t n);
tvmgo_ret tvmgo_bridge_array(const TVMFFIAny* items, int64_t n);
/* items: key, value, key, value, ...; n counts pairs. */
tvmgo_ret tvmgo_bridge_map(const TVMFFIAny* items, int64_t n);
/* Reads up to cap pairs of a map into items as views; returns how many there are. */
int64_t tvmgo_bridge_map_items(uintptr_t map, TVMFFIAny* items, int64_t cap);

/* An owned error made by Go: go_release is called with context, an opaque handle, when the error is freed. */
uintptr_t tvmgo_bridge_error(const char* kind, size_t kind_len, const char* text, size_t text_len,
                             const char* backtrace, size_t backtrace_len, uintptr_t context,
                             void (*go_release)(void*));
/* The context given to tvmgo_bridge_error if the error was made with this go_release; else 0. */
uintptr_t tvmgo_bridge_error_context(uintptr_t err, void (*go_release)(void*));
/* Raises an owned error on the calling thread; returns -1. */
int tvmgo_bridge_raise(uintptr_t err);
/* Forgets the calls in progress on this thread, whose frames are never returned to: the goroutine ends. */
void tvmgo_bridge_abandon(void);
/* Whether the calling thread is within a Go function that C called. A call from there must stay on the thread, where
 * the limit of nested calls counts it. */
int tvmgo_bridge_in_go(void);
