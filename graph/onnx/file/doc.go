// Package file reads and writes the file format of ONNX: models, and the tensors of test data. It knows the messages of
// the format and nothing of operators.
//
//	f, err := file.Open("model.onnx")
//	defer f.Close()
//	for _, t := range f.Model.Graph.Initializers {
//		data, err := t.Bytes(f.External) // a view of the file where possible
//	}
//
// [Open] maps a file, [Parse] reads one in memory. Names and attributes are copies; the elements that a tensor has as
// raw_data, or in another file (external data), are views. The types have a field for each field of the messages of
// onnx.proto that inference needs. These parts of a file are skipped: documentation of nodes, values, attributes and
// tensors; metadata and device configurations below the model; training information; quantisation annotations.
//
// [Model.Encode] and [Tensor.Encode] write files, for tests and examples. [Model.Text] prints a model.
//
// # Lifetime
//
// Views of a mapped file are memory that Go's garbage collector does not know. They must not be used after
// [File.Close]; a process that does so crashes. Elements may be changed: the changes stay in this process. A process
// that accesses a view is killed (SIGBUS) if the file was shortened in the meantime.
//
// # Bad input
//
// Files are not trusted. For any input, the functions return a value or an error, do not panic, take time that is
// linear in the size of the input, and allocate at most a small multiple of it: messages may be nested as deeply as in
// other implementations of protobuf (100 levels), and descriptions may take at most 48 times the size of the file,
// beside 1 MiB, which files with content do not reach. External data are files in the folder of the model. Corrupt
// input is a [FormatError], for which errors.Is(err, blob.ErrCorrupt) holds.
package file
