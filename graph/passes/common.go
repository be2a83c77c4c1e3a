package passes

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"tvmgo/graph"
	"tvmgo/target"
	"tvmgo/tir"
)

// common computes what several nodes compute only once: nodes with the same operator, attributes and operands. A node
// of a body also takes the result of an earlier node outside.
func common(_ context.Context, f *graph.Function, _ *target.Target, _ Options) error {
	c := classes{ids: map[string]int{}, nodes: map[*graph.Function]map[string]*graph.Node{}}
	c.outer = map[*graph.Function]*graph.Function{}
	c.bodies(f)
	_, err := f.Rewrite(c.node)
	return err
}

// classes finds equal values and nodes.
type classes struct {
	ids   map[string]int // of constants by their contents, and of other values by their addresses
	nodes map[*graph.Function]map[string]*graph.Node
	outer map[*graph.Function]*graph.Function
}

func (c *classes) bodies(f *graph.Function) {
	c.nodes[f] = map[string]*graph.Node{}
	for _, n := range f.Nodes {
		for _, b := range n.Bodies {
			c.outer[b] = f
			c.bodies(b)
		}
	}
}

func (c *classes) node(f *graph.Function, n *graph.Node) ([]*graph.Value, error) {
	if n.Op.Control != graph.Formula {
		return nil, nil
	}
	key := c.key(n)
	for g := f; g != nil; g = c.outer[g] {
		if same := c.nodes[g][key]; same != nil {
			return same.Outputs, nil
		}
	}
	c.nodes[f][key] = n
	return nil, nil
}

// key is equal for nodes that compute the same.
func (c *classes) key(n *graph.Node) string {
	var b strings.Builder
	b.WriteString(n.Op.Name)
	var names []string
	for name := range n.Attrs {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, " %s=%q", name, fmt.Sprint(n.Attrs[name]))
	}
	for _, v := range n.Inputs {
		fmt.Fprintf(&b, " %d", c.id(v))
	}
	for _, v := range n.Outputs {
		fmt.Fprintf(&b, " %t", v != nil)
	}
	return b.String()
}

// comparedLimit is the size in bytes up to which constants are compared by their contents. Larger ones are equal if
// they are the same memory.
const comparedLimit = 64 << 10

// id is equal for equal values.
func (c *classes) id(v *graph.Value) int {
	if v == nil {
		return -1
	}
	key := fmt.Sprintf("%p", v)
	if k := v.AsConst(); k != nil {
		shape, _ := v.StaticShape()
		key = fmt.Sprint(tir.TypeName(v.DType), shape)
		if len(k.Data) <= comparedLimit {
			key += string(k.Data)
		} else {
			key += fmt.Sprintf("at %p, %d", unsafe.SliceData(k.Data), len(k.Data))
		}
	}
	id, ok := c.ids[key]
	if !ok {
		id = len(c.ids)
		c.ids[key] = id
	}
	return id
}
