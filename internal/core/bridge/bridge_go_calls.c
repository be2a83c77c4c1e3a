/* Which Go functions the calls of a thread are within. */
#include "bridge/bridge.h"
#include "object/thread.h"

void tvmgo_bridge_abandon(void) {
  if (tvmgo_frames_abandoned != NULL) tvmgo_frames_abandoned();
  tvmgo_thread_get()->in_go = 0;
  tvmgo_thread_get()->verifier = 0;
}

int tvmgo_bridge_in_go(void) { return tvmgo_thread_get()->in_go > 0; }
