package cpufeatures

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const haswellFlags = "fpu sse sse2 pni pclmulqdq ssse3 fma cx16 sse4_1 sse4_2 movbe popcnt aes xsave avx f16c rdrand " +
	"abm bmi1 avx2 bmi2 "

func TestCPUOf(t *testing.T) {
	for _, c := range []struct{ name, arch, info, cpu string }{
		{"intel", "amd64", "vendor_id : GenuineIntel\nflags : " + haswellFlags + "\n", "haswell"},
		{"no AVX-512 although the model has it", "amd64", "vendor_id : GenuineIntel\nmodel : 106\nflags : " + haswellFlags +
			"adx rdseed\n", "skylake"},
		{"amd", "amd64", "vendor_id : AuthenticAMD\nflags : " + haswellFlags + "adx sha_ni sse4a\n", "znver2"},
		{"old", "amd64", "vendor_id : GenuineIntel\nflags : fpu sse sse2\n", "x86-64"},
		{"arm", "arm64", "CPU implementer : 0x41\nCPU part : 0xd0c\n", "neoverse-n1"},
		{"unknown arm", "arm64", "CPU implementer : 0x99\nCPU part : 0xd0c\n", ""},
		{"nothing", "amd64", "", ""},
		{"another architecture", "riscv64", "isa : rv64imafdc\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.cpu, cpuOf(c.arch, c.info).cpu) })
	}
	const level4 = "avx512f avx512bw avx512cd avx512dq avx512vl"
	wide := "vendor_id : AuthenticAMD\nflags : " + haswellFlags + "adx sha_ni sse4a "
	require.Equal(t, "x86-64-v4", cpuOf("amd64", wide+level4+"\n").arch())
	require.Equal(t, "znver2", cpuOf("amd64", wide+"avx512f avx512bw avx512vl\n").arch(), "no AVX512CD")
	require.Equal(t, "znver2", cpuOf("amd64", wide+"\n").arch())
	require.Equal(t, "neoverse-n1", cpuOf("arm64", "CPU implementer : 0x41\nCPU part : 0xd0c\n").arch())
	require.Equal(t, []string{"+avx512vnni"}, cpuOf("amd64", wide+level4+" avx512_vnni avx512_bf16\n").besideArch())
	require.Empty(t, cpuOf("amd64", wide+level4+"\n").besideArch())
	require.Empty(t, cpuOf("arm64", "CPU implementer : 0x41\nCPU part : 0xd0c\n").besideArch())
	const n1 = "fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm lrcpc dcpop asimddp ssbs"
	for _, c := range []struct {
		part, flags, cpu, arch string
		more, beside           []string
	}{
		{"0xd0c", n1, "neoverse-n1", "neoverse-n1", nil, nil},
		{"0xd0c", n1 + " i8mm", "neoverse-n1", "neoverse-n1", []string{"+i8mm"}, []string{"+i8mm"}},
		{"0xd40", n1, "neoverse-v1", "neoverse-v1", []string{"-bf16", "-complxnum", "-i8mm", "-sve"},
			[]string{"-bf16", "-i8mm", "-sve"}}, // a virtual machine
		{"0xfff", "fp asimd atomics sve", "generic", "", []string{"+lse", "+sve"}, nil},
		{"0xfff", "fp asimd", "generic", "", nil, nil},
	} {
		h := cpuOf("arm64", "CPU implementer : 0x41\nCPU part : "+c.part+"\nFeatures : "+c.flags+"\n")
		require.Equal(t, []any{c.cpu, c.arch, c.more, c.beside}, []any{h.cpu, h.arch(), h.more, h.besideArch()}, c.flags)
	}
	more := cpuOf("amd64", "vendor_id : GenuineIntel\nflags : "+haswellFlags+"gfni adx\n").more
	require.Equal(t, []string{"+gfni", "-clflushopt", "-fsgsbase", "-invpcid", "-rdseed", "-xsavec", "-xsaveopt",
		"-xsaves"}, more)
	set, _ := Features("x86_64-linux-gnu", "sapphirerapids", nil)
	flags := "vendor_id : GenuineIntel\nflags : "
	for _, f := range x86Counted {
		linux := f
		for name, llvm := range x86Names {
			if llvm == f {
				linux = name
			}
		}
		if set.Has(f) {
			flags += linux + " "
		}
	}
	rapids := cpuOf("amd64", flags+"uintr\n") // as in a virtual machine
	require.Equal(t, "sapphirerapids", rapids.cpu)
	require.Subset(t, rapids.more, []string{"-avx512vp2intersect", "-enqcmd"})
	require.NotContains(t, rapids.more, "-uintr")
	for _, cpu := range append(append(append([]string{}, x86Intel...), x86AMD...), x86Levels...) {
		require.True(t, ValidCPU("x86_64-linux-gnu", cpu), cpu)
	}
	for _, cpu := range armParts {
		require.True(t, ValidCPU("aarch64-linux-gnu", cpu), cpu)
	}
	for _, f := range x86Counted {
		require.Contains(t, FeatureNames("x86_64-linux-gnu"), f)
	}
}
