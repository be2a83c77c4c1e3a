/* Children of fork: functions in C work, those that need Go or the dynamic linker return an error, and nothing hangs.
 *   fork_test once FILE CARRIER     forks before and after Go has started, and a child forks again
 *   fork_test busy FILE CARRIER     forks while threads look up, call, register, allocate and launch
 *   fork_test first FILE CARRIER    forks while another thread makes the first launch
 *   fork_test loads FILE CARRIER    forks while threads load and free, with the library and with dlopen
 *   fork_test system FILE CARRIER   forks around the first use of the system library, which starts Go
 *   fork_test exec FILE CARRIER     a child execs this program, in which everything is allowed
 * CARRIER is a module that contains others, of a kind without a loader: Go reads it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <tvm/ffi/c_api.h>
#include <tvm/runtime/c_backend_api.h>
#include <tvm/runtime/c_runtime_api.h>
#include <unistd.h>

#include "check.h"

int failures;

#define OK(call)                                               \
  do {                                                         \
    if ((call) != 0) FAIL("%s: %s", #call, TVMGetLastError()); \
  } while (0)

static const char *file, *carrier;

/* ---- what a process can do ---- */

static int parallel(int id, TVMParallelGroupEnv* env, void* cdata) {
  atomic_fetch_add((_Atomic int*)cdata, 1);
  return TVMBackendParallelBarrier(id, env);
}

static void call(TVMFunctionHandle f) {
  static const int n = 40;
  _Alignas(64) float in[40], out[40];
  int64_t shape = n;
  DLTensor t[2];
  TVMValue args[2], ret;
  int codes[2] = {kTVMDLTensorHandle, kTVMDLTensorHandle}, ret_code;
  for (int i = 0; i < n; i++) in[i] = (float)i;
  for (int i = 0; i < 2; i++) {
    t[i] = (DLTensor){.data = i ? out : in, .device = {kDLCPU, 0}, .ndim = 1, .dtype = {kDLFloat, 32, 1},
        .shape = &shape};
    args[i].v_handle = &t[i];
  }
  OK(TVMFuncCall(f, args, codes, 2, &ret, &ret_code));
  for (int i = 0; i < n; i++) CHECK(out[i] == in[i] + 1);
}

static void use(TVMModuleHandle module) {
  TVMFunctionHandle f = NULL, global = NULL;
  OK(TVMModGetFunction(module, "addone", 0, &f));
  NEED(f != NULL);
  call(f);
  OK(TVMFuncFree(f));
  OK(TVMFuncGetGlobal("runtime.NumThreads", &global));
  OK(TVMFuncFree(global));
}

static void load_and_use(void) {
  TVMModuleHandle module = NULL;
  OK(TVMModLoadFromFile(file, "", &module));
  NEED(module != NULL);
  use(module);
  OK(TVMModFree(module));
}

static void allocate(void) {
  tvm_index_t shape[2] = {3, 100};
  TVMArrayHandle a = NULL;
  OK(TVMArrayAlloc(shape, 2, kDLFloat, 32, 1, kDLCPU, 0, &a));
  OK(TVMArrayFree(a));
  void* p = TVMBackendAllocWorkspace(kDLCPU, 0, 70000, kDLFloat, 32);
  CHECK(p != NULL);
  OK(TVMBackendFreeWorkspace(kDLCPU, 0, p));
}

static int nothing(TVMValue* args, int* codes, int n, TVMRetValueHandle ret, void* self) {
  (void)args, (void)codes, (void)n, (void)ret, (void)self;
  return 0;
}

static void register_global(void) {
  TVMFunctionHandle f = NULL;
  OK(TVMFuncCreateFromCFunc(nothing, NULL, NULL, &f));
  OK(TVMFuncRegisterGlobal("fork_test.global", f, 1));
  OK(TVMFuncFree(f));
}

static void launch(void) {
  _Atomic int tasks = 0;
  OK(TVMBackendParallelLaunch(parallel, &tasks, 2));
  CHECK(tasks == 2);
}

/* A file with other modules is read by Go, and its kernels need a device that does not exist. */
static void enter_go(void) {
  TVMModuleHandle module = NULL;
  TVMFunctionHandle f = NULL;
  OK(TVMModLoadFromFile(carrier, "", &module));
  CHECK(TVMModGetFunction(module, "vadd_kernel", 1, &f) == -1);
  if (strstr(TVMGetLastError(), "nothing here can run modules of kind") == NULL) FAIL("\"%s\"", TVMGetLastError());
  OK(TVMModFree(module));
}

