/* Modules that import many others, and chains of imports. */
#include "ctest/call.h"
#include "ctest/foreign_error.h"

static int get_function(tvmgo_module* m, const char* name, size_t len, TVMFFIObject** out) {
  if (len != 4 || memcmp(name, "self", 4) != 0 || m->self == NULL) return 0;
  *out = m->self;
  tvmgo_object_retain(*out);
  return 0;
}

static void destroy(void* self) { tvmgo_object_release(self); }

static const tvmgo_module_class cls = {.kind = "test", .get_function = get_function, .destroy = destroy};

/* A module whose function "self" is f, if that is not NULL. */
static tvmgo_module* module_with(TVMFFIObject* f) {
  if (f != NULL) tvmgo_object_retain(f);
  tvmgo_module* m = tvmgo_module_new(&cls, "test", 0, f);
  CHECK(m != NULL);
  return m;
}

static int seven(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  (void)self, (void)args, (void)n;
  *result = tvmgo_any_int(7);
  return 0;
}

static TVMFFIObject* found_in(tvmgo_module* m) {
  TVMFFIObject* f = NULL;
  CHECK_OK(tvmgo_module_get_function(m, "self", 4, 1, &f));
  tvmgo_object_release(f);
  return f;
}

/* The list of imports grows in place: it moves a logarithmic number of times. */
static void test_many_imports(void) {
  enum { MANY = 20000 };
  int64_t live = check_live(TVMGO_LIVE_OBJECTS);
  TVMFFIObjectHandle f;
  CHECK_OK(TVMFFIFunctionCreate(NULL, seven, NULL, &f));
  tvmgo_module* root = module_with(NULL);
  TVMFFIObject* list = NULL;
  int moves = 0;
  for (int i = 0; i < MANY; i++) {
    tvmgo_module* dep = module_with(i == MANY - 1 ? f : NULL);
    CHECK_OK(tvmgo_module_import(root, dep));
    tvmgo_object_release(dep);
    moves += root->imports != list;
    list = root->imports;
  }
  CHECK(moves < 20);
  CHECK_EQ_INT(tvmgo_seq_cell(root->imports)->size, MANY);
  CHECK_EQ_PTR(found_in(root), f);
  tvmgo_object_release(root);
  tvmgo_object_release(f);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), live);
}

static void test_snapshots_stay(void) {
  int64_t live = check_live(TVMGO_LIVE_OBJECTS);
  tvmgo_module* root = module_with(NULL);
  for (int i = 0; i < 50; i++) {
    tvmgo_module* dep = module_with(NULL);
    TVMFFIObject* before = tvmgo_module_imports(root);
    CHECK_OK(tvmgo_module_import(root, dep));
    CHECK_EQ_INT(tvmgo_seq_cell(before)->size, i);
    TVMFFIObject* after = tvmgo_module_imports(root);
    CHECK_EQ_INT(tvmgo_seq_cell(after)->size, i + 1);
    CHECK_EQ_PTR(((TVMFFIAny*)tvmgo_seq_cell(after)->data)[i].v_obj, dep);
    tvmgo_object_release(after);
    tvmgo_object_release(before);
    tvmgo_object_release(dep);
  }
  tvmgo_object_release(root);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), live);
}

/* Chains of any length are made from either end, searched and released without recursion. */
static void test_long_chains(void) {
  enum { LONG = 100000 };
  for (int from_leaf = 0; from_leaf <= 1; from_leaf++) {
    int64_t live = check_live(TVMGO_LIVE_OBJECTS);
    TVMFFIObjectHandle f;
    CHECK_OK(TVMFFIFunctionCreate(NULL, seven, NULL, &f));
    tvmgo_module* first = module_with(from_leaf ? f : NULL);
    tvmgo_module *last = first, *root = first;
    for (int i = 1; i < LONG; i++) {
      tvmgo_module* next = module_with(!from_leaf && i == LONG - 1 ? f : NULL);
      if (from_leaf) {
        CHECK_OK(tvmgo_module_import(next, root));
        tvmgo_object_release(root);
        root = next;
      } else {
        CHECK_OK(tvmgo_module_import(last, next));
        tvmgo_object_release(next);
        last = next;
      }
    }
    CHECK_EQ_PTR(found_in(root), f);
    CHECK_FAILS(tvmgo_module_import(last, root), "ValueError", "Cyclic dependency");
    tvmgo_object_release(root);
    tvmgo_object_release(f);
    CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), live);
  }
}

