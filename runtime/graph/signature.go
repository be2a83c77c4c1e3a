package graph

import (
	"fmt"
	"slices"

	"tvmgo/blob/graphjson"
	"tvmgo/dlpack"
	"tvmgo/internal/fault"
	"tvmgo/internal/value"
	"tvmgo/runtime"
)

// inputData returns the index in Graph.Data of an input.
func (g *graphModel) inputData(input int) int {
	return g.model.graph.Nodes[g.model.graph.Inputs[input]].First
}

// device returns the device of data, by its index in Graph.Data.
func (g *graphModel) device(data int) (dlpack.Device, error) {
	b := builder{model: g.model, devices: g.devices}
	d := &g.model.graph.Data[data]
	return b.device(&graphjson.Storage{Device: d.Device, Data: []int{data}})
}

// signature implements tvmgo.signature(name): the names, types and shapes of inputs and outputs.
func (g *graphModel) signature(op string, args []any) (any, error) {
	if err := value.CheckCount(op, args, 1, 1); err != nil {
		return nil, err
	}
	name, err := value.Text(op, args, 0)
	if err != nil {
		return nil, err
	}
	if name != g.name && name != otherName {
		return nil, fault.New(op, runtime.ErrNotFound, "the model has no function %q%s; it has: %s", name,
			like(name, []string{g.name}), g.name)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	graph := g.model.graph
	var params, results []any
	for i, n := range graph.Inputs {
		info, err := g.tensorInfo(graph.Nodes[n].Name, graph.Nodes[n].First, g.ofFile[i] || g.bound[i] != nil)
		if err != nil {
			return nil, err
		}
		params = append(params, info)
	}
	for _, r := range graph.Outputs {
		info, err := g.tensorInfo(graph.Nodes[r.Node].Name, graph.DataOf(r), false)
		if err != nil {
			return nil, err
		}
		results = append(results, info)
	}
	var result any
	if len(results) == 1 {
		result = results[0]
	} else {
		result = infoMap("", "tuple", "", nil, results, 0, false)
	}
	return runtime.Map{{Key: "name", Value: name}, {Key: "params", Value: params}, {Key: "result", Value: result}}, nil
}

// tensorInfo describes data.
func (g *graphModel) tensorInfo(name string, data int, bound bool) (runtime.Map, error) {
	d := &g.model.graph.Data[data]
	dev, err := g.device(data)
	if err != nil {
		return nil, err
	}
	return infoMap(name, "tensor", d.DType.String(), d.Shape, nil, slices.Index(g.devices, dev), bound), nil
}

// infoMap is the description of a value. A tuple has no number of dimensions.
func infoMap(name, kind, dtype string, shape []int64, fields []any, device int, bound bool) runtime.Map {
	ndim := -1
	if kind == "tensor" {
		ndim = len(shape)
	}
	dims := make([]any, len(shape))
	for i, n := range shape {
		dims[i] = fmt.Sprint(n)
	}
	if fields == nil {
		fields = []any{}
	}
	return runtime.Map{{Key: "name", Value: name}, {Key: "kind", Value: kind}, {Key: "dtype", Value: dtype},
		{Key: "ndim", Value: ndim}, {Key: "shape", Value: value.List(shape)}, {Key: "dims", Value: dims},
		{Key: "fields", Value: fields}, {Key: "device", Value: device}, {Key: "bound", Value: bound},
		{Key: "text", Value: ""}}
}
