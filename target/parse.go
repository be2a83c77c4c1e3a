package target

// Assumptions about GPUs whose properties are not given (docs/abi.md F.2). Only from_device queries a device, even if
// the machine has one.
const (
	DefaultCUDAArch = "sm_50"
	DefaultROCmCPU  = "gfx900"
)

func parseCUDA(c *Config) error { return assumeArch(c, "arch") }

func parseNVPTX(c *Config) error { return assumeArch(c, "mcpu") }

// assumeArch sets the option for the compute capability if it is not given.
func assumeArch(c *Config, option string) error {
	if c.Text(option) != "" {
		return nil
	}
	c.Warn(`kind %q without %q: %s is assumed; name the GPU by a tag such as "nvidia/h100" or by `+
		`%s=sm_90a, or query a device with from_device`,
		c.kind.name, option, DefaultCUDAArch, option)
	return c.Set(option, DefaultCUDAArch)
}

func parseROCm(c *Config) error {
	if c.Text("mcpu") != "" {
		return nil
	}
	c.Warn(`kind "rocm" without "mcpu": %s is assumed; name the GPU, as in mcpu=gfx942`, DefaultROCmCPU)
	return c.Set("mcpu", DefaultROCmCPU)
}

// parseWebGPU sets the warp size, which WebGPU has only with subgroups; it is then 32.
func parseWebGPU(c *Config) error {
	if subgroups, _ := c.Value("supports_subgroups"); subgroups == true {
		return c.Set("thread_warp_size", 32)
	}
	return nil
}

// spirvOf lists the newest SPIR-V version that each version of Vulkan accepts, both as they are encoded: 1.3 is
// 0x00403000 for Vulkan, 1.6 is 0x00010600 for SPIR-V.
var spirvOf = []struct{ vulkan, spirv int64 }{{0x00403000, 0x10600}, {0x00402000, 0x10500}, {0x00401000, 0x10300},
	{0x00400000, 0x10000}}

// parseVulkan sets the options that follow from the version of Vulkan.
func parseVulkan(c *Config) error {
	warnOfBlocks(c)
	version, ok := c.Value("vulkan_api_version")
	if _, given := c.Value("max_spirv_version"); given || !ok {
		return nil
	}
	for _, v := range spirvOf {
		if version.(int64) >= v.vulkan {
			return c.Set("max_spirv_version", v.spirv)
		}
	}
	return nil
}

func parseOpenCL(c *Config) error {
	warnOfBlocks(c)
	if n, ok := c.Value("image_base_address_alignment"); ok && n.(int64)&(n.(int64)-1) != 0 {
		c.Warn("image_base_address_alignment=%d is not a power of two", n)
	}
	return nil
}

// warnOfBlocks warns about blocks that could not be launched.
func warnOfBlocks(c *Config) {
	warp, given := c.Value("thread_warp_size")
	if most, ok := c.Value("max_threads_per_block"); ok && given && warp.(int64) > most.(int64) {
		c.Warn("thread_warp_size=%d is more than max_threads_per_block=%d", warp, most)
	}
}
