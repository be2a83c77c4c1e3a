package cpufeatures

import (
	"fmt"
	"strings"
)

// Arch is an architecture under LLVM's name, however the triple spells it.
type Arch string

// The architectures with tables of CPUs. Others are accepted in triples, and have no features.
const (
	I386      Arch = "i386"
	X8664     Arch = "x86_64"
	AArch64   Arch = "aarch64"
	AArch64BE Arch = "aarch64_be"
	AArch6432 Arch = "aarch64_32"
	ARM       Arch = "arm"
	ARMEB     Arch = "armeb"
	Thumb     Arch = "thumb"
	ThumbEB   Arch = "thumbeb"
	RISCV32   Arch = "riscv32"
	RISCV64   Arch = "riscv64"
	RISCV32BE Arch = "riscv32be"
	RISCV64BE Arch = "riscv64be"
)

// architectures maps spellings to architectures, except for arm, which has too many spellings to list.
var architectures = map[string]Arch{
	"i386": I386, "i486": I386, "i586": I386, "i686": I386, "i786": I386, "i886": I386, "i986": I386,
	"x86_64": X8664, "x86_64h": X8664, "amd64": X8664,
	"aarch64": AArch64, "arm64": AArch64, "arm64e": AArch64, "arm64ec": AArch64, "aarch64_lfi": AArch64,
	"aarch64_be": AArch64BE,
	"aarch64_32": AArch6432, "arm64_32": AArch6432,
	"riscv32": RISCV32, "riscv64": RISCV64, "riscv32be": RISCV32BE, "riscv64be": RISCV64BE,
	"wasm32": "wasm32", "wasm64": "wasm64", "hexagon": "hexagon", "nvptx": "nvptx", "nvptx64": "nvptx64",
	"amdgcn": "amdgcn", "r600": "r600", "spirv": "spirv", "spirv32": "spirv32", "spirv64": "spirv64",
	"bpf": "bpf", "bpfel": "bpfel", "bpfeb": "bpfeb",
	"powerpc": "powerpc", "ppc": "powerpc", "ppc32": "powerpc", "powerpcle": "powerpcle", "ppcle": "powerpcle",
	"ppc32le":   "powerpcle",
	"powerpc64": "powerpc64", "ppu": "powerpc64", "ppc64": "powerpc64", "powerpc64le": "powerpc64le",
	"ppc64le": "powerpc64le",
	"mips":    "mips", "mipseb": "mips", "mipsel": "mipsel", "mips64": "mips64",
	"mips64eb": "mips64", "mips64el": "mips64el",
	"sparc": "sparc", "sparcel": "sparcel", "sparcv9": "sparcv9", "sparc64": "sparcv9", "s390x": "s390x",
	"systemz":     "s390x",
	"loongarch32": "loongarch32", "loongarch64": "loongarch64", "avr": "avr", "msp430": "msp430", "m68k": "m68k",
	"xtensa": "xtensa",
	"csky":   "csky", "arc": "arc", "ve": "ve", "lanai": "lanai", "xcore": "xcore",
}

// Triple is a parsed target triple.
type Triple struct {
	Arch        Arch
	SubArch     string // arm: the version of the architecture as the triple spells it, such as v7a; else empty
	Vendor      string // empty if missing
	OS          string // as the triple spells it, with an optional version; empty if missing
	Environment string // the ABI, or whatever follows the OS
}

// Parse parses a triple, arch-vendor-os-environment. The vendor, and everything after it, may be missing.
func Parse(triple string) (Triple, error) {
	parts := strings.SplitN(triple, "-", 4)
	var t Triple
	var ok bool
	if t.Arch, t.SubArch, ok = architecture(parts[0]); !ok {
		return Triple{}, fmt.Errorf("parse target triple %q: %q is not a known architecture: triples look like "+
			"x86_64-unknown-linux-gnu", triple, parts[0])
	}
	parts = parts[1:]
	if len(parts) > 0 && !isOS(parts[0]) {
		t.Vendor, parts = parts[0], parts[1:]
	}
	if len(parts) > 0 {
		t.OS, t.Environment = parts[0], strings.Join(parts[1:], "-")
	}
	return t, nil
}

// parse is Parse, but the empty triple is this machine's.
func parse(triple string) (Triple, error) {
	if triple == "" {
		triple = HostTriple()
	}
	return Parse(triple)
}

// architecture parses the first word of a triple; for arm it also returns the version of the architecture.
func architecture(word string) (arch Arch, version string, ok bool) {
	if arch, ok = architectures[word]; ok {
		return arch, "", true
	}
	version, thumb := strings.CutPrefix(word, "thumb")
	if !thumb {
		version = strings.TrimPrefix(word, "arm")
	}
	version, big := strings.CutPrefix(version, "eb")
	if !big {
		version, big = strings.CutSuffix(version, "eb")
	}
	known := version == "" || armVersion(version)
	if !thumb && !strings.HasPrefix(word, "arm") {
		known = version == "xscale"
	}
	if thumb && (strings.HasPrefix(version, "v2") || strings.HasPrefix(version, "v3")) {
		known = false // thumb was introduced later
	}
	if !known {
		return "", "", false
	}
	thumb = thumb || version == "v6m" || version == "v6sm" // these support only thumb
	switch {
	case thumb && big:
		return ThumbEB, version, true
	case thumb:
		return Thumb, version, true
	case big:
		return ARMEB, version, true
	}
	return ARM, version, true
}

// armVersion reports whether a word can be an arm version: a v and a number, followed by anything, because new versions
// appear every year.
func armVersion(word string) bool {
	return len(word) > 1 && word[0] == 'v' && word[1] >= '0' && word[1] <= '9' && !strings.HasSuffix(word, "eb")
}

// isOS reports whether a word is the name of an operating system, for triples without a vendor.
func isOS(word string) bool {
	switch strings.TrimRight(word, "0123456789.") {
	case "linux", "none", "windows", "win", "darwin", "macos", "macosx", "ios", "tvos", "watchos", "xros", "freebsd",
		"netbsd", "openbsd",
		"fuchsia", "android", "wasi", "emscripten", "cuda", "amdhsa", "solaris", "nacl", "elf", "eabi", "uefi", "qnx",
		"rtems", "zephyr":
		return true
	}
	return false
}

// cpu returns the table's name of a CPU: riscv has a generic CPU for each size.
func (t Triple) cpu(name string) string {
	if name == generic {
		switch t.Arch {
		case RISCV32, RISCV32BE:
			return "generic-rv32"
		case RISCV64, RISCV64BE:
			return "generic-rv64"
		}
	}
	return name
}

// attrs returns the attributes that the triple implies, which apply before those of the target.
func (t Triple) attrs(table *table, cpu string) (attrs []string) {
	switch t.Arch {
	case X8664:
		return []string{"+64bit-mode", "+sse2"}
	case I386:
		if t.Environment == "code16" {
			return []string{"+16bit-mode"}
		}
		return []string{"+32bit-mode"}
	case ARM, ARMEB, Thumb, ThumbEB:
		if cpu == generic {
			for feature := range strings.FieldsSeq(table.archs[t.SubArch]) {
				attrs = append(attrs, "+"+feature)
			}
		}
		if t.Arch == Thumb || t.Arch == ThumbEB {
			attrs = append(attrs, "+thumb-mode", "+v4t")
		}
		if os := strings.TrimRight(t.OS, "0123456789."); os == "windows" || os == "win" {
			attrs = append(attrs, "+noarm")
		}
	}
	return attrs
}
