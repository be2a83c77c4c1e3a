package graphjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tvmgo/internal/nearest"
)

// ErrGraph is in the chain of every error of this package.
var ErrGraph = errors.New("bad graph")

func fail(format string, args ...any) error {
	return fmt.Errorf("graph JSON: %w%w", fmt.Errorf(format, args...), silent{})
}

// silent adds ErrGraph to the chain of an error without a text.
type silent struct{}

func (silent) Error() string        { return "" }
func (silent) Is(target error) bool { return target == ErrGraph }

// object is a JSON object whose values are not parsed yet. Keys are compared exactly.
type object = map[string]json.RawMessage

// The keys of the graph, and whether each is needed. The executor reads nothing of "metadata".
var (
	graphKeys = map[string]bool{"nodes": true, "arg_nodes": true, "heads": true, "node_row_ptr": true, "attrs": true,
		"metadata": false}
	nodeKeys = map[string]bool{"op": true, "name": true, "inputs": true, "attrs": false, "control_deps": false}
)

// Parse reads and checks a graph. Its errors have [ErrGraph] in their chain.
func Parse(text []byte) (*Graph, error) {
	var top object
	if err := json.Unmarshal(text, &top); err != nil {
		return nil, fail("%w", err)
	}
	if err := checkKeys("the graph", top, graphKeys); err != nil {
		return nil, err
	}
	g := &Graph{}
	if err := g.parseNodes(top["nodes"]); err != nil {
		return nil, err
	}
	for _, step := range []func(object) error{g.parseRows, g.parseOrder, g.parseInputs, g.parseHeads, g.parseAttrs,
		g.checkCalls} {
		if err := step(top); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// checkKeys reports unknown and missing keys.
func checkKeys(what string, o object, known map[string]bool) error {
	if o == nil {
		return fail("%s is not an object", what)
	}
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if _, ok := known[key]; !ok {
			return fail("%s has the unknown key %q%s", what, key, like(key, slices.Sorted(maps.Keys(known))))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(known)) {
		if _, ok := o[key]; !ok && known[key] {
			return fail("%s has no key %q", what, key)
		}
	}
	return nil
}

// like suggests a name.
func like(name string, names []string) string {
	if n := nearest.Name(name, names); n != "" {
		return fmt.Sprintf(", do you mean %q?", n)
	}
	return ""
}

// read parses a value into *to. JSON's null is an error.
func read(what string, text json.RawMessage, to any) error {
	if string(text) == "null" {
		return fail("%s is null", what)
	}
	if err := json.Unmarshal(text, to); err != nil {
		return fail("%s: %w", what, err)
	}
	return nil
}

func (g *Graph) parseNodes(text json.RawMessage) error {
	var list []object
	if err := read("nodes", text, &list); err != nil {
		return err
	}
	if len(list) == 0 {
		return fail("nodes is empty")
	}
	g.Nodes = make([]Node, len(list))
	for i, o := range list {
		if err := g.Nodes[i].parse(i, o); err != nil {
			return err
		}
	}
	return nil
}

func (n *Node) parse(index int, o object) error {
	what := fmt.Sprintf("node %d", index)
	if err := checkKeys(what, o, nodeKeys); err != nil {
		return err
	}
	if err := read(what+": name", o["name"], &n.Name); err != nil {
		return err
	}
	if strings.ContainsRune(n.Name, 0) {
		return fail("%s: the name contains a zero byte", what)
	}
	what = n.title(index)
	var op string
	if err := read(what+": op", o["op"], &op); err != nil {
		return err
	}
	var err error
	if n.Args, err = refs(what+": inputs", o["inputs"]); err != nil {
		return err
	}
	if deps, ok := o["control_deps"]; ok {
		var list []int
		if err := read(what+": control_deps", deps, &list); err != nil {
			return err
		}
		for _, d := range list {
			if d < 0 || d >= index {
				return fail("%s: control_deps: node %d is not before this node", what, d)
			}
		}
	}
	if attrs, ok := o["attrs"]; ok {
		if err := read(what+": attrs", attrs, &n.Attrs); err != nil {
			return err
		}
	}
	switch op {
	case "null":
		if len(n.Args) > 0 {
			return fail("%s: an input (op \"null\") has %d inputs itself", what, len(n.Args))
		}
		n.Outputs = 1
		return nil
	case "tvm_op":
		return n.parseCall(what)
	}
	return fail("%s: op is %q, not \"null\" (an input) or \"tvm_op\" (a call)", what, op)
}

// parseCall takes the four attributes that every call has.
func (n *Node) parseCall(what string) error {
	take := func(key string) (string, error) {
		v, ok := n.Attrs[key]
		if !ok {
			return "", fail("%s: attrs has no %q", what, key)
		}
		delete(n.Attrs, key)
		return v, nil
	}
	number := func(key string) (int, error) {
		v, err := take(key)
		if err != nil {
			return 0, err
		}
		i, err := strconv.ParseUint(v, 10, 31)
		if err != nil {
			return 0, fail("%s: attribute %s is %q, not a number", what, key, v)
		}
		return int(i), nil
	}
	name, err := take("func_name")
	if err != nil {
		return err
	}
	if name == "" || strings.ContainsRune(name, 0) {
		return fail("%s: attribute func_name is %q, which is no name of a function", what, name)
	}
	inputs, err := number("num_inputs")
	if err != nil {
		return err
	}
	outputs, err := number("num_outputs")
	if err != nil {
		return err
	}
	flatten, err := number("flatten_data")
	if err != nil {
		return err
	}
	if inputs != len(n.Args) {
		return fail("%s: attribute num_inputs is %d, but inputs has %d entries", what, inputs, len(n.Args))
	}
	n.Func, n.Outputs, n.Flatten = name, outputs, flatten != 0
	return nil
}

// refs reads a list of [node, index] or [node, index, version].
func refs(what string, text json.RawMessage) ([]Ref, error) {
	var list [][]int
	if err := read(what, text, &list); err != nil {
		return nil, err
	}
	out := make([]Ref, len(list))
	for i, e := range list {
		if len(e) != 2 && len(e) != 3 {
			return nil, fail("%s: entry %d has %d numbers: expected node, index and, optionally, version", what, i, len(e))
		}
		out[i] = Ref{e[0], e[1]}
	}
	return out, nil
}

// parseRows checks node_row_ptr, which counts the outputs of the nodes before each node.
func (g *Graph) parseRows(top object) error {
	var rows []int
	if err := read("node_row_ptr", top["node_row_ptr"], &rows); err != nil {
		return err
	}
	if len(rows) != len(g.Nodes)+1 {
		return fail("node_row_ptr has %d entries for %d nodes: expected one more than nodes", len(rows), len(g.Nodes))
	}
	at := 0
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if rows[i] != at {
			return fail("node_row_ptr: entry %d is %d, but the nodes before %s have %d outputs", i, rows[i], n.title(i), at)
		}
		n.First = at
		at += n.Outputs
	}
	if rows[len(g.Nodes)] != at {
		return fail("node_row_ptr: the last entry is %d, but the nodes have %d outputs", rows[len(g.Nodes)], at)
	}
	g.Data = nil
	return nil
}

// check checks that an output exists.
func (g *Graph) check(what string, r Ref) error {
	if r.Node < 0 || r.Node >= len(g.Nodes) {
		return fail("%s is node %d, but there are %d nodes", what, r.Node, len(g.Nodes))
	}
	if n := &g.Nodes[r.Node]; r.Index < 0 || r.Index >= n.Outputs {
		return fail("%s is output %d of %s, which has %d", what, r.Index, n.title(r.Node), n.Outputs)
	}
	return nil
}

// parseOrder checks the arguments of the calls: nodes run in their order, so each must come after its arguments.
func (g *Graph) parseOrder(object) error {
	for i := range g.Nodes {
		n := &g.Nodes[i]
		for k, a := range n.Args {
			if err := g.check(fmt.Sprintf("%s: input %d", n.title(i), k), a); err != nil {
				return err
			}
		}
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		for k, a := range n.Args {
			if a.Node < i {
				continue
			}
			if c := g.cycle(a.Node, i); c != nil {
				return fail("%s: input %d is part of a cycle: %s", n.title(i), k, strings.Join(c, " -> "))
			}
			return fail("%s: input %d is %s, which comes later: nodes must be sorted so that each comes after its inputs",
				n.title(i), k, g.Title(a.Node))
		}
	}
	return nil
}

// cycle returns the names on a path by which node `from` needs node `to`, which needs it; nil if there is none.
func (g *Graph) cycle(from, to int) []string {
	next := map[int]int{from: -1} // node -> the node that needs it
	for queue := []int{from}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if at == to {
			names := []string{g.Nodes[from].Name}
			for ; at >= 0; at = next[at] {
				names = append(names, g.Nodes[at].Name)
			}
			return names
		}
		for _, a := range g.Nodes[at].Args {
			if _, seen := next[a.Node]; !seen {
				next[a.Node] = at
				queue = append(queue, a.Node)
			}
		}
	}
	return nil
}

