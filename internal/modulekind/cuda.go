package modulekind

// CUDA is the kind of modules for NVIDIA's GPUs.
var CUDA = register(Kind{
	Name: "cuda", Form: Device, Import: "tvmgo/runtime/cuda",
	Files: []Format{{Suffix: "ptx", Text: true}, {Suffix: "cubin"}, {Suffix: "fatbin"},
		{Suffix: "cu", Code: "cuda", Text: true}},
})
