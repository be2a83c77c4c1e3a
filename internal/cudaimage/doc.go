// Package cudaimage reads CUDA code without a driver: it finds the format (source, PTX, cubin or fatbin), the
// architectures that the code is for, and the kernels that it contains, with the registers and the memory that they
// use.
//
//	info, err := cudaimage.Describe(image)
//	fmt.Println(info.Format, "for", info.For()) // fatbin for sm_80, sm_86 and PTX for compute_86
//
// Images come from files and are not trusted. For any bytes, Describe returns a value or an error; it does not panic,
// and it allocates at most a small multiple of the image's size.
package cudaimage