// parseInputs checks arg_nodes, which lists the inputs.
func (g *Graph) parseInputs(top object) error {
	if err := read("arg_nodes", top["arg_nodes"], &g.Inputs); err != nil {
		return err
	}
	listed, names := map[int]bool{}, map[string]int{}
	for k, i := range g.Inputs {
		if i < 0 || i >= len(g.Nodes) {
			return fail("arg_nodes: entry %d is node %d, but there are %d nodes", k, i, len(g.Nodes))
		}
		n := &g.Nodes[i]
		if n.Func != "" {
			return fail("arg_nodes: entry %d is %s, which is a call of %q and no input", k, n.title(i), n.Func)
		}
		if listed[i] {
			return fail("arg_nodes: %s occurs twice", n.title(i))
		}
		if other, ok := names[n.Name]; ok {
			return fail("nodes %d and %d are inputs with one name, %q", other, i, n.Name)
		}
		listed[i], names[n.Name] = true, i
	}
	for i := range g.Nodes {
		if n := &g.Nodes[i]; n.Func == "" && !listed[i] {
			return fail("%s is an input that arg_nodes does not list", n.title(i))
		}
	}
	return nil
}

func (g *Graph) parseHeads(top object) error {
	var err error
	if g.Outputs, err = refs("heads", top["heads"]); err != nil {
		return err
	}
	for i, r := range g.Outputs {
		if err := g.check(fmt.Sprintf("heads: entry %d", i), r); err != nil {
			return err
		}
	}
	return nil
}

