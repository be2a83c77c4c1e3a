#include "ctest/check.h"

#include <pthread.h>

/* An object that records the calls of its deleter. */
typedef struct {
  TVMFFIObject header;
  int* flags; /* flags of each deleter call: first | second << 8 */
  int calls;
} noted;

static void noted_delete(void* self, int flags) {
  noted* n = self;
  *n->flags |= flags << (8 * n->calls++);
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) tvmgo_object_free(self);
}

static noted* noted_new(int* flags) {
  noted* n = tvmgo_object_new(sizeof *n, kTVMFFIObject, noted_delete);
  n->flags = flags;
  *flags = 0;
  return n;
}

enum {
  STRONG = kTVMFFIObjectDeleterFlagBitMaskStrong,
  WEAK = kTVMFFIObjectDeleterFlagBitMaskWeak,
  BOTH = kTVMFFIObjectDeleterFlagBitMaskBoth
};

static void test_layout(void) {
  CHECK_EQ_INT(sizeof(TVMFFIObject), 24);
  CHECK_EQ_INT(offsetof(TVMFFIObject, type_index), 8);
  CHECK_EQ_INT(offsetof(TVMFFIObject, deleter), 16);
  CHECK_EQ_INT(sizeof(TVMFFIAny), 16);
  CHECK_EQ_INT(offsetof(TVMFFIAny, v_obj), 8);
}

static void test_new_object(void) {
  int flags;
  int64_t before = check_live(TVMGO_LIVE_OBJECTS);
  noted* n = noted_new(&flags);
  CHECK(n->header.combined_ref_count == UINT64_C(0x100000001));
  CHECK_EQ_INT(n->header.type_index, kTVMFFIObject);
  CHECK_EQ_INT(n->header.__padding, 0);
  CHECK_EQ_INT(n->calls, 0); /* zeroed */
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), before + 1);
  tvmgo_object_release(n);
  CHECK_EQ_INT(flags, BOTH);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), before);
}

static void test_strong_references(void) {
  int flags;
  noted* n = noted_new(&flags);
  CHECK_OK(TVMFFIObjectIncRef(n));
  tvmgo_object_retain(n);
  CHECK(n->header.combined_ref_count == UINT64_C(0x100000003));
  CHECK_OK(TVMFFIObjectDecRef(n));
  tvmgo_object_release(n);
  CHECK_EQ_INT(flags, 0);
  CHECK_OK(TVMFFIObjectDecRef(n));
  CHECK_EQ_INT(flags, BOTH);
}

/* An object that holds another one. */
typedef struct {
  TVMFFIObject header;
  TVMFFIObject* next;
  int64_t* order; /* how many were deleted so far */
  int64_t at;
} linked;

static void linked_delete(void* self, int flags) {
  linked* l = self;
  CHECK_EQ_INT(flags, BOTH);
  CHECK(l->header.combined_ref_count == TVMGO_REF_UNIQUE - 1);
  CHECK_EQ_INT((*l->order)++, l->at);
  tvmgo_object_release(l->next);
  tvmgo_object_free(self);
}

/* The release of a chain does not recurse, and all objects are freed when it returns. */
static void test_release_of_chains(void) {
  enum { LONG = 1000000 };
  int64_t before = check_live(TVMGO_LIVE_OBJECTS), order = 0;
  TVMFFIObject* first = NULL;
  for (int64_t i = LONG; i-- > 0;) {
    linked* l = tvmgo_object_new(sizeof *l, kTVMFFIObject, linked_delete);
    l->next = first;
    l->order = &order;
    l->at = i;
    first = &l->header;
  }
  tvmgo_object_release(first);
  CHECK_EQ_INT(order, LONG);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), before);
}

/* With weak references, the value is destroyed first and the storage is freed last. */
static void test_weak_references(void) {
  int flags;
  int64_t before = check_live(TVMGO_LIVE_OBJECTS);
  noted* n = noted_new(&flags);
  tvmgo_object_retain_weak(n);
  CHECK(n->header.combined_ref_count == UINT64_C(0x200000001));
  tvmgo_object_release(n);
  CHECK_EQ_INT(flags, STRONG);
  CHECK_EQ_INT(tvmgo_object_promote(n), 0);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), before + 1);
  tvmgo_object_release_weak(n);
  CHECK_EQ_INT(flags, STRONG | WEAK << 8);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), before);

  n = noted_new(&flags);
  tvmgo_object_retain_weak(n);
  tvmgo_object_release_weak(n); /* a weak reference that goes first changes nothing */
  CHECK_EQ_INT(flags, 0);
  tvmgo_object_release(n);
  CHECK_EQ_INT(flags, BOTH);
}

