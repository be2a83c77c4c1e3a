/* The effects of the library on the signals of its host, which opens it with dlopen:
 *   signals_test LIBRARY FILE CARRIER before|after|between   the host sets its handlers before it opens the
 *                                                            library, when Go runs, or right after dlopen, while Go
 *                                                            may still be starting
 *   signals_test LIBRARY FILE CARRIER ignored                the host ignores all signals that can be ignored
 *   signals_test LIBRARY FILE CARRIER none NUMBER [GPU]      the host has no handler: this signal ends the process
 *   signals_test LIBRARY FILE CARRIER driver|defaults GPU    a driver is started, with and without handlers of the host
 * FILE has addone; CARRIER is a module that contains others, of a kind without a loader: Go reads it;
 * GPU is a module for CUDA if its name contains that, else for OpenCL; it runs on the first device. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <tvm/runtime/c_runtime_api.h>
#include <unistd.h>

#include "check.h"

int failures;

static void* library;
static const char *file, *carrier;

/* ---- the library ---- */

#define CALL(f) ((__typeof__(&f))dlsym(library, #f))

static void open_library(const char* path) {
  library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) puts(dlerror()), exit(2);
}

static void enter_go(void) {
  TVMModuleHandle module = NULL;
  CHECK(CALL(TVMModLoadFromFile)(carrier, "", &module) == 0);
  CHECK(CALL(TVMModFree)(module) == 0);
}

static void run_function(void) {
  enum { N = 16 };
  static _Alignas(64) float in[N], out[N];
  int64_t shape = N;
  DLTensor t[2];
  TVMModuleHandle module = NULL;
  TVMFunctionHandle f = NULL;
  TVMValue args[2], ret;
  int codes[2] = {kTVMDLTensorHandle, kTVMDLTensorHandle}, ret_code;
  for (int i = 0; i < 2; i++) {
    t[i] = (DLTensor){.data = i ? out : in, .device = {kDLCPU, 0}, .ndim = 1, .dtype = {kDLFloat, 32, 1},
        .shape = &shape};
    args[i].v_handle = &t[i];
  }
  CHECK(CALL(TVMModLoadFromFile)(file, "", &module) == 0);
  CHECK(CALL(TVMModGetFunction)(module, "addone", 0, &f) == 0 && f != NULL);
  CHECK(CALL(TVMFuncCall)(f, args, codes, 2, &ret, &ret_code) == 0 && out[N - 1] == in[N - 1] + 1);
  CHECK(CALL(TVMFuncFree)(f) == 0 && CALL(TVMModFree)(module) == 0);
}

/* Starts a driver and its compiler; those of OpenCL may install handlers. */
static void* start_driver(void* gpu) {
  enum { N = 1001 };
  static float in[N], out[N];
  int64_t shape = N;
  TVMArrayHandle a[3] = {NULL};
  TVMModuleHandle module = NULL;
  TVMFunctionHandle f = NULL;
  TVMValue args[3], ret;
  int codes[3], ret_code, type = strstr((char*)gpu, "cuda") != NULL ? kDLCUDA : kDLOpenCL;
  for (int i = 0; i < N; i++) in[i] = (float)i;
  for (int i = 0; i < 3; i++) {
    if (CALL(TVMArrayAlloc)(&shape, 1, kDLFloat, 32, 1, type, 0, &a[i]) != 0) return FAIL("%s",
        CALL(TVMGetLastError)()), NULL;
    CHECK(CALL(TVMArrayCopyFromBytes)(a[i], in, sizeof in) == 0);
    args[i].v_handle = a[i], codes[i] = kTVMDLTensorHandle;
  }
  CHECK(CALL(TVMModLoadFromFile)(gpu, "", &module) == 0);
  CHECK(CALL(TVMModGetFunction)(module, "vadd", 0, &f) == 0 && f != NULL);
  if (CALL(TVMFuncCall)(f, args, codes, 3, &ret, &ret_code) != 0) FAIL("%s", CALL(TVMGetLastError)());
  CHECK(CALL(TVMArrayCopyToBytes)(a[2], out, sizeof out) == 0 && out[N - 1] == 2 * in[N - 1]);
  CHECK(CALL(TVMFuncFree)(f) == 0 && CALL(TVMModFree)(module) == 0);
  for (int i = 0; i < 3; i++) CHECK(CALL(TVMArrayFree)(a[i]) == 0);
  return NULL;
}

/* ---- the kernel's action for each signal ---- */

enum { NUM_SIGNALS = 64 };

typedef struct { /* the kernel's own; glibc hides signals 32 and 33 */
  uintptr_t handler;
  unsigned long flags;
  uintptr_t restorer;
  uint64_t mask;
} action;

