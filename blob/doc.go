// Package blob reads and writes library blobs: the bytes in which a compiled library contains the modules that it
// imports (device kernels, executables, constants), and the tree of their imports.
//
// [Parse] splits a blob into entries and checks everything that does not depend on the kinds of the modules. Payloads
// are views of the input; nothing is copied. The package of a kind reads the payloads of that kind, with the types and
// functions of this package: [Reader], [FunctionInfo], [DeviceModule], [VulkanModule], [Tensor].
//
// [Blob.WriteTo] writes a blob in any layout, provided that Parse would read it back unchanged. [Number] puts the
// modules of an import tree into the order that all producers use. For each parser of a payload there is an encoder.
//
// # Layouts
//
// There are three layouts, distinguished by the symbol under which the library exports the blob ([LayoutOf]). In the
// modern layout, a length precedes each payload. In the two legacy layouts the end of a payload follows only from its
// own format, so that reading beyond it needs a [Scanner] for its kind. The scanners of TVM's own kinds are built in;
// [Register] adds others.
//
// # Bad input
//
// Blobs come from files and are not trusted. For any input, the functions of this package return a value or an error,
// never panic, and allocate at most a small multiple of the input's size. Corrupt input is a [FormatError], for which
// errors.Is(err, [ErrCorrupt]) holds; a kind without a scanner is an [UnknownKindError]. The import tree has no cycle,
// since a child comes after its parent. It can share children, so that code which walks it must remember the modules
// that it has visited. A chain of imports can be as long as the number of modules, so that code which walks it must not
// recurse in C.
package blob
