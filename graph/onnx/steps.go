package onnx

import "tvmgo/graph"

// steps adds nodes one after another, and keeps the first error.
type steps struct {
	c   *conv
	fn  *graph.Function
	err error
}

func (c *conv) steps(fn *graph.Function) *steps { return &steps{c: c, fn: fn} }

// add returns the first result of a new node; nil after an error.
func (s *steps) add(op string, attrs graph.Attrs, in ...*graph.Value) *graph.Value {
	if s.err != nil {
		return nil
	}
	out, err := s.fn.AddNode(&graph.Node{Op: graph.LookupOp(op), Attrs: attrs, Inputs: in, Source: s.c.source}, op)
	if err != nil {
		s.err = err
		return nil
	}
	return out[0]
}

func (s *steps) reshape(v *graph.Value, to ...int64) *graph.Value {
	return s.add("reshape", nil, v, s.fn.Ints("shape", to...))
}

func (s *steps) transpose(v *graph.Value, perm ...int64) *graph.Value {
	return s.add("transpose", graph.Attrs{"perm": perm}, v)
}

func (s *steps) unsqueeze(v *graph.Value, axis int64) *graph.Value {
	return s.add("unsqueeze", nil, v, s.fn.Ints("axes", axis))
}