static void test_promote(void) {
  int flags;
  noted* n = noted_new(&flags);
  tvmgo_object_retain_weak(n);
  CHECK_EQ_INT(tvmgo_object_promote(n), 1);
  tvmgo_object_release(n);
  CHECK_EQ_INT(flags, 0); /* the promoted reference holds it */
  tvmgo_object_release(n);
  CHECK_EQ_INT(flags, STRONG);
  tvmgo_object_release_weak(n);
  CHECK_EQ_INT(flags, STRONG | WEAK << 8);
}

static void test_null_handles(void) {
  tvmgo_object_release(NULL);
  CHECK_FAILS(TVMFFIObjectIncRef(NULL), TVMGO_VALUE_ERROR, "NULL");
  CHECK_FAILS(TVMFFIObjectDecRef(NULL), TVMGO_VALUE_ERROR, "NULL");
}

/* Objects of other producers may have no deleter. */
static void test_object_without_deleter(void) {
  TVMFFIObject foreign = {.combined_ref_count = TVMGO_REF_UNIQUE, .type_index = kTVMFFIObject};
  tvmgo_object_retain(&foreign);
  tvmgo_object_release(&foreign);
  tvmgo_object_release(&foreign);
  CHECK_EQ_INT((uint32_t)foreign.combined_ref_count, 0);
}

static void count_call(void* handle) { ++*(int*)handle; }

static void test_opaque_object(void) {
  int released = 0;
  TVMFFIObjectHandle o = NULL;
  CHECK_OK(TVMFFIObjectCreateOpaque(&released, kTVMFFIOpaquePyObject, count_call, &o));
  REQUIRE(o != NULL);
  CHECK_EQ_INT(((TVMFFIObject*)o)->type_index, kTVMFFIOpaquePyObject);
  CHECK_EQ_PTR(((TVMFFIOpaqueObjectCell*)((TVMFFIObject*)o + 1))->handle, &released);
  CHECK_OK(TVMFFIObjectIncRef(o));
  CHECK_OK(TVMFFIObjectDecRef(o));
  CHECK_EQ_INT(released, 0);
  CHECK_OK(TVMFFIObjectDecRef(o));
  CHECK_EQ_INT(released, 1);

  CHECK_OK(TVMFFIObjectCreateOpaque(&released, kTVMFFIOpaquePyObject, NULL, &o));
  CHECK_OK(TVMFFIObjectDecRef(o));
  CHECK_EQ_INT(released, 1);
  CHECK_FAILS(TVMFFIObjectCreateOpaque(&released, kTVMFFIArray, count_call, &o),
              TVMGO_RUNTIME_ERROR, "kTVMFFIOpaquePyObject");
  CHECK_FAILS(TVMFFIObjectCreateOpaque(&released, kTVMFFIOpaquePyObject, count_call, NULL),
              TVMGO_VALUE_ERROR, "NULL");
  CHECK_EQ_INT(released, 1); /* on failure the handle stays the caller's */
}

/* ---- errors are objects, too ---- */

static void test_error_slot(void) {
  int64_t before = check_live(TVMGO_LIVE_OBJECTS);
  CHECK(tvmgo_error_take() == NULL);
  CHECK_EQ_INT(tvmgo_raise(TVMGO_KEY_ERROR, "no %s, %d", "b", 3), -1);
  CHECK_EQ_INT(tvmgo_raise_context("load %s", "a.so"), -1);
  TVMFFIObjectHandle e = NULL;
  TVMFFIErrorMoveFromRaised(&e);
  REQUIRE(e != NULL);
  CHECK_TEXT(tvmgo_error_cell(e)->kind, "KeyError");
  CHECK_TEXT(tvmgo_error_cell(e)->message, "load a.so: no b, 3");
  CHECK(tvmgo_error_take() == NULL);
  TVMFFIErrorSetRaised(e); /* retains */
  tvmgo_object_release(e);
  tvmgo_raise(TVMGO_VALUE_ERROR, "newer"); /* replaces */
  CHECK_ERROR(TVMGO_VALUE_ERROR, "newer");
  const char* parts[] = {"one", NULL, "two"};
  TVMFFIErrorSetRaisedFromCStrParts("TypeError", parts, 3);
  CHECK_ERROR(TVMGO_TYPE_ERROR, "onetwo");
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), before);
}

static void test_error_without_memory(void) {
  for (int i = 0; i < 3; i++) {
    CHECK_EQ_INT(tvmgo_raise_oom(), -1);
    CHECK_ERROR(TVMGO_MEMORY_ERROR, "out of memory");
  }
}

