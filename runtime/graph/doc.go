// Package graph runs models of TVM's graph executor (docs/abi.md G.4): modules of kind GraphExecutorFactory, and graphs
// in JSON with a library of functions. Import it for its effect: such files load, and the global functions
// tvm.graph_executor.create and their relatives work.
//
//	m, err := runtime.Load(ctx, "model.so")            // a factory, which imports the library
//	create, err := m.Function("default")               // the name is the factory's
//	v, err := create.Call(dlpack.Device{Type: dlpack.CPU})
//	session := v.(*runtime.Module)                     // set_input, run, get_output, ...
//
// A factory is immutable and may be used by any number of goroutines. It keeps one copy of its parameters per device,
// which all its executors share. An executor is one session: a call of one of its functions during another one is an
// error, so make an executor for each goroutine. Calls of an executor do not enter Go: its functions are C
// (internal/core/executor).
//
// A module of kind tvmgo.GraphModel ([NewModel]) is the graph as one function, inputs to outputs, which any number of
// threads call at once. A call takes an idle executor, or makes another one; they share the parameters.
// [runtime.OpenModel] makes it of a library. It has the functions tvmgo.functions, tvmgo.signature, tvmgo.bind,
// tvmgo.devices, tvmgo.session, tvmgo.memory and tvmgo.set_memory_limit, and the latter two for all models of a factory
// (tvmgo.model_memory, tvmgo.set_model_memory_limit).
//
// Files deploy.json load with deploy.so or deploy.tar, which has the functions, and deploy.params, if that exists.
//
// An input that an executor changes (set_input, get_input of a parameter) becomes its own; the others still share
// the factory's. Inputs and outputs can be the caller's own memory (set_input_zero_copy, set_output_zero_copy).
package graph
