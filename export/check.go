package export

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tvmgo/blob"
	"tvmgo/internal/objects/elfmachine"
)

// checkLibrary reads the result back. If it is for this machine, a child process loads it. child may be nil.
func (b *buildJob) checkLibrary(child *checker) error {
	expected, err := b.checkFile()
	if err != nil {
		return fmt.Errorf("the library was built, but is not right: %w", err)
	}
	if child == nil || !forThisMachine(b.out.temp) || b.config.sysroot != "" {
		return nil
	}
	return child.load(b.out.temp, b.out.path, expected)
}

// checkFile checks the file without loading it. It returns the symbols that a runtime will look up.
func (b *buildJob) checkFile() ([]string, error) {
	f, err := elf.Open(b.out.temp)
	if info, absent := os.Stat(b.out.temp); errors.Is(absent, fs.ErrNotExist) || absent == nil &&
		(info.IsDir() || info.Size() == 0) {
		return nil, errors.New("the compiler ended without an error, and wrote nothing")
	}
	var malformed *elf.FormatError
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &malformed) {
		return nil, fmt.Errorf("the compiler wrote no ELF file: %w", err)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return nil, err
	}
	defined := map[string]elf.Symbol{}
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF {
			defined[s.Name] = s
		}
	}
	expected, err := b.checkFunctions(defined)
	if err != nil || b.blobSize == 0 {
		return expected, err
	}
	name := blobSymbol(b.config.layout, b.config.prefix)
	if other := otherGeneration(b.config.layout, name, defined); other != "" {
		return nil, invalid("the imported modules were laid out as %v, but %s belongs to functions of the other generation: "+
			"choose the other Layout",
			b.config.layout, other)
	}
	s, found := defined[name]
	if !found {
		return nil, fmt.Errorf("the symbol %s, which carries the imported modules, is missing: does a flag hide symbols?",
			name)
	}
	return append(expected, name), b.compareBlob(f, s.Value)
}

// otherGeneration finds a symbol, other than that of the blob, that no library of a layout has.
func otherGeneration(layout blob.Layout, blobName string, defined map[string]elf.Symbol) string {
	var found []string
	for name := range defined {
		isModern := strings.HasPrefix(name, functionPrefix)
		if name != blobName && (isModern && layout != blob.Modern || name == "__tvm_module_ctx" && layout == blob.Modern) {
			found = append(found, name)
		}
	}
	if len(found) == 0 {
		return ""
	}
	return slices.Min(found)
}

// checkFunctions finds the functions that the linked modules list.
func (b *buildJob) checkFunctions(defined map[string]elf.Symbol) ([]string, error) {
	var expected []string
	for _, i := range b.tree.linked() {
		for _, name := range b.tree.nodes[i].module.Functions() {
			spellings := []string{functionPrefix + name, name}
			if b.config.prefix != "" {
				spellings = append(spellings, functionPrefix+b.config.prefix+name, b.config.prefix+name)
			}
			at := slices.IndexFunc(spellings, func(s string) bool { _, found := defined[s]; return found })
			if at < 0 {
				return nil, invalid("%s lists the function %q, but the library has neither %s%s nor %s: is it static, or hidden "+
					"by a flag, or "+
					"C++ without extern \"C\"?", b.tree.place(i), name, functionPrefix, name, name)
			}
			expected = append(expected, spellings[at])
		}
	}
	return expected, nil
}

// compareBlob compares the data at an address of the library with the blob.
func (b *buildJob) compareBlob(f *elf.File, address uint64) error {
	want, err := os.Open(filepath.Join(b.dir, blobFile))
	if err != nil {
		return err
	}
	defer want.Close()
	at := slices.IndexFunc(f.Progs, func(p *elf.Prog) bool {
		return p.Type == elf.PT_LOAD && address >= p.Vaddr && address-p.Vaddr < p.Filesz &&
			p.Filesz-(address-p.Vaddr) >= uint64(b.blobSize)
	})
	if at < 0 {
		return errors.New("the block of imported modules is not in the file")
	}
	p := f.Progs[at]
	got := io.NewSectionReader(p, int64(address-p.Vaddr), b.blobSize)
	left, right := make([]byte, 1<<18), make([]byte, 1<<18)
	for done := int64(0); done < b.blobSize; {
		n := min(int64(len(left)), b.blobSize-done)
		if _, err := io.ReadFull(got, left[:n]); err != nil {
			return err
		}
		if _, err := io.ReadFull(want, right[:n]); err != nil {
			return err
		}
		if !bytes.Equal(left[:n], right[:n]) {
			return errors.New("the block of imported modules changed on its way through the compiler")
		}
		done += n
	}
	return nil
}

// forThisMachine reports whether a file can be loaded by a process of the same machine as this one.
func forThisMachine(path string) bool {
	f, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return elfmachine.Of(f) == elfmachine.Host()
}

func isSharedLibrary(path string) bool {
	f, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return f.Type == elf.ET_DYN
}
