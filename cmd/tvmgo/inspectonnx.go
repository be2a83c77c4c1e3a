package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"tvmgo/graph/onnx/file"
	"tvmgo/internal/inspect"
)

// onnxReport is what inspect prints of an ONNX model.
type onnxReport struct {
	File       string         `json:"file"`
	Size       int64          `json:"size"` // bytes
	IRVersion  int64          `json:"ir_version"`
	Producer   string         `json:"producer,omitempty"`
	Opsets     []onnxOpset    `json:"opsets"`
	Inputs     []onnxValue    `json:"inputs"` // those without a default in the file
	Outputs    []onnxValue    `json:"outputs"`
	Parameters onnxParameters `json:"parameters"`
	Operators  []onnxOperator `json:"operators"` // the most frequent first; subgraphs included
	Functions  []onnxFunction `json:"functions"`
	Nodes      []string       `json:"nodes,omitempty"` // with --instructions
	Problems   []string       `json:"problems"`
}

type onnxOpset struct {
	Domain  string `json:"domain"` // "" is ONNX's own
	Version int64  `json:"version"`
}

type onnxValue struct {
	Name string `json:"name"`
	Type string `json:"type"` // "float32[N,3]"
}

// onnxParameters sums up the initializers, also of subgraphs.
type onnxParameters struct {
	Count    int      `json:"count"`
	Elements int64    `json:"elements"`
	Bytes    int64    `json:"bytes"` // in memory
	Files    []string `json:"files"` // beside the model, with elements
}

type onnxOperator struct {
	Name  string `json:"name"` // with its domain: "my.Op"
	Count int    `json:"count"`
}

type onnxFunction struct {
	Name    string   `json:"name"`
	Inputs  []string `json:"inputs"`
	Outputs []string `json:"outputs"`
	Nodes   int      `json:"nodes"`
}

