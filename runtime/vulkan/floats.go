package vulkan

/*
#include "launch.h"
*/
import "C"

import (
	"fmt"
	"slices"
	"strings"

	"tvmgo/internal/kernels"
	"tvmgo/internal/spirv"
)

// widths has the widths of floats in bits, in the order of vk_features.
var widths = [...]uint32{16, 32, 64}

// The capabilities of atomic operations on floats, in the order of widths.
var (
	floatAdd    = [...]spirv.Capability{spirv.AtomicFloat16AddEXT, spirv.AtomicFloat32AddEXT, spirv.AtomicFloat64AddEXT}
	floatMinMax = [...]spirv.Capability{spirv.AtomicFloat16MinMaxEXT, spirv.AtomicFloat32MinMaxEXT,
		spirv.AtomicFloat64MinMaxEXT}
)

// atomicsOf returns whether a device has a capability of atomic operations on floats, for buffers and for shared
// memory, and Vulkan's names of the two features. is reports whether c is such a capability.
func atomicsOf(c spirv.Capability, f *C.vk_features) (has [2]bool, names [2]string, is bool) {
	list, what := &f.float_add, "Add"
	i := slices.Index(floatAdd[:], c)
	if i < 0 {
		list, what = &f.float_min_max, "MinMax"
		i = slices.Index(floatMinMax[:], c)
	}
	if i < 0 {
		return has, names, false
	}
	for m, memory := range [...]string{"Buffer", "Shared"} {
		has[m] = list[m][i] != 0
		names[m] = fmt.Sprintf("shader%sFloat%dAtomic%s", memory, widths[i], what)
	}
	return has, names, true
}

// modeOf returns for which widths a device has a mode of arithmetic. is reports whether c is such a mode.
func modeOf(c spirv.Capability, f *C.vk_features) (has [3]C.uint8_t, is bool) {
	if c < spirv.DenormPreserve || c > spirv.RoundingModeRTZ {
		return has, false
	}
	return f.float_mode[c-spirv.DenormPreserve], true
}

// modeName returns Vulkan's name of a mode for a width.
func modeName(c spirv.Capability, bits any) string { return fmt.Sprintf("shader%vFloat%v", c, bits) }

// hasFloats is has for capabilities of floats; is reports whether c is one. A capability does not name a width or a
// memory, so a device needs only one supported combination here; checkFloats checks those that a kernel uses.
func hasFloats(c spirv.Capability, f *C.vk_features) (need string, ok, is bool) {
	if has, names, is := atomicsOf(c, f); is {
		return strings.Join(names[:], " or "), slices.Contains(has[:], true), true
	}
	has, is := modeOf(c, f)
	var names []string
	for i, bits := range widths {
		ok = ok || has[i] != 0
		names = append(names, modeName(c, bits))
	}
	return strings.Join(names, " or "), ok, is
}

// checkFloats checks that a device has the float modes and the atomic operations on floats that an entry point uses.
func checkFloats(kernel string, e *spirv.EntryPoint, d *C.vk_device) error {
	f := &d.has
	for _, m := range e.FloatModes {
		has, _ := modeOf(m.Of, f)
		if i := slices.Index(widths[:], m.Bits); i < 0 || has[i] == 0 {
			return lacks(kernel, modeName(m.Of, m.Bits), m.Of, d)
		}
	}
	for _, a := range e.FloatAtomics {
		has, names, is := atomicsOf(a.Of, f)
		for m, used := range [...]bool{a.Buffer, a.Shared} {
			if is && used && !has[m] {
				return lacks(kernel, names[m], a.Of, d)
			}
		}
	}
	for _, group := range []struct {
		of   []spirv.Capability
		each C.uint8_t
		name string
	}{
		{[]spirv.Capability{spirv.DenormPreserve, spirv.DenormFlushToZero}, f.denorm_independence,
			"denormBehaviorIndependence"},
		{[]spirv.Capability{spirv.RoundingModeRTE, spirv.RoundingModeRTZ}, f.rounding_independence,
			"roundingModeIndependence"},
	} {
		if a, b, ok := apart(e.FloatModes, group.of, group.each); !ok {
			return kernels.NotSupported("kernel %s sets %v for floats of %d bits and %v for floats of %d bits; %s (%s) has "+
				"only one mode for both",
				kernel, a.Of, a.Bits, b.Of, b.Bits, deviceText(d), group.name)
		}
	}
	return nil
}

// apart finds two different modes of a group for two widths that must have the same mode on a device. ok reports that
// there are none.
func apart(modes []spirv.FloatMode, of []spirv.Capability, each C.uint8_t) (a, b spirv.FloatMode, ok bool) {
	for i, a := range modes {
		for _, b := range modes[:i] {
			if !slices.Contains(of, a.Of) || !slices.Contains(of, b.Of) || a.Of == b.Of || a.Bits == b.Bits {
				continue
			}
			alike := each == C.VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE ||
				each == C.VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_32_BIT_ONLY && a.Bits != 32 && b.Bits != 32
			if alike {
				return b, a, false
			}
		}
	}
	return a, b, true
}
