// Package cudaimage examines CUDA code without a driver: whether it is source, PTX, a cubin or a fatbin, for which
// architectures it is, and which kernels it contains.
//
//	info, err := cudaimage.Describe(image)
//	fmt.Println(info.Format, "for", info.For()) // fatbin for sm_80, sm_86 and PTX for compute_86
//
// Images come from files and are not trusted. Whatever the bytes, there is a value or an error, no panic, and no more
// memory than a small multiple of the image.
package cudaimage
