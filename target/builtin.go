package target

import (
	"slices"
	"sync"

	"tvmgo/dlpack"
)

// The kinds of docs/abi.md F.2. Names, defaults and keys are those of Apache TVM v0.27; the last ones exist only in
// v0.18.

var builtinsOnce sync.Once

// builtin declares a kind. Its options are made when any kind is first used.
type builtin struct {
	name    string
	device  dlpack.DeviceType
	options func() []KindOption
}

// builtins returns all built-in kinds.
func builtins() []builtin { return slices.Concat(cpuKinds(), gpuKinds(), otherKinds()) }

// isBuiltin reports whether a built-in kind has the given name. It does not make the kinds.
func isBuiltin(name string) bool {
	return slices.ContainsFunc(builtins(), func(b builtin) bool { return b.name == name })
}

// builtinKinds registers the built-in kinds when any kind is first used.
func builtinKinds() { builtinsOnce.Do(registerBuiltins) }

func registerBuiltins() {
	var all []*Kind
	for _, b := range builtins() {
		k, err := newKind(b.name, b.device, b.options())
		if err != nil {
			panic(err) // a mistake in a declaration below
		}
		k.builtin = true
		all = append(all, k)
	}
	if err := kinds.add(all...); err != nil {
		panic(err) // two declarations below have one name
	}
	settleEarly()
}

// checks returns the options of kinds whose functions can check their arguments and indices. alias-check is on by
// default.
func checks() []KindOption {
	return []KindOption{flag("alias-check",
		Help("functions reject arguments that overlap one that they write; 0 omits the check")),
		flag("bounds-check", Help("functions check each index that is not proved to be within bounds"))}
}

func options(list ...KindOption) []KindOption { return list }

func count(name string, settings ...OptionSetting) KindOption {
	return Option(name, Int, append([]OptionSetting{Min(0)}, settings...)...)
}

func atLeastOne(name string, settings ...OptionSetting) KindOption {
	return Option(name, Int, append([]OptionSetting{Min(1)}, settings...)...)
}

func flag(name string, settings ...OptionSetting) KindOption { return Option(name, Bool, settings...) }

func text1(name string, settings ...OptionSetting) KindOption {
	return Option(name, String, settings...)
}

func texts(name string, settings ...OptionSetting) KindOption {
	return Option(name, ListOf(String), settings...)
}

func cpuKinds() []builtin {
	return []builtin{
		{"llvm", dlpack.CPU, func() []KindOption {
			return append(checks(), DefaultKeys("cpu"),
				texts("mattr", Help("CPU features to use or not: +avx2, -sve")),
				text1("mcpu", Help("the CPU, as LLVM names it")),
				text1("mtriple", Help("architecture-vendor-system, as LLVM names it")),
				text1("mfloat-abi", OneOf("hard", "soft", "softfp"), Help("how floats are passed to functions")),
				text1("mabi", Help("the calling convention, for example lp64d")),
				atLeastOne("num-cores", Help("the number of cores that schedules assume")),
				flag("fast-math", Help("turns on the next six options")),
				flag("fast-math-nnan"), flag("fast-math-ninf"), flag("fast-math-nsz"),
				flag("fast-math-arcp"), flag("fast-math-contract"), flag("fast-math-reassoc"),
				Option("opt-level", Int, Min(0), Max(3), Help("the optimization level of LLVM")),
				texts("cl-opt", Help("options of LLVM itself")),
				text1("jit", OneOf("mcjit", "orcjit"), Help("LLVM's engine for running code without linking")),
				atLeastOne("vector-width", Help("the number of bits of a vector register")),
				flag("system-lib", Alias("system_lib"), Help("functions register themselves when the program starts")),
				WithParser(parseLLVM))
		}},
		{"c", dlpack.CPU, func() []KindOption {
			return append(checks(), DefaultKeys("cpu"),
				text1("mcpu", Help("the CPU, as GCC names it")),
				text1("march", Help("the instruction set, as GCC names it")),
				texts("mattr", Help("CPU features to use or not, in addition to march: +avx512vnni, -fma")),
				atLeastOne("workspace-byte-alignment"),
				atLeastOne("constants-byte-alignment"),
				flag("system-lib", Alias("system_lib"), Help("functions register themselves when the program starts")),
				WithParser(parseC))
		}},
		{"hexagon", dlpack.Hexagon, func() []KindOption {
			return options(DefaultKeys("hexagon", "cpu"),
				texts("mattr"), text1("mcpu"), text1("mtriple"), texts("llvm-options"), atLeastOne("num-cores"),
				count("vtcm-capacity", Help("bytes")))
		}},
	}
}

