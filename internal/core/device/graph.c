#include "device/device.h"
#include "device/graph.h"
#include "device/stream_home.h"
#include "device/validate.h"

#include <stdlib.h>

struct tvmgo_graph {
  TVMFFIObject header;
  const TVMGODeviceAPI* api;
  DLDevice dev;
  TVMFFIStreamHandle stream; /* on which it was recorded */
  tvmgo_stream_home* home;   /* of that */
  tvmgo_graph* next;         /* recording */
  void* graph;               /* the device's; NULL before the recording ended, and when it failed */
  tvmgo_kept* kept;
  int of_stream; /* some kept memory is returned to the recorded stream */
};

_Atomic int tvmgo_recordings;
static tvmgo_spin lock;        /* of the list, and of the resources that recordings keep */
static tvmgo_graph* recording; /* all */

static void graph_delete(void* self, int flags) {
  tvmgo_graph* g = self;
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) {
    tvmgo_live_add(TVMGO_LIVE_GRAPHS, -1);
    if (g->graph != NULL && g->api->graph_free(g->api, g->dev, g->graph) != 0)
      tvmgo_validate_forget_error(); /* a deleter cannot report an error */
    for (tvmgo_kept *k = g->kept, *next; k != NULL; k = next) {
      next = k->next;
      k->give(k);
    }
    tvmgo_stream_home_put(g->home);
  }
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) tvmgo_object_free(self);
}

static int has_graphs(const TVMGODeviceAPI* api) {
  return TVMGODeviceAPIHas(api, capture_begin) && TVMGODeviceAPIHas(api, capture_end) &&
         TVMGODeviceAPIHas(api, graph_launch) && TVMGODeviceAPIHas(api, graph_free);
}

/* Under the lock. */
static tvmgo_graph* find(DLDevice dev, TVMFFIStreamHandle stream) {
  tvmgo_graph* g = recording;
  while (g != NULL && (g->stream != stream || g->dev.device_type != dev.device_type ||
      g->dev.device_id != dev.device_id))
    g = g->next;
  return g;
}

/* Adds it to the list; fails if the stream records. */
static int enlist(tvmgo_graph* g) {
  tvmgo_spin_lock(&lock);
  int twice = find(g->dev, g->stream) != NULL;
  if (!twice) {
    g->next = recording;
    recording = g;
    tvmgo_recordings++;
  }
  tvmgo_spin_unlock(&lock);
  return twice ? tvmgo_raise(TVMGO_VALUE_ERROR, "the stream records already: end that recording first") : 0;
}

static void delist(tvmgo_graph* g) {
  tvmgo_spin_lock(&lock);
  tvmgo_graph** at = &recording;
  while (*at != g) at = &(*at)->next;
  *at = g->next;
  tvmgo_recordings--;
  tvmgo_spin_unlock(&lock);
}

static tvmgo_graph* graph_new(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle stream) {
  tvmgo_stream_home* home = tvmgo_stream_home_get(dev, stream);
  tvmgo_graph* g = home == NULL ? NULL : tvmgo_object_new(sizeof *g, kTVMFFIObject, graph_delete);
  if (g == NULL) {
    tvmgo_stream_home_put(home);
    return NULL;
  }
  tvmgo_live_add(TVMGO_LIVE_GRAPHS, 1);
  g->api = api;
  g->dev = dev;
  g->stream = stream;
  g->home = home;
  return g;
}

tvmgo_graph* tvmgo_graph_begin(DLDevice dev, TVMFFIStreamHandle stream) {
  const TVMGODeviceAPI* api = tvmgo_device_api(dev.device_type);
  if (api == NULL) return NULL;
  if (!has_graphs(api)) {
    tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR, "device %s cannot record work: queue it each time",
                tvmgo_device_type_name(dev.device_type));
    return NULL;
  }
  tvmgo_graph* g = graph_new(api, dev, stream);
  if (g == NULL) return NULL;
  if (enlist(g) == 0) {
    /* Queries the pool's events now: it records events on the stream to learn when idle workspaces are free, and events
     * in a recording would never complete. */
    tvmgo_pool_stream_gone(dev, stream);
    if (api->capture_begin(api, dev, stream) == 0) return g;
    delist(g);
  }
  tvmgo_object_release(g);
  return NULL;
}

