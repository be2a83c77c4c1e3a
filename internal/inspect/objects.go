package inspect

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"path"

	"tvmgo/internal/cc"
	"tvmgo/internal/objects"
	"tvmgo/internal/objects/archive"
)

// Objects, and archives of them, are inspected like the library that a linker would make from them: each section
// becomes a segment.

// Member is a file in an archive.
type Member struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`   // bytes
	Source bool   `json:"source"` // to be compiled; its functions are not known before that
}

// linked combines objects.
type linked struct {
	image   *image // the image of all objects; its file is the first object
	end     uint64 // the end of the addresses in use
	symbols []symbol
	members []Member
}

// readLinked reads an object or an archive; ok is false for a file that is neither.
func readLinked(name string, r io.ReaderAt, size int64) (l *linked, ok bool, err error) {
	head := make([]byte, min(size, 512))
	if n, err := r.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, false, fmt.Errorf("%s: %w", name, err)
	} else {
		head = head[:n]
	}
	l = &linked{image: &image{name: name, size: size}, end: 1 << 12}
	if isObject, _ := objects.IsObject(head); isObject {
		return l, true, l.add(name, r, size)
	}
	if !objects.IsArchive(head) {
		return nil, false, nil
	}
	err = archive.Each(r, size, func(member string, n int64, content io.Reader) error {
		_, isSource := cc.Languages[path.Ext(member)]
		l.members = append(l.members, Member{Name: member, Size: n, Source: isSource})
		if isSource {
			return nil
		}
		var data bytes.Buffer
		if _, err := io.Copy(&data, content); err != nil {
			return err
		}
		if isObject, _ := objects.IsObject(data.Bytes()); !isObject {
			return fmt.Errorf("%.100q in the archive is not an object file", member)
		}
		return l.add(member, bytes.NewReader(data.Bytes()), int64(data.Len()))
	})
	var own damage
	if err != nil && !errors.As(err, &own) {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return l, true, err
}

// damage is an error that already names the file.
type damage struct{ error }

// add adds the sections and symbols of an object.
func (l *linked) add(name string, r io.ReaderAt, size int64) error {
	m := &image{name: name, size: size}
	wrong := func(format string, args ...any) error { return damage{m.damaged(format, args...)} }
	sections, err := readSections(m, r)
	if err != nil {
		return wrong("%v", err)
	}
	if l.image.File == nil {
		l.image.File = m.File
	}
	if m.Machine != l.image.Machine || m.Class != l.image.Class || m.Data != l.image.Data {
		return fmt.Errorf("its objects are for different machines: %s and others", architecture(l.image.Machine))
	}
	base := make([]uint64, len(sections)) // addresses of the loaded sections
	for i, s := range sections {
		if s.flags&uint64(elf.SHF_ALLOC) == 0 {
			continue
		}
		available := uint64(0)
		if s.kind != elf.SHT_NOBITS {
			available = s.size
		}
		base[i] = l.end
		flags := elf.PF_R
		if s.flags&uint64(elf.SHF_EXECINSTR) != 0 {
			flags |= elf.PF_X
		}
		p := &elf.Prog{ProgHeader: elf.ProgHeader{Type: elf.PT_LOAD, Flags: flags, Vaddr: l.end, Filesz: available,
			Memsz: s.size},
			ReaderAt: io.NewSectionReader(r, int64(s.offset), int64(available))}
		l.image.loads = append(l.image.loads, p)
		if l.end += s.size + 1<<12; l.end > 1<<62 {
			return wrong("sections of impossible size")
		}
	}
	for _, s := range sections {
		if s.kind != elf.SHT_SYMTAB {
			continue
		}
		if uint64(s.link) >= uint64(len(sections)) {
			return wrong("its symbols have no names")
		}
		names := sections[s.link]
		part := &image{File: m.File, name: name, size: size, loads: []*elf.Prog{flat(r, s, 0), flat(r, names, 1<<40)}}
		text, err := part.read(1<<40, names.size, "string table")
		if err != nil {
			return damage{err}
		}
		d := &dynamic{}
		if err := part.readSymbols(d, 0, s.size/uint64(symbolSize(m.Class)),
			&nameTable{text: string(text), budget: 4*len(text) + 1<<16}); err != nil {
			return damage{err}
		}
		l.define(d.symbols, base)
	}
	return nil
}

func symbolSize(c elf.Class) int {
	if c == elf.ELFCLASS32 {
		return elf.Sym32Size
	}
	return elf.Sym64Size
}

// flat returns a segment for a section of a file, at an address.
func flat(r io.ReaderAt, s section, at uint64) *elf.Prog {
	return &elf.Prog{ProgHeader: elf.ProgHeader{Type: elf.PT_LOAD, Vaddr: at, Filesz: s.size, Memsz: s.size},
		ReaderAt: io.NewSectionReader(r, int64(s.offset), int64(s.size))}
}

// define adds the symbols that a linker would export or resolve elsewhere.
func (l *linked) define(symbols []symbol, base []uint64) {
	for _, s := range symbols {
		switch {
		case s.name == "" || s.bind == elf.STB_LOCAL:
			continue
		case s.undefined():
		case s.hidden:
			s.kind = elf.STT_FILE // it exists, but no look-up finds it
		case int(s.section) < len(base) && base[s.section] != 0:
			s.value += base[s.section]
		case s.section == elf.SHN_COMMON: // a variable of zeros
			p := &elf.Prog{ProgHeader: elf.ProgHeader{Type: elf.PT_LOAD, Vaddr: l.end, Memsz: 16},
				ReaderAt: bytes.NewReader(nil)}
			l.image.loads = append(l.image.loads, p)
			s.value, s.section = l.end, 1
			l.end += 1 << 12
		default:
			continue
		}
		l.symbols = append(l.symbols, s)
	}
}

// resolved returns the symbols of the library. A symbol that one object lacks may be defined by another one; of weak
// definitions the first is used.
func (l *linked) resolved() []symbol {
	defined := map[string]bool{}
	var all []symbol
	for _, weak := range []bool{false, true} {
		for _, s := range l.symbols {
			if !s.undefined() && (s.bind == elf.STB_WEAK) == weak && !defined[s.name] {
				defined[s.name] = true
				all = append(all, s)
			}
		}
	}
	for _, s := range l.symbols {
		if s.undefined() && !defined[s.name] {
			all = append(all, s)
		}
	}
	return all
}

// section is a row of a section table.
type section struct {
	kind                elf.SectionType
	flags, offset, size uint64
	link                uint32
}

// readSections reads the section table of an object, without the names, because a malicious file could request any
// amount of memory for them.
func readSections(m *image, r io.ReaderAt) ([]section, error) {
	var header [64]byte
	n, err := r.ReadAt(header[:min(m.size, 64)], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if m.File, err = elf.NewFile(&sectionless{r, elf.Class(header[elf.EI_CLASS])}); err != nil {
		return nil, err
	}
	if n < 52 || m.Class == elf.ELFCLASS64 && n < 64 {
		return nil, errors.New("truncated inside its header")
	}
	begin, each, count := uint64(m.ByteOrder.Uint32(header[32:])), uint64(40), uint64(m.ByteOrder.Uint16(header[48:]))
	if m.Class == elf.ELFCLASS64 {
		begin, each, count = m.ByteOrder.Uint64(header[40:]), 64, uint64(m.ByteOrder.Uint16(header[60:]))
	}
	size := uint64(m.size)
	if begin == 0 || begin > size || size-begin < each {
		return nil, errors.New("truncated: its section table is missing")
	}
	row := make([]byte, each)
	read := func(i uint64) (section, error) {
		if _, err := r.ReadAt(row, int64(begin+i*each)); err != nil {
			return section{}, fmt.Errorf("section %d: %w", i, err)
		}
		s := section{kind: elf.SectionType(m.ByteOrder.Uint32(row[4:]))}
		if m.Class == elf.ELFCLASS64 {
			s.flags, s.offset, s.size, s.link = m.ByteOrder.Uint64(row[8:]), m.ByteOrder.Uint64(row[24:]),
				m.ByteOrder.Uint64(row[32:]), m.ByteOrder.Uint32(row[40:])
		} else {
			s.flags, s.offset, s.size, s.link = uint64(m.ByteOrder.Uint32(row[8:])),
				uint64(m.ByteOrder.Uint32(row[16:])),
				uint64(m.ByteOrder.Uint32(row[20:])), m.ByteOrder.Uint32(row[24:])
		}
		return s, nil
	}
	if count == 0 { // the number does not fit into the header
		first, err := read(0)
		if err != nil {
			return nil, err
		}
		count = first.size
	}
	if count > (size-begin)/each {
		return nil, fmt.Errorf("truncated: it has %d sections", count)
	}
	sections := make([]section, 0, count)
	for i := range count {
		s, err := read(i)
		if err != nil {
			return nil, err
		}
		if i > 0 && s.kind != elf.SHT_NULL && s.kind != elf.SHT_NOBITS && (s.offset > size || s.size > size-s.offset) {
			return nil, fmt.Errorf("truncated: section %d has %d bytes at offset %d, the file %d", i, s.size,
				s.offset, size)
		}
		if s.kind == elf.SHT_NOBITS && s.size > 1<<48 {
			return nil, fmt.Errorf("section %d of impossible size", i)
		}
		sections = append(sections, s)
	}
	return sections, nil
}
