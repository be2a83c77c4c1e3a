// What every call does first: take the lock, check cuInit and the current context, fail on demand, apply the capture
// rules.
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>

#include "fake.h"

pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t fake_changed = PTHREAD_COND_INITIALIZER;
bool initialised;
settings config;

static long long calls, fail_k;
static int fail_code;
static bool fail_happened;
static char fail_names[512];

static long long number(const char *name, long long otherwise) {
  const char *text = getenv(name);
  return text && *text ? strtoll(text, NULL, 0) : otherwise;
}

__attribute__((constructor)) static void configure(void) {
  config = (settings){
      .devices = (int)number("FAKECUDA_DEVICES", 2),
      .version = (int)number("FAKECUDA_VERSION", 13000),
      .memory = number("FAKECUDA_MEMORY", 256 << 20),
      .delay_us = number("FAKECUDA_DELAY_US", 0),
      .poison = true,
  };
  if (config.devices < 0 || config.devices > MAX_DEVICES) config.devices = 2;
}

static bool matches(const char *name) {
  if (!*fail_names) return true;
  char names[sizeof fail_names], *state = NULL;
  snprintf(names, sizeof names, "%s", fail_names);
  for (char *one = strtok_r(names, ",", &state); one; one = strtok_r(NULL, ",", &state)) {
    if (fnmatch(one, name, 0) == 0) return true;
  }
  return false;
}

guard guard_enter(const char *name, int flags) {
  pthread_mutex_lock(&fake_lock);
  guard g = {.name = name};
  calls++;
  if (!initialised && !(flags & F_NOINIT)) {
    report("%s: called before cuInit", name);
    g.refuse = CUDA_ERROR_NOT_INITIALIZED;
    return g;
  }
  g.ctx = context_current();
  if (flags & F_CTX) {
    if (!g.ctx) {
      report("%s: no context is current to the thread", name);
      g.refuse = CUDA_ERROR_INVALID_CONTEXT;
      return g;
    }
    if (!g.ctx->o.alive) {
      report("%s: %s, which is current, was destroyed before", name, object_name(&g.ctx->o));
      g.refuse = CUDA_ERROR_CONTEXT_IS_DESTROYED;
      return g;
    }
  }
  if (fail_k > 0 && matches(name) && --fail_k == 0) {
    g.fault = fail_code;
    fail_happened = true;
  } else if (g.ctx && g.ctx->o.alive && (flags & F_CTX)) {
    g.fault = context_state(g.ctx);
  }
  if (g.fault && !(flags & F_RELEASE)) g.refuse = g.fault;
  if (!g.refuse && (flags & F_UNSAFE) && capture_forbids(name)) g.refuse = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  return g;
}

bool guard_keeps(guard *g) {
  if (!g->fault && config.refuse_free) g->fault = config.refuse_free;
  return g->fault == CUDA_ERROR_INVALID_VALUE || g->fault == CUDA_ERROR_OUT_OF_MEMORY ||
         (g->fault && g->fault == config.refuse_free);
}

void guard_leave(guard *g) {
  (void)g;
  pthread_mutex_unlock(&fake_lock);
}

API CUresult cuInit(unsigned flags) {
  ENTER(F_NOINIT);
  if (flags) return CUDA_ERROR_INVALID_VALUE;
  if (!config.devices) return CUDA_ERROR_NO_DEVICE;
  initialised = true;
  return CUDA_SUCCESS;
}

API CUresult cuDriverGetVersion(int *version) {
  ENTER(F_NOINIT);
  if (!version) return CUDA_ERROR_INVALID_VALUE;
  *version = config.version;
  return CUDA_SUCCESS;
}

#define LOCKED(statement)                                                                                              \
  pthread_mutex_lock(&fake_lock);                                                                                      \
  statement;                                                                                                           \
  pthread_mutex_unlock(&fake_lock)

API long long fakecuda_calls(void) {
  LOCKED(long long n = calls);
  return n;
}

API int fakecuda_failed(void) {
  LOCKED(int yes = fail_happened);
  return yes;
}

API void fakecuda_fail_at(long long k, int code, const char *names) {
  LOCKED(fail_k = k; fail_code = code; fail_happened = false; snprintf(fail_names, sizeof fail_names, "%s", names
      ? names : ""));
}

API void fakecuda_lose_device(int device, int code) {
  LOCKED(if (device >= 0 && device < MAX_DEVICES) devices[device].lost = code);
}

API int fakecuda_set(const char *name, long long value) {
  int known = 1;
  pthread_mutex_lock(&fake_lock);
  if (!strcmp(name, "devices") && value >= 0 && value <= MAX_DEVICES) {
    config.devices = (int)value;
  } else if (!strcmp(name, "memory")) {
    config.memory = value;
  } else if (!strcmp(name, "version")) {
    config.version = (int)value;
  } else if (!strcmp(name, "delay_us")) {
    config.delay_us = value;
  } else if (!strcmp(name, "strict_destroy")) {
    config.strict_destroy = value != 0;
  } else if (!strcmp(name, "no_peer")) {
    config.no_peer = value != 0;
  } else if (!strcmp(name, "refuse_free")) {
    config.refuse_free = (CUresult)value;
  } else if (!strcmp(name, "poison")) {
    config.poison = value != 0;
  } else {
    known = 0;
  }
  pthread_mutex_unlock(&fake_lock);
  return known;
}

API void fakecuda_reset(void) {
  fakecuda_release();
  pthread_mutex_lock(&fake_lock);
  contexts_forget();
  op_forget();
  memory_reset();
  pools_reset();
  order_reset();
  report_reset();
  for (object *o = objects; o; o = o->next) object_kill(o);
  calls = fail_k = 0;
  fail_happened = initialised = false;
  configure();
  pthread_mutex_unlock(&fake_lock);
  fakecuda_hold();
}
