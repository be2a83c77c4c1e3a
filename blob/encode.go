package blob

import (
	"fmt"
	"io"
)

// WriteTo writes the blob in its layout, beginning with its length as a u64, and returns the number of bytes written.
// Payloads are written to w without a copy. If [Parse] would reject the result, WriteTo returns an error and writes
// nothing. Offset and Size are not used.
//
// A legacy payload must end where the scanner of its kind ([DefaultKinds]) finds its end; otherwise the bytes after it
// could not be read again.
func (b *Blob) WriteTo(w io.Writer) (int64, error) {
	head, err := b.check()
	if err != nil {
		return 0, err
	}
	var written int64
	put := func(data []byte) error {
		n, err := w.Write(data)
		written += int64(n)
		return err
	}
	var piece Writer
	if b.Layout == Modern {
		piece.Raw(head)
	} else {
		n := len(b.Entries)
		if !b.ImplicitRoot {
			n++
		}
		piece.U64(uint64(b.length(len(head))))
		piece.Count(n)
	}
	for i := range b.Entries {
		e := &b.Entries[i]
		piece.Str(e.Kind)
		if e.IsLibrary() {
			continue
		}
		if b.Layout == Modern {
			piece.Count(len(e.Payload))
		}
		if err := put(piece.data); err != nil {
			return written, err
		}
		piece.data = piece.data[:0]
		if err := put(e.Payload); err != nil {
			return written, err
		}
	}
	if b.Layout != Modern {
		piece.Raw(head)
	}
	return written, put(piece.data)
}

// Encode returns the bytes that WriteTo writes.
func (b *Blob) Encode() ([]byte, error) {
	size := 64 + 16*len(b.Entries) + 8*(len(b.RowPtr)+len(b.Children))
	for i := range b.Entries {
		size += len(b.Entries[i].Kind) + len(b.Entries[i].Payload)
	}
	w := make(sliceWriter, 0, size)
	if _, err := b.WriteTo(&w); err != nil {
		return nil, err
	}
	return w, nil
}

type sliceWriter []byte

func (s *sliceWriter) Write(p []byte) (int, error) {
	*s = append(*s, p...)
	return len(p), nil
}

// check returns an error if Parse would reject the blob. Otherwise it returns the bytes of the import tree: in the
// modern layout with the blob's length before it, in the legacy layouts, where it comes last, with its key.
func (b *Blob) check() ([]byte, error) {
	if b.Layout > Modern {
		return nil, fmt.Errorf("blob: write: unknown layout %d", b.Layout)
	}
	if err := b.checkEntries(); err != nil {
		return nil, err
	}
	if b.ImplicitRoot {
		if b.Layout == Modern {
			return nil, fmt.Errorf("blob: write: the modern layout has no form without an import tree")
		}
		return nil, nil
	}
	rowPtr, children := unsigned(b.RowPtr), unsigned(b.Children)
	if err := (&Blob{Entries: b.Entries}).setTree(rowPtr, children, 0); err != nil {
		return nil, fmt.Errorf("blob: write: %w", err)
	}
	var tree Writer
	if b.Layout == Modern {
		tree.U64(0)
	} else {
		tree.Str(ImportTreeKey)
	}
	tree.U64s(rowPtr)
	tree.U64s(children)
	if b.Layout == Modern {
		var length Writer
		length.U64(uint64(b.length(tree.Len() - 8)))
		copy(tree.data, length.data)
	}
	return tree.data, nil
}

func (b *Blob) checkEntries() error {
	libraries := 0
	for i := range b.Entries {
		e := &b.Entries[i]
		fail := func(format string, args ...any) error {
			return fmt.Errorf("blob: write: module %d: %s", i, fmt.Sprintf(format, args...))
		}
		switch {
		case e.Kind == "":
			return fail("the kind is empty")
		case e.Kind == ImportTreeKey:
			return fail("%q is the name of the import tree, not of a kind", e.Kind)
		case e.IsLibrary() && len(e.Payload) != 0:
			return fail("%q is the library and has no payload", e.Kind)
		case e.IsLibrary():
			if libraries++; libraries > 1 {
				return fail("a second %q entry", e.Kind)
			}
		case b.Layout != Modern:
			if err := b.checkExtent(e); err != nil {
				return fmt.Errorf("blob: write: module %d: %w", i, err)
			}
		}
	}
	return nil
}

// checkExtent checks that the scanner of the entry's kind finds the end of the payload.
func (b *Blob) checkExtent(e *Entry) error {
	scan := DefaultKinds().Lookup(e.Kind)
	if scan == nil {
		return &UnknownKindError{Kind: e.Kind, Import: LoaderImport(e.Kind)}
	}
	r := NewReader(e.Payload)
	if err := r.scan(scan, e.Kind, b.Layout); err != nil {
		return err
	}
	return r.Finish("end of the payload")
}

// length returns the value of the blob's length prefix; tree is the size of the import tree.
func (b *Blob) length(tree int) int64 {
	n := int64(tree)
	if b.Layout != Modern {
		n += 8
	}
	for i := range b.Entries {
		e := &b.Entries[i]
		n += 8 + int64(len(e.Kind)) + int64(len(e.Payload))
		if b.Layout == Modern && !e.IsLibrary() {
			n += 8
		}
	}
	return n
}

func unsigned(list []int) []uint64 {
	out := make([]uint64, len(list))
	for i, v := range list {
		out[i] = uint64(v)
	}
	return out
}
