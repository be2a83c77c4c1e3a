// Package elfmachine tells for which machine an ELF file is.
package elfmachine

import (
	"debug/elf"
	goruntime "runtime"
)

// Machine is the machine of an ELF file.
type Machine struct {
	Arch  elf.Machine
	Class elf.Class // 32 or 64 bits
	Data  elf.Data  // the order of bytes
}

var architectures = map[string]elf.Machine{
	"386": elf.EM_386, "amd64": elf.EM_X86_64, "arm": elf.EM_ARM, "arm64": elf.EM_AARCH64, "loong64": elf.EM_LOONGARCH,
	"ppc64": elf.EM_PPC64, "ppc64le": elf.EM_PPC64, "riscv64": elf.EM_RISCV, "s390x": elf.EM_S390,
}

// Host is the machine of this process.
func Host() Machine {
	host := Machine{architectures[goruntime.GOARCH], elf.ELFCLASS32, elf.ELFDATA2LSB}
	if ^uint(0)>>63 == 1 {
		host.Class = elf.ELFCLASS64
	}
	if goruntime.GOARCH == "s390x" || goruntime.GOARCH == "ppc64" {
		host.Data = elf.ELFDATA2MSB
	}
	return host
}

// Of returns the machine of a file.
func Of(f *elf.File) Machine { return Machine{f.Machine, f.Class, f.Data} }
