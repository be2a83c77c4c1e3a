package runtime_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// linkings are the ways in which a compiler may link the names of the runtime.
var linkings = []struct {
	name  string
	flags []string
}{
	{"lazy", []string{"-Wl,-z,lazy"}},
	{"now", []string{"-Wl,-z,now"}},
	{"now, relro", []string{"-Wl,-z,now,-z,relro"}},
	{"no plt", []string{"-fno-plt"}},
	{"no plt, now", []string{"-fno-plt", "-Wl,-z,now"}},
	{"no relro", []string{"-Wl,-z,norelro"}},
	{"gnu hash", []string{"-Wl,--hash-style=gnu"}},
	{"sysv hash", []string{"-Wl,--hash-style=sysv"}},
	{"gnu hash, now", []string{"-Wl,--hash-style=gnu,-z,now"}},
	{"sysv hash, now", []string{"-Wl,--hash-style=sysv,-z,now"}},
	{"stripped", []string{"-s"}},
	{"separate code", []string{"-Wl,-z,separate-code"}},
	{"no separate code", []string{"-Wl,-z,noseparate-code"}},
	{"large pages", []string{"-Wl,-z,max-page-size=65536"}},
	{"symbolic", []string{"-Wl,-Bsymbolic"}},
}

func TestLink_Flags(t *testing.T) {
	for _, source := range []string{probeSource, classicSource} {
		for _, l := range linkings {
			t.Run(source+"/"+l.name, func(t *testing.T) {
				path := buildC(t, source, l.flags...)
				for name, opts := range map[string][]runtime.LoadOption{"file": nil,
					"private": {runtime.PrivateCopy()}} {
					t.Run(name, func(t *testing.T) {
						noLeaks(t)
						m := modules.Load(t, path, opts...)
						require.EqualValues(t, runtime.NumThreads(),
							call(t, function(t, m, "env"), "runtime.NumThreads"))
						require.NotZero(t, call(t, function(t, m, "context")))
						requireError(t, must.Fail(function(t, m, "fail_without_error").Call(-1)), runtime.ErrFailed)
						again := modules.Load(t, path, opts...)
						require.NotEqual(t, call(t, function(t, m, "context")), call(t, function(t, again, "context")))
					})
				}
				t.Run("bytes", func(t *testing.T) {
					noLeaks(t)
					m := loadBytes(t, readFile(t, path))
					require.EqualValues(t, runtime.NumThreads(), call(t, function(t, m, "env"), "runtime.NumThreads"))
				})
			})
		}
	}
}

// Addresses of the runtime's functions in tables, and as weak symbols that may be undefined.
const addressSource = `
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_env_api.h>
typedef int (*call_t)(TVMFFIObjectHandle, TVMFFIAny*, int32_t, TVMFFIAny*);
static call_t const table[2] = {TVMFFIFunctionCall, TVMFFIFunctionCall};
call_t exported = TVMFFIFunctionCall;
extern int TVMFFIEnvSetStream(int32_t, int32_t, void*, void**) __attribute__((weak));
extern int tvmgo_test_absent(void) __attribute__((weak));
int __tvm_ffi_through_table(void* s, const TVMFFIAny* a, int32_t n, TVMFFIAny* r) {
  return table[n & 1](a[0].v_obj, (TVMFFIAny*)a + 1, n - 1, r);
}
int __tvm_ffi_through_data(void* s, const TVMFFIAny* a, int32_t n, TVMFFIAny* r) {
  return exported(a[0].v_obj, (TVMFFIAny*)a + 1, n - 1, r);
}
int __tvm_ffi_weak(void* s, const TVMFFIAny* a, int32_t n, TVMFFIAny* r) {
  r->type_index = kTVMFFIInt;
  r->v_int64 = (TVMFFIEnvSetStream != NULL) * 10 + (tvmgo_test_absent != NULL);
  return 0;
}`

