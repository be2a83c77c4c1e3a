/* Addresses of code as lines of a backtrace, with names of local functions too. */
#pragma once

#include "object/text.h"

#include <pthread.h>

/* Guards the cache of lines; at_fork.c takes it. */
extern pthread_mutex_t tvmgo_symbolize_lock;

/* The state of writing one backtrace: how many symbols may still be read from files for it. */
typedef struct {
  size_t symbols_left;
  unsigned long long unloads; /* libraries that the process has unloaded so far */
} tvmgo_symbolizer;

void tvmgo_symbolizer_begin(tvmgo_symbolizer* s);

/* Adds the line of the code at pc: ` File "FILE", line 0, in NAME+0xOFFSET`. Lines are kept, so that an error that is
 * raised again costs a look-up per frame. 0 if the code is part of the Python interpreter and such lines are
 * omitted. */
int tvmgo_symbolize(tvmgo_symbolizer* s, tvmgo_text* t, uintptr_t pc, int hide_interpreter);
