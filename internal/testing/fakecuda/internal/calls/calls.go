// Package calls makes single driver calls by name, for tests of the fake: test files themselves cannot use cgo.
package calls

/*
#cgo LDFLAGS: -ldl
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

// Each argument is a number, or a pointer to the eight bytes at out.
static int call(const char *path, const char *name, intptr_t a, intptr_t b, uint64_t *out) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  int (*f)(intptr_t, intptr_t) = library ? (int (*)(intptr_t, intptr_t))dlsym(library, name) : NULL;
  return !f ? -1 : f(a < 0 ? (intptr_t)out : a, b < 0 ? (intptr_t)out : b);
}
*/
import "C"

import "unsafe"

// Out stands for the address of the result.
const Out = -1

// Call calls a function of the library; it returns -1 if the library has no function of this name.
func Call(path, name string, a, b int64) (code int, out uint64) {
	p, n := C.CString(path), C.CString(name)
	defer C.free(unsafe.Pointer(p))
	defer C.free(unsafe.Pointer(n))
	var answer C.uint64_t
	code = int(C.call(p, n, C.intptr_t(a), C.intptr_t(b), &answer))
	return code, uint64(answer)
}
