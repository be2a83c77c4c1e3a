/* The part of the C library's <stdio.h> that generated code uses: formatting of errors. */
#ifndef TVMGO_LLVM_STDIO_H_
#define TVMGO_LLVM_STDIO_H_

#include <stdarg.h>
#include <stddef.h>

int printf(const char*, ...) __attribute__((format(printf, 1, 2)));
int puts(const char*);
int snprintf(char*, size_t, const char*, ...) __attribute__((format(printf, 3, 4)));
int vsnprintf(char*, size_t, const char*, va_list) __attribute__((format(printf, 3, 0)));

#endif
