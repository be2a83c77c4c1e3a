// Asynchronous copies: cp.async only records what to copy. The bytes arrive when the thread waits for the group of the
// copy; until then an access to them is an error.
#include <stdlib.h>
#include <string.h>

#include "engine.h"

namespace cudarun {

void async_issue(void *to, const void *from, unsigned bytes, unsigned take, int line) {
  thread *t = current;
  if (bytes != 4 && bytes != 8 && bytes != 16) {
    fail_line(kLaunchFailed, line, "cp.async of %u bytes: only 4, 8 and 16 are possible", bytes);
  }
  if (take > bytes) fail_line(kLaunchFailed, line, "cp.async of %u bytes takes %u from the source", bytes, take);
  if (reinterpret_cast<uintptr_t>(to) % bytes || reinterpret_cast<uintptr_t>(from) % bytes) {
    fail_line(kMisaligned, line, "cp.async of %u bytes from %p to %p, which need an alignment of %u bytes", bytes, from,
              to, bytes);
  }
  if (take && is_shared(from, take)) fail_line(kIllegalAddress, line, "cp.async copies from shared memory");
  t->line = line;
  memory_read(from, take, nullptr);
  shared_in_flight(static_cast<char *>(to), bytes, line);
  if (t->ncopies == t->capcopies) {
    t->capcopies = t->capcopies ? 2 * t->capcopies : 16;
    t->copies = static_cast<copy *>(realloc(t->copies, static_cast<size_t>(t->capcopies) * sizeof *t->copies));
  }
  t->copies[t->ncopies++] = copy{static_cast<char *>(to), static_cast<const char *>(from), bytes, take, line};
  t->uncommitted++;
}

void async_commit(void) {
  thread *t = current;
  if (t->ngroups == t->capgroups) {
    t->capgroups = t->capgroups ? 2 * t->capgroups : 16;
    t->groups = static_cast<int *>(realloc(t->groups, static_cast<size_t>(t->capgroups) * sizeof *t->groups));
  }
  t->groups[t->ngroups++] = t->uncommitted;
  t->uncommitted = 0;
}

static void land(thread *t, int n) {
  for (int i = 0; i < n; i++) {
    const copy *c = &t->copies[i];
    memcpy(c->to, c->from, c->take);
    memset(c->to + c->take, 0, c->bytes - c->take);
    shared_landed(c->to, c->bytes);
  }
  t->ncopies -= n;
  memmove(t->copies, t->copies + n, static_cast<size_t>(t->ncopies) * sizeof *t->copies);
}

// Completes all groups but the newest; a negative number completes everything, as cp.async.wait_all does.
void async_wait(int newest, int) {
  thread *t = current;
  if (newest < 0) {
    async_commit();
    newest = 0;
  }
  int n = 0, groups = t->ngroups - newest;
  if (groups <= 0) return;
  for (int i = 0; i < groups; i++) n += t->groups[i];
  land(t, n);
  t->ngroups -= groups;
  memmove(t->groups, t->groups + groups, static_cast<size_t>(t->ngroups) * sizeof *t->groups);
}

void async_end(thread *t) {
  if (t->ncopies) {
    fail_line(kLaunchFailed, t->copies[0].line,
              "ends before this cp.async is complete: cp.async.wait_group is missing");
  }
}

} // namespace cudarun
