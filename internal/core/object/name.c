/* Checks of names that are looked up later. */
#include "object/object.h"

#include <limits.h>
#include <string.h>

int tvmgo_check_name(const char* op, const char* what, const TVMFFIByteArray* name) {
  if (name == NULL || (name->data == NULL && name->size > 0))
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: %s is NULL", op, what);
  if (name->size == 0) return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: %s is empty", op, what);
  if (name->size > TVMGO_MAX_NAME)
    return tvmgo_raise(TVMGO_VALUE_ERROR,
                       "%s: %s has %zu bytes, at most %d are allowed: shorten it, or set the size "
                       "right; it begins \"%.40s\"",
                       op, what, name->size, TVMGO_MAX_NAME, name->data);
  if (memchr(name->data, 0, name->size) != NULL)
    return tvmgo_raise(TVMGO_VALUE_ERROR,
                       "%s %.*s: %s has a zero byte inside, where a name ends in C: take it out", op,
                       tvmgo_quoted(name->size), name->data, what);
  return 0;
}

int tvmgo_check_path(const char* op, const char* path) {
  if (path == NULL || path[0] == 0)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: the path is %s", op, path == NULL ? "NULL" : "empty");
  if (strlen(path) < PATH_MAX) return 0;
  return tvmgo_raise(TVMGO_VALUE_ERROR,
                     "%s: the path has %zu bytes, at most %d are possible; it begins \"%.40s\"", op,
                     strlen(path), PATH_MAX - 1, path);
}

int tvmgo_check_cname(const char* op, const char* what, const char* name) {
  if (name == NULL) return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: %s is NULL", op, what);
  TVMFFIByteArray text = {name, strlen(name)};
  return tvmgo_check_name(op, what, &text);
}
