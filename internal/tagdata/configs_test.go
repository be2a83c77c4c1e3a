package tagdata

import (
	_ "embed"
	"maps"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

// cuda_tags.txt has a line for each card of Apache TVM: name, arch, registers of a block, and the L2 cache's bytes or
// "-".
//
//go:embed testdata/cuda_tags.txt
var cudaTags string

func TestFind_CudaTagsOfTheReference(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(cudaTags), "\n")
	require.Len(t, lines, 240)
	number := func(s string) int64 {
		return must.Get(strconv.ParseInt(s, 10, 64))(t)
	}
	for _, line := range lines {
		f := strings.Fields(line)
		want := object{"kind": "cuda", "keys": list{"cuda", "gpu"}, "arch": f[1], "registers_per_block": number(f[2]),
			"max_shared_memory_per_block": int64(49152), "max_threads_per_block": int64(1024), "thread_warp_size": int64(32)}
		if f[3] != "-" {
			want["l2_cache_size_bytes"] = number(f[3])
		}
		tag := find(t, "nvidia/"+f[0])
		require.Equal(t, "nvidia/"+f[0], tag.Name)
		require.Equal(t, want, tag.Config, f[0])
	}
}

// host is a CPU for which LLVM makes code, given as alternating names and values.
func host(triple string, rest ...any) object {
	o := object{"kind": "llvm", "mtriple": triple}
	for i := 0; i < len(rest); i += 2 {
		o[rest[i].(string)] = rest[i+1]
	}
	return o
}

func with(base object, rest ...any) object {
	o := maps.Clone(base)
	for i := 0; i < len(rest); i += 2 {
		o[rest[i].(string)] = rest[i+1]
	}
	return o
}

func cuda(arch string, rest ...any) object {
	return with(object{"kind": "cuda", "arch": arch, "max_shared_memory_per_block": int64(49152),
		"max_threads_per_block": int64(1024), "thread_warp_size": int64(32), "registers_per_block": int64(65536)}, rest...)
}

func card(arch string, rest ...any) object {
	return with(cuda(arch, rest...), "keys", list{"cuda", "gpu"})
}

func metal(threads int64, cpu string) object {
	return object{"kind": "metal", "max_threads_per_block": threads, "max_shared_memory_per_block": int64(32768),
		"thread_warp_size": int64(32), "host": host("arm64-apple-macos", "mcpu", cpu)}
}

func ec2(cpu string, cores int64) object {
	return object{"kind": "llvm", "keys": list{"x86", "cpu"}, "mcpu": cpu, "num-cores": cores}
}

func graviton(cpu string, cores int64) object {
	return object{"kind": "llvm", "keys": list{"arm_cpu", "cpu"}, "mtriple": "aarch64-linux-gnu", "mcpu": cpu,
		"num-cores": cores}
}

func hexagon(version string, vtcm int64, mattr ...any) object {
	return object{"kind": "hexagon", "mtriple": "hexagon", "mcpu": "hexagon" + version, "num-cores": int64(4),
		"vtcm-capacity": vtcm,
		"mattr":         append(list{"+hvx" + version, "+hvx-length128b"}, mattr...)}
}

func adreno(kind string, more ...any) object {
	return object{"kind": kind, "device": "adreno", "keys": append(list{"adreno", kind, "gpu"}, more...)}
}

func mali(model, triple string) object {
	return object{"kind": "opencl", "keys": list{"mali", "opencl", "gpu"}, "device": "mali", "model": model,
		"host": host(triple, "mattr", list{"+neon"})}
}

func rocm(mcpu string, warp, shared int64) object {
	return object{"kind": "rocm", "keys": list{"rocm", "gpu"}, "mcpu": mcpu, "thread_warp_size": warp,
		"max_threads_per_block": int64(1024), "max_shared_memory_per_block": shared}
}

const mib = int64(1 << 20)

