package blob

// Constants is the payload of kind const_loader (called metadata before v0.17): tensors with names, and the names of
// the tensors that each symbol needs for its initialization.
type Constants struct {
	Names   []string
	Tensors []Tensor // one for each name
	Symbols []SymbolConstants
}

// SymbolConstants lists the names of the constants that the function __init_<Symbol> is called with, in order.
type SymbolConstants struct {
	Symbol string
	Names  []string
}

// ParseConstants reads a payload. The data of the tensors are views of it.
func ParseConstants(payload []byte) (*Constants, error) {
	r := NewReader(payload)
	m := &Constants{Names: r.Strs("constant names")}
	m.Tensors = r.tensors(len(m.Names), "constants")
	symbols := r.Strs("symbols")
	at := r.Offset()
	if n := r.Count(8, "constants by symbol"); r.Err() == nil && n != len(symbols) {
		r.failAt(at, "constants by symbol", "%d lists for %d symbols", n, len(symbols))
	}
	known := make(map[string]bool, len(m.Names))
	for _, name := range m.Names {
		known[name] = true
	}
	for _, symbol := range symbols {
		at := r.Offset()
		s := SymbolConstants{Symbol: symbol, Names: r.Strs("constants of a symbol")}
		for _, name := range s.Names {
			if !known[name] {
				r.failAt(at, "constants of a symbol", "symbol %q needs constant %q, which the payload does not "+
					"contain", symbol, name)
			}
		}
		m.Symbols = append(m.Symbols, s)
	}
	if err := r.Finish("end of the constants"); err != nil {
		return nil, err
	}
	return m, nil
}

// Encode returns the payload. The data of every tensor must have the size of [dlpack.SerializedDataSize].
func (m *Constants) Encode() ([]byte, error) {
	var w Writer
	w.Strs(m.Names)
	w.Count(len(m.Tensors))
	for i := range m.Tensors {
		if err := w.Tensor(m.Tensors[i]); err != nil {
			return nil, err
		}
	}
	w.Count(len(m.Symbols))
	for _, s := range m.Symbols {
		w.Str(s.Symbol)
	}
	w.Count(len(m.Symbols))
	for _, s := range m.Symbols {
		w.Strs(s.Names)
	}
	if _, err := ParseConstants(w.data); err != nil {
		return nil, err
	}
	return w.data, nil
}