// fixed declares an option that has only one possible value and can be omitted.
func fixed(name, value string) KindOption {
	return text1(name, OneOf(value), Default(value), Property(""), Help("always this"))
}

var computeCapability = Matches(`sm_[0-9]{2,3}[af]?`, `sm_ and two or three digits, as in "sm_86" or "sm_90a"`)

func gpuKinds() []builtin {
	return []builtin{
		{"cuda", dlpack.CUDA, func() []KindOption {
			return append(checks(), DefaultKeys("cuda", "gpu"),
				text1("mcpu", Property("")),
				text1("arch", computeCapability, Help("compute capability: sm_90a")),
				text1("code-format", OneOf("cubin", "source"), Help("form of the kernels; default: cubin if arch is given and "+
					"NVRTC is found, else source; kind nvptx makes PTX")),
				count("max_shared_memory_per_block", Help("bytes")),
				atLeastOne("max_threads_per_block"),
				atLeastOne("thread_warp_size", Default(32)),
				count("registers_per_block"),
				count("l2_cache_size_bytes"),
				atLeastOne("max_num_threads", Default(1024)),
				WithParser(parseCUDA))
		}},
		{"nvptx", dlpack.CUDA, func() []KindOption {
			return append(checks(), DefaultKeys("cuda", "gpu"),
				text1("mcpu", computeCapability, Property("arch"), Help("compute capability: sm_90a")),
				fixed("mtriple", "nvptx64-nvidia-cuda"),
				atLeastOne("max_num_threads", Default(1024)),
				atLeastOne("thread_warp_size", Default(32)),
				WithParser(parseNVPTX))
		}},
		{"rocm", dlpack.ROCM, func() []KindOption {
			return options(DefaultKeys("rocm", "gpu"),
				text1("mcpu", StartsWith("gfx"), Help("the GPU: gfx942")),
				fixed("mtriple", "amdgcn-amd-amdhsa-hcc"), texts("mattr"),
				atLeastOne("max_num_threads", Default(256)),
				atLeastOne("max_threads_per_block", Default(256)),
				count("max_shared_memory_per_block", Default(65536), Help("bytes")),
				atLeastOne("thread_warp_size", Default(64)),
				WithParser(parseROCm))
		}},
		{"opencl", dlpack.OpenCL, func() []KindOption {
			return append(checks(), DefaultKeys("opencl", "gpu"),
				atLeastOne("max_threads_per_block", Default(256)),
				count("max_shared_memory_per_block", Default(16384), Help("bytes")),
				atLeastOne("max_num_threads", Default(256)),
				atLeastOne("thread_warp_size", Default(1)),
				count("texture_spatial_limit", Default(16384), Help("pixels")),
				count("texture_depth_limit", Default(2048), Help("layers")),
				count("max_function_args", Default(128)),
				count("image_base_address_alignment", Default(64), Help("pixels")),
				text1("device_type", OneOf("cpu", "gpu", "accelerator", "other"),
					Help("what the driver runs kernels on; schedules for cpu use other tiles")),
				texts("extensions", Help("extensions of the device that kernels may use: cl_khr_fp64, cl_khr_subgroup_shuffle; "+
					"empty: not known")),
				WithParser(parseOpenCL))
		}},
		{"metal", dlpack.Metal, func() []KindOption {
			return options(DefaultKeys("metal", "gpu"),
				atLeastOne("max_num_threads", Default(256)),
				atLeastOne("max_threads_per_block", Default(256)),
				count("max_shared_memory_per_block", Default(32768), Help("bytes")),
				atLeastOne("thread_warp_size", Default(16)),
				count("max_function_args", Default(31)))
		}},
		{"vulkan", dlpack.Vulkan, vulkanOptions},
		{"webgpu", dlpack.WebGPU, func() []KindOption {
			return options(DefaultKeys("webgpu", "gpu"),
				atLeastOne("max_num_threads", Default(256)),
				count("max_shared_memory_per_block", Default(32768), Help("bytes")),
				flag("supports_subgroups", Default(false)),
				atLeastOne("thread_warp_size", Default(1), MaxUnless(1, "supports_subgroups")),
				WithParser(parseWebGPU))
		}},
	}
}