static void test_cycles(void) {
  tvmgo_module *a = module_with(NULL), *b = module_with(NULL), *c = module_with(NULL);
  CHECK_FAILS(tvmgo_module_import(a, a), "ValueError", "imports itself");
  CHECK_OK(tvmgo_module_import(a, b));
  CHECK_FAILS(tvmgo_module_import(b, a), "ValueError", "Cyclic dependency");
  CHECK_OK(tvmgo_module_import(b, c));
  CHECK_FAILS(tvmgo_module_import(c, a), "ValueError", "Cyclic dependency");
  CHECK_OK(tvmgo_module_import(a, c));
  /* Imports that are set at once, as those of a file, count as well. */
  tvmgo_module* d = module_with(NULL);
  TVMFFIAny items[] = {tvmgo_any_object(a)};
  tvmgo_module_set_imports(d, tvmgo_array_new(items, 1));
  CHECK_FAILS(tvmgo_module_import(c, d), "ValueError", "Cyclic dependency");
  CHECK_FAILS(tvmgo_module_import(a, d), "ValueError", "Cyclic dependency");
  tvmgo_object_release(d);
  tvmgo_object_release(a);
  tvmgo_object_release(b);
  tvmgo_object_release(c);
}

static tvmgo_module *outer, *inner;

static void import_another(void) {
  tvmgo_module* other = module_with(NULL);
  CHECK_OK(tvmgo_module_import(outer, other));
  tvmgo_object_release(other);
}

static void* import_in_a_cycle(void* arg) {
  (void)arg;
  raise_foreign_error(import_another);
  CHECK_FAILS(tvmgo_module_import(inner, outer), "ValueError", "Cyclic dependency");
  return NULL;
}

/* An error replaces the thread's earlier one, whose release may import a module: not under the lock. */
static void test_earlier_errors_may_import(void) {
  outer = module_with(NULL);
  inner = module_with(NULL);
  CHECK_OK(tvmgo_module_import(outer, inner));
  REQUIRE(ends_in_time(import_in_a_cycle, NULL));
  CHECK_EQ_INT(foreign_calls, 1);
  tvmgo_object_release(outer);
  tvmgo_object_release(inner);
}

static int died_under_lock = -1;

static void destroy_in_import(void* self) {
  (void)self;
  died_under_lock = pthread_mutex_trylock(&tvmgo_import_lock) != 0;
  if (!died_under_lock) pthread_mutex_unlock(&tvmgo_import_lock);
}

static void* import_outer(void* arg) {
  (void)arg;
  CHECK_OK(tvmgo_module_import(inner, outer));
  return NULL;
}

/* The search for a cycle may hold the last references to modules, whose destructors may import: they must not run under
 * the lock. Here the search waits for the lock of the second import while the imports change. */
static void test_modules_die_outside_the_lock(void) {
  static const tvmgo_module_class dying = {.kind = "test", .destroy = destroy_in_import};
  tvmgo_module *first = tvmgo_module_new(&dying, "test", 0, NULL), *second = module_with(NULL);
  tvmgo_module* importer = module_with(NULL);
  outer = module_with(NULL);
  inner = module_with(NULL);
  CHECK_OK(tvmgo_module_import(importer, inner)); /* else nothing is searched */
  CHECK_OK(tvmgo_module_import(outer, first));
  CHECK_OK(tvmgo_module_import(outer, second));
  tvmgo_object_release(first);
  TVMFFIObject* list = outer->imports;
  tvmgo_spin_lock(&second->lock);
  pthread_t thread;
  REQUIRE(pthread_create(&thread, NULL, import_outer, NULL) == 0);
  while (__atomic_load_n(&list->combined_ref_count, __ATOMIC_ACQUIRE) == TVMGO_REF_UNIQUE) sched_yield();
  tvmgo_module_set_imports(outer, tvmgo_array_new(NULL, 0));
  tvmgo_spin_unlock(&second->lock);
  pthread_join(thread, NULL);
  CHECK_EQ_INT(died_under_lock, 0);
  tvmgo_object_release(second);
  tvmgo_object_release(importer);
  tvmgo_object_release(outer);
  tvmgo_object_release(inner);
}

int main(int argc, char** argv) {
  check_begin(argc, argv);
  RUN(test_many_imports);
  RUN(test_snapshots_stay);
  RUN(test_long_chains);
  RUN(test_cycles);
  RUN(test_earlier_errors_may_import);
  RUN(test_modules_die_outside_the_lock);
  return check_end();
}
