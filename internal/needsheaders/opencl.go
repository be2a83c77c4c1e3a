//go:build opencl

package needsheaders

/*
#if defined __has_include
#if __has_include(<CL/opencl.h>)
#include <CL/opencl.h>
#endif
#endif
#ifndef TVMGO_CL_OPENCL_H_
#error "tag opencl needs the headers of tvmgo: go run tvmgo/build/env -- build -tags opencl, or with -w, once"
#elif defined __CHAR_UNSIGNED__
#error "tag opencl needs -fsigned-char on this machine: go run tvmgo/build/env -- build -tags opencl, or with -w, once"
#endif
*/
import "C"
