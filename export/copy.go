package export

import (
	"bytes"
	"debug/elf"
	"fmt"
	"path/filepath"

	"tvmgo/blob"
	"tvmgo/internal/atomicfile"
	"tvmgo/internal/modulekind"
	"tvmgo/runtime"
)

// copyLibrary writes a tree of one loaded library and modules that are not linked as a copy of that library, with the
// imports that it has now. It does nothing for other trees, and for a library that was exported without imports, which
// has no space for them.
func copyLibrary(t *tree, c *config, out *output) (bool, error) {
	if filepath.Ext(out.path) != sharedSuffix || c.compile != nil {
		return false, nil
	}
	library := -1
	for i, n := range t.nodes {
		if n.linked || n.kind == modulekind.Library && library >= 0 {
			return false, nil
		}
		if n.kind == modulekind.Library {
			library = i
		}
	}
	if library < 0 {
		return false, nil
	}
	file, err := t.nodes[library].module.SaveToBinaryFor(blob.Modern)
	if err != nil {
		return false, nil // if it can't be serialised either, that error gives the reason
	}
	carried, layout, err := blobOf(file)
	if err != nil {
		return false, nil
	}
	if carried == nil && len(t.nodes) > 1 {
		return false, nil
	}
	if carried == nil {
		return true, publishCopy(out, file)
	}
	if c.layoutIs && c.layout != layout {
		return false, invalid("%s was exported in the layout %v, and its functions are called as that generation's: it "+
			"can't be written in "+
			"the layout %v", t.place(library), layout, c.layout)
	}
	wanted, err := t.blobAround(library, layout)
	if err != nil {
		return false, err
	}
	if !bytes.Equal(wanted, carried) {
		if file, err = replaceBlob(file, layout.Symbol(), wanted); err != nil {
			return false, fmt.Errorf("%s: %w", t.place(library), err)
		}
		if got, at, err := blobOf(file); err != nil || at != layout || !bytes.Equal(got, wanted) {
			return false, runtime.Errorf(runtime.ErrFailed, "%s: its file is of a form in which the imports can't be replaced",
				t.place(library))
		}
	}
	return true, publishCopy(out, file)
}

func publishCopy(out *output, file []byte) error {
	if _, err := out.file.Write(file); err != nil {
		return fmt.Errorf("write %s: %w", out.path, atomicfile.Cause(err))
	}
	return out.name(0o777)
}

// blobAround returns the blob of a tree in which one module is the library itself.
func (t *tree) blobAround(library int, layout blob.Layout) ([]byte, error) {
	whole := &tree{nodes: make([]*node, len(t.nodes))}
	for i, n := range t.nodes {
		other := *n
		other.linked = i == library
		whole.nodes[i] = &other
	}
	if err := whole.number(); err != nil {
		return nil, err
	}
	b, err := whole.blob(layout)
	if err != nil {
		return nil, err
	}
	return b.Encode()
}

// blobOf finds the blob of a shared library; nil when it has none.
func blobOf(file []byte) ([]byte, blob.Layout, error) {
	f, err := elf.NewFile(bytes.NewReader(file))
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return nil, 0, err
	}
	for _, layout := range []blob.Layout{blob.Modern, blob.Legacy} {
		for _, s := range symbols {
			if s.Name != layout.Symbol() || s.Section == elf.SHN_UNDEF {
				continue
			}
			for _, p := range f.Progs {
				if p.Type != elf.PT_LOAD || s.Value < p.Vaddr || s.Value-p.Vaddr >= p.Filesz {
					continue
				}
				start, end := p.Off+(s.Value-p.Vaddr), p.Off+p.Filesz
				if end > uint64(len(file)) {
					break
				}
				r := blob.NewReader(file[start:end])
				size := r.U64("length of the blob")
				if err := r.Err(); err != nil || size > end-start-8 {
					break
				}
				return file[start : start+8+size], layout, nil
			}
			return nil, 0, runtime.ErrCorruptModule
		}
	}
	return nil, blob.Modern, nil
}
