package version

// The versions of the C interfaces, which the headers under include/ declare. A test compares them.
const (
	Classic = "0.18.0" // of c_runtime_api.h
	TVMFFI  = "0.1.16" // of tvm/ffi/c_api.h
	DLPack  = "1.3"    // of dlpack.h
)
