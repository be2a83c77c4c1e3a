/* Functions that go through whole values: their text, order, hash and copy, and JSON.
 *
 * They recurse at most TVMGO_RECURSION_LIMIT levels, so that a deep value raises an error instead of overflowing the
 * stack. A table holds the visited objects, so that a shared object is handled once and a cycle is detected. Getters
 * and hooks may run foreign code: each child is held while it is worked on, and a List or Dict that changes meanwhile
 * is read as it then is. */
#pragma once

#include "reflect/reflect.h"

#define TVMGO_RECURSION_LIMIT 1000

/* Each reads borrowed values without views of text in them (own them first) and raises errors that
 * begin with op. */
int tvmgo_repr(const char* op, const TVMFFIAny* v, TVMFFIAny* result);
int tvmgo_equal(const char* op, const TVMFFIAny* a, const TVMFFIAny* b, int* equal);
/* *order is negative, 0 or positive. */
int tvmgo_order(const char* op, const TVMFFIAny* a, const TVMFFIAny* b, int* order);
int tvmgo_recursive_hash(const char* op, const TVMFFIAny* v, uint64_t* hash);
int tvmgo_deep_copy(const char* op, const TVMFFIAny* v, TVMFFIAny* copy);

/* ---- visited.c: the visited objects, or pairs of objects ------------------------------- */

typedef struct {
  TVMFFIObject *a, *b;    /* held; b may be NULL */
  TVMFFIAny value;        /* owned; for the operation to use, as the numbers */
  uint64_t first, second;
  int done;               /* 0 while its children are worked on */
  uint32_t next;          /* in its bucket */
} tvmgo_visited_entry;

/* All zero is the empty table. Entries are numbered in the order of insertion, and move only when one is added. */
typedef struct {
  tvmgo_visited_entry* entries;
  uint32_t* buckets; /* the newest entry of each; their number is the capacity */
  uint32_t size, capacity;
} tvmgo_visited;

/* NULL if the pair was not visited. */
tvmgo_visited_entry* tvmgo_visited_find(const tvmgo_visited* s, const void* a, const void* b);
/* Adds a pair that was not visited. NULL with an error raised. */
tvmgo_visited_entry* tvmgo_visited_add(tvmgo_visited* s, TVMFFIObject* a, TVMFFIObject* b);
/* Removes all but the first n entries. */
void tvmgo_visited_forget(tvmgo_visited* s, uint32_t n);
void tvmgo_visited_free(tvmgo_visited* s);

/* ---- container_steps.c ---------------------------------------------------------------------- */

/* Counts one more level; raises ValueError beyond the limit. */
int tvmgo_level_enter(const char* op, int* level);

/* Element i of an Array or a List, owned: 1, or 0 behind the last one. */
int tvmgo_seq_step(TVMFFIObject* seq, int64_t i, TVMFFIAny* item);
/* The next entry of a Map or a Dict, owned: 1, or 0 at the end. *place starts at 0. */
int tvmgo_map_step(TVMFFIObject* map, uint64_t* place, TVMFFIAny* key, TVMFFIAny* value);

/* ---- hooks.c: functions of types that replace an operation ----------------------------------------- */

/* A hook is a function that a type registers in a column, called with objects and, as last argument, with a function
 * that the hook calls for the objects' children. That function works until the hook returns, and only on the hook's
 * thread. */
typedef int (*tvmgo_hook_answer)(void* state, const TVMFFIAny* args, int32_t n, TVMFFIAny* result);
/* obj and, unless it is NULL, other are the objects. *result is owned. */
int tvmgo_hook_call(const char* op, const TVMFFIAny* hook, TVMFFIObject* obj, TVMFFIObject* other,
                    tvmgo_hook_answer answer, void* state, TVMFFIAny* result);
/* As tvmgo_hook_call with any first one or two arguments. */
int tvmgo_hook_call_args(const char* op, const TVMFFIAny* hook, const TVMFFIAny* given, int32_t n,
                         tvmgo_hook_answer answer, void* state, TVMFFIAny* result);
/* As tvmgo_hook_call for hooks that return an Int or a Bool. */
int tvmgo_hook_call_int(const char* op, const TVMFFIAny* hook, TVMFFIObject* obj,
                        TVMFFIObject* other, tvmgo_hook_answer answer, void* state, int64_t* result);