typedef struct {
  action of[NUM_SIGNALS + 1];
} table;

static table look(void) {
  table t;
  memset(&t, 0, sizeof t);
  for (int s = 1; s <= NUM_SIGNALS; s++)
    if (syscall(SYS_rt_sigaction, s, NULL, &t.of[s], 8) != 0) FAIL("signal %d cannot be read", s);
  return t;
}

enum { RESTORER = 0x04000000 }; /* glibc sets this flag with a restorer, which only handlers need */

static int is_same(const action* a, const action* b) {
  if (a->handler != b->handler || a->mask != b->mask) return 0;
  if (a->handler <= (uintptr_t)SIG_IGN) return (a->flags | RESTORER) == (b->flags | RESTORER);
  return a->flags == b->flags && a->restorer == b->restorer;
}

static int is_catchable(int s) { return s != SIGKILL && s != SIGSTOP && s != 32 && s != 33; }

static uint64_t all_signals(void) {
  uint64_t mask = 0;
  for (int s = 1; s <= NUM_SIGNALS; s++)
    if (is_catchable(s)) mask |= UINT64_C(1) << (s - 1);
  return mask;
}

/* Go needs these signals: faults in its own code become panics, and SIGURG interrupts its threads. It forwards signals
 * that are not its own, except SIGURG. */
static int is_go_signal(int s) { return s == SIGSEGV || s == SIGBUS || s == SIGFPE || s == SIGPIPE || s == SIGURG; }

/* Go does not change these. */
static int is_job_control(int s) { return s == SIGCONT || s == SIGTSTP || s == SIGTTIN || s == SIGTTOU; }

/* Compares the actions before and after the start of Go: Go's own handlers, and the host's handlers, which now run on
 * an alternate stack if there is one. */
static int is_started(int s, const action* before, const action* now) {
  action want = *before;
  if (is_go_signal(s))
    return now->handler != before->handler && now->handler > (uintptr_t)SIG_IGN && now->mask == all_signals() &&
           (now->flags & ~(unsigned long)RESTORER) == (SA_SIGINFO | SA_ONSTACK | SA_RESTART);
  if (before->handler > (uintptr_t)SIG_IGN && !is_job_control(s)) want.flags |= SA_ONSTACK;
  return is_same(&want, now);
}

static void fail_signal(const char* when, int s, const action* before, const action* now) {
  FAIL("%s: signal %d (%s): handler %#lx, flags %#lx, mask %#lx; it was %#lx, %#lx, %#lx", when, s, strsignal(s),
      now->handler,
       now->flags, now->mask, before->handler, before->flags, before->mask);
}

static void expect_same(const char* when, const table* before) {
  table now = look();
  for (int s = 1; s <= NUM_SIGNALS; s++)
    if (!is_same(&before->of[s], &now.of[s])) fail_signal(when, s, &before->of[s], &now.of[s]);
}

static void expect_started(const char* when, const table* before, int may_be_starting) {
  table now = look();
  for (int s = 1; s <= NUM_SIGNALS; s++)
    if (!is_started(s, &before->of[s], &now.of[s]) && !(may_be_starting && is_same(&before->of[s], &now.of[s])))
      fail_signal(when, s, &before->of[s], &now.of[s]);
}

/* ---- the host's handlers ---- */

static _Atomic int seen[NUM_SIGNALS + 1];
static _Atomic intptr_t value;
static __thread volatile int here[NUM_SIGNALS + 1]; /* how many of them on this thread */
static __thread char* volatile stack_of_handler;
static __thread sigjmp_buf back;
static __thread volatile int is_fault;

static void handler(int s, siginfo_t* info, void* context) {
  char local;
  int e = errno;
  (void)context;
  stack_of_handler = &local;
  if (info->si_signo == s) atomic_fetch_add(&seen[s], 1), here[s]++;
  if (info->si_code == SI_QUEUE) value = (intptr_t)info->si_value.sival_ptr;
  errno = e;
  if (is_fault && (s == SIGSEGV || s == SIGBUS)) siglongjmp(back, 1);
}

static int lost; /* a signal whose earlier handler Go has replaced, or 0 */

static void install_one(int s) {
  struct sigaction sa;
  memset(&sa, 0, sizeof sa);
  sa.sa_sigaction = handler;
  sa.sa_flags = SA_SIGINFO | (s % 2 ? SA_RESTART : 0) | (s % 3 ? 0 : SA_NODEFER); /* all combinations of flags */
  if (library != NULL) sa.sa_flags |= SA_ONSTACK; /* the stacks of Go's threads are too small for handlers */
  sigaddset(&sa.sa_mask, s % 2 ? SIGUSR1 : SIGTERM);
  CHECK(sigaction(s, &sa, NULL) == 0);
}

