package modulekind

var _ = register(Kind{
	Name: "opencl", Form: Device, Import: "tvmgo/runtime/opencl",
	Files: []Format{{Suffix: "cl", Text: true}, {Suffix: "clbin"}, {Suffix: "xclbin"}, {Suffix: "awsxclbin"},
		{Suffix: "aocx"}},
})
