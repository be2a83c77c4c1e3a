/* Built-ins about lists and about whole values: what tvmgo_register_container_builtins calls beside
 * those of builtin.h. */
#ifndef TVMGO_BUILTINS_VALUE_H_
#define TVMGO_BUILTINS_VALUE_H_

#include "builtin.h"

void tvmgo_register_list_builtins(void);
void tvmgo_register_recursive_builtins(void);
void tvmgo_register_json_builtins(void);
void tvmgo_register_record_builtins(void);
void tvmgo_register_attributes(void);

#endif
