package modulekind

var _ = register(Kind{
	Name: "cuda", Form: Device, Import: "tvmgo/runtime/cuda",
	Files: []Format{{Suffix: "ptx", Text: true}, {Suffix: "cubin"}, {Suffix: "fatbin"},
		{Suffix: "cu", Code: "cuda", Text: true}},
})
