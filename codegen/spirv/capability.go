package spirv

import (
	"fmt"

	spv "tvmgo/internal/spirv"
	"tvmgo/target"
)

// Versions of SPIR-V.
const (
	spirv10 = 0x10000
	spirv13 = 0x10300 // Vulkan 1.1, which this project's runtime requires
	spirv14 = 0x10400
	spirv15 = 0x10500
	spirv16 = 0x10600
)

// The limits that every Vulkan device has.
const (
	leastPushConstants = 128
	leastUniformRange  = 16384
)

// features are what a target's devices have, by its attributes.
type features struct {
	version                                uint32
	int8, int16, int64, float16, float64   bool
	storage8, storage16                    bool
	roundEven16                            bool  // conversions to float16 can be asked to round to nearest, ties to even
	matrix, bfloat16                       bool  // cooperative matrices, also of bfloat16
	bufferClass                            bool  // the storage class StorageBuffer
	subgroups                              int64 // VkSubgroupFeatureFlags
	warp                                   int64
	pushConstants, uniformRange, sharedMax int64 // bytes; sharedMax 0: unknown
	bufferRange                            int64 // the bytes of the largest storage buffer
}

func featuresOf(t *target.Target) features {
	flag := func(name string) bool {
		v, err := target.Get[bool](t, name)
		return err == nil && v
	}
	number := func(name string, otherwise int64) int64 {
		if v, err := target.Get[int64](t, name); err == nil && v > 0 {
			return v
		}
		return otherwise
	}
	f := features{version: uint32(min(number("max_spirv_version", spirv13), spirv16)) &^ 0xff,
		int8: flag("supports_int8"), int16: flag("supports_int16"), int64: flag("supports_int64"),
		float16: flag("supports_float16"), float64: flag("supports_float64"),
		storage8: flag("supports_8bit_buffer"), storage16: flag("supports_16bit_buffer"),
		roundEven16: flag("supports_float16_rte"),
		matrix:      flag("supports_cooperative_matrix"), bfloat16: flag("supports_bfloat16"),
		subgroups: number("supported_subgroup_operations", 0), warp: number("thread_warp_size", 1),
		pushConstants: number("max_push_constants_size", leastPushConstants),
		uniformRange:  number("max_uniform_buffer_range", leastUniformRange),
		sharedMax:     number("max_shared_memory_per_block", 0),
		bufferRange:   number("max_storage_buffer_range", 1<<32-1)}
	f.bufferClass = f.version >= spirv13 || flag("supports_storage_buffer_storage_class")
	return f
}

// lacks returns the error for a feature that the target does not have, with the option that enables it.
func lacks(what, option string) error {
	return fmt.Errorf("%s needs the option %s of target vulkan: set it if the device has it, as in "+
		"{\"kind\": \"vulkan\", %q: true}", what, option, option)
}

// storage declares the capability to access memory of 8 or 16 bits in a storage buffer.
func (w *writer) storage(bits int) {
	switch {
	case bits == 8 && w.has.storage8:
		w.m.need(spv.StorageBuffer8BitAccess)
		if w.has.version < spirv15 {
			w.m.extend("SPV_KHR_8bit_storage")
		}
	case bits == 16 && w.has.storage16:
		w.m.need(spv.StorageBuffer16BitAccess)
		if w.has.version < spirv13 {
			w.m.extend("SPV_KHR_16bit_storage")
		}
	}
}
