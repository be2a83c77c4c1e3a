package blob

// GraphFactory is the payload of kind GraphExecutorFactory (GraphRuntimeFactory before v0.8): a graph with its
// parameters. Package tvmgo/blob/graphjson reads the graph.
type GraphFactory struct {
	Graph   string   // JSON (docs/abi.md G.4)
	Names   []string // of the parameters, each once
	Tensors []Tensor // one for each name
	Module  string   // the name of the function that makes executors
}

// ParseGraphFactory reads a payload. The data of the tensors are views of it.
func ParseGraphFactory(payload []byte) (*GraphFactory, error) {
	r := NewReader(payload)
	m := &GraphFactory{Graph: r.Str("graph")}
	at := r.Offset()
	n := r.U64("number of parameters")
	m.Names = r.Strs("parameter names")
	if r.Err() == nil && n != uint64(len(m.Names)) {
		r.failAt(at, "parameters", "%d parameters and %d names", n, len(m.Names))
	}
	known := make(map[string]bool, len(m.Names))
	for _, name := range m.Names {
		if known[name] {
			r.failAt(at, "parameters", "two parameters have the name %q", name)
		}
		known[name] = true
		m.Tensors = append(m.Tensors, r.Tensor("parameter"))
	}
	m.Module = r.Str("module name")
	if err := r.Finish("end of the graph executor factory"); err != nil {
		return nil, err
	}
	return m, nil
}

// Encode returns the payload. The data of every tensor must have the size of [dlpack.SerializedDataSize].
func (m *GraphFactory) Encode() ([]byte, error) {
	var w Writer
	w.Str(m.Graph)
	w.Count(len(m.Tensors))
	w.Strs(m.Names)
	for i := range m.Tensors {
		if err := w.Tensor(m.Tensors[i]); err != nil {
			return nil, err
		}
	}
	w.Str(m.Module)
	if _, err := ParseGraphFactory(w.data); err != nil {
		return nil, err
	}
	return w.data, nil
}
