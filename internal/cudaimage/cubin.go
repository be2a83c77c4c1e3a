package cudaimage

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
)

// The parts of ELF that are read: 64-bit, little-endian.
const (
	elfHeader     = 64
	sectionHeader = 64
	symbolSize    = 24
	machineCUDA   = 190
	sectionSymtab = 2
	sectionNote   = 7
	symbolFunc    = 2
	symbolEntry   = 0x10 // in st_other: the symbol is a kernel, not a device function
	maxName       = 4 << 10
)

// section is an entry of the section table of an image.
type section struct {
	name, kind, link uint32
	offset, size     uint64
	image            []byte
	number           int
}

// data returns the section's bytes.
func (s section) data() ([]byte, error) {
	if s.offset > uint64(len(s.image)) || s.size > uint64(len(s.image))-s.offset {
		return nil, fmt.Errorf("section %d lies outside of the %d bytes", s.number, len(s.image))
	}
	return s.image[s.offset : s.offset+s.size], nil
}

// cubin reads the architecture and the kernels from a cubin.
func cubin(image []byte) (Part, error) {
	p := Part{Format: CUBIN}
	le := binary.LittleEndian
	if len(image) < elfHeader {
		return p, fmt.Errorf("the image has %d bytes, which is less than an ELF header", len(image))
	}
	if image[4] != 2 || image[5] != 1 {
		return p, fmt.Errorf("the ELF is not 64-bit and little-endian")
	}
	if machine := le.Uint16(image[18:]); machine != machineCUDA {
		return p, fmt.Errorf("the ELF is for machine %d, not for an NVIDIA GPU (%d)", machine, machineCUDA)
	}
	flags := le.Uint32(image[48:])
	number := flags & 0xff
	if image[8] >= 8 { // the version of the ABI, since CUDA 12.8
		number = flags >> 8 & 0xff
	}
	if number == 0 {
		return p, fmt.Errorf("its flags %#x name no architecture", flags)
	}
	p.Arch = fmt.Sprintf("sm_%d", number)
	if image[8] < 8 && flags&0x800 != 0 {
		p.Arch += "a"
	}
	sections, err := sectionsOf(image)
	if err != nil {
		return p, err
	}
	for _, s := range sections {
		if s.kind != sectionNote {
			continue
		}
		data, err := s.data()
		if err != nil {
			return p, err
		}
		if a, ok := archOption(string(data[:min(len(data), maxName)])); ok && a.Number == int(number) {
			p.Arch = fmt.Sprintf("sm_%d%s", a.Number, a.Letter)
		}
	}
	used, err := usageOf(image, sections, p.Arch, int(number))
	if err != nil {
		return p, err
	}
	for _, s := range sections {
		if s.kind != sectionSymtab {
			continue
		}
		if s.link >= uint32(len(sections)) {
			return p, fmt.Errorf("section %d has its names in section %d, but the image has %d sections",
				s.number, s.link, len(sections))
		}
		kernels, err := entries(s, sections[s.link], used)
		if err != nil {
			return p, err
		}
		p.Kernels = append(p.Kernels, kernels...)
	}
	recorded(image, p.Kernels)
	return p, nil
}

// archOption returns the architecture in the note section that names the compiler and its options. The ELF flags have
// only the number of the architecture, not the letter of "sm_90a".
func archOption(note string) (a Arch, ok bool) {
	for _, text := range strings.Split(note, "-arch")[1:] {
		if text == "" || text[0] != '=' && text[0] != ' ' {
			continue
		}
		end := strings.IndexAny(text[1:], " \x00")
		if end < 0 {
			continue
		}
		if a, ok = ParseArch(text[1:][:end]); ok && !a.Virtual {
			return a, true
		}
	}
	return Arch{}, false
}

// sectionsOf reads the section table.
func sectionsOf(image []byte) ([]section, error) {
	le := binary.LittleEndian
	at, size, count := le.Uint64(image[40:]), uint64(le.Uint16(image[58:])), uint64(le.Uint16(image[60:]))
	if count == 0 {
		return nil, nil
	}
	if size != sectionHeader {
		return nil, fmt.Errorf("its section headers have %d bytes, not %d", size, sectionHeader)
	}
	if at > uint64(len(image)) || count*size > uint64(len(image))-at {
		return nil, fmt.Errorf("its %d section headers lie outside of the %d bytes", count, len(image))
	}
	list := make([]section, count)
	for i := range list {
		h := image[at+uint64(i)*size:]
		list[i] = section{name: le.Uint32(h), kind: le.Uint32(h[4:]), link: le.Uint32(h[40:]),
			offset: le.Uint64(h[24:]), size: le.Uint64(h[32:]), image: image, number: i}
	}
	return list, nil
}

