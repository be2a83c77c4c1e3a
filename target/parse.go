package target

import "strings"

// What is assumed of GPUs of which nothing is said (ABI.md F.2). A device is asked by from_device alone, on a machine with a card too.
const (
	DefaultCUDAArch = "sm_50"
	DefaultROCmCPU  = "gfx900"
)

func parseCUDA(c *Config) error {
	arch, err := nvidiaArch(c, "arch")
	if err == nil {
		err = c.Set("arch", arch)
	}
	return err
}

func nvidiaArch(c *Config, option string) (string, error) {
	arch := c.Text(option)
	if arch == "" {
		c.Warn(`kind %q without %q: %s is assumed; say which card it is for, by a tag such as "nvidia/h100" or by %s=sm_90a, or ask one by from_device`,
			c.kind.name, option, DefaultCUDAArch, option)
		return DefaultCUDAArch, nil
	}
	digits := strings.TrimRight(strings.TrimPrefix(arch, "sm_"), "af") // sm_90a, sm_100f
	if len(digits) < 2 || len(digits) > 3 || strings.Trim(digits, "0123456789") != "" || len(arch)-len("sm_")-len(digits) > 1 {
		return "", c.Wrong(option, `%s is no compute capability: want sm_ and two or three digits, as in "sm_86" or "sm_90a"`, brief(arch))
	}
	return arch, nil
}

// fixed sets an option that has one possible value.
func fixed(c *Config, name, value string) error {
	if given, ok := c.Value(name); ok && given != value {
		return &Error{Path: child(c.path, name), Err: ErrRange, Expected: brief(value), Found: describe(given)}
	}
	return c.Set(name, value)
}

func parseNVPTX(c *Config) error {
	if err := fixed(c, "mtriple", "nvptx64-nvidia-cuda"); err != nil {
		return err
	}
	arch, err := nvidiaArch(c, "mcpu")
	if err == nil {
		err = c.Set("mcpu", arch)
	}
	return err
}

func parseROCm(c *Config) error {
	if err := fixed(c, "mtriple", "amdgcn-amd-amdhsa-hcc"); err != nil {
		return err
	}
	if c.Text("mcpu") != "" {
		return nil
	}
	c.Warn(`kind "rocm" without "mcpu": %s is assumed; say which GPU it is for, as in mcpu=gfx942`, DefaultROCmCPU)
	return c.Set("mcpu", DefaultROCmCPU)
}

// parseWebGPU knows warps only with subgroups, which have 32 threads then.
func parseWebGPU(c *Config) error {
	subgroups, _ := c.Value("supports_subgroups")
	if subgroups == true {
		return c.Set("thread_warp_size", 32)
	}
	if n, ok := c.Value("thread_warp_size"); ok && n.(int64) > 1 {
		return c.Wrong("thread_warp_size", "%d threads in a warp need subgroups: give supports_subgroups=true as well", n)
	}
	return nil
}

// spirvOf is the newest SPIR-V that each version of Vulkan takes, as both are encoded: 1.3 in 0x00403000 and 0x00010600.
var spirvOf = []struct{ vulkan, spirv int64 }{{0x00403000, 0x10600}, {0x00402000, 0x10500}, {0x00401000, 0x10300}, {0x00400000, 0x10000}}

// parseVulkan completes what follows from the version.
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
		c.Warn("image_base_address_alignment=%d is no power of two", n)
	}
	return nil
}

// warnOfBlocks speaks of blocks that could not be launched.
func warnOfBlocks(c *Config) {
	warp, given := c.Value("thread_warp_size")
	if most, ok := c.Value("max_threads_per_block"); ok && given && warp.(int64) > most.(int64) {
		c.Warn("thread_warp_size=%d is more than max_threads_per_block=%d", warp, most)
	}
}
