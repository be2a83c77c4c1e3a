/* Package target: targets as objects, laid out as C++ that is written for TVM expects them (docs/abi.md F.1).
 *
 * Depends on object, call, container, record and bridge. What a target means is decided in Go (package target); here
 * are the objects, each thread's stack of current targets, and the names of the global functions, all registered at
 * their first use (call/deferred.h). A target object owns its parts and a hold on the target in Go. Any thread may
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
  struct tvmgo_target_hold* next; /* among those that Go may let go of */
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

/* What a global function of targets does; runtime/targetvalue.go has the bodies by these numbers. */
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
  TVMGO_TARGET_KIND_FIND, /* (name): what JSON of objects has in place of a kind */
  TVMGO_TARGET_TAGS,
  TVMGO_TARGET_ADD_TAG
};

/* For Go: owned objects of borrowed parts. An object that is made keeps the handle until it goes.
 * parts: name, device type, keys; and kind, host or None, tag, keys, attrs. */
tvmgo_ret tvmgo_bridge_target_kind(const TVMFFIAny* parts);
tvmgo_ret tvmgo_bridge_target(const TVMFFIAny* parts, uintptr_t handle);

/* The holds of objects that went since the last call, which Go ends and frees. An object goes on any thread, at the end
 * of a thread and in a forked child too, where Go can't be entered. */
tvmgo_target_hold* tvmgo_bridge_target_dropped(void);
