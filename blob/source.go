package blob

// CSource is the payload of kind c: source code that is compiled into the library, or that an exporter keeps next to
// it.
type CSource struct {
	Code      string
	Format    string   // "c", "cc", "cpp", "cu"; "" means c
	Functions []string // names of the functions that the code defines
	Constants []string // names of the constants that it needs
}

// ParseCSource reads a payload.
func ParseCSource(payload []byte) (*CSource, error) {
	r := NewReader(payload)
	m := &CSource{
		Code:      r.Str("source code"),
		Format:    r.Str("format"),
		Functions: r.Strs("function names"),
		Constants: r.Strs("constant names"),
	}
	if err := r.Finish("end of the source"); err != nil {
		return nil, err
	}
	return m, nil
}

// Encode returns the payload.
func (m *CSource) Encode() []byte {
	var w Writer
	w.Str(m.Code)
	w.Str(m.Format)
	w.Strs(m.Functions)
	w.Strs(m.Constants)
	return w.data
}

// StaticLibrary is the payload of kind static_library: an object file that is linked into the library.
type StaticLibrary struct {
	Object    []byte // a view of the payload
	Functions []string
}

// ParseStaticLibrary reads a payload. Object is a view of it.
func ParseStaticLibrary(payload []byte) (*StaticLibrary, error) {
	r := NewReader(payload)
	m := &StaticLibrary{Object: r.Bytes("object file"), Functions: r.Strs("function names")}
	if err := r.Finish("end of the static library"); err != nil {
		return nil, err
	}
	return m, nil
}

// Encode returns the payload.
func (m *StaticLibrary) Encode() []byte {
	w := Writer{data: make([]byte, 0, len(m.Object)+64)}
	w.Bytes(m.Object)
	w.Strs(m.Functions)
	return w.data
}
