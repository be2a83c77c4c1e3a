package cpufeatures

import (
	"cmp"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// FeatureNames returns the features that the triple's architecture has names for; none if it has no table.
func FeatureNames(triple string) []string {
	t, err := parse(triple)
	if err != nil {
		return nil
	}
	table := tableOf(t.Arch)
	if table == nil {
		return nil
	}
	return table.features
}

// HostCPU returns this machine's CPU as LLVM names it: the newest known CPU whose features the machine has, and the
// differences: features that the machine has in addition (+) or lacks (-). The information comes from the operating
// system. Names that old compilers do not know are not used, so the features matter more than the model. cpu is "" if
// it cannot be determined.
func HostCPU() (cpu string, more []string) {
	h := host()
	return h.cpu, slices.Clone(h.more)
}

// HostArch returns the name of this machine's instruction set, for options that take a name and no features, as GCC's
// -march: the CPU that HostCPU names, or a level of x86-64 if the machine has wider vectors than that CPU; "" if there
// is no name.
func HostArch() string { return host().arch() }

// BesideHostArch returns how this machine's features differ from those of HostArch: on x86, features that it has in
// addition and whose instructions generated code contains by name ("+avx512vnni"); on Arm, all that compilers know,
// also those that a virtual machine lacks ("-sve").
func BesideHostArch() []string { return host().besideArch() }

// x86Written are the features whose instructions generated code contains by name.
var x86Written = []string{"avx512vnni", "avxvnni"}

func (h hostCPU) besideArch() (more []string) {
	if h.isArm {
		if h.arch() == "" {
			return nil
		}
		return slices.DeleteFunc(slices.Clone(h.more), func(name string) bool {
			return strings.HasSuffix(name, "complxnum") // GCC has no name for it
		})
	}
	named, known := Features("x86_64-linux-gnu", h.arch(), nil)
	own, _ := Features("x86_64-linux-gnu", h.cpu, h.more)
	for _, name := range x86Written {
		if known && own.Has(name) && !named.Has(name) {
			more = append(more, "+"+name)
		}
	}
	return more
}

type hostCPU struct {
	cpu   string
	more  []string
	isArm bool
}

func (h hostCPU) arch() string {
	if slices.Contains(h.more, "+avx512vl") {
		const level = "x86-64-v4"
		set, _ := Features("x86_64-linux-gnu", level, nil)
		own, _ := Features("x86_64-linux-gnu", h.cpu, h.more)
		if !slices.ContainsFunc(x86Counted, func(name string) bool { return set.Has(name) && !own.Has(name) }) {
			return level
		}
	}
	if h.cpu == generic {
		return ""
	}
	return h.cpu
}

var host = sync.OnceValue(func() hostCPU {
	if runtime.GOOS != "linux" {
		return hostCPU{}
	}
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return hostCPU{}
	}
	return cpuOf(runtime.GOARCH, string(info))
})

// cpuOf parses the operating system's description of a CPU.
func cpuOf(arch, info string) hostCPU {
	fields := map[string]string{}
	for line := range strings.Lines(info) {
		name, value, ok := strings.Cut(line, ":")
		if name = strings.TrimSpace(name); ok && fields[name] == "" { // the first core's
			fields[name] = strings.TrimSpace(value)
		}
	}
	switch arch {
	case "amd64", "386":
		return x86Host(fields["vendor_id"] == "AuthenticAMD", strings.Fields(fields["flags"]))
	case "arm64":
		return armHost(armParts[fields["CPU implementer"]+" "+fields["CPU part"]], strings.Fields(fields["Features"]))
	}
	return hostCPU{}
}

// armParts are CPU names by implementer and part number.
var armParts = map[string]string{
	"0x41 0xd03": "cortex-a53", "0x41 0xd05": "cortex-a55", "0x41 0xd07": "cortex-a57", "0x41 0xd08": "cortex-a72",
	"0x41 0xd09": "cortex-a73", "0x41 0xd0a": "cortex-a75", "0x41 0xd0b": "cortex-a76", "0x41 0xd0c": "neoverse-n1",
	"0x41 0xd0d": "cortex-a77",
	"0x41 0xd40": "neoverse-v1", "0x41 0xd41": "cortex-a78", "0x41 0xd44": "cortex-x1", "0x41 0xd49": "neoverse-n2",
	"0x41 0xd4f": "neoverse-v2",
	"0x46 0x001": "a64fx",
}

// armNames maps names of the Linux kernel to LLVM's, for features whose instructions compilers generate.
var armNames = map[string]string{"asimddp": "dotprod", "asimdhp": "fullfp16", "asimdrdm": "rdm", "atomics": "lse",
	"bf16": "bf16", "fcma": "complxnum", "i8mm": "i8mm", "lrcpc": "rcpc", "sve": "sve", "sve2": "sve2"}

