package runtime

import (
	"tvmgo/blob"
	"tvmgo/internal/fault"
	"tvmgo/internal/modulekind"
)

// opaque is a module whose payload is passed through untouched.
type opaque struct {
	ModuleBase
	kind  string
	saved saved
}

// NewOpaque makes a module of a kind that this package does not know, such as "metal" or "webgpu", from its payload in
// a blob of the modern layout. It can be exported, and has no functions to call. It keeps payload, which must not be
// changed afterwards. A kind that has its own constructor, such as "c", is ErrInvalidArgument.
func NewOpaque(kind string, payload []byte) (*Module, error) {
	const op = "make module"
	if kind == blob.LibraryKey || kind == blob.ImportTreeKey {
		return nil, fault.New(op, ErrInvalidArgument, "kind %q has another meaning in files", kind)
	}
	constructor := forms[modulekind.FormOf(kind)].constructor
	if kind == modulekind.Library {
		constructor = "Load"
	}
	if constructor != "" {
		return nil, fault.New(op, ErrInvalidArgument, "modules of kind %q are made by %s", kind, constructor)
	}
	return NewModule(kind, Serializable, &opaque{kind: kind, saved: saved{payload, blob.Modern}})
}

func loadOpaque(p Payload) (ModuleImpl, error) {
	return &opaque{kind: p.Kind, saved: savedFrom(p)}, nil
}

// Function finds none: the functions are not known.
func (m *opaque) Function(name string) (*Function, error) { return nil, ErrNotFound }

func (m *opaque) SaveToBinary() ([]byte, error) { return m.SaveToBinaryFor(blob.Modern) }

// SaveToBinaryFor gives the payload for another layout only where what is known of the kind says that
// it is the same there.
func (m *opaque) SaveToBinaryFor(layout blob.Layout) ([]byte, error) {
	if layout != m.saved.layout && !readable(m.kind, m.saved.data, layout) {
		return nil, fault.New("save module", ErrNotSupported,
			"the payload of kind %q is passed on as it is, for files of the %v layout; "+
				"the %v layout may have another form", m.kind, m.saved.layout, layout)
	}
	return m.saved.data, nil
}

// readable says whether the payload ends where readers of the layout expect it.
func readable(kind string, payload []byte, layout blob.Layout) bool {
	scan := blob.DefaultKinds().Lookup(kind)
	if scan == nil {
		return false
	}
	r := blob.NewReader(payload)
	return scan(r, layout) == nil && r.Finish("end of the payload") == nil
}
