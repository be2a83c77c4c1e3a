// Package model makes a model of a library: named inputs and outputs in host memory, as a server of the Open Inference
// Protocol needs them.
//
//	m, err := model.Load(ctx, "mlp.so", model.Options{Params: "mlp.params"})
//	fmt.Println(m.Inputs()[0].Name, m.Inputs()[0].Shape) // x [-1 16]
//	outputs, err := m.Run(ctx, []*runtime.Tensor{x})     // tensors on the CPU, in the order of m.Outputs
//
// A library is a whole model (a Relax executable, such as a compiled ONNX file, or a graph executor), or it has plain
// functions that write into their arguments, with signatures that say what the arguments are. The program imports the
// packages that run whole models and devices, such as tvmgo/runtime/all.
//
// # Whole models
//
// Parameters without a value are inputs, and the fields of the result are outputs. A value without a name, or with one
// that an earlier value has, is called input_N or output_N, with its number; a field of a tuple has the name of the
// tuple, a dot and the number of the field. The protocol knows tensors only:
//
//   - a number is a tensor of one element, of shape [1] or [];
//   - a shape is an int64 tensor with its dimensions;
//   - a string, a function or a value of unknown type is an error of Load.
//
// # Plain functions
//
// The signature comes from the metadata of a library that package export/pack or this compiler made, or from the texts
// that Apache TVM's compiler stores for error messages. Arguments that are marked out are outputs; those that are
// marked inout are inputs and, with their new elements, outputs. If the signature marks none, Options.Outputs names
// them; by default it is the last tensor, as outputs come last. An output has the dimensions that the inputs determine,
// and is filled with zeros before the call. An integer with the name of a dimension of an input, as n in
// add(a: float32[n], out: out float32[n], n: int32), is set to its size, and is no input.
package model
