/* The files of global functions about containers, which builtins_container.c registers. */
#pragma once

#include "call/builtin.h"

void tvmgo_register_map_builtins(void);
void tvmgo_register_list_builtins(void);
void tvmgo_register_attributes(void);