// armHost describes a CPU, "" for one whose name is not known, with the differences of its features. A CPU without a
// name is the generic one, with its features.
func armHost(cpu string, flags []string) hostCPU {
	if len(flags) == 0 {
		return hostCPU{cpu: cpu, isArm: true}
	}
	cpu = cmp.Or(cpu, generic)
	set, _ := Features("aarch64-linux-gnu", cpu, nil)
	var more []string
	for _, linux := range slices.Sorted(maps.Keys(armNames)) {
		has, name := slices.Contains(flags, linux), armNames[linux]
		switch {
		case has && !set.Has(name):
			more = append(more, "+"+name)
		case !has && set.Has(name):
			more = append(more, "-"+name)
		}
	}
	return hostCPU{cpu, more, true}
}

// x86Names maps names of the Linux kernel to LLVM's, for features that generated code uses. Other features have the
// same name in both.
var x86Names = map[string]string{
	"pni": "sse3", "sse4_1": "sse4.1", "sse4_2": "sse4.2", "abm": "lzcnt", "bmi1": "bmi", "pclmulqdq": "pclmul",
	"sha_ni": "sha", "rdrand": "rdrnd", "3dnowprefetch": "prfchw", "avx512_vbmi2": "avx512vbmi2",
	"avx512_vnni": "avx512vnni", "avx512_bitalg": "avx512bitalg",
	"avx512_vpopcntdq": "avx512vpopcntdq", "avx512_bf16": "avx512bf16", "avx512_fp16": "avx512fp16",
	"avx512_vp2intersect": "avx512vp2intersect", "avx_vnni": "avxvnni", "amx_tile": "amx-tile", "amx_int8": "amx-int8",
	"amx_bf16": "amx-bf16", "amx_fp16": "amx-fp16",
}

// x86Counted are the features that decide which CPU it is: those whose instructions compilers generate.
var x86Counted = strings.Fields(`sse3 ssse3 sse4.1 sse4.2 avx avx2 fma f16c bmi bmi2 lzcnt popcnt movbe adx aes
	pclmul sha gfni vaes vpclmulqdq avx512f avx512cd avx512bw avx512dq avx512vl avx512ifma avx512vbmi avx512vbmi2
	avx512vnni avx512bitalg avx512vpopcntdq avx512bf16 avx512fp16 avx512vp2intersect avxvnni amx-tile
	amx-int8 amx-bf16 amx-fp16 fma4 xop tbm sse4a`)

// x86Beside are features that a model has but a machine of that model may lack, as virtual machines do. Linux and LLVM
// have the same names for them.
var x86Beside = strings.Fields(`cldemote clflushopt clwb clzero fsgsbase invpcid movdir64b movdiri mwaitx
	pconfig pku ptwrite rdpid rdseed rtm serialize tsxldtrk waitpkg wbnoinvd xsave xsavec xsaveopt xsaves`)

// x86ByCompiler are features that some compilers give a model and others do not: clang 14 takes these for part of every
// Sapphire Rapids. They are named even if the tables of this package lack them.
var x86ByCompiler = map[string][]string{"sapphirerapids": {"avx512vp2intersect", "enqcmd", "uintr"}}

// The CPUs that HostCPU can return, oldest first. Compilers know all of them since GCC 11 and clang 12.
var (
	x86Common = []string{"x86-64"}
	x86Intel  = []string{"core2", "nehalem", "westmere", "sandybridge", "ivybridge", "haswell", "broadwell", "skylake",
		"skylake-avx512", "cascadelake",
		"cooperlake", "icelake-client", "icelake-server", "tigerlake", "alderlake", "sapphirerapids"}
	x86AMD    = []string{"bdver1", "bdver2", "bdver3", "bdver4", "znver1", "znver2", "znver3"}
	x86Levels = []string{"x86-64-v2", "x86-64-v3", "x86-64-v4"} // for machines that hide their CPU model
)

func x86Host(amd bool, flags []string) hostCPU {
	if len(flags) == 0 {
		return hostCPU{}
	}
	has := map[string]bool{}
	for _, f := range flags {
		if name, other := x86Names[f]; other {
			f = name
		}
		has[f] = slices.Contains(x86Counted, f)
	}
	own := x86Intel
	if amd {
		own = x86AMD
	}
	best, most := hostCPU{}, -1
	for _, cpu := range slices.Concat(x86Levels, x86Common, own) {
		set, known := Features("x86_64-linux-gnu", cpu, nil)
		if !known {
			continue
		}
		common, fits := 0, true
		var more []string
		for _, name := range x86Counted {
			switch {
			case set.Has(name) && has[name]:
				common++
			case set.Has(name):
				fits = false
			case has[name]:
				more = append(more, "+"+name)
			}
		}
		for _, name := range x86Beside {
			if set.Has(name) && !slices.Contains(flags, name) {
				more = append(more, "-"+name)
			}
		}
		for _, name := range x86ByCompiler[cpu] {
			if _, present := has[name]; !present {
				more = append(more, "-"+name)
			}
		}
		if fits && common >= most {
			best, most = hostCPU{cpu: cpu, more: more}, common
		}
	}
	return best
}
