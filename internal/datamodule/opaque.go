package datamodule

import (
	"tvmgo/blob"
	"tvmgo/internal/fault"
)

// opaque is a module whose payload is kept unchanged.
type opaque struct {
	Base
	payload Payload
}

// LoadOpaque makes a module that keeps its payload.
func LoadOpaque(p Payload) (Module, error) {
	return &opaque{payload: p}, nil
}

// Function finds none: the functions are not known. If a package runs such modules, the error names it.
func (m *opaque) Function(name string) (Function, error) {
	if path := blob.LoaderImport(m.payload.Kind); path != "" {
		return nil, fault.New("get function", fault.NotSupported,
			"function %q: nothing here can run modules of kind %q: import %s, or use a libtvmgo that was built with it",
			name, m.payload.Kind, path)
	}
	return nil, fault.NotFound
}

func (m *opaque) SaveToBinary() ([]byte, error) { return m.SaveToBinaryFor(blob.Modern) }

// SaveToBinaryFor returns the payload for another layout only if its form is known to be the same in both.
func (m *opaque) SaveToBinaryFor(layout blob.Layout) ([]byte, error) {
	if layout != m.payload.Layout && !readable(m.payload.Kind, m.payload.Data, layout) {
		return nil, fault.New("save module", fault.NotSupported,
			"the payload of kind %q is passed on as it is, for files of the %v layout; "+
				"the %v layout may have another form", m.payload.Kind, m.payload.Layout, layout)
	}
	return m.payload.Data, nil
}

// readable reports whether the payload ends where readers of the layout expect it.
func readable(kind string, payload []byte, layout blob.Layout) bool {
	scan := blob.DefaultKinds().Lookup(kind)
	if scan == nil {
		return false
	}
	r := blob.NewReader(payload)
	return scan(r, layout) == nil && r.Finish("end of the payload") == nil
}
