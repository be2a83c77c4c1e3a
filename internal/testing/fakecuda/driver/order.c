// Determines which operations are ordered, with vector clocks. Every stream has a clock; an operation records, for each
// clock, the last operation that is certainly done before it starts. Memory records who read and wrote it: two accesses
// to the same bytes, at least one of them a write, must be ordered, whatever their timing in this run.
#include <stdlib.h>

#include "fake.h"

static uint32_t ticks[SLOTS], finished[SLOTS];
static vclock host; // what the host has waited for
static int next_slot, free_slots[SLOTS], nfree;

// Returns a slot that was never used, else the one that has been free longest. Sharing a slot may hide a race, but
// never reports a false one.
int order_slot(void) {
  if (next_slot < SLOTS) return next_slot++;
  if (!nfree) return SLOTS - 1;
  int slot = free_slots[0];
  memmove(free_slots, free_slots + 1, (size_t)--nfree * sizeof *free_slots);
  return slot;
}

void order_slot_free(int slot) {
  if (slot != SLOTS - 1) free_slots[nfree++] = slot;
}

uint32_t order_tick(int slot) { return ++ticks[slot]; }

void order_finished(int slot, uint32_t seq) {
  if (finished[slot] < seq) finished[slot] = seq;
}

void order_join(vclock *to, const vclock *from) {
  for (int i = 0; i < SLOTS; i++) {
    if (to->at[i] < from->at[i]) to->at[i] = from->at[i];
  }
}

void order_known(const vclock *clock) { order_join(&host, clock); }
void order_host(vclock *clock) { order_join(clock, &host); }

static bool before(const record *r, const vclock *clock) { return r->seq <= clock->at[r->slot]; }

void order_access(block *b, size_t lo, size_t hi, bool write, const op *o) {
  int kept = 0;
  for (int i = 0; i < b->nrecords; i++) {
    record r = b->records[i];
    bool overlaps = r.lo < hi && lo < r.hi, ordered = before(&r, &o->clock);
    if (overlaps && !ordered && !r.reported && (write || r.write)) {
      report("%s on %s %s bytes [%zu, %zu) of 0x%llx that %s on %s %s: nothing orders them", o->w.call,
          object_name(&o->stream->o),
             write ? "writes" : "reads", r.lo > lo ? r.lo : lo, r.hi < hi ? r.hi : hi, b->base, r.call,
                 object_name(r.stream),
             r.write ? "writes" : "reads");
      r.reported = true; // the record is kept, because freeing the memory waits for it
    }
    // An operation ordered after this access is ordered after the old one, too.
    bool covered = lo <= r.lo && r.hi <= hi && ordered && (write || !r.write);
    if (covered || before(&r, &host)) continue;
    b->records[kept++] = r;
  }
  b->nrecords = kept;
  if (b->nrecords == b->caprecords) {
    b->caprecords = b->caprecords ? 2 * b->caprecords : 4;
    b->records = realloc(b->records, (size_t)b->caprecords * sizeof *b->records);
  }
  b->records[b->nrecords++] = (record){lo, hi, o->stream->slot, o->seq, write, false, o->w.call, &o->stream->o};
}

bool order_pending(const block *b, size_t lo, size_t hi, bool writes_only) {
  for (int i = 0; i < b->nrecords; i++) {
    const record *r = &b->records[i];
    if (r->lo < hi && lo < r->hi && (r->write || !writes_only) && r->seq > finished[r->slot]) return true;
  }
  return false;
}

const record *order_pending_unawaited(const block *b, const context *awaited) {
  for (int i = 0; i < b->nrecords; i++) {
    const record *r = &b->records[i];
    if (r->seq > finished[r->slot] && r->stream->ctx != awaited) return r;
  }
  return NULL;
}

void order_reset(void) {
  memset(ticks, 0, sizeof ticks);
  memset(finished, 0, sizeof finished);
  memset(&host, 0, sizeof host);
  next_slot = nfree = 0;
}
