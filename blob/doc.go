// Package blob reads and writes library blobs: the bytes in which a compiled library carries the modules that it
// imports (device kernels, executables, constants) and the tree that says who imports whom.
//
// [Parse] splits a blob into entries and checks everything that can be checked without knowing what a kind of module
// means; payloads are views of the input, nothing is copied. What is inside a payload is read by the package of that
// kind, for which the building blocks are here: [Reader], [FunctionInfo], [DeviceModule], [VulkanModule], [Tensor].
//
// [Blob.WriteTo] writes one, of any layout, and writes only what Parse reads back as the same; [Number] puts the
// modules of an import tree in the order that all producers use. Payloads have encoders beside their parsers.
//
// # Layouts
//
// There are three, distinguished by the symbol under which the library exports the blob ([LayoutOf]). The modern one
// prefixes each payload with its length. The two legacy ones don't: a payload ends where its own format ends, so that
// reading on needs a [Scanner] for its kind. The scanners of TVM's own kinds are built in, others are added with
// [Register].
//
// # Bad input
//
// A blob comes from a file and is not trusted. Whatever the bytes, the functions here return a value or an error, never
// panic, and allocate no more than a small multiple of the input. Damage is a [FormatError], for which errors.Is(err,
// [ErrCorrupt]) holds; a kind without scanner is an [UnknownKindError]. The import tree only points forward (a child
// comes after its parent), so it has no cycle. It can share children, so code that walks it must remember what it has
// seen; and a chain can be as long as there are modules, so code that walks it must not recurse in C.
package blob
