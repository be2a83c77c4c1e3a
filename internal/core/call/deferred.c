#include "call/deferred.h"
#include "object/text.h"
#include "object/type_internal.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFERRED_MAX = 64 };
static struct {
  const char* name;
  TVMFFISafeCallType entry;
  int flag;
} declared[DEFERRED_MAX]; /* by constructors, then only read */
static size_t num_declared;
static const tvmgo_deferred_types* types;

pthread_mutex_t tvmgo_deferred_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int is_done;

void tvmgo_deferred_builtin(const char* name, TVMFFISafeCallType entry, int flag) {
  if (num_declared == DEFERRED_MAX || strncmp(name, TVMGO_DEFERRED_PREFIX, sizeof TVMGO_DEFERRED_PREFIX - 1) != 0) {
    fprintf(stderr, "tvmgo: cannot declare the built-in %s\n", name);
    abort();
  }
  declared[num_declared].name = name;
  declared[num_declared].entry = entry;
  declared[num_declared++].flag = flag;
}

int tvmgo_deferred_is_declared(const char* name, size_t len) {
  const size_t prefix = sizeof TVMGO_DEFERRED_PREFIX - 1;
  if (len <= prefix || memcmp(name, TVMGO_DEFERRED_PREFIX, prefix) != 0) return 0;
  for (size_t i = 0; i < num_declared; i++)
    if (strlen(declared[i].name) == len && memcmp(declared[i].name, name, len) == 0) return 1;
  return 0;
}

/* The names that other libraries have registered, for one line on stderr. Errors are dropped here. */
static void note_taken(tvmgo_text* taken, const char* name) {
  tvmgo_object_release(tvmgo_error_take());
  tvmgo_text_put(taken, taken->size == 0 ? "" : ", ");
  tvmgo_text_put(taken, name);
}

static void register_all(void) {
  tvmgo_text taken = {0};
  TVMFFIObject* raised = tvmgo_error_take(); /* the thread's slot is not changed */
  if (types != NULL && types->register_types() != 0) note_taken(&taken, types->names);
  for (size_t i = 0; i < num_declared; i++)
    if (tvmgo_global_builtin_add(declared[i].name, declared[i].entry, declared[i].flag) != 0)
      note_taken(&taken, declared[i].name);
  if (taken.size > 0 && !taken.failed)
    fprintf(stderr, "tvmgo: another library has registered %.*s before targets were used here: they are left as "
        "they are\n",
            (int)taken.size, taken.data);
  tvmgo_text_free(&taken);
  tvmgo_error_put_back(raised);
}

void tvmgo_deferred_register(void) {
  if (atomic_load_explicit(&is_done, memory_order_acquire)) return;
  pthread_mutex_lock(&tvmgo_deferred_lock);
  if (!atomic_load_explicit(&is_done, memory_order_relaxed)) {
    register_all();
    atomic_store_explicit(&is_done, 1, memory_order_release);
  }
  pthread_mutex_unlock(&tvmgo_deferred_lock);
}

/* Called by type.c for a key that no type has. */
static int find_type(const TVMFFIByteArray* key) {
  if (!types->has_key(key)) return 0;
  tvmgo_deferred_register();
  return 1;
}

void tvmgo_deferred_declare_types(const tvmgo_deferred_types* d) {
  types = d;
  tvmgo_type_missing = find_type;
}

int tvmgo_deferred_find(const char* name, size_t len) {
  if (atomic_load_explicit(&is_done, memory_order_acquire) || !tvmgo_deferred_is_declared(name, len)) return 0;
  tvmgo_deferred_register();
  return 1;
}
