#include "object/object.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Kind, message and the first backtrace follow the cell in the same allocation; a backtrace that
 * replaces it has its own. */
typedef struct {
  TVMFFIObject header;
  TVMFFIErrorCell cell;
  char* backtrace; /* that of update_backtrace */
  int system;      /* errno of the system call that failed; 0 = none */
  char text[];
} error_object;

static void error_delete(void* self, int flags) {
  error_object* e = self;
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) {
    tvmgo_object_release(e->cell.cause_chain);
    tvmgo_object_release(e->cell.extra_context);
    e->cell.cause_chain = e->cell.extra_context = NULL;
    free(e->backtrace);
    e->backtrace = NULL;
  }
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) tvmgo_object_free(self);
}

/* The only error that needs no memory: it is never freed. Its count starts high and is never checked. */
static void oom_delete(void* self, int flags) { (void)self, (void)flags; }
static void update_backtrace(TVMFFIObjectHandle self, const TVMFFIByteArray* text, int32_t mode);
static struct {
  TVMFFIObject header;
  TVMFFIErrorCell cell;
} oom_error = {
    .header = {.combined_ref_count = TVMGO_REF_UNIQUE + (1u << 30),
               .type_index = kTVMFFIError,
               .deleter = oom_delete},
    .cell = {.kind = {TVMGO_MEMORY_ERROR, sizeof TVMGO_MEMORY_ERROR - 1},
             .message = {"out of memory", sizeof "out of memory" - 1},
             .backtrace = {"", 0},
             .update_backtrace = update_backtrace},
};

static void update_backtrace(TVMFFIObjectHandle self, const TVMFFIByteArray* text, int32_t mode) {
  if (self == NULL || text == NULL || self == (void*)&oom_error) return;
  if ((text->data == NULL && text->size > 0) || text->size > PTRDIFF_MAX / 4) return;
  error_object* e = self;
  size_t keep = mode == kTVMFFIBacktraceUpdateModeAppend ? e->cell.backtrace.size : 0;
  char* b = malloc(keep + text->size + 1);
  if (b == NULL) return; /* the old text stays */
  if (keep > 0) memcpy(b, e->cell.backtrace.data, keep);
  if (text->size > 0) memcpy(b + keep, text->data, text->size);
  b[keep + text->size] = 0;
  free(e->backtrace);
  e->backtrace = b;
  e->cell.backtrace = (TVMFFIByteArray){b, keep + text->size};
}

/* Copies a text and a NUL to *at, which moves on. */
static TVMFFIByteArray put(char** at, const char* text, size_t size) {
  char* p = *at;
  if (size > 0) memcpy(p, text, size);
  p[size] = 0;
  *at = p + size + 1;
  return (TVMFFIByteArray){p, size};
}

TVMFFIObject* tvmgo_error_new(const char* kind, size_t kind_len, const char* message,
                              size_t message_len, const char* backtrace, size_t backtrace_len) {
  if (kind_len > PTRDIFF_MAX / 4 || message_len > PTRDIFF_MAX / 4 || backtrace_len > PTRDIFF_MAX / 4)
    return NULL;
  error_object* e = malloc(sizeof *e + kind_len + 1 + message_len + 1 + backtrace_len + 1);
  if (e == NULL) return NULL;
  memset(e, 0, sizeof *e);
  e->header.combined_ref_count = TVMGO_REF_UNIQUE;
  e->header.type_index = kTVMFFIError;
  e->header.deleter = error_delete;
  tvmgo_object_count(kTVMFFIError, 1);
  char* p = e->text;
  e->cell.kind = put(&p, kind, kind_len);
  e->cell.message = put(&p, message, message_len);
  e->cell.backtrace = put(&p, backtrace, backtrace_len);
  e->cell.update_backtrace = update_backtrace;
  return &e->header;
}

/* Puts an owned error (NULL = out of memory) into the thread's slot. */
static void set_raised(TVMFFIObject* owned) {
  if (owned == NULL) {
    owned = &oom_error.header;
    tvmgo_object_retain(owned);
  }
  tvmgo_thread* t = tvmgo_thread_get();
  TVMFFIObject* old = t->error;
  t->error = owned;
  t->python_error = NULL;
  tvmgo_errors_raised++;
  tvmgo_object_release(old);
}

TVMFFIObject* tvmgo_error_raised(void) {
  TVMFFIObject* e = tvmgo_thread_get()->error;
  return e == &oom_error.header ? NULL : e;
}

TVMFFIObject* tvmgo_error_take(void) {
  tvmgo_thread* t = tvmgo_thread_get();
  TVMFFIObject* e = t->error;
  t->error = NULL;
  return e;
}

void tvmgo_error_put_back(TVMFFIObject* earlier) {
  tvmgo_thread* t = tvmgo_thread_get();
  if (t->error == NULL) t->error = earlier;
  else tvmgo_object_release(earlier);
}

int tvmgo_raise_oom(void) {
  set_raised(NULL);
  return -1;
}

/* printf into fresh memory; NULL when there is none. */
static char* format_text(const char* format, va_list ap, size_t* len) {
  char* text = NULL;
  int n = vasprintf(&text, format, ap);
  if (n < 0) return NULL;
  *len = (size_t)n;
  return text;
}

int tvmgo_raise(const char* kind, const char* format, ...) {
  va_list ap;
  size_t len = 0;
  va_start(ap, format);
  char* text = format_text(format, ap, &len);
  va_end(ap);
  set_raised(text == NULL ? NULL : tvmgo_error_new(kind, strlen(kind), text, len, NULL, 0));
  free(text);
  return -1;
}