func TestLink_AddressesInData(t *testing.T) {
	for _, l := range linkings {
		t.Run(l.name, func(t *testing.T) {
			noLeaks(t)
			m := modules.Load(t, buildC(t, addressSource, l.flags...))
			double := goFunction(t, func(args ...any) (any, error) { return 2 * args[0].(int64), nil })
			require.Equal(t, int64(4), call(t, function(t, m, "through_table"), double, 2))
			require.Equal(t, int64(6), call(t, function(t, m, "through_data"), double, 3))
			require.Equal(t, int64(10), call(t, function(t, m, "weak")))
		})
	}
}

func TestLink_MissingSymbolIsNamed(t *testing.T) {
	for _, flags := range [][]string{{"-Wl,-z,lazy"}, {"-Wl,-z,now"}} {
		for _, name := range []string{"tvmgo_test_missing", "TVMTestMissing", "TVMFFITestMissing"} {
			t.Run(fmt.Sprint(flags, name), func(t *testing.T) {
				noLeaks(t)
				_, err := runtime.Load(ctx, buildC(t, `extern int `+name+`(void);
int __tvm_ffi_f(void* s, const void* a, int n, void* r) { return `+name+`(); }`, flags...))
				require.ErrorContains(t, err, name)
			})
		}
	}
}

func TestLink_MissingDependencyIsNamed(t *testing.T) {
	noLeaks(t)
	dep := buildC(t, `int tvmgo_test_dep(void) { return 3; }`, "-Wl,-soname,libtvmgo_test_dep.so")
	lib := buildC(t, `extern int tvmgo_test_dep(void);
int __tvm_ffi_f(void* s, const void* a, int n, void* r) { return tvmgo_test_dep(); }`, "-x", "none", dep)
	requireError(t, must.Fail(runtime.Load(ctx, lib)), runtime.ErrNotFound, "libtvmgo_test_dep.so", "LD_LIBRARY_PATH")
}

// The constructor runs while the file is being opened.
func TestLink_ConstructorCallsUs(t *testing.T) {
	noLeaks(t)
	m := modules.Load(t, buildC(t, `
#include <tvm/ffi/c_api.h>
static int64_t threads = -1;
static const char name[] = "runtime.NumThreads";
__attribute__((constructor)) static void start(void) {
  TVMFFIByteArray n = {name, sizeof name - 1};
  TVMFFIObjectHandle f = NULL;
  TVMFFIAny r = {0};
  if (TVMFFIFunctionGetGlobal(&n, &f) == 0 && TVMFFIFunctionCall(f, NULL, 0, &r) == 0) threads = r.v_int64;
  if (f != NULL) TVMFFIObjectDecRef(f);
}
int __tvm_ffi_threads(void* s, const TVMFFIAny* a, int32_t n, TVMFFIAny* r) {
  r->type_index = kTVMFFIInt;
  r->v_int64 = threads;
  return 0;
}`))
	require.EqualValues(t, runtime.NumThreads(), call(t, function(t, m, "threads")))
}

// A constructor may load another file.
func TestLink_ConstructorLoads(t *testing.T) {
	noLeaks(t)
	inner := buildC(t, probeSource)
	m := modules.Load(t, buildC(t, fmt.Sprintf(`
#include <tvm/ffi/c_api.h>
static int64_t loaded;
__attribute__((constructor)) static void start(void) {
  static const char name[] = "ffi.ModuleLoadFromFile";
  TVMFFIByteArray n = {name, sizeof name - 1};
  TVMFFIObjectHandle f = NULL;
  TVMFFIAny path = {0}, r = {0};
  path.type_index = kTVMFFIRawStr;
  path.v_c_str = %q;
  if (TVMFFIFunctionGetGlobal(&n, &f) == 0 && TVMFFIFunctionCall(f, &path, 1, &r) == 0) loaded = 1;
  if (r.type_index == kTVMFFIModule) TVMFFIObjectDecRef(r.v_obj);
  if (f != NULL) TVMFFIObjectDecRef(f);
}
int __tvm_ffi_loaded(void* s, const TVMFFIAny* a, int32_t n, TVMFFIAny* r) {
  r->type_index = kTVMFFIInt;
  r->v_int64 = loaded;
  return 0;
}`, inner)))
	require.Equal(t, int64(1), call(t, function(t, m, "loaded")))
}