// entries lists the kernels in a symbol table.
func entries(table, names section, used *usage) ([]Kernel, error) {
	symbols, err := table.data()
	if err != nil {
		return nil, err
	}
	data, err := names.data()
	if err != nil {
		return nil, err
	}
	text := string(data) // one copy, of which the names are substrings
	var list []Kernel
	for number := uint32(0); len(symbols) >= symbolSize; number, symbols = number+1, symbols[symbolSize:] {
		name, defined := binary.LittleEndian.Uint32(symbols), binary.LittleEndian.Uint16(symbols[6:]) != 0
		if symbols[4]&0xf != symbolFunc || symbols[5]&symbolEntry == 0 || !defined {
			continue
		}
		if uint64(name) >= uint64(len(text)) {
			return nil, fmt.Errorf("a kernel's name begins at byte %d, but the names have %d bytes", name, len(text))
		}
		rest := text[name:min(len(text), int(name)+maxName)]
		end := strings.IndexByte(rest, 0)
		if end <= 0 {
			return nil, fmt.Errorf("the kernel name at byte %d is empty or not terminated", name)
		}
		list = append(list, Kernel{Name: rest[:end], Resources: used.kernel(number, rest[:end])})
	}
	return list, nil
}

// The headers of a fatbin and of its parts.
const (
	fatbinMagic    = 0xba55ed50
	fatbinHeader   = 16
	partHeader     = 64
	partPTX        = 1
	partELF        = 2
	flagSpecific   = 0x100000 // sm_90a
	flagFamily     = 0x200000 // sm_100f
	flagLZ4        = 0x2000
	flagZstd       = 0x8000
	maxFatbinParts = 1 << 12
)

// fatbin reads the headers of all parts, and the contents of the parts that are not compressed.
func fatbin(image []byte) ([]Part, error) {
	le := binary.LittleEndian
	if len(image) < fatbinHeader {
		return nil, fmt.Errorf("the image has %d bytes, which is less than a fatbin header", len(image))
	}
	header, size := uint64(le.Uint16(image[6:])), le.Uint64(image[8:])
	if header < fatbinHeader || header > uint64(len(image)) || size > uint64(len(image))-header {
		return nil, fmt.Errorf("its header declares %d + %d bytes, but the image has %d", header, size, len(image))
	}
	var list []Part
	for rest := image[header : header+size]; len(rest) > 0; {
		n := len(list)
		if n == maxFatbinParts {
			return nil, fmt.Errorf("it has more than %d parts", maxFatbinParts)
		}
		if len(rest) < partHeader {
			return nil, fmt.Errorf("part %d: %d bytes are left, which is less than its header", n, len(rest))
		}
		head, payload := uint64(le.Uint32(rest[4:])), le.Uint64(rest[8:])
		if head < partHeader || head > uint64(len(rest)) || payload > uint64(len(rest))-head {
			return nil, fmt.Errorf("part %d: its header declares %d + %d bytes, but %d are left",
				n, head, payload, len(rest))
		}
		part, err := fatbinPart(rest[:head], rest[head:head+payload])
		if err != nil {
			return nil, fmt.Errorf("part %d: %w", n, err)
		}
		list = append(list, part)
		rest = rest[head+payload:]
	}
	return list, nil
}

func fatbinPart(head, payload []byte) (Part, error) {
	le := binary.LittleEndian
	flags := le.Uint64(head[40:])
	p := Part{Arch: fmt.Sprintf("sm_%d", le.Uint32(head[28:])), Compressed: flags&(flagLZ4|flagZstd) != 0}
	switch {
	case flags&flagSpecific != 0:
		p.Arch += "a"
	case flags&flagFamily != 0:
		p.Arch += "f"
	}
	var inside Part
	var err error
	switch kind := le.Uint16(head); kind {
	case partPTX:
		p.Format, p.PTXVersion = PTX, fmt.Sprintf("%d.%d", le.Uint16(head[26:]), le.Uint16(head[24:]))
		if !p.Compressed {
			inside, err = ptx(string(bytes.TrimRight(payload, "\x00")))
		}
	case partELF:
		p.Format = CUBIN
		if !p.Compressed {
			inside, err = cubin(payload)
		}
	default:
		p.Format = Format(fmt.Sprintf("kind %d", kind)) // relocatable code, or a kind that is unknown here
	}
	p.Kernels = inside.Kernels
	return p, err
}
