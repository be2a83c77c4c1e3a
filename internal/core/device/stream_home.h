/* What outlives a stream: memory that is to go back on it, graphs that were recorded on it. Each holds the
 * stream's home, which tells whether the stream is still there. */
#pragma once

#include <tvmgo/device_api.h>

typedef struct tvmgo_stream_home tvmgo_stream_home;

/* The home of a stream that is there; one reference, for tvmgo_stream_home_put. NULL with an error raised. */
tvmgo_stream_home* tvmgo_stream_home_get(DLDevice dev, TVMFFIStreamHandle stream);
void tvmgo_stream_home_put(tvmgo_stream_home* h);

/* 1 if the stream exists: then it exists until leave, for a call that does not block. Else 0. */
int tvmgo_stream_home_enter(tvmgo_stream_home* h);
void tvmgo_stream_home_leave(tvmgo_stream_home* h);

/* The stream is about to be freed, or was made and may have the handle of a former one. */
void tvmgo_stream_home_gone(DLDevice dev, TVMFFIStreamHandle stream);