func vulkanOptions() []KindOption {
	parts := append(checks(), DefaultKeys("vulkan", "gpu"), texts("mattr", Property("")))
	for _, name := range []string{"float16", "float32", "float64", "int8", "int16", "int32", "int64", "8bit_buffer",
		"16bit_buffer",
		"storage_buffer_storage_class", "push_descriptor", "dedicated_allocation", "integer_dot_product",
		"cooperative_matrix"} {
		if name == "float32" || name == "int32" {
			parts = append(parts, flag("supports_"+name, Default(true)))
			continue
		}
		parts = append(parts, flag("supports_"+name))
	}
	return append(parts,
		flag("supports_float16_rte", Help("shaderRoundingModeRTEFloat16")),
		flag("supports_bfloat16", Help("VK_KHR_shader_bfloat16, with cooperative matrices")),
		count("supported_subgroup_operations", Help("VkSubgroupFeatureFlags")),
		atLeastOne("max_num_threads", Default(256)),
		atLeastOne("max_threads_per_block", Default(256)),
		atLeastOne("thread_warp_size", Default(1)),
		count("max_block_size_x"), count("max_block_size_y"), count("max_block_size_z"),
		count("max_push_constants_size", Help("bytes")),
		count("max_uniform_buffer_range", Help("bytes")),
		count("max_storage_buffer_range", Help("bytes")),
		count("max_per_stage_descriptor_storage_buffer"),
		count("max_shared_memory_per_block", Help("bytes")),
		text1("device_type"), text1("device_name"), text1("driver_name"),
		Option("driver_version", Int), Option("vulkan_api_version", Int), Option("max_spirv_version", Int),
		WithParser(parseVulkan))
}

func otherKinds() []builtin {
	return []builtin{
		{"trn", dlpack.Trn, func() []KindOption {
			return options(count("partition_size"), count("max_sbuf_size_per_partition"), count("max_psum_size_per_partition"),
				atLeastOne("num-cores"))
		}},
		{"ext_dev", dlpack.ExtDev, func() []KindOption { return nil }},
		{"composite", dlpack.CPU, func() []KindOption { return options(Composite()) }},
		{"test", dlpack.CPU, func() []KindOption {
			return options(WithParser(func(c *Config) error {
				c.SetFeature("is_test", true)
				return nil
			}))
		}},
		{"cuda_host", dlpack.CPU, func() []KindOption { return options(DefaultKeys("cpu")) }},
		{"sdaccel", dlpack.OpenCL, func() []KindOption { return options(DefaultKeys("sdaccel", "hls")) }},
		{"aocl", dlpack.AOCL, func() []KindOption { return options(DefaultKeys("aocl", "hls")) }},
		{"aocl_sw_emu", dlpack.AOCL, func() []KindOption { return options(DefaultKeys("aocl", "hls")) }},
		{"stackvm", dlpack.CPU, func() []KindOption { return options(DefaultKeys("cpu")) }},
		{"hybrid", dlpack.CPU, func() []KindOption { return nil }},
	}
}
