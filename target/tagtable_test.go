package target_test

import (
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/target"
)

// TestTags_CUDA checks the table in the appendix of docs/abi.md. A line has the name, arch, registers of a block, and
// the bytes of the L2 cache or "-".
func TestTags_CUDA(t *testing.T) {
	text := must.Get(os.ReadFile("../internal/tagdata/testdata/cuda_tags.txt"))(t)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	require.Len(t, lines, 240)
	for _, line := range lines {
		f := strings.Fields(line)
		got := must.Get(target.New("nvidia/" + f[0]))(t)
		want := map[string]any{"arch": f[1], "max_shared_memory_per_block": int64(49152),
			"max_threads_per_block": int64(1024),
			"thread_warp_size":      int64(32), "max_num_threads": int64(1024)}
		registers := must.Get(strconv.ParseInt(f[2], 10, 64))(t)
		want["registers_per_block"] = registers
		if f[3] != "-" {
			l2 := must.Get(strconv.ParseInt(f[3], 10, 64))(t)
			want["l2_cache_size_bytes"] = l2
		}
		require.Equal(t, want, got.Attrs(), line)
		require.Equal(t, "cuda", got.Kind().Name())
		require.Equal(t, []string{"cuda", "gpu"}, got.Keys())
		require.Equal(t, "nvidia/"+f[0], got.Tag())
		require.Nil(t, got.Host())
		require.Empty(t, got.Warnings(), line)
	}
}

