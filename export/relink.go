package export

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
)

// Sizes and offsets of 64-bit ELF: header, program header, symbol.
const (
	elfHeaderSize = 64
	progSize      = 56
	symbolSize    = 24

	headerPhoff, headerPhnum = 32, 56

	progType, progFlags, progOffset, progVaddr, progPaddr, progFilesz, progMemsz, progAlign = 0, 4, 8, 16, 24, 32, 40, 48

	symbolValue, symbolSizeField = 8, 16
)

// replaceBlob returns a shared library with another blob. It appends a segment that contains the extended segment table
// and the blob, and points the blob's symbol there. Code and data are not moved.
func replaceBlob(file []byte, symbol string, content []byte) ([]byte, error) {
	f, err := elf.NewFile(bytes.NewReader(file))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if f.Class != elf.ELFCLASS64 || f.Data != elf.ELFDATA2LSB {
		return nil, invalid("the imports of a loaded library can be changed in 64-bit little-endian files only, not in %v, "+
			"%v",
			f.Class, f.Data)
	}
	entry, err := symbolOffset(f, symbol)
	if err != nil {
		return nil, err
	}
	align, end := uint64(16), uint64(0)
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD {
			align, end = max(align, p.Align), max(end, p.Vaddr+p.Memsz)
		}
	}
	round := func(n uint64) uint64 { return (n + align - 1) / align * align }
	offset, vaddr := round(uint64(len(file))), round(end)
	tableSize := uint64(len(f.Progs)+1) * progSize
	blobAt := (tableSize + blobAlignment - 1) / blobAlignment * blobAlignment
	size := blobAt + uint64(len(content))

	le := binary.LittleEndian
	out := make([]byte, offset+size)
	copy(out, file)
	table := out[offset : offset+tableSize]
	copy(table, file[le.Uint64(file[headerPhoff:]):][:tableSize-progSize])
	for at := 0; at < len(table); at += progSize {
		if p := table[at:]; elf.ProgType(le.Uint32(p[progType:])) == elf.PT_PHDR {
			le.PutUint64(p[progOffset:], offset)
			le.PutUint64(p[progVaddr:], vaddr)
			le.PutUint64(p[progPaddr:], vaddr)
			le.PutUint64(p[progFilesz:], tableSize)
			le.PutUint64(p[progMemsz:], tableSize)
		}
	}
	last := table[tableSize-progSize:]
	le.PutUint32(last[progType:], uint32(elf.PT_LOAD))
	le.PutUint32(last[progFlags:], uint32(elf.PF_R))
	le.PutUint64(last[progOffset:], offset)
	le.PutUint64(last[progVaddr:], vaddr)
	le.PutUint64(last[progPaddr:], vaddr)
	le.PutUint64(last[progFilesz:], size)
	le.PutUint64(last[progMemsz:], size)
	le.PutUint64(last[progAlign:], align)
	le.PutUint64(out[headerPhoff:], offset)
	le.PutUint16(out[headerPhnum:], uint16(len(f.Progs)+1))
	copy(out[offset+blobAt:], content)
	le.PutUint64(out[entry+symbolValue:], vaddr+blobAt)
	le.PutUint64(out[entry+symbolSizeField:], uint64(len(content)))
	return out, nil
}

// symbolOffset finds the offset in the file of a symbol of the dynamic table.
func symbolOffset(f *elf.File, name string) (uint64, error) {
	section := f.SectionByType(elf.SHT_DYNSYM)
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return 0, err
	}
	for i, s := range symbols {
		if s.Name == name {
			return section.Offset + uint64(i+1)*symbolSize, nil // the first one is not listed
		}
	}
	return 0, fmt.Errorf("no symbol %s", name)
}
