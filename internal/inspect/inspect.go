package inspect

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"tvmgo/blob"
)

// Contents is a report with the bytes that it describes.
type Contents struct {
	*Report
	// Raw is the blob with its length prefix, possibly truncated; nil if there is none.
	Raw []byte
	// Parsed is the parsed Raw; nil if it cannot be parsed.
	Parsed *blob.Blob
	// Damage lists the problems because of which something could not be read. The report may have more problems.
	Damage []string
	// Segments are the parts of the file that a loader maps, in their order.
	Segments []Segment

	code bool // WithCode was given
}

// Option is an option of an inspection.
type Option func(*Contents)

// WithCode adds the instructions and the constants of Relax executables, and the nodes of graphs, to the report.
func WithCode() Option { return func(c *Contents) { c.code = true } }

// Segment is a part of the file that is mapped.
type Segment struct {
	Address    uint64 // the address in the file's headers
	Memory     uint64 // size in bytes: Data, then zeros
	Executable bool
	Data       *io.SectionReader // without the header's fields of the section table
}

// File inspects the library at a path.
func File(path string, options ...Option) (*Report, error) {
	var report *Report
	err := WithContents(path, func(c *Contents) error { report = c.Report; return nil }, options...)
	return report, err
}

// WithContents inspects the library at a path and passes its contents to visit. The segments are read from the file,
// which is open until visit returns.
func WithContents(path string, visit func(*Contents) error, options ...Option) error {
	f, size, err := open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	c, err := read(path, f, size, options...)
	if err != nil {
		return err
	}
	return visit(c)
}

func open(path string) (*os.File, int64, error) {
	info, err := os.Stat(path) // opening a pipe would wait
	if err != nil {
		return nil, 0, openError(path, err)
	}
	if info.IsDir() {
		return nil, 0, fmt.Errorf("%s: a directory: give the library in it", path)
	}
	if !info.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("%s: not a regular file: copy it to one", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, openError(path, err)
	}
	return f, info.Size(), nil
}

func openError(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: no such file: check the path", path)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s: permission denied: make it readable", path)
	}
	var cause *fs.PathError
	if errors.As(err, &cause) {
		err = cause.Err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// Read inspects a library of size bytes. name is the file's name in the report and in messages.
func Read(name string, r io.ReaderAt, size int64, options ...Option) (*Report, error) {
	c, err := read(name, r, size, options...)
	if err != nil {
		return nil, err
	}
	return c.Report, nil
}

func read(name string, r io.ReaderAt, size int64, options ...Option) (*Contents, error) {
	l, isLinked, err := readLinked(name, r, size)
	if err != nil {
		return nil, err
	}
	if isLinked {
		return l.contents(options), nil
	}
	m, err := openImage(name, r, size)
	if err != nil {
		return nil, err
	}
	d, err := m.readDynamic()
	if err != nil {
		return nil, err
	}
	return contents(m, d, options), nil
}

// contents makes the contents of an object or an archive.
func (l *linked) contents(options []Option) *Contents {
	if l.image.File == nil { // only sources
		return &Contents{Report: &Report{File: l.image.name, Size: l.image.size, Members: l.members,
			Functions: []Function{}, ContextSlots: []string{},
			RuntimeImports: []string{}, OtherImports: []string{}, Libraries: []string{}, Problems: []string{},
			Generation: Plain}}
	}
	c := contents(l.image, &dynamic{symbols: l.resolved()}, options)
	c.Members = l.members
	return c
}

func contents(m *image, d *dynamic, options []Option) *Contents {
	name, size := m.name, m.size
	report := &Report{File: name, Size: size, Architecture: architecture(m.Machine), Bits: 8 * m.width(),
		ByteOrder: "little", Generation: generationOf(d.symbols), Libraries: sorted(d.needed), Problems: []string{}}
	if m.Data == elf.ELFDATA2MSB {
		report.ByteOrder = "big"
	}
	c := &Contents{Report: report}
	for _, o := range options {
		o(c)
	}
	if m.truncated {
		c.damage("truncated: its section table is missing, though what is loaded is there: ", exportAgain)
	}
	if report.Generation == V21 {
		report.problem("exported by TVM v0.21, whose calling convention no other version shares: export it again with " +
			"v0.20 or " +
			"older, or v0.22 or newer")
	}
	report.addSymbols(m, d.symbols)
	report.addSignatures(m)
	c.addBlob(m, d.symbols)
	for _, p := range m.loads {
		c.Segments = append(c.Segments, Segment{Address: p.Vaddr, Memory: p.Memsz, Executable: p.Flags&elf.PF_X != 0,
			Data: io.NewSectionReader(p, 0, int64(p.Filesz))})
	}
	return c
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
