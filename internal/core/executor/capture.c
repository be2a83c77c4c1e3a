/* CUDA graphs: a run that is recorded on a stream of the first device, and launched later. */
#include "executor/arguments.h"

int tvmgo_executor_start_capture(const executor_call* c) {
  tvmgo_executor* e = c->e;
  DLDevice dev = e->sizes.device;
  if (tvmgo_executor_count(c, 0, 0) != 0) return -1;
  if (e->recording)
    return tvmgo_raise(TVMGO_RUNTIME_ERROR, "%s: a run is being recorded: call end_capture first", c->f);
  if (tvmgo_device_stream_create(dev, &e->stream) != 0) return tvmgo_raise_context("%s", c->f);
  tvmgo_graph* g = tvmgo_graph_begin(dev, e->stream);
  if (g == NULL || tvmgo_stream_set(dev.device_type, dev.device_id, e->stream, &e->before) != 0) {
    TVMFFIObject* why = tvmgo_error_take();
    if (g != NULL) tvmgo_graph_end(g, 1);
    tvmgo_object_release(g);
    tvmgo_device_stream_free(dev, e->stream);
    tvmgo_error_put_back(why);
    return tvmgo_raise_context("%s", c->f);
  }
  tvmgo_object_release(e->graph);
  e->graph = g;
  e->recording = 1;
  return 0;
}

void tvmgo_executor_discard(tvmgo_executor* e) {
  DLDevice dev = e->sizes.device;
  TVMFFIObject* earlier = tvmgo_error_take();
  if (e->recording) {
    tvmgo_graph_end(e->graph, 1);
    tvmgo_stream_set(dev.device_type, dev.device_id, e->before, NULL);
    tvmgo_device_stream_free(dev, e->stream);
  }
  tvmgo_object_release(e->graph);
  tvmgo_error_put_back(earlier);
}

int tvmgo_executor_end_capture(const executor_call* c) {
  tvmgo_executor* e = c->e;
  DLDevice dev = e->sizes.device;
  if (tvmgo_executor_count(c, 0, 0) != 0) return -1;
  if (!e->recording)
    return tvmgo_raise(TVMGO_RUNTIME_ERROR, "%s: no run is being recorded: call start_capture first", c->f);
  e->recording = 0;
  int rc = tvmgo_graph_end(e->graph, 0);
  TVMFFIObject* why = rc == 0 ? NULL : tvmgo_error_take();
  tvmgo_stream_set(dev.device_type, dev.device_id, e->before, NULL);
  tvmgo_device_stream_free(dev, e->stream);
  if (rc == 0) return 0;
  tvmgo_object_release(e->graph);
  e->graph = NULL;
  tvmgo_error_put_back(why);
  return tvmgo_raise_context("%s", c->f);
}

int tvmgo_executor_run_cuda_graph(const executor_call* c) {
  tvmgo_executor* e = c->e;
  DLDevice dev = e->sizes.device;
  if (tvmgo_executor_count(c, 0, 0) != 0) return -1;
  if (e->graph == NULL || e->recording)
    return tvmgo_raise(TVMGO_RUNTIME_ERROR, "%s: no run was recorded: call start_capture, run and end_capture first",
                       c->f);
  return tvmgo_graph_launch(e->graph, tvmgo_stream_get(dev.device_type, dev.device_id));
}
