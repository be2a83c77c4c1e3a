package opencl

import "strings"

// words are the names that OpenCL C reserves in addition to C, in all versions up to 3.0.
var words = func() map[string]bool {
	all := map[string]bool{}
	for _, s := range strings.Fields(`
		kernel global local constant private generic pipe uniform half quad complex imaginary read_only write_only
		read_write bool uchar ushort uint ulong
		size_t ptrdiff_t intptr_t uintptr_t event_t sampler_t queue_t ndrange_t clk_event_t reserve_id_t vec_step opencl
		true false NULL NAN INFINITY HUGE_VAL HUGE_VALF MAXFLOAT M_E M_PI M_E_F M_PI_F CHAR_BIT CHAR_MAX CHAR_MIN SCHAR_MAX
		SCHAR_MIN UCHAR_MAX SHRT_MAX SHRT_MIN USHRT_MAX INT_MAX INT_MIN UINT_MAX LONG_MAX LONG_MIN ULONG_MAX FLT_MAX FLT_MIN
		FLT_EPSILON DBL_MAX DBL_MIN DBL_EPSILON acospi asinpi atanpi atan2pi cbrt ceil copysign cospi erfc expm1 fabs fdim
		floor fma fmax fmin fmod fract frexp hypot ilogb ldexp lgamma lgamma_r logb mad maxmag minmag modf nan nextafter pow
		pown powr remainder remquo rint rootn round sincos sinpi tanpi tgamma trunc divide recip abs abs_diff add_sat hadd
		rhadd clamp clz ctz mad_hi mad_sat max min mul_hi rotate sub_sat upsample popcount mad24 mul24
		degrees mix radians step smoothstep sign cross dot distance length normalize fast_distance fast_length fast_normalize
		isequal isnotequal isgreater isgreaterequal isless islessequal islessgreater isfinite isinf isnan isnormal isordered
		isunordered signbit any all bitselect select shuffle shuffle2 printf barrier mem_fence read_mem_fence
		write_mem_fence prefetch wait_group_events ndrange_1D ndrange_2D ndrange_3D retain_event release_event
		create_user_event is_valid_event memory_order memory_scope memory_scope_work_item to_global to_local to_private`) {
		all[s] = true
	}
	return all
}()

var prefixes = []string{"get_", "convert_", "as_", "vload", "vstore", "atomic_", "atom_", "native_", "half_",
	"async_", "read_", "write_", "image", "cl_", "CLK_", "CL_",
	"work_group_", "sub_group_", "enqueue_", "intel_", "commit_", "reserve_", "__"}

// vectorBases are the elements of vector types.
var vectorBases = []string{"char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "float", "double",
	"half", "bool", "quad"}

// isReserved reports whether OpenCL C reserves a name.
func isReserved(name string) bool {
	if words[name] {
		return true
	}
	for _, p := range prefixes {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	for _, b := range vectorBases {
		if rest, ok := strings.CutPrefix(name, b); ok && rest != "" && strings.Trim(rest, "0123456789x") == "" {
			return true
		}
	}
	return false
}
