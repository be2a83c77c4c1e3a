package cuda

import "strings"

// words are the names that CUDA C reserves in addition to C, and those of its functions without a prefix.
var words = func() map[string]bool {
	all := map[string]bool{}
	for _, s := range strings.Fields(`
		half half2 bfloat16 bfloat162 float8_e4m3 float8_e5m2 bool wchar_t dim3 uchar ushort uint ulong size_t ptrdiff_t
		catch class const_cast decltype delete dynamic_cast explicit export friend mutable namespace new noexcept nullptr
		operator private protected public reinterpret_cast static_assert static_cast template this thread_local throw try
		typeid typename using virtual constexpr alignas alignof char16_t char32_t char8_t and and_eq bitand bitor compl
		not not_eq or or_eq xor xor_eq asm
		threadIdx blockIdx blockDim gridDim warpSize NULL NAN INFINITY
		abs labs llabs min max fma fdim fmin fmax cbrt rcbrt erfc erfinv erfcinv normcdf normcdfinv j0 j1 jn y0 y1 yn
		tgamma lgamma ldexp scalbn scalbln frexp modf remainder remquo nextafter ilogb logb rint lrint llrint lround llround
		sincos sincospi sinpi cospi expm1 hypot rhypot norm rnorm norm3d norm4d rnorm3d rnorm4d nan signbit isnormal
		umin umax llmin llmax ullmin ullmax mulhi mul24 umul24 float2int int2float saturate clock clock64 printf malloc
		free assert trap brkpt`) {
		all[s], all[s+"f"] = true, true
	}
	return all
}()

var prefixes = []string{"__", "atomic", "make_", "cuda", "cu", "CUDA", "tex1D", "tex2D", "tex3D", "surf1D", "surf2D",
	"surf3D", "nv"}

// vectorBases are the elements of vector types.
var vectorBases = []string{"char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "longlong", "ulonglong",
	"float", "double", "half", "bfloat16", "bool", "dim"}

// isReserved reports whether CUDA C reserves a name.
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
