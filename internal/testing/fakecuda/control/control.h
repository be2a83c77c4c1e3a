// The functions of fakecuda.h, found in a library at run time.
#include <stdlib.h>

#include "../fakecuda.h"

typedef struct {
  long long (*calls)(void), (*executed)(void);
  void (*fail_at)(long long, int, const char *), (*fail_async)(int), (*lose_device)(int, int);
  int (*failed)(void), (*reports)(void), (*leaks)(int, char *, size_t), (*set)(const char *, long long),
      (*pending)(void);
  void *(*capture_begin)(int, int, unsigned);
  int (*capture_end)(void *);
  const char *(*report)(int);
  void (*clear_reports)(void), (*release)(void), (*hold)(void), (*reset)(void);
} fake_functions;

// Returns NULL, or the reason why the library is not a fake driver.
const char *fake_open(fake_functions *f, const char *path);

long long fake_calls(fake_functions *f);
long long fake_executed(fake_functions *f);
void fake_fail_at(fake_functions *f, long long k, int code, const char *names);
int fake_failed(fake_functions *f);
void fake_fail_async(fake_functions *f, int code);
void fake_lose_device(fake_functions *f, int device, int code);
void *fake_capture_begin(fake_functions *f, int device, int mode, unsigned flags);
int fake_capture_end(fake_functions *f, void *stream);
char *fake_report(fake_functions *f, int i); // the caller frees it
void fake_clear_reports(fake_functions *f);
int fake_leaks(fake_functions *f, int contexts, char *text, size_t size);
void fake_release(fake_functions *f);
void fake_hold(fake_functions *f);
int fake_set(fake_functions *f, const char *name, long long value);
int fake_pending(fake_functions *f);
void fake_reset(fake_functions *f);
