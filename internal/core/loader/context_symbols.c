/* The registered context symbols: pointers that library files define and this runtime fills. */
#include "loader/loader.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct context_symbol {
  _Atomic(struct context_symbol*) next;
  void* address;
  char name[];
} context_symbol;

/* Appended to, never shortened: readers need no lock. */
static _Atomic(context_symbol*) context_symbols;
pthread_mutex_t tvmgo_context_symbols_lock = PTHREAD_MUTEX_INITIALIZER;

int TVMFFIEnvModRegisterContextSymbol(const char* name, void* symbol) {
  if (tvmgo_check_cname("register context symbol", "the name", name) != 0) return -1;
  context_symbol* s = calloc(1, sizeof *s + strlen(name) + 1);
  if (s == NULL) return tvmgo_raise_oom();
  s->address = symbol;
  strcpy(s->name, name);
  pthread_mutex_lock(&tvmgo_context_symbols_lock);
  _Atomic(context_symbol*)* at = &context_symbols;
  while (atomic_load(at) != NULL) at = &atomic_load(at)->next;
  atomic_store(at, s);
  pthread_mutex_unlock(&tvmgo_context_symbols_lock);
  return 0;
}

/* A mapping may be shared with a module that is in use, so a correct value is not written again. */
static void fill(tvmgo_image* image, const char* name, void* address) {
  void** at = tvmgo_image_slot(image, name, strlen(name));
  if (at != NULL && __atomic_load_n(at, __ATOMIC_RELAXED) != address)
    __atomic_store_n(at, address, __ATOMIC_RELEASE);
}

void tvmgo_context_symbols_fill(tvmgo_image* image) {
  int classic = image->generation == TVMGO_GENERATION_CLASSIC;
  for (const tvmgo_binding* b = tvmgo_bindings; b->name != NULL; b++)
    if (b->slot != NULL) fill(image, b->slot, classic ? b->classic : b->modern);
  /* The program's symbols follow in their order: the last registration of a name is used. */
  for (context_symbol* s = atomic_load(&context_symbols); s != NULL; s = atomic_load(&s->next))
    fill(image, s->name, s->address);
}
