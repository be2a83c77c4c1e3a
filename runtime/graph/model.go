package graph

import (
	"tvmgo/blob/graphjson"
	"tvmgo/dlpack"
	"tvmgo/internal/fault"
	"tvmgo/runtime"
)

// model is a checked graph with its memory plan. It is immutable and shared by all executors.
type model struct {
	text  string
	graph *graphjson.Graph
	plan  *graphjson.Plan
}

func newModel(op, text string) (*model, error) {
	g, err := graphjson.Parse([]byte(text))
	if err != nil {
		return nil, fault.Wrap(op, runtime.ErrCorruptModule, err)
	}
	p, err := g.Plan()
	if err != nil {
		return nil, fault.Wrap(op, runtime.ErrCorruptModule, err)
	}
	return &model{text: text, graph: g, plan: p}, nil
}

// describe returns the shapes and the types of outputs of nodes, by the names of the nodes.
func (m *model) describe(refs []graphjson.Ref) (any, error) {
	var shapes, types runtime.Map
	for _, r := range refs {
		d := &m.graph.Data[m.graph.DataOf(r)]
		name, err := d.DType.ClassicString()
		if err != nil {
			return nil, err
		}
		key := m.graph.Nodes[r.Node].Name
		shapes = append(shapes, runtime.Entry{Key: key, Value: runtime.Shape(d.Shape)})
		types = append(types, runtime.Entry{Key: key, Value: name})
	}
	return runtime.Map{{Key: "shape", Value: shapes}, {Key: "dtype", Value: types}}, nil
}

// input returns the description of an input; the error is ErrNotFound for an unknown name.
func (m *model) input(name string) (index int, d *graphjson.Data, err error) {
	for k, n := range m.graph.Inputs {
		if m.graph.Nodes[n].Name == name {
			return k, &m.graph.Data[m.graph.Nodes[n].First], nil
		}
	}
	return 0, nil, m.unknown(name, 0)
}

// checkParam compares a parameter with the input of its name.
func (m *model) checkParam(name string, dtype dlpack.DataType, shape []int64) error {
	_, d, err := m.input(name)
	if err != nil {
		return fault.New("", runtime.ErrNotFound, "parameter %q: %v", name, err)
	}
	same := len(shape) == len(d.Shape) && (dtype == d.DType || dtype.IsBool() && d.DType.IsBool())
	for i := range shape {
		same = same && shape[i] == d.Shape[i]
	}
	if !same {
		return fault.New("", runtime.ErrInvalidArgument, "parameter %q is %v%v, but the input of the graph is %v%v", name,
			dtype, shape, d.DType, d.Shape)
	}
	return nil
}
