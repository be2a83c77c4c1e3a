// Package tvmnodes reads the JSON that Apache TVM's tvm.ir.save_json writes: a graph of nodes, each of a type with
// fields, which refer to other nodes by number. [Parse] reads both forms:
//
//   - of TVM up to v0.21: {"root": 1, "nodes": [{"type_key": "tir.Add", "attrs": {"a": "2", …}}, …]}. All fields are
//     text, numbers and references alike: the reader of a node knows which is meant. Node 0 is null.
//   - of tvm-ffi (from v0.22): {"root_index": 9, "nodes": [{"type": "tirx.Add", "data": {"a": 2, …}}, …]}. Null is a
//     node of type None, and numbers that the JSON standard lacks are written as NaN and Infinity.
//
// A [Node] is read by its methods. A file that does not have what they ask for ends the reading with an [Error], which
// names the node's type and the path to it: the methods panic, and [Catch] returns the error. Types whose meaning the
// caller does not know are collected by [Graph.Unsupported], so that all of them are reported at once.
package tvmnodes

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tvmgo/internal/jsonpos"
)

const (
	maxNesting = 32      // of lists and objects in the JSON text, which is flat
	maxDepth   = 20_000  // steps from the root to a node
	maxVisits  = 1 << 22 // nodes that are read, each as often as it is referred to
)

// Graph is the nodes of a file.
type Graph struct {
	nodes   []data
	root    int
	old     bool     // of TVM up to v0.21
	tensors []string // of an old file, in base64
	Version string   // of TVM; "" if the file does not say it

	visits      int
	unsupported []unsupported
}

// data is a node as it is in the file.
type data struct {
	key    string
	fields map[string]any
	list   []int    // an array's elements; keys and values of a map, one after the other
	names  []string // the keys of an old map with text as keys, whose list has the values only
	value  any      // of a number, a text or an operator
}

// IsGraph reports whether a JSON text looks like one that save_json has written: whether it begins with the member
// that only such texts have.
func IsGraph(text string) bool {
	r := jsonpos.NewReader(text, maxNesting)
	found, first := false, true
	r.Object(func(key string) {
		if first {
			first, found = false, key == "root" || key == "root_index"
			r.Fail("enough is known")
		}
	})
	return found
}

// Parse reads the nodes of a file. An error is a *[Error], or a *jsonpos.Error for text that is not JSON.
func Parse(text string) (g *Graph, err error) {
	defer Catch(&err)
	tree, err := jsonpos.Parse(quoteNumbers(text), maxNesting)
	if err != nil {
		return nil, err
	}
	top, ok := tree.(map[string]any)
	if !ok {
		fail(nil, "", "the file is not an object with nodes: want the output of tvm.ir.save_json")
	}
	g = &Graph{}
	list, ok := top["nodes"].([]any)
	if !ok {
		fail(nil, "", "the list %q is missing: want the output of tvm.ir.save_json", "nodes")
	}
	root, isNew := top["root_index"]
	if !isNew {
		root, g.old = top["root"]
		if !g.old {
			fail(nil, "", "neither %q nor %q is there: want the output of tvm.ir.save_json", "root_index", "root")
		}
	}
	g.nodes = make([]data, len(list))
	for i, v := range list {
		g.nodes[i] = g.node(i, v)
	}
	g.root = g.index(root, nil, "")
	if tensors, ok := top["b64ndarrays"].([]any); ok {
		for i, v := range tensors {
			text, ok := v.(string)
			if !ok {
				fail(nil, "", "tensor %d of %q is not text", i, "b64ndarrays")
			}
			g.tensors = append(g.tensors, text)
		}
	}
	about := "metadata"
	if g.old {
		about = "attrs"
	}
	if m, ok := top[about].(map[string]any); ok {
		g.Version, _ = m["tvm_version"].(string)
	}
	return g, nil
}

// quoteNumbers puts numbers that JSON does not have into quotes.
func quoteNumbers(text string) string {
	if !strings.Contains(text, "NaN") && !strings.Contains(text, "Infinity") {
		return text
	}
	var out strings.Builder
	done := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case 'N', 'I', '-':
			for _, word := range []string{"NaN", "Infinity", "-Infinity", "-NaN"} {
				if strings.HasPrefix(text[i:], word) {
					out.WriteString(text[done:i] + strconv.Quote(word))
					i += len(word) - 1
					done = i + 1
					break
				}
			}
		}
	}
	return out.String() + text[done:]
}