static void test_error_content(void) {
  TVMFFIByteArray kind = {"ValueError", 10}, message = {"a\0b", 3}, frames = {"f1\nf2", 5};
  TVMFFIByteArray more = {"\nf3", 3}, other = {"g", 1};
  TVMFFIObjectHandle cause = NULL, e = NULL;
  int64_t before = check_live(TVMGO_LIVE_OBJECTS);
  CHECK_OK(TVMFFIErrorCreate(&kind, &message, &frames, &cause));
  CHECK_OK(TVMFFIErrorCreateWithCauseAndExtraContext(&kind, &message, &frames, cause, NULL, &e));
  REQUIRE(cause != NULL && e != NULL);
  tvmgo_object_release(cause); /* e holds it */
  TVMFFIErrorCell* c = tvmgo_error_cell(e);
  CHECK_EQ_PTR(c->cause_chain, cause);
  CHECK_EQ_PTR(c->extra_context, NULL);
  CHECK_EQ_INT(c->message.size, 3);
  CHECK(memcmp(c->message.data, "a\0b", 4) == 0);
  c->update_backtrace(e, &more, kTVMFFIBacktraceUpdateModeAppend);
  CHECK_TEXT(c->backtrace, "f1\nf2\nf3");
  c->update_backtrace(e, &other, kTVMFFIBacktraceUpdateModeReplace);
  CHECK_TEXT(c->backtrace, "g");
  tvmgo_object_release(e);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), before);
}

/* ---- threads ---- */

typedef struct {
  noted* object;
  _Atomic int promoted;
} shared;

static void* use_object(void* arg) {
  shared* s = arg;
  for (int i = 0; i < 5000; i++) {
    tvmgo_object_retain(s->object);
    tvmgo_object_retain_weak(s->object);
    if (tvmgo_object_promote(s->object)) {
      atomic_fetch_add(&s->promoted, 1);
      tvmgo_object_release(s->object);
    }
    tvmgo_object_release(s->object);
    tvmgo_object_release_weak(s->object);
  }
  return NULL;
}

static void test_counts_from_many_threads(void) {
  enum { THREADS = 4 };
  int flags;
  shared s = {.object = noted_new(&flags)};
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++)
    REQUIRE(pthread_create(&threads[i], NULL, use_object, &s) == 0);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  CHECK_EQ_INT(atomic_load(&s.promoted), THREADS * 5000);
  CHECK(s.object->header.combined_ref_count == TVMGO_REF_UNIQUE);
  tvmgo_object_release(s.object);
  CHECK_EQ_INT(flags, BOTH);
}

/* Many threads race to promote an object that one of them releases: the value is destroyed once, and never while a
 * thread holds it. */
typedef struct {
  TVMFFIObject header;
  _Atomic int ended;
  int storage; /* written by holders: TSan sees a use after the end */
} mortal;

static _Atomic int storages_freed;

static void mortal_delete(void* self, int flags) {
  mortal* m = self;
  if (flags & STRONG) {
    atomic_fetch_add(&m->ended, 1);
    m->storage = 0;
  }
  if (flags & WEAK) {
    if (atomic_load(&m->ended) == 1) atomic_fetch_add(&storages_freed, 1);
    tvmgo_object_free(self);
  }
}

static void* promote_once(void* arg) {
  mortal* m = arg;
  if (tvmgo_object_promote(m)) {
    if (atomic_load(&m->ended) != 0) check_fail(__FILE__, __LINE__, "promoted after its end");
    tvmgo_object_release(m);
  }
  tvmgo_object_release_weak(m);
  return NULL;
}

static void test_promote_races_with_the_last_release(void) {
  enum { ROUNDS = 200, THREADS = 3 };
  for (int r = 0; r < ROUNDS; r++) {
    mortal* m = tvmgo_object_new(sizeof *m, kTVMFFIObject, mortal_delete);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
      tvmgo_object_retain_weak(m);
      REQUIRE(pthread_create(&threads[i], NULL, promote_once, m) == 0);
    }
    tvmgo_object_release(m);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  }
  CHECK_EQ_INT(atomic_load(&storages_freed), ROUNDS);
}

int main(int argc, char** argv) {
  check_begin(argc, argv);
  RUN(test_layout);
  RUN(test_new_object);
  RUN(test_strong_references);
  RUN(test_release_of_chains);
  RUN(test_weak_references);
  RUN(test_promote);
  RUN(test_null_handles);
  RUN(test_object_without_deleter);
  RUN(test_opaque_object);
  RUN(test_error_slot);
  RUN(test_error_without_memory);
  RUN(test_error_content);
  RUN(test_counts_from_many_threads);
  RUN(test_promote_races_with_the_last_release);
  return check_end();
}