// inspectONNX prints the interface, the parameters and the operators of an ONNX model.
func inspectONNX(ctx context.Context, w io.Writer, path string, asJSON, nodes bool) error {
	var r *onnxReport
	err := foreign(ctx, func() error {
		f, err := file.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		r = onnxReportOf(path, f)
		if nodes {
			r.Nodes = f.Model.Graph.Lines()
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("inspect: %w", err)
	}
	if asJSON {
		err = writeJSON(w, r)
	} else {
		err = r.writeText(w)
	}
	if n := len(r.Problems); err == nil && n > 0 {
		err = fmt.Errorf("inspect %s: %d problems, the first: %s", path, n, r.Problems[0])
	}
	return err
}

func onnxReportOf(path string, f *file.File) *onnxReport {
	m := f.Model
	r := &onnxReport{File: path, Size: f.Size, IRVersion: m.IRVersion, Opsets: []onnxOpset{}, Inputs: []onnxValue{},
		Outputs: []onnxValue{}, Operators: []onnxOperator{}, Functions: []onnxFunction{}, Problems: []string{},
		Producer: strings.TrimSpace(m.ProducerName + " " + m.ProducerVersion)}
	r.Parameters.Files = []string{}
	for _, o := range m.OpsetImports {
		r.Opsets = append(r.Opsets, onnxOpset(o))
	}
	counts := map[string]int{}
	r.graph(f, m.Graph, counts)
	for name, n := range counts {
		r.Operators = append(r.Operators, onnxOperator{name, n})
	}
	slices.SortFunc(r.Operators, func(a, b onnxOperator) int {
		return cmp.Or(b.Count-a.Count, strings.Compare(a.Name, b.Name))
	})
	slices.Sort(r.Parameters.Files)
	r.Parameters.Files = slices.Compact(r.Parameters.Files)
	bound := map[string]bool{}
	for _, t := range m.Graph.Initializers {
		bound[t.Name] = true
	}
	for _, s := range m.Graph.SparseInitializers {
		bound[s.Name()] = true
	}
	for _, v := range m.Graph.Inputs {
		if !bound[v.Name] {
			r.Inputs = append(r.Inputs, onnxValue{v.Name, onnxType(v.Type)})
		}
	}
	for _, v := range m.Graph.Outputs {
		r.Outputs = append(r.Outputs, onnxValue{v.Name, onnxType(v.Type)})
	}
	for _, n := range m.Functions {
		r.Functions = append(r.Functions, onnxFunction{n.Caller(), append([]string{}, n.Inputs...),
			append([]string{}, n.Outputs...), len(n.Nodes)})
	}
	return r
}

// onnxType returns a type as other commands write it ("float32[N,3]", "float32[]" for a scalar), if it is of a tensor.
func onnxType(t *file.Type) string {
	if t == nil || t.Kind != file.TensorKind {
		return t.String()
	}
	dtype, err := t.Elem.DType()
	switch {
	case err != nil:
		return t.String()
	case t.Shape == nil:
		return dtype.String() + " of any shape"
	case len(t.Shape) == 0:
		return dtype.String() + "[]"
	}
	return dtype.String() + t.Shape.String()
}

// graph adds the parameters and the operators of a graph and its subgraphs.
func (r *onnxReport) graph(f *file.File, g *file.Graph, counts map[string]int) {
	for _, t := range g.Initializers {
		r.parameter(f, t)
	}
	for _, s := range g.SparseInitializers {
		if s.Values != nil {
			r.parameter(f, s.Values)
		}
	}
	for _, n := range g.Nodes {
		counts[n.Caller()]++
		for _, a := range n.Attributes {
			for _, sub := range append(a.Graphs[:len(a.Graphs):len(a.Graphs)], a.Graph) {
				if sub != nil {
					r.graph(f, sub, counts)
				}
			}
		}
	}
}

func (r *onnxReport) parameter(f *file.File, t *file.Tensor) {
	p := &r.Parameters
	p.Count++
	if t.External != nil {
		p.Files = append(p.Files, t.External.Location)
	}
	if err := t.Check(f.External); err != nil {
		r.Problems = append(r.Problems, err.Error())
		return
	}
	elements := int64(1) // Check has found no overflow
	for _, d := range t.Dims {
		elements *= d
	}
	p.Elements += elements
	if t.DataType == file.String {
		for _, s := range t.StringData {
			p.Bytes += int64(len(s))
		}
		return
	}
	n, _ := t.Size() // as before
	p.Bytes += n
}

func (r *onnxReport) writeText(w io.Writer) error {
	out := &titled{w: w}
	by := ""
	if r.Producer != "" {
		by = ", by " + inspect.Shown(r.Producer)
	}
	out.printf("%s: ONNX model of %d bytes, IR version %d%s\n", inspect.Shown(r.File), r.Size, r.IRVersion, by)
	for _, o := range r.Opsets {
		out.line("opsets", "%s %d", inspect.Shown(cmp.Or(o.Domain, "ai.onnx")), o.Version)
	}
	for _, v := range r.Inputs {
		out.line("inputs", "%s: %s", inspect.Shown(v.Name), v.Type)
	}
	for _, v := range r.Outputs {
		out.line("outputs", "%s: %s", inspect.Shown(v.Name), v.Type)
	}
	p := r.Parameters
	out.line("parameters", "%d with %d elements, %d bytes", p.Count, p.Elements, p.Bytes)
	for _, name := range p.Files {
		out.line("data in", "%s", inspect.Shown(name))
	}
	for _, o := range r.Operators {
		out.line("operators", "%7d %s", o.Count, o.Name)
	}
	for _, f := range r.Functions {
		out.line("functions", "%s: %d inputs, %d outputs, %d nodes", f.Name, len(f.Inputs), len(f.Outputs), f.Nodes)
	}
	for _, n := range r.Nodes {
		out.line("nodes", "%s", n)
	}
	for _, text := range r.Problems {
		out.line("problems", "%s", text)
	}
	return out.err
}

// titled writes lines in groups; the first line of a group begins with its title.
type titled struct {
	w    io.Writer
	last string
	err  error
}

func (t *titled) printf(format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.w, format, args...)
	}
}

func (t *titled) line(title, format string, args ...any) {
	shown := title
	if title == t.last {
		shown = ""
	}
	t.last = title
	t.printf("%-16s %s\n", shown, fmt.Sprintf(format, args...))
}
