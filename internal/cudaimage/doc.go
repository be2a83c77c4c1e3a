// Package cudaimage says what a piece of code for CUDA is, without a driver: source, PTX, a cubin or a fatbin, for which
// architectures, and which kernels are in it.
//
//	info, err := cudaimage.Describe(image)
//	fmt.Println(info.Format, "for", info.For()) // fatbin for sm_80, sm_86 and PTX for compute_86
//
// Images come from files and are not trusted. Whatever the bytes, there is a value or an error, no panic, and no more memory
// than a small multiple of the image.
package cudaimage
