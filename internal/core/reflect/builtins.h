/* The files of global functions about whole values and of their types, which builtins_record.c registers. */
#pragma once

#include "call/builtin.h"
#include "reflect/names/names.h"

void tvmgo_register_recursive_builtins(void);
void tvmgo_register_json_builtins(void);

/* These describe types, in the order of builtins_record.c. */
void tvmgo_register_enum_types(void);
void tvmgo_register_access_path_types(void);
void tvmgo_register_structural_types(void);
void tvmgo_register_visit_types(void); /* these two by the former */
void tvmgo_register_mutate_types(void);
