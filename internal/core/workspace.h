/* Temporary memory of generated code: per thread, stack-like, never a system call in steady state. */
#ifndef TVMGO_WORKSPACE_H_
#define TVMGO_WORKSPACE_H_

#include "thread.h"

/* CPU workspaces of the calling thread; 64-byte aligned; 0 bytes gives a valid pointer. */
void* tvmgo_workspace_alloc(size_t nbytes);
int tvmgo_workspace_free(void* p);
/* Gives the calling thread's cached CPU workspaces back to the system; bytes returned. */
size_t tvmgo_workspace_trim(void);
/* Called when a thread ends. */
void tvmgo_workspace_cache_free(tvmgo_thread* t);

#endif