// node reads one node.
func (g *Graph) node(i int, v any) data {
	at := &step{name: "nodes", index: -1}
	at = &step{up: at, index: i}
	fields, ok := v.(map[string]any)
	if !ok {
		fail(at, "", "the node is not an object")
	}
	keyName, dataName := "type", "data"
	if g.old {
		keyName, dataName = "type_key", "attrs"
	}
	d := data{}
	if d.key, ok = fields[keyName].(string); !ok {
		fail(at, "", "the node has no %q", keyName)
	}
	content := fields[dataName]
	if g.old && (d.key == "Array" || d.key == "Map") {
		content = fields["data"]
		if content == nil {
			content = []any{}
		}
		if names, has := fields["keys"].([]any); has {
			for _, n := range names {
				name, ok := n.(string)
				if !ok {
					fail(at, d.key, "a key is not text")
				}
				d.names = append(d.names, name)
			}
		}
	}
	if s, ok := fields["repr_str"].(string); g.old && ok {
		d.value = s
		return d
	}
	switch content := content.(type) {
	case nil:
		if g.old && d.key == "runtime.String" {
			d.value = ""
		}
	case map[string]any:
		d.fields = content
	case []any:
		d.list = make([]int, len(content))
		if d.key == "ffi.Shape" || d.key == "Device" { // numbers, not nodes
			d.value, d.list = content, nil
			break
		}
		for j, e := range content {
			d.list[j] = g.index(e, at, d.key)
		}
	default:
		d.value = content
	}
	switch count := len(d.list); {
	case d.names != nil && len(d.names) != count:
		fail(at, d.key, "%d keys for %d values", len(d.names), count)
	case d.names == nil && strings.HasSuffix(d.key, "Map") && count%2 != 0:
		fail(at, d.key, "a map of keys and values has %d entries", count)
	}
	return d
}

// index returns the number of a node that a value refers to.
func (g *Graph) index(v any, at *step, key string) int {
	text, ok := v.(string)
	if n, isNumber := v.(json.Number); isNumber {
		text, ok = n.String(), true
	}
	i, err := strconv.Atoi(text)
	if !ok || err != nil || i < 0 || i >= len(g.nodes) {
		fail(at, key, "found %s, want the number of a node, 0 to %d", show(v), len(g.nodes)-1)
	}
	return i
}

// show returns a value for an error message.
func show(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case string:
		if len(v) > 40 {
			v = v[:40] + "…"
		}
		return strconv.Quote(v)
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	}
	return fmt.Sprint(v)
}

// Root returns the node that was saved.
func (g *Graph) Root() Node { return Node{g: g, i: g.root} }

// Old reports whether the file is of TVM up to v0.21.
func (g *Graph) Old() bool { return g.old }

type unsupported struct {
	what  string
	at    *step
	count int
}

// Unsupported notes something that the caller cannot read. Equal ones are counted, and the first place is reported.
func (n Node) Unsupported(format string, args ...any) {
	what := fmt.Sprintf(format, args...)
	at := n.path
	i := slices.IndexFunc(n.g.unsupported, func(u unsupported) bool { return u.what == what })
	if i < 0 {
		n.g.unsupported = append(n.g.unsupported, unsupported{what, at, 0})
		i = len(n.g.unsupported) - 1
	}
	n.g.unsupported[i].count++
}

// Err returns an error with everything that was noted by Unsupported; nil if there is nothing.
func (g *Graph) Err() error {
	if len(g.unsupported) == 0 {
		return nil
	}
	lines := make([]string, len(g.unsupported))
	for i, u := range g.unsupported {
		times := ""
		if u.count > 1 {
			times = fmt.Sprintf(" (%d times)", u.count)
		}
		lines[i] = fmt.Sprintf("%s at %s%s", u.what, u.at, times)
	}
	return &Error{Msg: "not supported: " + strings.Join(lines, "; ")}
}
