package cpufeatures

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	for triple, want := range map[string]Triple{
		"x86_64-unknown-linux-gnu":  {Arch: X8664, Vendor: "unknown", OS: "linux", Environment: "gnu"},
		"x86_64-conda-linux-gnu":    {Arch: X8664, Vendor: "conda", OS: "linux", Environment: "gnu"},
		"amd64":                     {Arch: X8664},
		"i686-pc-windows-msvc":      {Arch: I386, Vendor: "pc", OS: "windows", Environment: "msvc"},
		"aarch64-linux-gnu":         {Arch: AArch64, OS: "linux", Environment: "gnu"},
		"arm64-apple-macos14.2":     {Arch: AArch64, Vendor: "apple", OS: "macos14.2"},
		"aarch64_be-none-elf":       {Arch: AArch64BE, OS: "none", Environment: "elf"},
		"armv7a-linux-gnueabihf":    {Arch: ARM, SubArch: "v7a", OS: "linux", Environment: "gnueabihf"},
		"armebv7-linux":             {Arch: ARMEB, SubArch: "v7", OS: "linux"},
		"armv7eb-linux":             {Arch: ARMEB, SubArch: "v7", OS: "linux"},
		"armv8l-linux":              {Arch: ARM, SubArch: "v8l", OS: "linux"},
		"armv6m-none-eabi":          {Arch: Thumb, SubArch: "v6m", OS: "none", Environment: "eabi"},
		"thumbv8m.main-none-eabi":   {Arch: Thumb, SubArch: "v8m.main", OS: "none", Environment: "eabi"},
		"thumbeb":                   {Arch: ThumbEB},
		"xscaleeb-linux":            {Arch: ARMEB, SubArch: "xscale", OS: "linux"},
		"riscv64-unknown-linux-gnu": {Arch: RISCV64, Vendor: "unknown", OS: "linux", Environment: "gnu"},
		"riscv32":                   {Arch: RISCV32},
		"wasm32":                    {Arch: "wasm32"},
		"hexagon":                   {Arch: "hexagon"},
		"nvptx64-nvidia-cuda":       {Arch: "nvptx64", Vendor: "nvidia", OS: "cuda"},
		"amdgcn-amd-amdhsa-hcc":     {Arch: "amdgcn", Vendor: "amd", OS: "amdhsa", Environment: "hcc"},
		"x86_64-a-b-c-d":            {Arch: X8664, Vendor: "a", OS: "b", Environment: "c-d"},
	} {
		got, err := Parse(triple)
		require.NoError(t, err, triple)
		require.Equal(t, want, got, triple)
	}
}

func TestParse_NoArchitecture(t *testing.T) {
	for _, triple := range []string{"", "-", "conda", "X86_64-linux", "AARCH64", "armfoo-linux", "armebv7eb", "thumbv2",
		"thumbxscale", "armxscale", "aarch64foo", "arm64be",
		"i286", "i1086", "x86", "riscv64gc", "eb", "linux-x86_64", "v7"} {
		_, err := Parse(triple)
		require.ErrorContains(t, err, "is not a known architecture: triples look like x86_64-unknown-linux-gnu", triple)
	}
}

// The answers for a target are consistent with each other.
func FuzzFeatures(f *testing.F) {
	for _, seed := range [][3]string{{"x86_64-unknown-linux-gnu", "haswell", "+avx512f,-sse2"},
		{"armebv7eb-windows", "generic", "+,-,+-x"}, {"thumbv6m", "cortex-m4+nodsp", ""},
		{"riscv64", "", "+zvl1024b,+v"}, {"-", "-", "-"}} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, triple, cpu, attr string) {
		set, known := Features(triple, cpu, []string{attr})
		names := set.Names()
		require.True(t, slices.IsSorted(names))
		if known && cpu != "" {
			require.True(t, ValidCPU(triple, cpu))
		}
		for _, name := range names { // adding a present feature changes nothing
			more, _ := Features(triple, cpu, []string{attr, "+" + name})
			require.Equal(t, names, more.Names())
		}
		Arm(triple, cpu, []string{attr})
		_, err := Parse(triple)
		require.False(t, known && err != nil && triple != "")
	})
}
