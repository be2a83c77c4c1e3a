/* The place of the first difference between two values, on either side. Its steps are collected from the inside out,
 * while the comparison returns. */
#pragma once

#include "reflect/access_path.h"

/* All zero is none, and nothing is collected unless is_wanted. */
typedef struct {
  int is_wanted;
  tvmgo_access_step** steps; /* pairs (left, right), owned */
  size_t num_steps, capacity;
} tvmgo_difference;

/* Adds the steps above what was added before; keys are views. */
int tvmgo_difference_add(tvmgo_difference* d, tvmgo_step_kind left, const TVMFFIAny* left_key,
                         tvmgo_step_kind right, const TVMFFIAny* right_key);
int tvmgo_difference_add_field(tvmgo_difference* d, TVMFFIByteArray name);
/* Removes all but the first n steps. */
void tvmgo_difference_forget(tvmgo_difference* d, size_t n);
/* Owned paths; NULLs when -1 is returned. */
int tvmgo_difference_paths(const tvmgo_difference* d, tvmgo_access_path* paths[2]);
void tvmgo_difference_free(tvmgo_difference* d);
