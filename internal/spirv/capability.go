package spirv

import "strconv"

// Capability is a capability that a module requires from the device.
type Capability uint32

// The capabilities that compute shaders declare.
const (
	Matrix                             Capability = 0
	Shader                             Capability = 1
	Addresses                          Capability = 4
	Linkage                            Capability = 5
	Kernel                             Capability = 6
	Float16                            Capability = 9
	Float64                            Capability = 10
	Int64                              Capability = 11
	Int64Atomics                       Capability = 12
	Int16                              Capability = 22
	Int8                               Capability = 39
	ImageQuery                         Capability = 50
	GroupNonUniform                    Capability = 61
	GroupNonUniformVote                Capability = 62
	GroupNonUniformArithmetic          Capability = 63
	GroupNonUniformBallot              Capability = 64
	GroupNonUniformShuffle             Capability = 65
	GroupNonUniformShuffleRelative     Capability = 66
	GroupNonUniformClustered           Capability = 67
	GroupNonUniformQuad                Capability = 68
	StorageBuffer16BitAccess           Capability = 4433
	UniformAndStorageBuffer16BitAccess Capability = 4434
	StoragePushConstant16              Capability = 4435
	VariablePointersStorageBuffer      Capability = 4441
	VariablePointers                   Capability = 4442
	StorageBuffer8BitAccess            Capability = 4448
	UniformAndStorageBuffer8BitAccess  Capability = 4449
	StoragePushConstant8               Capability = 4450
	DenormPreserve                     Capability = 4464
	DenormFlushToZero                  Capability = 4465
	SignedZeroInfNanPreserve           Capability = 4466
	RoundingModeRTE                    Capability = 4467
	RoundingModeRTZ                    Capability = 4468
	VulkanMemoryModel                  Capability = 5345
	VulkanMemoryModelDeviceScope       Capability = 5346
	PhysicalStorageBufferAddresses     Capability = 5347
	BFloat16TypeKHR                    Capability = 5116
	BFloat16CooperativeMatrixKHR       Capability = 5118
	CooperativeMatrixNV                Capability = 5357
	AtomicFloat32MinMaxEXT             Capability = 5612
	AtomicFloat64MinMaxEXT             Capability = 5613
	AtomicFloat16MinMaxEXT             Capability = 5616
	DotProductInputAll                 Capability = 6016
	DotProductInput4x8Bit              Capability = 6017
	DotProductInput4x8BitPacked        Capability = 6018
	DotProduct                         Capability = 6019
	CooperativeMatrixKHR               Capability = 6022
	AtomicFloat32AddEXT                Capability = 6033
	AtomicFloat64AddEXT                Capability = 6034
	AtomicFloat16AddEXT                Capability = 6095
)

var capabilityNames = map[Capability]string{
	Matrix: "Matrix", Shader: "Shader", Addresses: "Addresses", Linkage: "Linkage", Kernel: "Kernel", Float16: "Float16",
	Float64: "Float64", Int64: "Int64", Int64Atomics: "Int64Atomics", Int16: "Int16", Int8: "Int8",
	ImageQuery:      "ImageQuery",
	GroupNonUniform: "GroupNonUniform", GroupNonUniformVote: "GroupNonUniformVote",
	GroupNonUniformArithmetic: "GroupNonUniformArithmetic", GroupNonUniformBallot: "GroupNonUniformBallot",
	GroupNonUniformShuffle: "GroupNonUniformShuffle", GroupNonUniformShuffleRelative: "GroupNonUniformShuffleRelative",
	GroupNonUniformClustered: "GroupNonUniformClustered", GroupNonUniformQuad: "GroupNonUniformQuad",
	StorageBuffer16BitAccess:           "StorageBuffer16BitAccess",
	UniformAndStorageBuffer16BitAccess: "UniformAndStorageBuffer16BitAccess",
	StoragePushConstant16:              "StoragePushConstant16",
	VariablePointersStorageBuffer:      "VariablePointersStorageBuffer",
	VariablePointers:                   "VariablePointers", StorageBuffer8BitAccess: "StorageBuffer8BitAccess",
	UniformAndStorageBuffer8BitAccess: "UniformAndStorageBuffer8BitAccess", StoragePushConstant8: "StoragePushConstant8",
	DenormPreserve: "DenormPreserve", DenormFlushToZero: "DenormFlushToZero",
	SignedZeroInfNanPreserve: "SignedZeroInfNanPreserve",
	RoundingModeRTE:          "RoundingModeRTE", RoundingModeRTZ: "RoundingModeRTZ",
	VulkanMemoryModel:              "VulkanMemoryModel",
	VulkanMemoryModelDeviceScope:   "VulkanMemoryModelDeviceScope",
	PhysicalStorageBufferAddresses: "PhysicalStorageBufferAddresses",
	BFloat16TypeKHR:                "BFloat16TypeKHR", BFloat16CooperativeMatrixKHR: "BFloat16CooperativeMatrixKHR",
	CooperativeMatrixNV: "CooperativeMatrixNV", DotProductInputAll: "DotProductInputAll",
	DotProductInput4x8Bit: "DotProductInput4x8Bit", DotProductInput4x8BitPacked: "DotProductInput4x8BitPacked",
	DotProduct: "DotProduct", CooperativeMatrixKHR: "CooperativeMatrixKHR", AtomicFloat32AddEXT: "AtomicFloat32AddEXT",
	AtomicFloat64AddEXT: "AtomicFloat64AddEXT", AtomicFloat16AddEXT: "AtomicFloat16AddEXT",
	AtomicFloat16MinMaxEXT: "AtomicFloat16MinMaxEXT", AtomicFloat32MinMaxEXT: "AtomicFloat32MinMaxEXT",
	AtomicFloat64MinMaxEXT: "AtomicFloat64MinMaxEXT",
}

// String returns the name in the specification, or the number if the capability is not listed here.
func (c Capability) String() string {
	if name, ok := capabilityNames[c]; ok {
		return name
	}
	return strconv.FormatUint(uint64(c), 10)
}

// Subgroup reports whether the capability is one of operations across a subgroup.
func (c Capability) Subgroup() bool { return c >= GroupNonUniform && c <= GroupNonUniformQuad }
