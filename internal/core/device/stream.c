/* The current stream of a thread, per device. */
#include "device/device.h"

#include <stdlib.h>

static tvmgo_stream_entry* find(tvmgo_thread* t, int32_t device_type, int32_t device_id) {
  for (int32_t i = 0; i < t->num_streams; i++)
    if (t->streams[i].device_type == device_type && t->streams[i].device_id == device_id)
      return &t->streams[i];
  return NULL;
}

TVMFFIStreamHandle tvmgo_stream_get(int32_t device_type, int32_t device_id) {
  tvmgo_thread* t = tvmgo_tls;
  if (t == NULL || t->num_streams == 0) return NULL;
  tvmgo_stream_entry* e = find(t, device_type, device_id);
  return e == NULL ? NULL : e->stream;
}

/* Stores a value in the thread's table; the default stream needs no entry. */
static int keep(tvmgo_thread* t, int32_t device_type, int32_t device_id, TVMFFIStreamHandle stream) {
  tvmgo_stream_entry* e = find(t, device_type, device_id);
  if (stream == NULL) {
    if (e != NULL) *e = t->streams[--t->num_streams];
    return 0;
  }
  if (e == NULL) {
    if (t->num_streams == t->cap_streams) {
      int32_t cap = t->cap_streams == 0 ? 8 : t->cap_streams * 2;
      tvmgo_stream_entry* grown = realloc(t->streams, (size_t)cap * sizeof *grown);
      if (grown == NULL) return tvmgo_raise_oom();
      t->streams = grown;
      t->cap_streams = cap;
    }
    e = &t->streams[t->num_streams++];
    e->device_type = device_type;
    e->device_id = device_id;
  }
  e->stream = stream;
  return 0;
}

int tvmgo_stream_set(int32_t device_type, int32_t device_id, TVMFFIStreamHandle stream,
                     TVMFFIStreamHandle* old) {
  if (device_type <= 0 || device_id < 0)
    return tvmgo_raise(TVMGO_VALUE_ERROR,
                       "set stream: there is no device of type %d and id %d: types begin with 1, ids "
                       "with 0",
                       (int)device_type, (int)device_id);
  tvmgo_thread* t = tvmgo_thread_get();
  TVMFFIStreamHandle before = tvmgo_stream_get(device_type, device_id);
  if (old != NULL) *old = before;
  if (before == stream) return 0;
  if (keep(t, device_type, device_id, stream) != 0) return -1;
  const TVMGODeviceAPI* api = NULL;
  if (TVMGODeviceAPIGet(device_type, 1, &api) != 0 || api == NULL ||
      !TVMGODeviceAPIHas(api, set_stream))
    return 0;
  DLDevice dev = {device_type, device_id};
  if (api->set_stream(api, dev, stream) == 0) return 0;
  keep(t, device_type, device_id, before); /* the entry exists: it held the rejected value */
  return -1;
}

int TVMFFIEnvSetStream(int32_t device_type, int32_t device_id, TVMFFIStreamHandle stream,
                       TVMFFIStreamHandle* opt_out_original_stream) {
  return tvmgo_stream_set(device_type, device_id, stream, opt_out_original_stream);
}

TVMFFIStreamHandle TVMFFIEnvGetStream(int32_t device_type, int32_t device_id) {
  return tvmgo_stream_get(device_type, device_id);
}
