// How a test controls the fake CUDA driver and queries what it saw. The library that fakecuda.Build makes exports these
// names beside the driver's own; C programs find them with dlsym, Go tests use package control. Every function can be
// called from any thread at any time, even before cuInit.
#ifndef FAKECUDA_H
#define FAKECUDA_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// The number of calls that can fail since the process began, or since fakecuda_reset.
long long fakecuda_calls(void);

// Makes the k-th call from now on (1 is the next) fail with code; with k = 0, no call fails. Only calls of the
// functions in names count: separated by commas, a trailing * matches any ending; NULL means all functions. A failing
// call that creates something creates nothing. A failing call that releases something still releases it, except memory:
// memory is kept unless the error is one that sticks to the context.
void fakecuda_fail_at(long long k, int code, const char *names);

// Whether the requested failure has happened.
int fakecuda_failed(void);

// The next operation that a stream executes fails with code. From then on, calls in its context fail with code.
void fakecuda_fail_async(int code);

// Every call on the device fails with code from now on; code 0 repairs the device.
void fakecuda_lose_device(int device, int code);

// The reports of misuse so far: their number, and the text of the i-th (NULL beyond the last; valid until
// fakecuda_clear_reports or fakecuda_reset).
int fakecuda_reports(void);
const char *fakecuda_report(int i);
void fakecuda_clear_reports(void);

// What was not released: the number of objects, and a list of them in text (may be NULL), one per line. Primary
// contexts count if contexts is not 0.
int fakecuda_leaks(int contexts, char *text, size_t size);

// Ends the waits of all kernels that wait to be released, now and later; fakecuda_hold makes later ones wait again.
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

// The number of operations that streams have executed, and of those that wait or run.
long long fakecuda_executed(void);
int fakecuda_pending(void);

// Waits for all work, destroys everything, and resets cuInit, reports, counts and settings to the state of a new
// process.
// The environment is read again. Objects from before the call must not be used after it.
void fakecuda_reset(void);

#ifdef __cplusplus
}
#endif
#endif
