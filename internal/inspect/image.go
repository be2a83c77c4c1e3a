package inspect

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"math"

	"tvmgo/internal/memory"
)

const exportAgain = "copy or export it again"

// image is the part of an ELF file that a dynamic linker would map.
type image struct {
	*elf.File
	name  string
	size  int64
	loads []*elf.Prog
	// truncated means that the section table is incomplete, although everything that is loaded is in the file.
	truncated bool
}

func (m *image) damaged(format string, args ...any) error {
	return fmt.Errorf("%s: damaged file: %s: %s", m.name, fmt.Sprintf(format, args...), exportAgain)
}

// openImage reads the headers of a file of size bytes, and checks that the parts that they describe are in the file.
func openImage(name string, r io.ReaderAt, size int64) (*image, error) {
	m := &image{name: name, size: size}
	var header [64]byte // the size for 64-bit files; 32-bit files have a shorter one
	n, err := r.ReadAt(header[:min(size, 64)], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if n < 4 || string(header[:4]) != elf.ELFMAG {
		return nil, fmt.Errorf("%s: not an ELF shared library but %s", name, looksLike(r, size))
	}
	if n < 52 || (elf.Class(header[elf.EI_CLASS]) == elf.ELFCLASS64 && n < 64) {
		return nil, m.damaged("truncated: the file ends after %d bytes, inside its header", size)
	}
	f, err := elf.NewFile(&sectionless{r, elf.Class(header[elf.EI_CLASS])})
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, m.damaged("truncated: the program headers lie beyond the end, after %d bytes", size)
	}
	if err != nil {
		return nil, m.damaged("%v", err)
	}
	m.File = f
	if err := m.checkType(); err != nil {
		return nil, err
	}
	for _, p := range f.Progs {
		if p.Type != elf.PT_LOAD {
			continue
		}
		if p.Off > uint64(size) || p.Filesz > uint64(size)-p.Off {
			return nil, m.damaged("truncated: a segment needs %d bytes from offset %d, the file has %d", p.Filesz,
				p.Off, size)
		}
		if p.Filesz > p.Memsz || p.Memsz > math.MaxUint64-p.Vaddr {
			return nil, m.damaged("a segment of impossible size")
		}
		m.loads = append(m.loads, p)
	}
	end := sectionTableEnd(f, header[:])
	m.truncated = end > uint64(size)
	return m, nil
}

func (m *image) checkType() error {
	switch m.Type {
	case elf.ET_DYN:
		return nil
	case elf.ET_REL:
		return fmt.Errorf("%s: an object file: link it first, with cc -shared", m.name)
	case elf.ET_EXEC:
		return fmt.Errorf("%s: an executable: give a shared library (.so)", m.name)
	case elf.ET_CORE:
		return fmt.Errorf("%s: a core dump: give a shared library (.so)", m.name)
	}
	return m.damaged("unknown ELF type %d", uint16(m.Type))
}

// segmentAt returns the segment that holds the address in its file-backed part, and the bytes from there to the end of
// that part.
func (m *image) segmentAt(vaddr uint64) (*elf.Prog, uint64) {
	for _, p := range m.loads {
		if vaddr >= p.Vaddr && vaddr-p.Vaddr < p.Filesz {
			return p, p.Filesz - (vaddr - p.Vaddr)
		}
	}
	return nil, 0
}

// mapped reports whether the address is in a segment.
func (m *image) mapped(vaddr uint64) bool {
	for _, p := range m.loads {
		if vaddr >= p.Vaddr && vaddr-p.Vaddr < p.Memsz {
			return true
		}
	}
	return false
}

// read returns n bytes at an address. They must be in one segment and in the file, which limits n.
func (m *image) read(vaddr, n uint64, what string) ([]byte, error) {
	p, available := m.segmentAt(vaddr)
	if n > available {
		return nil, m.damaged("%s: %d bytes at %#x lie outside the loaded part", what, n, vaddr)
	}
	if err := memory.Check(int64(n)); err != nil { // the file may consist of holes
		return nil, m.damaged("%s: %v", what, err)
	}
	data := make([]byte, n)
	if n == 0 {
		return data, nil
	}
	if _, err := p.ReadAt(data, int64(vaddr-p.Vaddr)); err != nil {
		return nil, fmt.Errorf("%s: read %s: %w", m.name, what, err)
	}
	return data, nil
}

// sectionless returns a file without its section table. debug/elf would copy the names of the sections, which may
// overlap, so a small file could request any amount of memory.
type sectionless struct {
	r     io.ReaderAt
	class elf.Class
}

func (s *sectionless) ReadAt(p []byte, off int64) (int, error) {
	n, err := s.r.ReadAt(p, off)
	hide := func(begin, end int64) {
		for i := max(begin, off); i < min(end, off+int64(n)); i++ {
			p[i-off] = 0
		}
	}
	if s.class == elf.ELFCLASS64 {
		hide(40, 48) // e_shoff
		hide(60, 64) // e_shnum, e_shstrndx
	} else {
		hide(32, 36)
		hide(48, 52)
	}
	return n, err
}

// sectionTableEnd returns the smallest size of the file according to its header; 0 without a section table.
func sectionTableEnd(f *elf.File, header []byte) uint64 {
	begin, each, count := uint64(0), uint64(0), uint64(0)
	if f.Class == elf.ELFCLASS64 {
		begin = f.ByteOrder.Uint64(header[40:])
		each, count = uint64(f.ByteOrder.Uint16(header[58:])), uint64(f.ByteOrder.Uint16(header[60:]))
	} else {
		begin = uint64(f.ByteOrder.Uint32(header[32:]))
		each, count = uint64(f.ByteOrder.Uint16(header[46:])), uint64(f.ByteOrder.Uint16(header[48:]))
	}
	if begin == 0 {
		return 0
	}
	if begin > math.MaxInt64 {
		return math.MaxUint64
	}
	return begin + each*count
}
