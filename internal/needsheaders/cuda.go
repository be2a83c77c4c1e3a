//go:build cuda

package needsheaders

/*
#if defined __has_include
#if !__has_include(<cuda.h>)
#error "tag cuda needs the headers of tvmgo: go run tvmgo/build/env -- build -tags cuda, or with -w, once"
#endif
#endif
*/
import "C"
