// Package vm runs whole models: executables of TVM's Relax compiler (docs/abi.md G.3), of both generations of files.
//
// A program that imports it can load modules of kind "relax.VMExecutable" (also by its old name "relax.Executable"),
// from libraries and from files:
//
//	import _ "tvmgo/runtime/vm"
//
//	m, err := runtime.Load(ctx, "model.so")
//	load, err := m.Function("vm_load_executable")
//	session, err := load.Call() // a *runtime.Module of kind relax.VirtualMachine
//
// The functions of the executable are vm_load_executable, has_function, stats and as_text. Those of a session are those
// of TVM's virtual machine: vm_initialization, set_input, set_input_with_param_module, invoke_stateful, get_output,
// get_output_arity, save_function, set_instrument, invoke_closure, get_function_arity and get_function_param_name, and
// every function of the program by its name.
//
// Go decodes an executable and checks it; calls run in C (internal/core/vm) and do not enter Go. Any number of threads
// may call the functions of one session at once. Sessions of one executable share its code, and its constants on a
// device; each has its own inputs and outputs of stateful calls.
package vm
