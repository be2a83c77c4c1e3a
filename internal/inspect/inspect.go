package inspect

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// File inspects the library at a path.
func File(path string) (*Report, error) {
	info, err := os.Stat(path) // opening a pipe would wait
	if err != nil {
		return nil, openError(path, err)
	}
	if info.IsDir() {
		return nil, fmt.Errorf("inspect %s: a directory: give the library in it", path)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("inspect %s: not a regular file: copy it to one", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, openError(path, err)
	}
	defer f.Close()
	return Read(path, f, info.Size())
}

func openError(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("inspect %s: no such file: check the path", path)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("inspect %s: permission denied: make it readable", path)
	}
	return fmt.Errorf("inspect %w", err) // a *PathError names the file
}

// Read inspects a library of size bytes; name is what the report and the messages call it.
func Read(name string, r io.ReaderAt, size int64) (*Report, error) {
	m, err := openImage(name, r, size)
	if err != nil {
		return nil, err
	}
	d, err := m.readDynamic()
	if err != nil {
		return nil, err
	}
	report := &Report{File: name, Size: size, Architecture: architecture(m.Machine), Bits: 8 * m.width(),
		ByteOrder: "little", Generation: generationOf(d.symbols), Libraries: sorted(d.needed), Problems: []string{}}
	if m.Data == elf.ELFDATA2MSB {
		report.ByteOrder = "big"
	}
	if m.truncated {
		report.problem("truncated: its section table is missing, though what is loaded is there: ", exportAgain)
	}
	if report.Generation == V21 {
		report.problem("exported by TVM v0.21, whose calling convention no other version shares: export it again with v0.20 or " +
			"older, or v0.22 or newer")
	}
	report.addSymbols(m, d.symbols)
	report.addBlob(m, d.symbols)
	return report, nil
}

// architecture is the common name of a machine.
func architecture(m elf.Machine) string {
	switch m {
	case elf.EM_X86_64:
		return "x86-64"
	case elf.EM_AARCH64:
		return "aarch64"
	case elf.EM_386:
		return "x86"
	case elf.EM_ARM:
		return "arm"
	case elf.EM_RISCV:
		return "riscv"
	case elf.EM_PPC64:
		return "ppc64"
	case elf.EM_S390:
		return "s390"
	case elf.EM_MIPS:
		return "mips"
	case elf.EM_LOONGARCH:
		return "loongarch"
	case 164:
		return "hexagon"
	}
	return m.String()
}
