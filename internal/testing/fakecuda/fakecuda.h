// How a test steers the fake CUDA driver and asks it what it saw. The names are exported by the library that
// fakecuda.Build makes, beside the driver's own; C programs reach them by dlsym, Go tests by the package control.
// Every function may be called by any thread at any time, also before cuInit.
#ifndef FAKECUDA_H
#define FAKECUDA_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// Calls that can fail since the process began, or since fakecuda_reset.
long long fakecuda_calls(void);

// Makes the k-th call from now on (1 is the next) answer code; k of 0 takes that back. Only calls are counted whose
// name is in names: separated by commas, a trailing * stands for any ending; NULL for all. A failing call that makes
// something makes nothing; one that releases something does release it, but for memory: that stays, unless the error is
// one that sticks to the context.
void fakecuda_fail_at(long long k, int code, const char *names);

// Whether the failure that was asked for has happened.
int fakecuda_failed(void);

// The next operation that a stream executes fails with code, which sticks to its context from then on.
void fakecuda_fail_async(int code);

// Every call on the device answers code from now on, code 0 mends it.
void fakecuda_lose_device(int device, int code);

// Misuse seen so far: how many, and the i-th text (NULL beyond the last; valid until fakecuda_clear_reports or
// fakecuda_reset).
int fakecuda_reports(void);
const char *fakecuda_report(int i);
void fakecuda_clear_reports(void);

// What is still alive: how many things, and their list in text (may be NULL), one a line. Primary contexts count when
// contexts is not 0.
int fakecuda_leaks(int contexts, char *text, size_t size);

// Lets every kernel that waits to be released go on, now and later; fakecuda_hold makes later ones wait again.
void fakecuda_release(void);
void fakecuda_hold(void);

// Simulates another library that begins a capture on its own thread, in a new stream of the device's primary context.
// mode is that of the driver, flags are those of the stream. Returns NULL if the device has no primary context.
// fakecuda_capture_end destroys the stream and returns 0, or 901 if the capture was invalidated.
void *fakecuda_capture_begin(int device, int mode, unsigned flags);
int fakecuda_capture_end(void *stream);

// Sets a setting by name; returns 0 if there is no such setting: "devices" (0 to 8), "memory" (bytes of each device),
// "version" (of the driver), "delay_us" (before each operation of a stream), "strict_destroy" (destroying a stream with
// pending work is a misuse), "no_peer" (devices cannot access each other), "poison" (memory contains garbage until a
// queued operation has written it; on by default), "refuse_free" (the error of each call that frees memory, which then
// frees nothing).
int fakecuda_set(const char *name, long long value);

// Operations that streams have executed, and those that wait or run.
long long fakecuda_executed(void);
int fakecuda_pending(void);

// Waits for all work, destroys everything and forgets cuInit, reports, counts and settings: a process anew, with the
// environment read again. What was made before must not be used after.
void fakecuda_reset(void);

#ifdef __cplusplus
}
#endif
#endif
