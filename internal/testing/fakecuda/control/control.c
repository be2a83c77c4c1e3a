// Calls through the table: Go cannot call a C function pointer.
#define _GNU_SOURCE
#include "control.h"

#include <dlfcn.h>
#include <string.h>

const char *fake_open(fake_functions *f, const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) return dlerror();
#define FIND(name)                                                                                                     \
  *(void **)&f->name = dlsym(library, "fakecuda_" #name);                                                              \
  if (!f->name) return "it has no fakecuda_" #name ", so it is not the fake driver"
  FIND(calls);
  FIND(executed);
  FIND(fail_at);
  FIND(fail_async);
  FIND(lose_device);
  FIND(capture_begin);
  FIND(capture_end);
  FIND(failed);
  FIND(reports);
  FIND(leaks);
  FIND(set);
  FIND(pending);
  FIND(report);
  FIND(clear_reports);
  FIND(release);
  FIND(hold);
  FIND(reset);
  return NULL;
}

long long fake_calls(fake_functions *f) { return f->calls(); }
long long fake_executed(fake_functions *f) { return f->executed(); }
void fake_fail_at(fake_functions *f, long long k, int code, const char *names) { f->fail_at(k, code, names); }
int fake_failed(fake_functions *f) { return f->failed(); }
void fake_fail_async(fake_functions *f, int code) { f->fail_async(code); }
void fake_lose_device(fake_functions *f, int device, int code) { f->lose_device(device, code); }
void *fake_capture_begin(fake_functions *f, int device, int mode, unsigned flags) {
  return f->capture_begin(device, mode, flags);
}
int fake_capture_end(fake_functions *f, void *stream) { return f->capture_end(stream); }
void fake_clear_reports(fake_functions *f) { f->clear_reports(); }
int fake_leaks(fake_functions *f, int contexts, char *text, size_t size) { return f->leaks(contexts, text, size); }
void fake_release(fake_functions *f) { f->release(); }
void fake_hold(fake_functions *f) { f->hold(); }
int fake_set(fake_functions *f, const char *name, long long value) { return f->set(name, value); }
int fake_pending(fake_functions *f) { return f->pending(); }
void fake_reset(fake_functions *f) { f->reset(); }

char *fake_report(fake_functions *f, int i) {
  const char *text = f->report(i);
  return text ? strdup(text) : NULL;
}
