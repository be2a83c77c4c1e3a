/* Values as a JSON graph, in which what is shared stays shared (ffi.ToJSONGraph):
 *   {"root_index": i, "nodes": [{"type": key, "data": ...}, ...], "metadata": ...}
 * A node's data holds numbers and texts as they are, bytes in base64, and everything else by the
 * indices of its parts, which stand before it. An object's data has its fields by name. */
#pragma once

#include "record/record.h"
#include "reflect/recursive.h"

/* Values are borrowed and without views of text; metadata is None or is copied unchanged. */
int tvmgo_json_graph_write(const char* op, const TVMFFIAny* v, const TVMFFIAny* metadata,
                           TVMFFIAny* graph);
int tvmgo_json_graph_read(const char* op, const TVMFFIAny* graph, TVMFFIAny* v);

/* base64.c: with padding. out is an owned Str, or Bytes. */
int tvmgo_base64_write(TVMFFIByteArray bytes, TVMFFIAny* out);
/* ValueError for what is no base64. */
int tvmgo_base64_read(const char* op, TVMFFIByteArray text, TVMFFIAny* out);

/* bigint_text.c: an Int or BigInt from decimal digits with an optional '-'. */
int tvmgo_big_int_parse(const char* op, TVMFFIByteArray text, TVMFFIAny* out);
