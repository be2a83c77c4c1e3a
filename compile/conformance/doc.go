// Package conformance runs models with recorded inputs and outputs, in the folder layout of ONNX's own tests:
//
//	model.onnx
//	test_data_set_0/input_0.pb, input_1.pb, …, output_0.pb, …
//
// A model is compiled for a target, executed on its device with the inputs of each data set, and its results are
// compared with the recorded outputs: their types and shapes have to be equal, and their elements close.
package conformance