// checkCalls checks the calls that copy or do nothing.
func (g *Graph) checkCalls(object) error {
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if n.Func != Nop && n.Func != Copy {
			continue
		}
		if len(n.Args) != 1 || n.Outputs != 1 {
			return fail("%s: %s has %d inputs and %d outputs: expected one of each", n.title(i), n.Func, len(n.Args),
				n.Outputs)
		}
		in, out := &g.Data[g.DataOf(n.Args[0])], &g.Data[n.First]
		if in.Bytes != out.Bytes {
			return fail("%s: %s has an input of %d bytes and an output of %d", n.title(i), n.Func, in.Bytes, out.Bytes)
		}
		if n.Func == Nop && in.Storage != out.Storage {
			return fail("%s: the input of %s has storage id %d, the output %d: they must be one", n.title(i), Nop, in.Storage,
				out.Storage)
		}
	}
	return nil
}

// Describe names an entry of Data in errors: its node, and which output it is if there are several.
func (g *Graph) Describe(data int) string {
	i, _ := slices.BinarySearchFunc(g.Nodes, data, func(n Node, at int) int {
		if n.First+n.Outputs <= at {
			return -1
		}
		return 1
	})
	n := &g.Nodes[i]
	if n.Outputs == 1 {
		return n.title(i)
	}
	return fmt.Sprintf("output %d of %s", data-n.First, n.title(i))
}
