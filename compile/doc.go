// Package compile compiles whole models to modules that the runtime executes and package export writes:
//
//	m, err := compile.ModelFile(ctx, "model.onnx", compile.Options{})
//	defer m.Close()
//	err = export.Library(ctx, m.Module, "model.so")
//
// Compiled.Module is an executable of TVM's Relax virtual machine, which imports the kernels.
package compile
