/* The home of a stream, which outlives it: memory to be returned on the stream and graphs recorded on it hold the home,
 * which knows whether the stream still exists. */
#pragma once

#include <tvmgo/device_api.h>

typedef struct tvmgo_stream_home tvmgo_stream_home;

/* The home of an existing stream; one reference, which tvmgo_stream_home_put releases. NULL with an error raised. */
tvmgo_stream_home* tvmgo_stream_home_get(DLDevice dev, TVMFFIStreamHandle stream);
void tvmgo_stream_home_put(tvmgo_stream_home* h);

/* 1 if the stream exists; it then exists until leave, so the call in between must not block. Else 0. */
int tvmgo_stream_home_enter(tvmgo_stream_home* h);
void tvmgo_stream_home_leave(tvmgo_stream_home* h);

/* The stream is about to be freed, or was made and may have the handle of a former one. */
void tvmgo_stream_home_gone(DLDevice dev, TVMFFIStreamHandle stream);
