package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tvmgo/blob"
	"tvmgo/blob/graphjson"
	"tvmgo/dlpack"
	"tvmgo/internal/arguments"
)

// Graph describes a graph of TVM's graph executor with its parameters.
type Graph struct {
	Name     string         `json:"name"`   // of the function that makes executors
	Inputs   []GraphInput   `json:"inputs"` // in the executor's order
	Outputs  []Value        `json:"outputs"`
	Nodes    int            `json:"nodes"` // calls of functions; inputs are not among them
	Calls    []string       `json:"calls"` // functions of the library
	Storages []GraphStorage `json:"storages"`
	Bytes    int64          `json:"bytes"` // of all storages

	// Code has a line for each node, if [WithCode] was given.
	Code []string `json:"code,omitempty"`
}

// GraphInput is an input of a graph.
type GraphInput struct {
	Value
	Bound bool `json:"bound"` // the file has a parameter for it
}

// GraphStorage is memory that an executor allocates.
type GraphStorage struct {
	ID     int    `json:"id"`
	Bytes  int64  `json:"bytes"`
	Device string `json:"device"` // its type; "" is the first device of the executor
	Scope  string `json:"scope,omitempty"`
	Data   int    `json:"data"`            // outputs of nodes that share it, one after another
	Input  string `json:"input,omitempty"` // the input that is all that it contains
}

// graphOf describes the payload of a factory.
func graphOf(payload []byte, code bool) (*Graph, error) {
	f, err := blob.ParseGraphFactory(payload)
	if err != nil {
		return nil, err
	}
	g, err := graphjson.Parse([]byte(f.Graph))
	if err != nil {
		return nil, err
	}
	plan, err := g.Plan()
	if err != nil {
		return nil, err
	}
	bound := make(map[string]bool, len(f.Names))
	for _, name := range f.Names {
		bound[name] = true
	}
	r := &Graph{Name: f.Module, Inputs: []GraphInput{}, Outputs: []Value{}, Calls: []string{}}
	for _, n := range g.Inputs {
		node := &g.Nodes[n]
		r.Inputs = append(r.Inputs, GraphInput{graphValue(node.Name, &g.Data[node.First]), bound[node.Name]})
	}
	for _, o := range g.Outputs {
		r.Outputs = append(r.Outputs, graphValue(g.Nodes[o.Node].Name, &g.Data[g.DataOf(o)]))
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if n.Func != "" {
			r.Nodes++
		}
		if n.Func != "" && n.Func != graphjson.Nop && n.Func != graphjson.Copy {
			r.Calls = append(r.Calls, n.Func)
		}
		if code {
			r.Code = append(r.Code, nodeText(g, n))
		}
	}
	slices.Sort(r.Calls)
	r.Calls = slices.Compact(r.Calls)
	for i := range plan.Storages {
		s := &plan.Storages[i]
		t := GraphStorage{ID: s.ID, Bytes: s.Bytes, Scope: s.Scope, Data: len(s.Data)}
		if s.Device != 0 {
			t.Device = s.Device.String()
		}
		if s.Input >= 0 {
			t.Input = r.Inputs[s.Input].Name
		}
		r.Storages = append(r.Storages, t)
		r.Bytes += s.Bytes
	}
	return r, nil
}

func graphValue(name string, d *graphjson.Data) Value {
	dtype := dtypeOf(d)
	v := Value{Name: name, Kind: "tensor", Type: arguments.TypeText(dtype, d.Shape), DType: dtype.String(),
		NDim: len(d.Shape)}
	for _, n := range d.Shape {
		v.Dims = append(v.Dims, strconv.FormatInt(n, 10))
	}
	return v
}

// dtypeOf returns the type of data. That of booleans is bool, which graphs have as uint1.
func dtypeOf(d *graphjson.Data) dlpack.DataType {
	if d.DType.IsBool() {
		return dlpack.Bool
	}
	return d.DType
}

// nodeText is a line for a node: the numbers of the nodes are its arguments.
func nodeText(g *graphjson.Graph, n *graphjson.Node) string {
	var results []string
	for i := range n.Outputs {
		d := &g.Data[n.First+i]
		text := fmt.Sprintf("%s in storage %d", arguments.TypeText(dtypeOf(d), d.Shape), d.Storage)
		if d.Device != 0 {
			text += " on " + d.Device.String()
		}
		results = append(results, text)
	}
	result := strings.Join(results, ", ")
	if n.Func == "" {
		return fmt.Sprintf("input %s: %s", Shown(n.Name), result)
	}
	var args []string
	for _, r := range n.Args {
		text := strconv.Itoa(r.Node)
		if g.Nodes[r.Node].Outputs > 1 {
			text += "." + strconv.Itoa(r.Index)
		}
		args = append(args, text)
	}
	text := fmt.Sprintf("%s(%s): %s", Shown(n.Func), strings.Join(args, ", "), result)
	if n.Name != n.Func {
		text += ", named " + Shown(n.Name)
	}
	return text
}

// graph prints a graph below its module. Storages that only contain one input are summed up.
func (p *printer) graph(indent string, g *Graph) {
	var free []string
	bound, boundBytes, inputBytes, shared := 0, int64(0), int64(0), 0
	alone := map[string]int64{}
	for i := range g.Storages {
		if s := &g.Storages[i]; s.Input != "" {
			alone[s.Input] = s.Bytes
		} else {
			shared++
		}
	}
	for i := range g.Inputs {
		if in := &g.Inputs[i]; in.Bound {
			bound++
			boundBytes += alone[in.Name]
		} else {
			free = append(free, Shown(in.Name))
			inputBytes += alone[in.Name]
		}
	}
	p.line("  %s    %s(%s): %d nodes, %d parameters", indent, Shown(cmp.Or(g.Name, "graph")), strings.Join(free, ", "),
		g.Nodes, bound)
	for i := range g.Inputs {
		in, what := &g.Inputs[i], ""
		if in.Bound {
			what = "parameter "
		}
		p.line("  %s      %s%s: %s", indent, what, Shown(in.Name), in.Type)
	}
	for i := range g.Outputs {
		p.line("  %s      result %s: %s", indent, Shown(g.Outputs[i].Name), g.Outputs[i].Type)
	}
	for i := range g.Storages {
		s := &g.Storages[i]
		if s.Input != "" {
			continue
		}
		on, scope := cmp.Or(s.Device, "the first device"), ""
		if s.Scope != "" {
			scope = " " + Shown(s.Scope)
		}
		p.line("  %s      storage %d: %d bytes on %s%s, tensors: %d", indent, s.ID, s.Bytes, on, scope, s.Data)
	}
	p.line("  %s      memory: %d storages, %d bytes; inputs: %d bytes, parameters: %d bytes", indent, shared,
		g.Bytes-inputBytes-boundBytes, inputBytes, boundBytes)
	p.code(indent, g.Code)
	p.calls(indent, g.Calls)
}
