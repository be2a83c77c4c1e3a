// Package weights reads and writes files of named tensors, such as the parameters of a model: TVM's parameter
// dictionaries and tensor files, its tensor caches, safetensors (one file, or shards with an index), and NumPy's .npz
// and .npy.
//
//	set, err := weights.Open("model.safetensors")
//	defer set.Close()
//	for _, t := range set.Tensors() {
//		data, err := t.Data() // a view of the file
//	}
//
// [Open] finds the format by the content of the file. It maps the file and reads no more than the descriptions of the
// tensors; the system reads the pages of elements when they are first used, and there is no second copy of them. A few
// forms cannot be used as they are in the file (compressed members, float32 stored as bfloat16, big-endian and
// column-major arrays): [Tensor.Data] converts such a tensor when it is first asked for.
//
// # Lifetime
//
// Slices that Data returns are views of memory that the Set owns, and that Go's garbage collector does not know.
// They must not be used after Close; a process that does so crashes. [Set.Hold] keeps the memory while another owner,
// such as a tensor of package runtime, uses it. Elements may be changed: the changes stay in this process and do not
// reach the file.
//
// As with every mapped file, a process that accesses a view is killed (SIGBUS) if the file was shortened in the
// meantime. Replace files, as [Write] does, and do not rewrite them in place.
//
// # Alignment
//
// Generated code assumes that tensors begin at multiples of 64 bytes. [Write] aligns them where the format permits,
// but files of other programs often do not. [Tensor.Aligned] copies an unaligned tensor, and [Set.Align] copies all of
// them; both release the pages of the file behind the copy, so that memory does not hold the elements twice.
//
// # Bad input
//
// Sizes, offsets, overlaps, repeated names and element types are checked before Open returns. No file causes a panic,
// and memory stays within a small multiple of the descriptions in the file. Checksums are verified only for compressed
// members, because the others would read every page.
//
// The package needs no runtime and no driver, and no C compiler.
package weights
