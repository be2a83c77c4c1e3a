/* Raising errors on the calling thread. One slot serves the classic and the tvm-ffi ABI. */
#pragma once

#include "object/counted.h"

/* Error kinds, in the spelling that Python front ends know. */
#define TVMGO_VALUE_ERROR "ValueError"
#define TVMGO_TYPE_ERROR "TypeError"
#define TVMGO_RUNTIME_ERROR "RuntimeError"
#define TVMGO_INDEX_ERROR "IndexError"
#define TVMGO_KEY_ERROR "KeyError"
#define TVMGO_MEMORY_ERROR "MemoryError"
#define TVMGO_INTERNAL_ERROR "InternalError"
#define TVMGO_NOT_FOUND_ERROR "NotFoundError"           /* file, function, device, kind */
#define TVMGO_CORRUPT_ERROR "CorruptModuleError"        /* a damaged file, or one of another format */
#define TVMGO_NOT_SUPPORTED_ERROR "NotSupportedError"   /* valid, but not supported here */
#define TVMGO_UNTRUSTED_ERROR "UntrustedError"         /* its signature does not allow to load it */
#define TVMGO_UNAVAILABLE_ERROR "DeviceUnavailableError" /* no driver, no such device */

/* Raises an error with a printf-like message; always returns -1. */
int tvmgo_raise(const char* kind, const char* format, ...) __attribute__((format(printf, 2, 3)));

/* The same for a failed system call: number is its errno, which tvmgo_error_system gives back. */
int tvmgo_raise_system(int number, const char* kind, const char* format, ...)
    __attribute__((format(printf, 3, 4)));

/* The errno behind an error, 0 when there is none. */
int tvmgo_error_system(const TVMFFIObject* e);

/* How many bytes of a text of n bytes a message shows: for %.*s. */
static inline int tvmgo_quoted(size_t n) { return n < 200 ? (int)n : 200; }

/* Raises MemoryError without allocating; always returns -1. */
int tvmgo_raise_oom(void);

/* A new error object (owned), or NULL when memory is out. The thread's slot is not touched. */
TVMFFIObject* tvmgo_error_new(const char* kind, size_t kind_len, const char* message,
                              size_t message_len, const char* backtrace, size_t backtrace_len);

/* The raised error, borrowed, so that text can be added to it; NULL if there is none or it cannot be changed. */
TVMFFIObject* tvmgo_error_raised(void);

/* Takes the raised error away from the thread (owned); NULL when there is none. */
TVMFFIObject* tvmgo_error_take(void);

/* Puts back what tvmgo_error_take took (consumed), unless another error was raised since. Code that may raise an
 * error while it holds a lock takes the error before the lock and puts it back after: raising releases the earlier
 * error of the thread, whose deleter may be foreign code that calls the core. */
void tvmgo_error_put_back(TVMFFIObject* earlier);

static inline TVMFFIErrorCell* tvmgo_error_cell(TVMFFIObject* e) {
  return (TVMFFIErrorCell*)(e + 1);
}

/* Puts "context: " before the message of the raised error; always returns -1. */
int tvmgo_raise_context(const char* format, ...) __attribute__((format(printf, 1, 2)));
