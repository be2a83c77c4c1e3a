package main_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
)

// copyBindNow copies a shared library and adds DF_1_NOW, as `-z now` does, in one of the entries that linkers leave
// unused at the end of the dynamic section.
func copyBindNow(to, from string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return err
	}
	section := f.SectionByType(elf.SHT_DYNAMIC)
	if section == nil {
		return fmt.Errorf("%s: no dynamic section", from)
	}
	dynamic := data[section.Offset : section.Offset+section.FileSize]
	for i := 0; i+32 <= len(dynamic); i += 16 { // the last entry must stay DT_NULL
		if elf.DynTag(binary.LittleEndian.Uint64(dynamic[i:])) == elf.DT_NULL {
			binary.LittleEndian.PutUint64(dynamic[i:], uint64(elf.DT_FLAGS_1))
			binary.LittleEndian.PutUint64(dynamic[i+8:], uint64(elf.DF_1_NOW))
			return os.WriteFile(to, data, 0o755)
		}
	}
	return fmt.Errorf("%s: the dynamic section has no unused entry", from)
}
