/* An error whose release calls the core, as that of a front end may. */
#pragma once

#include "ctest/check.h"

#include <pthread.h>
#include <time.h>

static void (*foreign_call)(void);
static int foreign_calls;

static void foreign_delete(void* self, int flags) {
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) {
    foreign_calls++;
    foreign_call();
  }
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) tvmgo_object_free(self);
}

/* Raises such an error on the calling thread. */
static inline void raise_foreign_error(void (*call)(void)) {
  TVMFFIByteArray kind = {"ValueError", 10}, message = {"earlier", 7};
  TVMFFIObjectHandle error;
  foreign_call = call;
  TVMFFIObject* context = tvmgo_object_new(sizeof(TVMFFIObject), kTVMFFIObject, foreign_delete);
  REQUIRE(context != NULL);
  CHECK_OK(TVMFFIErrorCreateWithCauseAndExtraContext(&kind, &message, NULL, NULL, context, &error));
  tvmgo_object_release(context);
  TVMFFIErrorSetRaised(error);
  tvmgo_object_release(error);
}

/* Runs f on a new thread; 0 if it has not ended after ten seconds, because of a deadlock. */
static inline int ends_in_time(void* (*f)(void* arg), void* arg) {
  pthread_t thread;
  struct timespec until;
  if (pthread_create(&thread, NULL, f, arg) != 0) return 0;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 10;
  return pthread_timedjoin_np(thread, NULL, &until) == 0;
}