static void install(void) {
  for (int s = 1; s <= NUM_SIGNALS; s++)
    if (is_catchable(s)) install_one(s);
}

static void ignore(void) {
  for (int s = 1; s <= NUM_SIGNALS; s++)
    if (is_catchable(s)) CHECK(signal(s, SIG_IGN) != SIG_ERR);
}

/* ---- sending ---- */

static void break_pipe(void) {
  int p[2];
  CHECK(pipe(p) == 0);
  close(p[0]);
  CHECK(write(p[1], "x", 1) == -1 && errno == EPIPE);
  close(p[1]);
}

/* Real faults, from which the host's handler jumps back. */
static void fault(void) {
  volatile int* volatile nowhere = NULL;
  char* hole;
  int fd = memfd_create("empty", 0);
  is_fault = 1;
  if (sigsetjmp(back, 1) == 0) *nowhere = 1, FAIL("no SIGSEGV");
  hole = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
  CHECK(hole != MAP_FAILED);
  if (sigsetjmp(back, 1) == 0) *(volatile char*)hole, FAIL("no SIGBUS");
  is_fault = 0;
  munmap(hole, 4096);
  close(fd);
}

/* Sends every signal to this thread: its handler runs here, once. */
static void raise_all(const char* who) {
  sigset_t before, after;
  sigemptyset(&before), sigemptyset(&after);
  pthread_sigmask(SIG_SETMASK, NULL, &before);
  for (int s = 1; s <= NUM_SIGNALS; s++) {
    if (!is_catchable(s)) continue;
    here[s] = 0;
    raise(s);
    if (here[s] != (s != lost) && !(s == SIGURG && here[s] > 1)) FAIL("%s: the handler of signal %d (%s) ran %d times",
        who, s, strsignal(s), here[s]);
  }
  int pipes = here[SIGPIPE], segv = here[SIGSEGV], bus = here[SIGBUS];
  break_pipe();
  fault();
  CHECK(here[SIGPIPE] == pipes + 1 && here[SIGSEGV] == segv + 1 && here[SIGBUS] == bus + 1);
  pthread_sigmask(SIG_SETMASK, NULL, &after);
  CHECK(memcmp(&before, &after, 8) == 0);
}

/* Sends every signal to the process: its handler runs on some thread. */
static void kill_all(void) {
  for (int s = 1; s <= NUM_SIGNALS; s++) {
    if (!is_catchable(s) || s == lost) continue;
    int before = seen[s];
    CHECK(kill(getpid(), s) == 0);
    while (seen[s] == before) sched_yield();
  }
  for (int s = SIGUSR1, i = 0; i < 2; i++, s = SIGRTMIN + 5) {
    int before = seen[s];
    CHECK(sigqueue(getpid(), s, (union sigval){.sival_ptr = (void*)(intptr_t)(77 + i)}) == 0);
    while (seen[s] == before) sched_yield();
    CHECK(value == 77 + i);
  }
}

/* Signals that the system itself sends. */
static void timers_and_children(void) {
  static const struct {
    int which, number;
  } timers[] = {{ITIMER_REAL, SIGALRM}, {ITIMER_VIRTUAL, SIGVTALRM}, {ITIMER_PROF, SIGPROF}};
  struct itimerval soon = {.it_value = {0, 1000}};
  for (int i = 0; i < 3; i++) {
    int before = seen[timers[i].number];
    CHECK(setitimer(timers[i].which, &soon, NULL) == 0);
    while (seen[timers[i].number] == before) continue; /* the last two count CPU time */
  }
  int before = seen[SIGCHLD];
  pid_t child = fork();
  if (child == 0) _exit(0);
  while (seen[SIGCHLD] == before) sched_yield();
  CHECK(waitpid(child, NULL, 0) == child);
}

/* ---- threads ---- */

static void* stay_out(void* arg) {
  (void)arg;
  raise_all("a thread that never entered Go");
  return NULL;
}

