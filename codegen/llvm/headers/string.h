/* The part of the C library's <string.h> that generated code uses. */
#ifndef TVMGO_LLVM_STRING_H_
#define TVMGO_LLVM_STRING_H_

#include <stddef.h>

void* memchr(const void*, int, size_t);
int memcmp(const void*, const void*, size_t);
void* memcpy(void*, const void*, size_t);
void* memmove(void*, const void*, size_t);
void* memset(void*, int, size_t);
int strcmp(const char*, const char*);
size_t strlen(const char*);
int strncmp(const char*, const char*, size_t);

#endif