static void enter_go_forked(void) {
  TVMModuleHandle module = NULL;
  CHECK(TVMModLoadFromFile(carrier, "", &module) == -1);
  const char* e = TVMGetLastError();
  if (strstr(e, "after fork only exec is safe") == NULL || strstr(e, carrier) == NULL) FAIL("\"%s\"", e);
}

/* The child cannot open the file, whatever it contains. */
static void refuse_load(void) {
  static const char* const paths[] = {"", "missing.so"};
  TVMModuleHandle module = NULL;
  CHECK(TVMModLoadFromFile(file, "", &module) == -1 && module == NULL);
  const char* e = TVMGetLastError();
  if (strstr(e, "after fork only exec is safe") == NULL || strstr(e, file) == NULL ||
      strstr(e, "before the fork") == NULL)
    FAIL("\"%s\"", e);
  for (int i = 0; i < 2; i++) CHECK(TVMModLoadFromFile(paths[i], "", &module) == -1);
}

/* ---- processes ---- */

/* Prints where the child hangs, then ends it. */
static void hung(int number) {
  void* pcs[40];
  struct sigaction end = {.sa_handler = SIG_DFL};
  sigaction(number, &end, NULL);
  alarm(5); /* in case this hangs, too */
  static const char text[] = "a child hangs here:\n";
  if (write(STDOUT_FILENO, text, sizeof text - 1) > 0) backtrace_symbols_fd(pcs, backtrace(pcs, 40), STDOUT_FILENO);
  raise(number);
}

/* The alarm ends a child that hangs. */
static void watch(void) {
  struct sigaction tell = {.sa_handler = hung, .sa_flags = SA_NODEFER};
  sigaction(SIGALRM, &tell, NULL);
  alarm(120); /* a slow machine is not a hang */
}

/* Everything that is allowed in a child, also with a module of the parent. */
static void be_child(TVMModuleHandle of_parent) {
  watch();
  for (int i = 0; i < 2; i++) {
    if (of_parent != NULL) use(of_parent);
    enter_go_forked();
    refuse_load();
    allocate();
    register_global();
    launch();
  }
}

static void wait_for(pid_t child) {
  int status = 0;
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  if (status != 0) FAIL("the child ended with %#x%s", status, WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM
      ? ": it hung" : "");
}

static void fork_once(TVMModuleHandle module, int again) {
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    be_child(module);
    if (again) fork_once(module, 0);
    exit(failures != 0); /* including the library's cleanup */
  }
  wait_for(child);
}

static void once(void) {
  TVMModuleHandle module = NULL;
  fork_once(NULL, 1); /* Go may still be starting */
  OK(TVMModLoadFromFile(file, "", &module));
  enter_go();
  launch();
  register_global();
  fork_once(module, 1);
  enter_go(); /* the parent is unchanged */
  load_and_use();
  use(module);
  launch();
  OK(TVMModFree(module));
}

static _Atomic int stop;
static TVMModuleHandle busy_module;
static void* work(void* arg) {
  unsigned kind = (unsigned)(intptr_t)arg;
  while (!atomic_load(&stop)) {
    if (kind % 3 == 0) use(busy_module);
    if (kind % 3 == 1) register_global();
    if (kind % 3 == 2) allocate(), launch();
  }
  return NULL;
}

static void busy(void) {
  enum { THREADS = 6, FORKS = 60 };
  pthread_t threads[THREADS];
  TVMModuleHandle module = NULL;
  OK(TVMModLoadFromFile(file, "", &module));
  busy_module = module;
  for (int i = 0; i < THREADS; i++)
    if (pthread_create(&threads[i], NULL, work, (void*)(intptr_t)i) != 0) exit(2);
  for (int i = 0; i < FORKS && failures == 0; i++) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
      be_child(module);
      _exit(failures != 0);
    }
    wait_for(child);
  }
  atomic_store(&stop, 1);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  OK(TVMModFree(module));
}

static void* launch_thread(void* arg) {
  launch();
  return arg;
}

