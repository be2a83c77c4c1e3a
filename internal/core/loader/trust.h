/* Signatures: whether a load checks a file before it uses it, and the check.
 *
 * A load checks files if the environment variable TVMGO_TRUSTED_KEYS is set, and if Go gave it a verifier
 * (runtime.WithTrust). The verifier belongs to the thread, so that loads which happen within a load, in loaders and
 * constructors, check their files as well. What is checked is a copy of the file that nobody else has, and what is
 * loaded is that copy: a later change of the file has no effect. Any thread may call. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* The verifier of the loads of this thread: a handle of Go, 0 = none. enter returns the one before, for leave; with 0
 * it changes nothing. */
uintptr_t tvmgo_trust_enter(uintptr_t verifier);
void tvmgo_trust_leave(uintptr_t before);
uintptr_t tvmgo_trust_verifier(void);

/* The value of TVMGO_TRUSTED_KEYS when the process first loaded a file, NULL if it was not set. It may be empty, which
 * is an error of every load. */
const char* tvmgo_trust_keys(void);

/* Whether a load of this thread checks its files. */
int tvmgo_trust_is_needed(void);

/* Copies an open file, checks the copy, and returns it: an open file of the caller, or -1 with an error raised. name is
 * for messages; path + ".minisig" has the signature; file is the state of fd from before. A file that changes
 * meanwhile is an error. */
int tvmgo_trust_open(const char* name, const char* path, int fd, const struct stat* file);

/* The same for loaders in Go: 0 with *copy owned, or -1. */
int tvmgo_trust_open_file(const char* path, int fd, int* copy);
