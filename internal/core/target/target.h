/* Package target: targets as objects, laid out as C++ that is written for TVM expects them (docs/abi.md F.1).
 *
 * Depends on object, call, container, record and bridge. Go (package target) decides what a target means. This package
 * has the objects, each thread's stack of current targets, and the names of the global functions, all registered at
 * their first use (call/deferred.h). A target object owns its parts and a reference to the target in Go. Any thread may
 * call; a thread's stack is its own. The package has no lock. */
#pragma once

#include "bridge/bridge.h"
#include "record/record.h"

typedef struct {
  TVMFFIObject header;
  TVMFFIAny name; /* Str or SmallStr */
  int32_t default_device_type;
  TVMFFIObject* default_keys; /* Array of Str */
} tvmgo_target_kind;

/* Go's reference to one of its targets, for an object. */
typedef struct tvmgo_target_hold {
  struct tvmgo_target_hold* next; /* in the list of references that Go may release */
  uintptr_t handle;
} tvmgo_target_hold;

typedef struct {
  TVMFFIObject header;
  TVMFFIObject* kind;  /* tvmgo_target_kind */
  TVMFFIObject* host;  /* tvmgo_target, or NULL */
  TVMFFIAny tag;       /* Str or SmallStr */
  TVMFFIObject* keys;  /* Array of Str */
  TVMFFIObject* attrs; /* Map of Str to any value */
  tvmgo_target_hold* hold; /* NULL in an object that reflection made from fields */
} tvmgo_target;

/* -1 until targets are used (deferred.h), and when another library has these types. */
extern int32_t tvmgo_target_type, tvmgo_target_kind_type;

/* builtins_target.c: what the types have besides fields; 0, or -1 with an error raised. */
int tvmgo_register_target_hooks(int32_t target_type, int32_t kind_type);

/* The operation of a global function of targets; runtime/targetvalue.go has the bodies by these numbers. */
enum {
  TVMGO_TARGET_NEW = 1,
  TVMGO_TARGET_EXPORT,
  TVMGO_TARGET_JSON,
  TVMGO_TARGET_WITH_HOST,
  TVMGO_TARGET_DEVICE_TYPE,
  TVMGO_TARGET_FEATURE,
  TVMGO_TARGET_KINDS,
  TVMGO_TARGET_KIND_OPTIONS,
  TVMGO_TARGET_KIND_ATTR,
  TVMGO_TARGET_KIND_FIND, /* (name): the value that replaces a kind in the JSON of objects */
  TVMGO_TARGET_TAGS,
  TVMGO_TARGET_ADD_TAG
};

/* For Go: owned objects of borrowed parts. A new object keeps the handle until it is freed.
 * parts: name, device type, keys; and kind, host or None, tag, keys, attrs. */
tvmgo_ret tvmgo_bridge_target_kind(const TVMFFIAny* parts);
tvmgo_ret tvmgo_bridge_target(const TVMFFIAny* parts, uintptr_t handle);

/* The references of objects that were freed since the last call; Go releases them. An object may be freed on any
 * thread, also at the end of a thread and in a forked child, where Go can't be entered. */
tvmgo_target_hold* tvmgo_bridge_target_dropped(void);