/* Runs when a fork has begun, before the library's own handler. */
static void launch_elsewhere(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, launch_thread, NULL) != 0) exit(2);
  pthread_join(thread, NULL);
}

/* The child does not wait for the workers of a launch that began, as the first one, after fork did. */
static void first(void) {
  pthread_atfork(launch_elsewhere, NULL, NULL);
  pid_t child = fork();
  if (child == 0) {
    watch();
    launch();
    fflush(stdout);
    _exit(failures != 0);
  }
  wait_for(child);
}

/* ---- the system library ---- */

/* Go reads the imports of a linked-in module on first use; here a fork interrupts that. */
static void ask_system_lib(const char* prefix, const char* text) {
  TVMFunctionHandle f = NULL;
  TVMValue arg = {.v_str = prefix}, ret;
  int code = kTVMStr, ret_code;
  OK(TVMFuncGetGlobal("runtime.SystemLib", &f));
  CHECK(TVMFuncCall(f, &arg, &code, 1, &ret, &ret_code) == -1);
  if (strstr(TVMGetLastError(), text) == NULL) FAIL("\"%s\" instead of \"%s\"", TVMGetLastError(), text);
  OK(TVMFuncFree(f));
}

static const char forked[] = "after fork only exec is safe: this process was made by fork, and reading";

static void register_system_lib(void) {
  static const char blob[16] = {100}; /* 100 bytes that are missing */
  CHECK(TVMBackendRegisterSystemLibSymbol("a___tvm_ffi__library_bin", (void*)blob) == 0);
}

static void system_lib(void) {
  register_system_lib();
  for (int i = 0; i < 2; i++) { /* before and after Go was entered */
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
      watch();
      ask_system_lib("a_", forked);
      ask_system_lib("a_", forked);
      fflush(stdout);
      _exit(failures != 0);
    }
    wait_for(child);
    ask_system_lib("a_", "blob");
  }
}

/* ---- concurrent loading ---- */

static void* load(void* arg) {
  while (!atomic_load(&stop)) {
    if (arg == NULL) {
      load_and_use();
    } else { /* the program uses the dynamic linker without the library */
      void* handle = dlopen(arg, RTLD_LAZY | RTLD_LOCAL);
      CHECK(handle != NULL);
      if (handle != NULL) dlclose(handle);
    }
  }
  return NULL;
}

/* The child calls the module for the first time, and drops the only reference that it has. */
static void be_child_of_loaders(TVMModuleHandle module) {
  watch();
  refuse_load();
  ask_system_lib("a_", forked); /* the addresses of its files are not needed either */
  use(module);
  OK(TVMModFree(module));
  enter_go_forked();
  launch();
}

static void loads(void) {
  enum { THREADS = 3, FORKS = 200 };
  pthread_t threads[THREADS];
  TVMModuleHandle module = NULL;
  register_system_lib();
  OK(TVMModLoadFromFile(file, "", &module));
  for (int i = 0; i < THREADS; i++)
    if (pthread_create(&threads[i], NULL, load, i == 0 ? (void*)carrier : NULL) != 0) exit(2);
  for (int i = 0; i < FORKS && failures == 0; i++) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
      be_child_of_loaders(module);
      fflush(stdout);
      _exit(failures != 0);
    }
    wait_for(child);
  }
  atomic_store(&stop, 1);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  use(module);
  OK(TVMModFree(module));
}

static void exec_child(char** argv) {
  pid_t child = fork();
  if (child == 0) {
    enter_go_forked();
    argv[1] = "once";
    execv(argv[0], argv);
    _exit(3);
  }
  wait_for(child);
}

int main(int argc, char** argv) {
  void* here;
  setvbuf(stdout, NULL, _IOLBF, 0);
  backtrace(&here, 1); /* loads a library, which a child cannot */
  if (argc != 4) return 2;
  file = argv[2], carrier = argv[3];
  if (strcmp(argv[1], "once") == 0) once();
  if (strcmp(argv[1], "busy") == 0) busy();
  if (strcmp(argv[1], "first") == 0) first();
  if (strcmp(argv[1], "loads") == 0) loads();
  if (strcmp(argv[1], "system") == 0) system_lib();
  if (strcmp(argv[1], "exec") == 0) {
    enter_go();
    exec_child(argv);
  }
  return report();
}
