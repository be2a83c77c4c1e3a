/* Global functions about JSON (docs/abi.md B.13). */
#include "reflect/builtins.h"
#include "reflect/json.h"
#include "reflect/json_graph.h"

static int json_parse(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  TVMFFIByteArray text;
  if (tvmgo_check_count(fname, n, 1, 1) != 0 || tvmgo_arg_text(fname, args, 0, &text) != 0)
    return -1;
  return tvmgo_json_parse(text, result);
}

static int json_stringify(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  int32_t indent = 0;
  TVMFFIAny v;
  if (tvmgo_check_count(fname, n, 1, 2) != 0) return -1;
  if (n == 2 && args[1].type_index != kTVMFFINone && tvmgo_arg_int32(fname, args, 1, &indent) != 0)
    return -1;
  if (TVMFFIAnyViewToOwnedAny(&args[0], &v) != 0) return -1;
  int rc = tvmgo_json_write(&v, indent, result);
  tvmgo_any_clear(&v);
  return rc;
}

static int graph_of(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  TVMFFIAny v, metadata = tvmgo_any_none();
  if (tvmgo_check_count(fname, n, 1, 2) != 0 || TVMFFIAnyViewToOwnedAny(&args[0], &v) != 0)
    return -1;
  int rc = n == 2 ? TVMFFIAnyViewToOwnedAny(&args[1], &metadata) : 0;
  if (rc == 0) {
    rc = tvmgo_json_graph_write(fname, &v, &metadata, result);
    tvmgo_any_clear(&metadata);
  }
  tvmgo_any_clear(&v);
  return rc;
}

static int graph_text(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  TVMFFIAny graph;
  if (graph_of(fname, args, n, &graph) != 0) return -1;
  int rc = tvmgo_json_write(&graph, 0, result);
  tvmgo_any_clear(&graph);
  return rc;
}

static int value_of(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  if (tvmgo_check_count(fname, n, 1, 1) != 0) return -1;
  return tvmgo_json_graph_read(fname, &args[0], result);
}

static int value_of_text(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  TVMFFIAny graph;
  if (json_parse(fname, args, n, &graph) != 0) return -1;
  int rc = tvmgo_json_graph_read(fname, &graph, result);
  tvmgo_any_clear(&graph);
  return rc;
}

TVMGO_REFLECT_JSON(TVMGO_BUILTIN_DEFINE)

void tvmgo_register_json_builtins(void) { TVMGO_REFLECT_JSON(TVMGO_BUILTIN_REGISTER) }
