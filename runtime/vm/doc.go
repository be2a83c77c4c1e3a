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
// The functions of the executable are vm_load_executable, has_function, stats, as_text and as_python. Those of a
// session are those of TVM's virtual machine: vm_initialization, set_input, set_input_with_param_module,
// invoke_stateful, get_output, get_output_arity, save_function, set_instrument, invoke_closure, get_function_arity and
// get_function_param_name, and every function of the program by its name. These are this library's:
//
//	tvmgo.functions() -> Array of names, in the order of the file
//	tvmgo.signature(name) -> Map: "name", "params": Array of values, "result": a value
//	tvmgo.bind(Map of names and tensors)
//
// A value is a Map: "name"; "kind": "tensor", "shape", "tuple", "number", "function" or "any"; "dtype", "" if unknown;
// "ndim", -1 if unknown; "shape", -1 for what is not fixed; "dims", such as "16", "n" or "n * 2"; "fields" of a tuple;
// "device", the index in the list of vm_initialization, -1 before that; "bound"; "text", the program's annotation. A
// parameter without an annotation, usually a weight, has the type of the tensor that is bound to it.
//
// tvmgo.bind gives tensors to parameters by name, in every function that has one of that name. Functions are then
// called with the other arguments, in order, or still with all. Tensors are uploaded once to the device where the
// function expects them, for all sessions of the executable; those that lie there are not copied. Do not change a bound
// tensor. Binding a name again replaces its tensor; vm_initialization forgets all of them.
//
//	tvmgo.memory() -> Map of "live", "peak", "storages", "taken", "limit", "weights"
//	tvmgo.set_memory_limit(bytes), 0 for none
//	tvmgo.model_memory(), tvmgo.set_model_memory_limit(bytes)
//	tvmgo.devices() -> Array of the devices of vm_initialization
//	tvmgo.session() -> another session with these devices and bound parameters
//
// The first two are about what the calls of a session take for their tensors and copies of inputs: bytes now and at
// most, storages now and ever, and the limit. Those of the model add up all sessions of the executable. weights are
// the bytes of constants and bound tensors, which a limit does not include. A call that exceeds a limit fails with
// MemoryError, and the session stays usable.
//
// The global function tvmgo.load_model(source, devices, params), which is runtime.OpenModel in Go, makes an initialized
// session with bound parameters in one call.
//
// Go decodes an executable and checks it; calls run in C (internal/core/vm) and do not enter Go. Any number of threads
// may call the functions of one session at once. Sessions of one executable share its code, and its constants on a
// device; each has its own inputs and outputs of stateful calls.
package vm
