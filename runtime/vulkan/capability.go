package vulkan

/*
#include "launch.h"
*/
import "C"

import (
	"fmt"

	"tvmgo/internal/kernels"
	"tvmgo/internal/spirv"
)

// has reports whether a device can run a shader with a capability. need is Vulkan's name of the required feature.
func has(c spirv.Capability, d *C.vk_device) (need string, ok bool) {
	f := &d.has
	if need, ok, is := hasFloats(c, f); is {
		return need, ok
	}
	if c.Subgroup() {
		return hasSubgroup(c, d)
	}
	feature := func(name string, has C.uint8_t) (string, bool) { return name, has != 0 }
	switch c {
	case spirv.Matrix, spirv.Shader, spirv.ImageQuery:
		return "Vulkan", true
	case spirv.Float16:
		return feature("shaderFloat16", f.float16)
	case spirv.Float64:
		return feature("shaderFloat64", f.float64)
	case spirv.Int64:
		return feature("shaderInt64", f.int64)
	case spirv.Int16:
		return feature("shaderInt16", f.int16)
	case spirv.Int8:
		return feature("shaderInt8", f.int8)
	case spirv.StorageBuffer16BitAccess:
		return feature("storageBuffer16BitAccess", f.storage16)
	case spirv.UniformAndStorageBuffer16BitAccess:
		return feature("uniformAndStorageBuffer16BitAccess", f.uniform16)
	case spirv.StoragePushConstant16:
		return feature("storagePushConstant16", f.push16)
	case spirv.StorageBuffer8BitAccess:
		return feature("storageBuffer8BitAccess", f.storage8)
	case spirv.UniformAndStorageBuffer8BitAccess:
		return feature("uniformAndStorageBuffer8BitAccess", f.uniform8)
	case spirv.StoragePushConstant8:
		return feature("storagePushConstant8", f.push8)
	case spirv.VariablePointers:
		return feature("variablePointers", f.variable_pointers)
	case spirv.VariablePointersStorageBuffer:
		return feature("variablePointersStorageBuffer", f.variable_pointers_buffer)
	case spirv.VulkanMemoryModel:
		return feature("vulkanMemoryModel", f.memory_model)
	case spirv.VulkanMemoryModelDeviceScope:
		return feature("vulkanMemoryModelDeviceScope", f.memory_model_device_scope)
	case spirv.PhysicalStorageBufferAddresses:
		return feature("bufferDeviceAddress", f.buffer_device_address)
	case spirv.DotProduct, spirv.DotProductInputAll, spirv.DotProductInput4x8Bit, spirv.DotProductInput4x8BitPacked:
		return feature("shaderIntegerDotProduct", f.integer_dot_product)
	case spirv.CooperativeMatrixNV:
		return feature("cooperativeMatrix", f.cooperative_matrix_nv)
	case spirv.CooperativeMatrixKHR:
		return feature("cooperativeMatrix (VK_KHR_cooperative_matrix)", f.cooperative_matrix)
	case spirv.BFloat16TypeKHR, spirv.BFloat16CooperativeMatrixKHR:
		return feature("shaderBFloat16Type and shaderBFloat16CooperativeMatrix", f.bfloat16)
	case spirv.Kernel, spirv.Addresses, spirv.Linkage:
		return "OpenCL", false // these are capabilities of SPIR-V for OpenCL
	}
	return "a feature that this runtime does not enable", false
}

// options has the options of target vulkan without which generated kernels do not use a capability. Subgroup operations
// have one option.
var options = map[spirv.Capability]string{
	spirv.Float16: "supports_float16", spirv.Float64: "supports_float64",
	spirv.Int8: "supports_int8", spirv.Int16: "supports_int16", spirv.Int64: "supports_int64",
	spirv.StorageBuffer8BitAccess: "supports_8bit_buffer", spirv.StorageBuffer16BitAccess: "supports_16bit_buffer",
	spirv.CooperativeMatrixKHR:         "supports_cooperative_matrix",
	spirv.VulkanMemoryModel:            "supports_cooperative_matrix",
	spirv.BFloat16TypeKHR:              "supports_bfloat16",
	spirv.BFloat16CooperativeMatrixKHR: "supports_bfloat16",
	spirv.RoundingModeRTE:              "supports_float16_rte",
}

// lacks returns the error for a feature that a device does not have, with the option by which a kernel was generated
// that uses it.
func lacks(kernel, need string, c spirv.Capability, d *C.vk_device) error {
	option, remedy := options[c], ""
	if c.Subgroup() {
		option = "supported_subgroup_operations"
	}
	if option != "" {
		remedy = fmt.Sprintf(": build it for a target vulkan without the option %s", option)
	}
	return kernels.NotSupported("kernel %s needs %s (capability %v), which %s lacks%s", kernel, need, c, deviceText(d),
		remedy)
}

// subgroupBits has the names of the bits of VkSubgroupFeatureFlagBits, lowest bit first. The capabilities have the same
// order.
var subgroupBits = [...]string{"basic", "vote", "arithmetic", "ballot", "shuffle", "shuffle relative", "clustered",
	"quad"}

const computeStage = 0x20

func hasSubgroup(c spirv.Capability, d *C.vk_device) (need string, ok bool) {
	bit := c - spirv.GroupNonUniform
	need = fmt.Sprintf("subgroup operations of the kind %q", subgroupBits[bit])
	return need, d.subgroup_stages&computeStage != 0 && d.subgroup_operations>>bit&1 != 0
}
