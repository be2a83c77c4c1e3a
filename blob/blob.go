package blob

import "fmt"

// Blob is the content of a library's blob: its modules and the tree of their imports.
type Blob struct {
	Layout  Layout
	Entries []Entry
	// Imports of entry i, as entry numbers: Children[RowPtr[i]:RowPtr[i+1]]; see [Blob.Imports]. Nil with ImplicitRoot.
	RowPtr, Children []int
	// ImplicitRoot means that the blob has no tree (older producers): the root is the library itself, not among the
	// entries, and imports every entry in order. Otherwise the root is entry 0.
	ImplicitRoot bool
	// Size is the number of input bytes that belong to the blob, its length prefix included.
	Size int64
}

// Entry is one module of a blob.
type Entry struct {
	Kind    string // "_lib" is the library that carries the blob; it has no payload
	Payload []byte // a view of the input
	Offset  int64  // of the payload in the input
}

// IsLibrary reports whether the entry is the library that carries the blob.
func (e *Entry) IsLibrary() bool { return e.Kind == LibraryKey }

// Imports returns the entries that entry i imports, in order; a view.
func (b *Blob) Imports(i int) []int {
	if b.ImplicitRoot {
		return nil
	}
	return b.Children[b.RowPtr[i]:b.RowPtr[i+1]:b.RowPtr[i+1]]
}

// Library returns the index of the "_lib" entry, -1 if there is none.
func (b *Blob) Library() int {
	for i := range b.Entries {
		if b.Entries[i].IsLibrary() {
			return i
		}
	}
	return -1
}

// Parse reads a blob. data begins with the blob's length, a u64, and ends at the end of the file-backed part of the
// segment; bytes beyond the blob's length are ignored. In the legacy layouts, kinds determines where a payload ends;
// nil means [DefaultKinds]. The payloads of the entries are views of data.
func Parse(data []byte, layout Layout, kinds *Kinds) (*Blob, error) {
	if layout > Modern {
		return nil, fmt.Errorf("blob: parse: unknown layout %d", layout)
	}
	if kinds == nil {
		kinds = DefaultKinds()
	}
	outer := NewReader(data)
	n := outer.U64("length of the blob")
	r := outer.Sub(n, "blob")
	b := &Blob{Layout: layout, Size: outer.Offset()}
	var err error
	if layout == Modern {
		err = b.parseModern(r)
	} else {
		err = b.parseLegacy(r, kinds)
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}

func (b *Blob) parseModern(r *Reader) error {
	at := r.Offset()
	rowPtr := r.U64s("row pointers of the import tree")
	children := r.U64s("children of the import tree")
	if r.Err() == nil && len(rowPtr) < 2 {
		r.failAt(at, "import tree", "%d row pointers: a blob has at least one module", len(rowPtr))
	}
	if most := r.Len() / 8; r.Err() == nil && len(rowPtr)-1 > most { // an entry takes at least the length of its kind
		r.failAt(at, "import tree", "%d modules in %d bytes", len(rowPtr)-1, r.Len())
	}
	if r.Err() != nil {
		return r.Err()
	}
	b.Entries = make([]Entry, 0, len(rowPtr)-1)
	for range cap(b.Entries) {
		kind, err := b.readKind(r)
		if err != nil {
			return err
		}
		entry := Entry{Kind: kind, Offset: r.Offset()}
		if kind != LibraryKey {
			entry.Payload = r.Bytes("payload of a module")
			entry.Offset = r.Offset() - int64(len(entry.Payload))
		}
		b.Entries = append(b.Entries, entry)
	}
	if err := r.Finish("end of the blob"); err != nil {
		return err
	}
	return b.setTree(rowPtr, children, at)
}

func (b *Blob) parseLegacy(r *Reader, kinds *Kinds) error {
	n := r.Count(9, "number of entries") // a key's length and one byte
	b.Entries = make([]Entry, 0, n)
	b.ImplicitRoot = true
	var rowPtr, children []uint64
	treeAt := int64(0)
	for range n {
		at := r.Offset()
		kind, err := b.readKind(r)
		if err != nil {
			return err
		}
		if kind == ImportTreeKey {
			if !b.ImplicitRoot {
				r.failAt(at, "entries", "a second import tree")
			}
			b.ImplicitRoot, treeAt = false, at
			rowPtr = r.U64s("row pointers of the import tree")
			children = r.U64s("children of the import tree")
			continue
		}
		entry := Entry{Kind: kind, Offset: r.Offset()}
		if kind != LibraryKey {
			scan := kinds.Lookup(kind)
			if scan == nil {
				return &UnknownKindError{Kind: kind, Offset: r.Offset(), Import: LoaderImport(kind)}
			}
			start := r.pos
			if err := r.scan(scan, kind, b.Layout); err != nil {
				return err
			}
			entry.Payload = r.data[start:r.pos:r.pos]
		}
		b.Entries = append(b.Entries, entry)
	}
	if err := r.Finish("end of the blob"); err != nil {
		return err
	}
	if b.ImplicitRoot {
		return nil
	}
	return b.setTree(rowPtr, children, treeAt)
}

// readKind reads the key of an entry. There must be at most one "_lib".
func (b *Blob) readKind(r *Reader) (string, error) {
	at := r.Offset()
	kind := r.Str("kind of a module")
	if r.Err() == nil && kind == "" {
		r.failAt(at, "kind of a module", "the kind is empty")
	}
	if kind == LibraryKey && b.Library() >= 0 {
		r.failAt(at, "entries", "a second %q entry", LibraryKey)
	}
	return kind, r.Err()
}

// setTree checks the rows of the import tree and stores them. Row pointers must not decrease; the first is 0, the last
// is the number of children, and there is one more than there are modules. A child must come after its parent, which is
// how all producers number modules and which excludes cycles.
func (b *Blob) setTree(rowPtr, children []uint64, at int64) error {
	fail := func(format string, args ...any) error {
		return &FormatError{Offset: at, What: "import tree", Problem: fmt.Sprintf(format, args...)}
	}
	modules := len(b.Entries)
	if modules == 0 {
		return fail("the tree has no module")
	}
	if len(rowPtr) != modules+1 {
		return fail("%d row pointers for %d modules", len(rowPtr), modules)
	}
	if rowPtr[0] != 0 || rowPtr[modules] != uint64(len(children)) {
		return fail("row pointers from %d to %d over %d children", rowPtr[0], rowPtr[modules], len(children))
	}
	b.RowPtr, b.Children = make([]int, len(rowPtr)), make([]int, len(children))
	for parent := range modules {
		first, end := rowPtr[parent], rowPtr[parent+1]
		if first > end || end > uint64(len(children)) {
			return fail("row %d goes from %d to %d", parent, first, end)
		}
		b.RowPtr[parent+1] = int(end)
		for i := int(first); i < int(end); i++ {
			child := children[i]
			switch {
			case child >= uint64(modules):
				return fail("module %d imports module %d of %d", parent, child, modules)
			case child == uint64(parent):
				return fail("module %d imports itself", parent)
			case child < uint64(parent):
				return fail("module %d imports module %d, which comes before it: imports must come after their "+
					"importers, so that there is no cycle", parent, child)
			}
			b.Children[i] = int(child)
		}
	}
	return nil
}