int tvmgo_graph_end(tvmgo_graph* g, int discard) {
  int rc = g->api->capture_end(g->api, g->dev, g->stream, discard ? NULL : &g->graph);
  delist(g); /* after the end: until then, the recording keeps what other threads close */
  if (rc == 0 && !discard && g->graph == NULL)
    rc = tvmgo_raise(TVMGO_INTERNAL_ERROR, "the device gave no graph");
  return rc;
}

/* The recorded stream may reuse the graph's memory as soon as the graph is closed, so it
 * waits for this launch. */
static int order_behind(tvmgo_graph* g, TVMFFIStreamHandle stream) {
  int rc = 0;
  if (!g->of_stream || stream == g->stream || !TVMGODeviceAPIHas(g->api, sync_stream_from_to)) return 0;
  if (tvmgo_stream_home_enter(g->home)) {
    rc = g->api->sync_stream_from_to(g->api, g->dev, stream, g->stream);
    tvmgo_stream_home_leave(g->home);
  }
  return rc;
}

int tvmgo_graph_launch(tvmgo_graph* g, TVMFFIStreamHandle stream) {
  if (tvmgo_recording_refuses("launch graph", g->dev, stream) != 0) return -1;
  if (g->api->graph_launch(g->api, g->dev, g->graph, stream) != 0) return -1;
  return order_behind(g, stream);
}

/* ---- resources that recordings keep ---- */

int tvmgo_recording_on(DLDevice dev, TVMFFIStreamHandle stream) {
  if (TVMGO_LIKELY(tvmgo_recordings == 0)) return 0;
  tvmgo_spin_lock(&lock);
  int yes = find(dev, stream) != NULL;
  tvmgo_spin_unlock(&lock);
  return yes;
}

int tvmgo_recording_refuses(const char* op, DLDevice dev, TVMFFIStreamHandle stream) {
  if (!tvmgo_recording_on(dev, stream)) return 0;
  return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: the stream records: nothing of it is done before a launch of "
      "the graph", op);
}

static int keep(DLDevice dev, TVMFFIStreamHandle stream, tvmgo_kept* what, int of_stream) {
  tvmgo_spin_lock(&lock);
  tvmgo_graph* g = find(dev, stream);
  if (g != NULL) {
    what->next = g->kept;
    g->kept = what;
    g->of_stream |= of_stream;
  }
  tvmgo_spin_unlock(&lock);
  return g != NULL;
}

int tvmgo_recording_keep(DLDevice dev, TVMFFIStreamHandle stream, tvmgo_kept* what) {
  return TVMGO_UNLIKELY(tvmgo_recordings != 0) && keep(dev, stream, what, 1);
}

typedef struct {
  tvmgo_kept kept;
  TVMFFIObject* obj;
} kept_object;

static void give_object(tvmgo_kept* k) {
  tvmgo_object_release(((kept_object*)k)->obj);
  free(k);
}

int tvmgo_recording_retain(DLDevice dev, TVMFFIStreamHandle stream, TVMFFIObject* obj) {
  if (!tvmgo_recording_on(dev, stream)) return 0;
  kept_object* k = malloc(sizeof *k);
  if (k == NULL) return tvmgo_raise_oom();
  *k = (kept_object){{NULL, give_object}, obj};
  tvmgo_object_retain(obj);
  if (!keep(dev, stream, &k->kept, tvmgo_tensor_goes_to_stream(obj))) give_object(&k->kept);
  return 0;
}

typedef struct {
  tvmgo_kept kept;
  DLDevice dev;
  void* p;
} kept_workspace;

static void give_workspace(tvmgo_kept* k) {
  kept_workspace* w = (kept_workspace*)k;
  if (tvmgo_workspace_give_late(w->dev, w->p) != 0) tvmgo_validate_forget_error();
  free(k);
}

int tvmgo_recording_keep_workspace(DLDevice dev, TVMFFIStreamHandle stream, void* p) {
  if (TVMGO_LIKELY(!tvmgo_recording_on(dev, stream))) return 0;
  kept_workspace* w = malloc(sizeof *w);
  if (w == NULL) return tvmgo_raise_oom();
  *w = (kept_workspace){{NULL, give_workspace}, dev, p};
  if (keep(dev, stream, &w->kept, 1)) return 1;
  free(w);
  return 0;
}
