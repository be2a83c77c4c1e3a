// Package onnx converts models in ONNX's format to functions of package graph.
//
//	m, err := file.Open("model.onnx")
//	f, err := onnx.Import(m, onnx.Options{Dims: map[string]graph.Range{"batch": graph.Exactly(1)}})
//
// Operators of the default domain from operator set 7 on are read, functions of the model are inlined, and operators
// that older sets describe by attributes get the operands of the newest set. All nodes that cannot be read are reported
// at once (UnsupportedError).
package onnx
