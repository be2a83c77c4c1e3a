/* Harness of the program that drives the tvm-ffi C ABI. */
#ifndef FFI_ABI_TEST_H_
#define FFI_ABI_TEST_H_

#include <stdint.h>
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_env_api.h>

#include "check.h"

static inline TVMFFIByteArray bytes_of(const char* text) {
  TVMFFIByteArray b = {text, text == NULL ? 0 : strlen(text)};
  return b;
}

/* Reports whether the bytes are this text. */
static inline int is_text(TVMFFIByteArray b, const char* text) {
  return b.size == strlen(text) && memcmp(b.data, text, b.size) == 0;
}

/* Takes this thread's error and clears it. kind is NULL if there was none. */
typedef struct {
  char kind[64], message[1024];
} taken_error;
static inline taken_error take_error(void) {
  taken_error t;
  TVMFFIObjectHandle e = NULL;
  memset(&t, 0, sizeof t);
  TVMFFIErrorMoveFromRaised(&e);
  if (e == NULL) return t;
  TVMFFIErrorCell* c = TVMFFIErrorGetCellPtr(e);
  snprintf(t.kind, sizeof t.kind, "%.*s", (int)c->kind.size, c->kind.data);
  snprintf(t.message, sizeof t.message, "%.*s", (int)c->message.size, c->message.data);
  TVMFFIObjectDecRef(e);
  return t;
}

/* The call succeeds. */
#define OK(call)                                                                 \
  do {                                                                           \
    int rc_ = (call);                                                            \
    if (rc_ != 0) {                                                              \
      taken_error e_ = take_error();                                             \
      FAIL("%s is %d: %s: %s", #call, rc_, e_.kind, e_.message);                 \
    }                                                                            \
  } while (0)

/* The call fails with -1 and an error of this kind, whose message contains `text`. */
#define FAILS(call, kind, text) check_fails(__FILE__, __LINE__, #call, (call), kind, text)
static inline void check_fails(const char* file, int line, const char* what, int rc, const char* kind,
                               const char* text) {
  taken_error e = take_error();
  if (rc == -1 && strcmp(e.kind, kind) == 0 && strstr(e.message, text) != NULL) return;
  failures++;
  printf("%s:%d: %s is %d, error \"%s: %s\", want -1 and \"%s: …%s…\"\n", file, line, what, rc, e.kind, e.message, kind,
         text);
}

/* ---- views for arguments ---- */

static inline TVMFFIAny any_of(int32_t type_index) {
  TVMFFIAny a;
  memset(&a, 0, sizeof a);
  a.type_index = type_index;
  return a;
}
static inline TVMFFIAny int_view(int64_t v) {
  TVMFFIAny a = any_of(kTVMFFIInt);
  a.v_int64 = v;
  return a;
}
static inline TVMFFIAny text_view(const char* text) {
  TVMFFIAny a = any_of(kTVMFFIRawStr);
  a.v_c_str = text;
  return a;
}
static inline TVMFFIAny ptr_view(int32_t type_index, void* p) {
  TVMFFIAny a = any_of(type_index);
  a.v_ptr = p;
  return a;
}
static inline TVMFFIAny object_view(TVMFFIObjectHandle obj) {
  return ptr_view(TVMFFIObjectGetTypeIndex(obj), obj);
}

/* Releases an owned value. */
static inline void drop(TVMFFIAny* v) {
  if (v->type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(v->v_obj);
  *v = any_of(kTVMFFINone);
}

/* Returns the text of an owned string of either form, "" for other types. */
static inline TVMFFIByteArray text_of(const TVMFFIAny* v) {
  if (v->type_index == kTVMFFISmallStr || v->type_index == kTVMFFISmallBytes)
    return TVMFFISmallBytesGetContentByteArray(v);
  if (v->type_index == kTVMFFIStr || v->type_index == kTVMFFIBytes) return *TVMFFIBytesGetByteArrayPtr(v->v_obj);
  return bytes_of("");
}

static inline uint32_t strong_count(TVMFFIObjectHandle obj) {
  return (uint32_t)((TVMFFIObject*)obj)->combined_ref_count;
}

/* Calls a global function by name; *out is owned. */
static inline int call_global(const char* name, TVMFFIAny* args, int32_t n, TVMFFIAny* out) {
  TVMFFIByteArray key = bytes_of(name);
  TVMFFIObjectHandle f = NULL;
  *out = any_of(kTVMFFINone);
  if (TVMFFIFunctionGetGlobal(&key, &f) != 0) return -1;
  if (f == NULL) {
    TVMFFIErrorSetRaisedFromCStrParts("LookupError", (const char*[]){"no global function ", name}, 2);
    return -1;
  }
  int rc = TVMFFIFunctionCall(f, args, n, out);
  TVMFFIObjectDecRef(f);
  return rc;
}
#define CALL(name, out, ...)                                                                  \
  call_global(name, (TVMFFIAny[]){__VA_ARGS__}, (int32_t)(sizeof((TVMFFIAny[]){__VA_ARGS__}) / sizeof(TVMFFIAny)), out)

void test_objects(void);     /* ffi_abi_object_test.c */
void test_types(void);
void test_errors(void);      /* ffi_abi_error_test.c */
void test_texts(void);       /* ffi_abi_value_test.c */
void test_containers(void);
void test_tensors(void);     /* ffi_abi_tensor_test.c */
void test_environment(void); /* ffi_abi_env_test.c */
void test_own_device(void);  /* ffi_abi_device_test.c */
void test_modules(void);     /* ffi_abi_module_test.c */
void test_bad_values(void);  /* ffi_abi_bad_value_test.c */
void test_bad_results(void); /* ffi_abi_bad_result_test.c */
void test_bad_types(void);   /* ffi_abi_bad_type_test.c */
void test_bad_names(void);   /* ffi_abi_bad_name_test.c */
void test_bad_tensors(void); /* ffi_abi_bad_tensor_test.c */
void test_kinds(void);       /* ffi_abi_kind_test.c */
void test_wrong_arguments(void); /* ffi_abi_wrong_test.c */

#endif