func TestFind_Configs(t *testing.T) {
	const linux = "aarch64-linux-gnu"
	pi4 := host(linux, "mcpu", "cortex-a72", "mattr", list{"+neon"}, "num-cores", int64(4))
	armCPU := func(model, triple string, rest ...any) object {
		return with(host(triple, rest...), "keys", list{"arm_cpu", "cpu"}, "device", "arm_cpu", "model", model)
	}
	riscv := func(arch, cpu, abi string, rest ...any) object {
		cpuOf := host(arch+"-unknown-linux-gnu", "mcpu", cpu, "mabi", abi)
		return with(with(cpuOf, "keys", list{"riscv_cpu", "cpu"}, "device", "riscv_cpu"), rest...)
	}
	half := list{"+hvx-qfloat", "-hvx-ieee-fp"}
	hard := list{"mfloat-abi", "hard", "num-cores", int64(8)}
	neon := list{"+neon"}
	older := list{"+neon", "+vfp4", "+thumb2"}
	for name, want := range map[string]object{
		// Apache TVM's
		"nvidia/jetson-agx-xavier":    cuda("sm_72", "host", host(linux, "mcpu", "carmel", "num-cores", int64(8))),
		"nvidia/jetson-orin-nano":     cuda("sm_87", "host", host(linux, "mcpu", "carmel", "num-cores", int64(6))),
		"nvidia/jetson-agx-orin-32gb": cuda("sm_87", "host", host(linux, "mcpu", "cortex-a78", "num-cores", int64(8))),
		"nvidia/jetson-agx-orin-64gb": cuda("sm_87", "host", host(linux, "mcpu", "cortex-a78", "num-cores", int64(12))),
		"nvidia/jetson-agx-thor": cuda("sm_110a", "l2_cache_size_bytes", 32*mib, "max_shared_memory_per_block", int64(232448),
			"host", host(linux, "mcpu", "neoverse-v3ae", "num-cores", int64(14))),
		"raspberry-pi/4b-aarch64":    with(pi4, "host", pi4),
		"aws/cpu/c5.large":           ec2("skylake-avx512", 1),
		"aws/cpu/c5.xlarge":          ec2("skylake-avx512", 2),
		"aws/cpu/c5.2xlarge":         ec2("skylake-avx512", 4),
		"aws/cpu/c5.4xlarge":         ec2("skylake-avx512", 8),
		"aws/cpu/c5.9xlarge":         ec2("skylake-avx512", 18),
		"aws/cpu/c5.12xlarge":        ec2("cascadelake", 24),
		"aws/cpu/c5.18xlarge":        ec2("skylake-avx512", 36),
		"aws/cpu/c5.24xlarge":        ec2("cascadelake", 48),
		"apple/m1-gpu":               metal(1024, "apple-m1"),
		"apple/m1-gpu-restricted":    metal(256, "apple-m1"),
		"apple/m2-gpu":               metal(1024, "apple-m2"),
		"qcom/hexagon-v65":           hexagon("v65", mib/4),
		"qcom/hexagon-v66":           hexagon("v66", mib/4),
		"qcom/hexagon-v68":           with(hexagon("v68", 4*mib, half...), "llvm-options", list{"-force-hvx-float"}),
		"qcom/hexagon-v69":           hexagon("v69", 8*mib, half...),
		"qcom/hexagon-v73":           hexagon("v73", 8*mib, half...),
		"qcom/hexagon-v75":           hexagon("v75", 8*mib, half...),
		"qcom/adreno-opencl":         adreno("opencl"),
		"qcom/adreno-opencl-clml":    adreno("opencl", "clml"),
		"qcom/adreno-opencl-texture": adreno("opencl", "texture"),
		"qcom/adreno-vulkan":         adreno("vulkan"),
		"qcom/adreno-vulkan-texture": adreno("vulkan", "texture"),
		"arm/pixel2":                 armCPU("snapdragon835", "arm64-linux-android", "mattr", neon),
		"arm/mate10":                 armCPU("kirin970", "arm64-linux-android", "mattr", neon),
		"arm/rasp3b":                 armCPU("bcm2837", "armv7l-linux-gnueabihf", "mattr", neon),
		"arm/rasp4b":                 armCPU("bcm2711", "armv8l-linux-gnueabihf", "mattr", neon, "mcpu", "cortex-a72"),
		"arm/rasp4b64":               armCPU("bcm2711", linux, "mattr", neon, "mcpu", "cortex-a72"),
		"arm/rk3399":                 armCPU("rk3399", linux, "mattr", neon),
		"arm/pynq":                   armCPU("pynq", "armv7a-linux-eabi", "mattr", neon),
		"arm/ultra96":                armCPU("ultra96", linux, "mattr", neon),
		"arm/beagleai":               armCPU("beagleai", "armv7a-linux-gnueabihf", "mattr", older, "mcpu", "cortex-a15"),
		"arm/stm32mp1":               armCPU("stm32mp1", "armv7a-linux-gnueabihf", "mattr", older, "mcpu", "cortex-a7"),
		"arm/thunderx": armCPU("thunderx", linux, "mattr", list{"+neon", "+crc", "+lse"}, "mcpu",
			"thunderxt88"),
		"riscv/sifive-e31":       riscv("riscv32", "sifive-e31", "ilp32", "model", "sifive-e31"),
		"riscv/sifive-e76":       riscv("riscv32", "sifive-e76", "ilp32", "model", "sifive-e76"),
		"riscv/sifive-u54":       riscv("riscv64", "sifive-u54", "lp64d", "model", "sifive-u54"),
		"riscv/sifive-u74":       riscv("riscv64", "sifive-u74", "lp64d", "model", "sifive-u74"),
		"riscv/licheepi3a":       riscv("riscv64", "spacemit-x60", "lp64d", hard...),
		"riscv/spacemit-k3":      riscv("riscv64", "spacemit-x100", "lp64d", hard...),
		"aws/trn1/trn1.2xlarge":  trn(2),
		"aws/trn1/trn1.32xlarge": trn(32),
		// those of the design proposal
		"nvidia/tx2-cudnn": {"kind": "cuda", "arch": "sm_62", "libs": list{"cudnn"}, "keys": list{"cuda", "gpu"},
			"host": host(linux, "mattr", neon, "system-lib", true)},
		"apple/iphone8-cpu": with(host("arm64-apple-ios", "mcpu", "apple-a11", "mattr", neon), "keys",
			list{"arm_cpu", "cpu"}),
		"aws/cpu/c4.xlarge":   ec2("haswell", 2),
		"rockchip/rk3399-gpu": mali("rk3399", linux),
		// newer ones
		"nvidia/nvidia-h200":            card("sm_90a", "l2_cache_size_bytes", 60*mib),
		"nvidia/nvidia-gh200":           card("sm_90a"),
		"nvidia/nvidia-h800":            card("sm_90a"),
		"nvidia/nvidia-h20":             card("sm_90a"),
		"nvidia/nvidia-a800":            card("sm_80"),
		"nvidia/nvidia-b200":            card("sm_100a", "l2_cache_size_bytes", 253*mib/2),
		"nvidia/nvidia-gb200":           card("sm_100a"),
		"nvidia/nvidia-b300":            card("sm_103a"),
		"nvidia/nvidia-gb300":           card("sm_103a"),
		"nvidia/nvidia-l4":              card("sm_89"),
		"nvidia/nvidia-l40":             card("sm_89"),
		"nvidia/nvidia-l40s":            card("sm_89"),
		"nvidia/rtx-6000-ada":           card("sm_89"),
		"nvidia/rtx-pro-6000-blackwell": card("sm_120", "l2_cache_size_bytes", 128*mib),
		"nvidia/geforce-rtx-4080":       card("sm_89", "l2_cache_size_bytes", 64*mib),
		"nvidia/geforce-rtx-4070-ti":    card("sm_89", "l2_cache_size_bytes", 48*mib),
		"nvidia/geforce-rtx-4070":       card("sm_89", "l2_cache_size_bytes", 36*mib),
		"nvidia/geforce-rtx-4060-ti":    card("sm_89", "l2_cache_size_bytes", 32*mib),
		"nvidia/geforce-rtx-4060":       card("sm_89", "l2_cache_size_bytes", 24*mib),
		"nvidia/geforce-rtx-5090":       card("sm_120", "l2_cache_size_bytes", 96*mib),
		"nvidia/geforce-rtx-5080":       card("sm_120", "l2_cache_size_bytes", 64*mib),
		"nvidia/geforce-rtx-5070":       card("sm_120"),
		"amd/mi210":                     rocm("gfx90a", 64, 64<<10),
		"amd/mi250x":                    rocm("gfx90a", 64, 64<<10),
		"amd/mi300x":                    rocm("gfx942", 64, 64<<10),
		"amd/mi355x":                    rocm("gfx950", 64, 160<<10),
		"amd/radeon-rx-7900-xtx":        rocm("gfx1100", 32, 64<<10),
		"rockchip/rk3588-gpu":           mali("rk3588", linux),
		"hisilicon/kirin970-gpu":        mali("kirin970", "arm64-linux-android"),
		"samsung/exynos5422-gpu":        mali("exynos5422", "armv7l-linux-gnueabihf"),
		"aws/cpu/c6i.32xlarge":          ec2("icelake-server", 64),
		"aws/cpu/c7i.48xlarge":          ec2("sapphirerapids", 96),
		"aws/cpu/c6g.medium":            graviton("neoverse-n1", 1),
		"aws/cpu/c7g.16xlarge":          graviton("neoverse-v1", 64),
	} {
		tag := find(t, name)
		require.Equal(t, name, tag.Name)
		require.Equal(t, want, tag.Config, name)
	}
}

func trn(cores int64) object {
	return object{"kind": "trn", "num-cores": cores, "partition_size": int64(128),
		"max_sbuf_size_per_partition": int64(196608), "max_psum_size_per_partition": int64(16384)}
}
