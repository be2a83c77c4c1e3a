// Package compile turns whole models into modules that the runtime executes and package export writes:
//
//	m, err := compile.Graph(ctx, t, f)
//	err = export.Library(ctx, m, "model.so")
//
// The module is an executable of TVM's Relax virtual machine, which imports the kernels.
package compile