// TestTags_Others checks the other groups of docs/abi.md F.3: the values that their tags set, without the kind's
// defaults and features from its parser.
func TestTags_Others(t *testing.T) {
	// attrs and host: name=value, separated by spaces; [a,b] is a list.
	type row struct{ tag, keys, kind, attrs, host string }
	const jetson = "max_shared_memory_per_block=49152 max_threads_per_block=1024 thread_warp_size=32 " +
		"registers_per_block=65536 arch="
	const linux = "mtriple=aarch64-linux-gnu mcpu="
	rows := []row{
		{"nvidia/jetson-agx-xavier", "cuda gpu", "cuda", jetson + "sm_72", linux + "carmel num-cores=8"},
		{"nvidia/jetson-orin-nano", "cuda gpu", "cuda", jetson + "sm_87", linux + "carmel num-cores=6"},
		{"nvidia/jetson-agx-orin-32gb", "cuda gpu", "cuda", jetson + "sm_87", linux + "cortex-a78 num-cores=8"},
		{"nvidia/jetson-agx-orin-64gb", "cuda gpu", "cuda", jetson + "sm_87", linux + "cortex-a78 num-cores=12"},
		{"raspberry-pi/4b-aarch64", "arm_cpu cpu", "llvm", linux + "cortex-a72 mattr=[+neon] num-cores=4",
			linux + "cortex-a72 mattr=[+neon] num-cores=4"},
		{"apple/m1-gpu", "metal gpu", "metal",
			"max_threads_per_block=1024 max_shared_memory_per_block=32768 thread_warp_size=32",
			"mtriple=arm64-apple-macos mcpu=apple-m1"},
		{"apple/m1-gpu-restricted", "metal gpu", "metal",
			"max_threads_per_block=256 max_shared_memory_per_block=32768 thread_warp_size=32", "mtriple=arm64-apple-macos " +
				"mcpu=apple-m1"},
		{"apple/m2-gpu", "metal gpu", "metal",
			"max_threads_per_block=1024 max_shared_memory_per_block=32768 thread_warp_size=32",
			"mtriple=arm64-apple-macos mcpu=apple-m2"},
		{"aws/trn1/trn1.2xlarge", "", "trn",
			"num-cores=2 partition_size=128 max_sbuf_size_per_partition=196608 max_psum_size_per_partition=16384", ""},
		{"aws/trn1/trn1.32xlarge", "", "trn",
			"num-cores=32 partition_size=128 max_sbuf_size_per_partition=196608 max_psum_size_per_partition=16384", ""},
		{"arm/rk3399", "arm_cpu cpu", "llvm", "device=arm_cpu model=rk3399 mtriple=aarch64-linux-gnu mattr=[+neon]", ""},
		{"arm/rasp4b64", "arm_cpu cpu", "llvm",
			"device=arm_cpu model=bcm2711 mtriple=aarch64-linux-gnu mcpu=cortex-a72 mattr=[+neon]", ""},
		{"riscv/sifive-u54", "riscv_cpu cpu", "llvm",
			"device=riscv_cpu model=sifive-u54 mtriple=riscv64-unknown-linux-gnu mcpu=sifive-u54 mabi=lp64d", ""},
	}
	for name, cores := range map[string]int{"large": 1, "xlarge": 2, "2xlarge": 4, "4xlarge": 8, "9xlarge": 18,
		"12xlarge": 24,
		"18xlarge": 36, "24xlarge": 48} {
		cpu := "skylake-avx512"
		if name == "12xlarge" || name == "24xlarge" {
			cpu = "cascadelake"
		}
		rows = append(rows, row{"aws/cpu/c5." + name, "x86 cpu", "llvm", fmt.Sprintf("mcpu=%s num-cores=%d", cpu, cores), ""})
	}
	for version, vtcm := range map[string]int{"65": 256 << 10, "66": 256 << 10, "68": 4 << 20, "69": 8 << 20,
		"73": 8 << 20, "75": 8 << 20} {
		mattr, options := "+hvxv"+version+",+hvx-length128b", ""
		if version >= "68" {
			mattr += ",+hvx-qfloat,-hvx-ieee-fp"
		}
		if version == "68" {
			options = " llvm-options=[-force-hvx-float]"
		}
		rows = append(rows, row{"qcom/hexagon-v" + version, "hexagon cpu", "hexagon",
			fmt.Sprintf("mtriple=hexagon mcpu=hexagonv%s mattr=[%s] num-cores=4 vtcm-capacity=%d%s", version, mattr, vtcm,
				options), ""})
	}
	for name, keys := range map[string]string{"opencl": "", "opencl-clml": " clml", "opencl-texture": " texture",
		"vulkan":         "",
		"vulkan-texture": " texture"} {
		kind, _, _ := strings.Cut(name, "-")
		rows = append(rows, row{"qcom/adreno-" + name, "adreno " + kind + " gpu" + keys, kind, "device=adreno", ""})
	}
	attrs := func(text string) map[string]any {
		m := map[string]any{}
		for part := range strings.FieldsSeq(text) {
			name, value, _ := strings.Cut(part, "=")
			if n, err := strconv.ParseInt(value, 10, 64); err == nil {
				m[name] = n
			} else if list, ok := strings.CutPrefix(value, "["); ok {
				m[name] = strings.Split(strings.TrimSuffix(list, "]"), ",")
			} else {
				m[name] = value
			}
		}
		return m
	}
	given := func(x *target.Target) map[string]any { // without defaults and features
		m := x.Attrs()
		for _, o := range x.Kind().Options() {
			if o.Default != nil && m[o.Name] == o.Default {
				delete(m, o.Name)
			}
		}
		maps.DeleteFunc(m, func(name string, _ any) bool { return strings.HasPrefix(name, "feature.") })
		return m
	}
	for _, r := range rows {
		got, err := target.New(r.tag)
		require.NoError(t, err, r.tag)
		require.Equal(t, r.kind, got.Kind().Name(), r.tag)
		require.Equal(t, strings.Fields(r.keys), got.Keys(), r.tag)
		require.Equal(t, r.tag, got.Tag())
		want := attrs(r.attrs)
		for _, o := range got.Kind().Options() {
			if o.Default != nil && want[o.Name] == o.Default {
				delete(want, o.Name)
			}
		}
		require.Equal(t, want, given(got), r.tag)
		if r.host == "" {
			require.Nil(t, got.Host(), r.tag)
			continue
		}
		require.Equal(t, attrs(r.host), given(got.Host()), r.tag)
		require.Equal(t, "llvm", got.Host().Kind().Name())
	}
}

func TestTags_BuiltIn(t *testing.T) {
	counts := map[string]int{}
	for _, info := range target.Tags() {
		if !info.BuiltIn {
			continue
		}
		got, err := target.New(info.Name)
		require.NoError(t, err, info.Name)
		require.Equal(t, info.Name, got.Tag())
		require.Equal(t, info.Kind, got.Kind().Name())
		require.Equal(t, info.Keys, got.Keys())
		require.Len(t, info.Hash, 64)
		require.Empty(t, info.Version)
		for _, a := range info.Aliases {
			other, err := target.New(a)
			require.NoError(t, err, a)
			require.True(t, got.Equal(other), a)
		}
		group, _, _ := strings.Cut(info.Name, "-")
		for _, g := range []string{"aws/cpu/c5.", "aws/trn1/", "apple/m", "arm/", "riscv/", "qcom/hexagon", "qcom/adreno",
			"raspberry-pi/"} {
			if strings.HasPrefix(info.Name, g) {
				group = g
			}
		}
		counts[group]++
	}
	for group, want := range map[string]int{"aws/cpu/c5.": 8, "aws/trn1/": 2, "apple/m": 3, "arm/": 11, "riscv/": 6,
		"qcom/hexagon": 6, "qcom/adreno": 5, "raspberry-pi/": 1} {
		require.Equal(t, want, counts[group], group)
	}
}
