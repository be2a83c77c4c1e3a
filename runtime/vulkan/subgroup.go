package vulkan

/*
#include "launch.h"
*/
import "C"

import (
	"slices"

	"tvmgo/internal/kernels"
	"tvmgo/internal/spirv"
)

// needSubgroups makes a pipeline require the subgroup size that the kernel was built for, if the device can choose one.
// Otherwise a warp may be a part of a subgroup, except in kernels with cooperative matrices. A device without such
// subgroups is an error.
func needSubgroups(kernel string, m *spirv.Module, e *spirv.EntryPoint, d *C.vk_device, s *C.vk_shape) error {
	n := C.uint32_t(m.SubgroupSize())
	if n == 0 {
		return nil
	}
	s.linear = 1
	least, most := d.min_subgroup_size, d.max_subgroup_size
	full := e.LocalSize[0] > 0 && e.LocalSize[0]%uint32(n) == 0
	if d.has.subgroup_size_control != 0 && n >= least && n <= most {
		if full {
			s.full = 1
		}
		if least == most { // a pipeline with a required size may have fewer threads
			return nil
		}
		threads := uint64(1)
		for _, size := range e.LocalSize {
			threads *= uint64(max(1, size))
		}
		if top := uint64(n) * uint64(d.max_subgroups); threads > top && top > 0 {
			return kernels.NotSupported("kernel %s has blocks of %d threads, and %s has at most %d in subgroups of %d: build "+
				"it with the option max_threads_per_block=%d of target vulkan", kernel, threads, deviceText(d), top, int(n), top)
		}
		s.subgroup = n
		return nil
	}
	whole := slices.Contains(m.Capabilities, spirv.CooperativeMatrixKHR)
	if n == least && n == most || !whole && n < least && least%n == 0 {
		return nil
	}
	return kernels.NotSupported("kernel %s needs subgroups of %d threads, and %s has subgroups of %d to %d: build it "+
		"with the option thread_warp_size of target vulkan set to a size that the device has", kernel, int(n), deviceText(d),
		int(least), int(most))
}