/* The signals that this thread blocks stay blocked, and its alternate stack stays its own. */
static void* enter(void* arg) {
  static _Alignas(16) char own[65536];
  stack_t mine = {.ss_sp = own, .ss_size = sizeof own}, now;
  sigset_t blocked, mask, none;
  (void)arg;
  CHECK(sigaltstack(&mine, NULL) == 0);
  sigemptyset(&blocked), sigemptyset(&none), sigemptyset(&mask);
  sigaddset(&blocked, SIGUSR2), sigaddset(&blocked, SIGRTMIN + 1);
  pthread_sigmask(SIG_SETMASK, &blocked, NULL);
  enter_go();
  pthread_sigmask(SIG_SETMASK, &none, &mask);
  CHECK(memcmp(&mask, &blocked, 8) == 0);
  CHECK(sigaltstack(NULL, &now) == 0);
  CHECK(now.ss_sp == own && now.ss_size == sizeof own && now.ss_flags == 0);
  raise_all("a thread that entered Go");
  struct sigaction was, sa;
  CHECK(sigaction(SIGUSR1, NULL, &was) == 0);
  sa = was;
  sa.sa_flags |= SA_ONSTACK;
  CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
  raise(SIGUSR1);
  CHECK(stack_of_handler >= own && stack_of_handler < own + sizeof own);
  CHECK(sigaction(SIGUSR1, &was, NULL) == 0);
  mine.ss_flags = SS_DISABLE;
  CHECK(sigaltstack(&mine, NULL) == 0);
  return NULL;
}

static void on_thread(void* (*body)(void*)) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, body, NULL) != 0) exit(2);
  pthread_join(thread, NULL);
}

static void send_all(void) {
  raise_all("the main thread");
  if (failures != 0) return; /* the following checks wait for handlers */
  kill_all();
  timers_and_children();
  on_thread(stay_out);
}

/* ---- the lifetime of a library ---- */

static void handlers(const char* path, const char* when) {
  int is_before = strcmp(when, "before") == 0, is_between = strcmp(when, "between") == 0;
  if (is_before) install(), send_all();
  table t = look();
  open_library(path);
  if (is_between)
    install();
  else
    expect_started("open", &t, 1);
  enter_go();
  if (!is_between) expect_started("enter Go", &t, 0);
  if (is_between) install_one(SIGURG); /* Go may have taken it or not */
  if (!is_before && !is_between) install();
  lost = is_before ? SIGURG : 0;
  send_all();
  t = look(); /* no later changes */
  run_function();
  expect_same("run a function", &t);
  enter_go();
  on_thread(enter);
  expect_same("enter Go on a thread", &t);
  send_all();
  CHECK(dlclose(library) == 0);
  expect_same("dlclose", &t);
  send_all();
}

/* The driver is started by the main thread, and is used by others. */
static void driver(const char* path, char* gpu, int with_handlers) {
  if (with_handlers) install();
  open_library(path);
  enter_go();
  lost = SIGURG;
  table t = look();
  start_driver(gpu);
  expect_same("start a driver", &t);
  pthread_t thread[2];
  for (int i = 0; i < 2; i++)
    if (pthread_create(&thread[i], NULL, start_driver, gpu) != 0) exit(2);
  for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
  expect_same("run kernels on two threads", &t);
  if (with_handlers && failures == 0) raise_all("the main thread, with a driver"), kill_all(), on_thread(stay_out);
  start_driver(gpu);
  expect_same("run a kernel after signals", &t);
}

static void ignored(const char* path) {
  ignore();
  table t = look();
  open_library(path);
  expect_started("open", &t, 1);
  enter_go();
  run_function();
  expect_started("enter Go", &t, 0);
  for (int i = 0; i < 2; i++) {
    for (int s = 1; s <= NUM_SIGNALS; s++) /* a fault that is ignored is one that was sent */
      if (is_catchable(s) && s != SIGSEGV && s != SIGBUS && s != SIGFPE) CHECK(raise(s) == 0);
    break_pipe();
    enter_go();
  }
  CHECK(dlclose(library) == 0);
  expect_started("dlclose", &t, 0);
}

/* Returns if the signal does not end the process. */
static int none(const char* path, int s, char* gpu) {
  struct rlimit no_dump = {0, 0};
  setrlimit(RLIMIT_CORE, &no_dump);
  table t = look();
  open_library(path);
  expect_started("open", &t, 1);
  enter_go();
  run_function();
  expect_started("enter Go", &t, 0);
  if (gpu != NULL) start_driver(gpu), expect_started("start a driver", &t, 0);
  if (failures == 0) raise(s);
  return report();
}

static void* nothing(void* arg) { return arg; }

int main(int argc, char** argv) {
  setvbuf(stdout, NULL, _IONBF, 0);
  on_thread(nothing); /* glibc reserves a signal with the first thread */
  if (argc < 5) return 2;
  file = argv[2], carrier = argv[3];
  if (strcmp(argv[4], "none") == 0) return argc == 6 || argc == 7 ? none(argv[1], atoi(argv[5]), argv[6]) : 2;
  if (strcmp(argv[4], "ignored") == 0)
    ignored(argv[1]);
  else if (argc == 6)
    driver(argv[1], argv[5], strcmp(argv[4], "driver") == 0);
  else
    handlers(argv[1], argv[4]);
  return report();
}