int tvmgo_raise_system(int number, const char* kind, const char* format, ...) {
  va_list ap;
  size_t len = 0;
  va_start(ap, format);
  char* text = format_text(format, ap, &len);
  va_end(ap);
  TVMFFIObject* e = text == NULL ? NULL : tvmgo_error_new(kind, strlen(kind), text, len, NULL, 0);
  if (e != NULL) ((error_object*)e)->system = number;
  set_raised(e);
  free(text);
  return -1;
}

int tvmgo_error_system(const TVMFFIObject* e) {
  return e->deleter == error_delete ? ((const error_object*)e)->system : 0;
}

int tvmgo_raise_context(const char* format, ...) {
  TVMFFIObject* e = tvmgo_error_take();
  if (e == NULL) return tvmgo_raise(TVMGO_RUNTIME_ERROR, "unknown error");
  TVMFFIErrorCell* cell = tvmgo_error_cell(e);
  va_list ap;
  size_t len = 0;
  va_start(ap, format);
  char* context = format_text(format, ap, &len);
  va_end(ap);
  char* whole = context == NULL ? NULL : malloc(len + 2 + cell->message.size);
  if (whole == NULL) {
    free(context);
    set_raised(e); /* the unchanged error is better than none */
    return -1;
  }
  memcpy(whole, context, len);
  memcpy(whole + len, ": ", 2);
  memcpy(whole + len + 2, cell->message.data, cell->message.size);
  TVMFFIObject* with =
      tvmgo_error_new(cell->kind.data, cell->kind.size, whole, len + 2 + cell->message.size,
                      cell->backtrace.data, cell->backtrace.size);
  free(context);
  free(whole);
  if (with == NULL) {
    set_raised(e);
    return -1;
  }
  TVMFFIErrorCell* to = tvmgo_error_cell(with);
  to->cause_chain = cell->cause_chain;
  to->extra_context = cell->extra_context;
  ((error_object*)with)->system = tvmgo_error_system(e);
  if (to->cause_chain != NULL) tvmgo_object_retain(to->cause_chain);
  if (to->extra_context != NULL) tvmgo_object_retain(to->extra_context);
  tvmgo_object_release(e);
  set_raised(with);
  return -1;
}

void TVMFFIErrorMoveFromRaised(TVMFFIObjectHandle* result) {
  if (result != NULL) *result = tvmgo_error_take();
}

void TVMFFIErrorSetRaised(TVMFFIObjectHandle error) {
  if (error == NULL) {
    tvmgo_object_release(tvmgo_error_take());
    return;
  }
  if (((TVMFFIObject*)error)->type_index != kTVMFFIError) {
    tvmgo_raise(TVMGO_TYPE_ERROR, "raise error: expected an Error object, got %s",
                tvmgo_type_name(((TVMFFIObject*)error)->type_index));
    return;
  }
  tvmgo_object_retain(error);
  set_raised(error);
}

void TVMFFIErrorSetRaisedFromCStr(const char* kind, const char* message) {
  if (kind == NULL) kind = TVMGO_RUNTIME_ERROR;
  if (message == NULL) message = "";
  set_raised(tvmgo_error_new(kind, strlen(kind), message, strlen(message), NULL, 0));
}

void TVMFFIErrorSetRaisedFromCStrParts(const char* kind, const char** message_parts,
                                       int32_t num_parts) {
  size_t len = 0;
  for (int32_t i = 0; message_parts != NULL && i < num_parts; i++)
    if (message_parts[i] != NULL) len += strlen(message_parts[i]);
  char* text = malloc(len + 1);
  if (text == NULL) {
    set_raised(NULL);
    return;
  }
  char* p = text;
  for (int32_t i = 0; message_parts != NULL && i < num_parts; i++)
    if (message_parts[i] != NULL) p = stpcpy(p, message_parts[i]);
  *p = 0;
  TVMFFIErrorSetRaisedFromCStr(kind, text);
  free(text);
}

static int bad_text(const TVMFFIByteArray* b) {
  return b == NULL || (b->data == NULL && b->size > 0);
}

/* The ABI requires that a failure does not change the thread's slot: -1 is the only sign. */
int TVMFFIErrorCreateWithCauseAndExtraContext(const TVMFFIByteArray* kind,
                                              const TVMFFIByteArray* message,
                                              const TVMFFIByteArray* backtrace,
                                              TVMFFIObjectHandle cause_chain,
                                              TVMFFIObjectHandle extra_context,
                                              TVMFFIObjectHandle* out) {
  if (out == NULL || bad_text(kind) || bad_text(message) ||
      (backtrace != NULL && bad_text(backtrace)) ||
      (cause_chain != NULL && ((TVMFFIObject*)cause_chain)->type_index != kTVMFFIError))
    return -1;
  TVMFFIObject* e = tvmgo_error_new(kind->data, kind->size, message->data, message->size,
                                    backtrace == NULL ? NULL : backtrace->data,
                                    backtrace == NULL ? 0 : backtrace->size);
  if (e == NULL) return -1;
  TVMFFIErrorCell* cell = tvmgo_error_cell(e);
  if (cause_chain != NULL) tvmgo_object_retain(cause_chain);
  if (extra_context != NULL) tvmgo_object_retain(extra_context);
  cell->cause_chain = cause_chain;
  cell->extra_context = extra_context;
  *out = e;
  return 0;
}

int TVMFFIErrorCreate(const TVMFFIByteArray* kind, const TVMFFIByteArray* message,
                      const TVMFFIByteArray* backtrace, TVMFFIObjectHandle* out) {
  return TVMFFIErrorCreateWithCauseAndExtraContext(kind, message, backtrace, NULL, NULL, out);
}
