/* The classic C ABI: the last error, Python exceptions as errors. */
#define _GNU_SOURCE
#include "classic_abi_test.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_errors(void) {
  SAME_TEXT(TVMGetLastError(), "");
  CHECK(TVMGetLastBacktrace() == NULL);
  TVMAPISetLastError("ValueError: shapes differ");
  SAME_TEXT(TVMGetLastError(), "ValueError: shapes differ");
  SAME_TEXT(TVMGetLastError(), "ValueError: shapes differ"); /* reading does not clear */
  TVMAPISetLastError("something broke");
  CHECK(strstr(TVMGetLastError(), "Error: something broke") != NULL);
  TVMAPISetLastError(NULL);
  CHECK(TVMGetLastError() != NULL);
}

static void* other_thread(void* arg) {
  const char** seen = arg;
  *seen = TVMGetLastError()[0] == 0 ? "empty" : "not empty";
  return NULL;
}

static void test_errors_are_per_thread(void) {
  const char* seen = NULL;
  pthread_t thread;
  TVMAPISetLastError("mine");
  NEED(pthread_create(&thread, NULL, other_thread, &seen) == 0);
  pthread_join(thread, NULL);
  SAME_TEXT(seen, "empty");
  CHECK(strstr(TVMGetLastError(), "mine") != NULL);
}

static int py_references;
static void py_inc_ref(void* object) { (void)object, py_references++; }
static void py_dec_ref(void* object) { (void)object, py_references--; }
static int gil_ensure(void) { return 7; }
static void gil_release(int state) { CHECK(state == 7); }

static void test_python_errors(void) {
  int exception, second;
  FAILS(TVMBackendRegisterEnvCAPI("PyNonsense", (void*)gil_ensure), "PyNonsense");
  FAILS(TVMBackendRegisterEnvCAPI(NULL, NULL), "NULL");
  CHECK(TVMGetLastPythonError() == NULL);
  TVMAPISetLastPythonError(&exception); /* before the front end sets the functions that count references */
  CHECK(TVMGetLastPythonError() == &exception);
  CHECK(TVMGetLastError() == NULL);
  TVMDropLastPythonError();
  CHECK(TVMGetLastPythonError() == NULL && py_references == 0);
  SAME_TEXT(TVMGetLastError(), "");

  OK(TVMBackendRegisterEnvCAPI("Py_IncRef", (void*)py_inc_ref));
  OK(TVMBackendRegisterEnvCAPI("Py_DecRef", (void*)py_dec_ref));
  OK(TVMBackendRegisterEnvCAPI("PyGILState_Ensure", (void*)gil_ensure));
  OK(TVMBackendRegisterEnvCAPI("PyGILState_Release", (void*)gil_release));
  TVMAPISetLastPythonError(&exception);
  TVMAPISetLastPythonError(&second);
  CHECK(TVMGetLastPythonError() == &second && py_references == 1);
  TVMAPISetLastError("an ordinary error takes the place");
  CHECK(TVMGetLastPythonError() == NULL && TVMGetLastError() != NULL);
  TVMDropLastPythonError();
  CHECK(py_references == 0 && strstr(TVMGetLastError(), "ordinary") != NULL);
}

/* There is no caller to return to: the process ends, and prints the error. */
static void test_throw_ends_the_process(void) {
  int out[2];
  char text[256] = "";
  fflush(stdout);
  NEED(pipe(out) == 0);
  pid_t child = fork();
  if (child == 0) {
    dup2(out[1], 2);
    TVMAPISetLastError("ValueError: no way back");
    TVMThrowLastError();
    _exit(0);
  }
  int status = 0;
  close(out[1]);
  ssize_t n = read(out[0], text, sizeof text - 1);
  close(out[0]);
  waitpid(child, &status, 0);
  CHECK(n > 0 && strstr(text, "ValueError: no way back") != NULL);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

void test_error_functions(void) {
  test_errors();
  test_errors_are_per_thread();
  test_python_errors();
  test_throw_ends_the_process();
}
