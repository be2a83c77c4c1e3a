/* Tensors: a DLTensor behind an object header, with the owner of its memory. */
#pragma once

#include "object/counted.h"
#include <tvmgo/device_api.h>

typedef struct {
  TVMFFIObject header;
  DLTensor dl;                  /* shape and strides point into this object */
  const TVMGODeviceAPI* api;    /* the device that owns the data space; NULL if the tensor does not own its memory */
  size_t nbytes;                /* bytes of data space owned */
  void* owner;                  /* DLManagedTensor*, DLManagedTensorVersioned* or object kept alive */
  void (*release)(void* owner); /* called once with owner; NULL = nothing to do */
  int64_t dims[];               /* shape, then strides */
} tvmgo_tensor;

/* New data space, uninitialised, compact. scope NULL, "" or "global" is flat memory. */
tvmgo_tensor* tvmgo_tensor_new(const int64_t* shape, int32_t ndim, DLDataType dtype, DLDevice dev,
                               const char* scope);
/* A tensor in a workspace for work on a stream (tvmgo_workspace_take). Releasing the last reference returns the
 * workspace, even while that work is queued. tensor_memory.c */
tvmgo_tensor* tvmgo_tensor_workspace(const int64_t* shape, int32_t ndim, DLDataType dtype, DLDevice dev,
                                     TVMFFIStreamHandle stream);
/* A tensor in memory that work queued on a stream from now on uses. Releasing the last reference returns it on that
 * stream, or, if the stream was freed, to the device. If the device has no such memory, it is ordinary data space. */
tvmgo_tensor* tvmgo_tensor_on_stream(const int64_t* shape, int32_t ndim, DLDataType dtype, DLDevice dev,
                                     TVMFFIStreamHandle stream);
/* Whether the memory of a tensor, or of the one that it is a view of, is returned to a stream whose next work may use
 * it immediately. */
int tvmgo_tensor_goes_to_stream(TVMFFIObject* obj);
/* A tensor on the CPU in page-locked memory of a device, compact. */
tvmgo_tensor* tvmgo_tensor_pinned(const int64_t* shape, int32_t ndim, DLDataType dtype, DLDevice dev);
/* A view of foreign memory: shape (and strides, when not NULL) are copied; release(owner) is called when the last
 * reference is released. If this function fails, the caller still owns owner. */
tvmgo_tensor* tvmgo_tensor_wrap(const DLTensor* dl, void* owner, void (*release)(void*));
/* A view of part of a tensor, which it keeps alive. byte_offset is relative to source. */
tvmgo_tensor* tvmgo_tensor_view(tvmgo_tensor* source, const int64_t* shape, int32_t ndim,
                                DLDataType dtype, const int64_t* strides, uint64_t byte_offset);

/* The release function of views; it also identifies a tensor as a view. */
void tvmgo_tensor_release_source(void* source);

/* The release function of tensors whose owner is an object that returns its memory to a stream. */
void tvmgo_tensor_release_ordered(void* owner);

/* Elements and bytes of a DLTensor, checked for negative sizes and overflow. */
int tvmgo_dl_elements(const DLTensor* t, int64_t* out);
int tvmgo_dl_bytes(const DLTensor* t, size_t* out);
int tvmgo_dl_contiguous(const DLTensor* t);
/* Checks the number of dimensions, and that there is a shape; raises an error that names `what`. */
int tvmgo_dl_check_dims(int32_t ndim, const int64_t* shape, const char* what);
/* Checks ndim, pointers and sizes; raises an error that names `what`. */
int tvmgo_dl_check(const DLTensor* t, const char* what);
/* Checks that memory can hold elements of a type. */
int tvmgo_dl_check_dtype(DLDataType t);
/* The alignment in bytes of data with elements of a type. */
size_t tvmgo_dl_alignment(DLDataType t);
/* Also checks the element type, the offset and the device of a tensor from outside. */
int tvmgo_dl_check_place(const DLTensor* t, const char* what);
/* Copies between tensors of equal byte count; picks the device (docs/abi.md E.4). */
int tvmgo_dl_copy(const DLTensor* from, const DLTensor* to, TVMFFIStreamHandle stream);
/* Copies nbytes of plain host memory into a contiguous tensor, or out of it, and waits. */
int tvmgo_dl_copy_bytes(const DLTensor* t, void* bytes, size_t nbytes, int to_tensor);
