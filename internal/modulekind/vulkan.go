package modulekind

// Vulkan is the kind of modules of SPIR-V shaders.
var Vulkan = register(Kind{
	Name: "vulkan", Form: Shaders, Import: "tvmgo/runtime/vulkan",
	Files: []Format{{Suffix: "vulkan"}},
})

// SpirvText is the format of a vulkan module's source: the assembly of its SPIR-V.
const SpirvText = "spvasm"
