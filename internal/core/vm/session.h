/* Sessions: modules of kind relax.VirtualMachine, as TVM's users call them. */
#pragma once

#include "vm/vm.h"

/* A module with vm_initialization, set_input, invoke_stateful, ... and every function of the machine by its name. Its
 * state is what set_input, invoke_stateful, save_function and set_instrument store; any number of threads may use it.
 * executable is kept alive; it owns the data of the program's constants, and its imports become those of the session.
 * NULL: raised. */
tvmgo_module* tvmgo_vm_session_new(tvmgo_vm_program* p, tvmgo_module* executable);
/* The function vm_load_executable of an executable, which makes sessions; owned. NULL: raised. */
TVMFFIObject* tvmgo_vm_loader_new(tvmgo_vm_program* p, tvmgo_module* executable);
