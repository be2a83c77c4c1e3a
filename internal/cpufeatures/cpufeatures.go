// Package cpufeatures has tables of CPU features that replace LLVM: the CPUs of each target triple, and the features
// of a CPU after the attributes of a target ("+avx512f", "-sse2") are applied with all that they imply.
//
// gen/tables.py extracts the tables from LLVM. The rules that are code here (the features that a triple adds, the order
// in which attributes are applied) are LLVM's, too, so that a target describes the CPU for which the compiler will
// generate code. There are tables for x86, aarch64, arm and riscv, of 32 and 64 bits.
package cpufeatures

import (
	"runtime"
	"strings"
)

//go:generate ../../build/.cache/venv/bin/python -B gen/tables.py tables

// generic is the default CPU.
const generic = "generic"

// Features returns the features of a target's CPU. attrs are applied in order: "+x" adds x and all features that x
// implies; any other first character removes x and all features that imply it. Names that the architecture does not
// have are ignored. An empty triple is this machine's, an empty CPU "generic".
//
// known is false if the answer is incomplete: for a CPU that is not in the table, the set is that of "generic"; for an
// architecture without a table, it is empty.
func Features(triple, cpu string, attrs []string) (set Set, known bool) {
	t, err := parse(triple)
	if err != nil {
		return Set{}, false
	}
	table := tableOf(t.Arch)
	if table == nil {
		return Set{}, false
	}
	if cpu == "" {
		cpu = generic
	}
	bits, known := table.cpu(t.cpu(cpu))
	if !known {
		cpu = generic
		bits, _ = table.cpu(t.cpu(cpu))
	}
	for _, attr := range t.attrs(table, cpu) {
		bits = table.apply(bits, attr)
	}
	for _, attr := range attrs {
		for one := range strings.SplitSeq(attr, ",") {
			bits = table.apply(bits, one)
		}
	}
	return Set{table, bits}, known
}

// ValidCPU reports whether the triple's architecture has a CPU of this name.
func ValidCPU(triple, cpu string) bool {
	if t, err := parse(triple); err == nil {
		if table := tableOf(t.Arch); table != nil {
			_, ok := table.find(cpu)
			return ok
		}
	}
	return false
}

// IsArm64CPU reports whether a name is that of a CPU of arm64; "generic" is one of every architecture.
func IsArm64CPU(name string) bool { return name != generic && ValidCPU("aarch64-linux-gnu", name) }

// CPUs returns the CPU names of the triple's architecture, sorted; none if it has no table.
func CPUs(triple string) []string {
	t, err := parse(triple)
	if err != nil {
		return nil
	}
	table := tableOf(t.Arch)
	if table == nil {
		return nil
	}
	names := make([]string, len(table.cpus))
	for i, c := range table.cpus {
		names[i] = c.name
	}
	return names
}

// HostTriple returns the triple of the machine that this program was built for.
func HostTriple() string {
	arch := map[string]string{"386": "i686", "amd64": "x86_64", "arm64": "aarch64", "arm": "armv7l",
		"ppc64le": "powerpc64le",
		"ppc64":   "powerpc64", "loong64": "loongarch64", "wasm": "wasm32"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	switch runtime.GOOS {
	case "linux":
		if runtime.GOARCH == "arm" {
			return arch + "-unknown-linux-gnueabihf"
		}
		return arch + "-unknown-linux-gnu"
	case "darwin":
		if runtime.GOARCH == "arm64" {
			arch = "arm64"
		}
		return arch + "-apple-macos"
	case "windows":
		return arch + "-pc-windows-msvc"
	case "android":
		return arch + "-unknown-linux-android"
	}
	return arch + "-unknown-" + runtime.GOOS
}
