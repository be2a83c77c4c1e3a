package tvmnodes

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tvmgo/internal/jsonpos"
)

// Error is an error in a file. Path leads from the root to the node; Key is the node's type.
type Error struct {
	Path, Key, Msg string
}

// Error returns the path, the type and the message.
func (e *Error) Error() string {
	text := "read TVM's JSON: "
	if e.Path != "" {
		text += e.Path
		if e.Key != "" {
			text += " (" + e.Key + ")"
		}
		text += ": "
	}
	return text + e.Msg
}

// failure is the panic that ends the reading of a file.
type failure struct{ *Error }

// Catch returns the error with which methods of [Node] have ended the reading of a file. It is deferred.
func Catch(err *error) {
	switch e := recover().(type) {
	case nil:
	case failure:
		*err = e.Error
	default:
		panic(e)
	}
}

func fail(at *step, key, format string, args ...any) {
	panic(failure{&Error{at.String(), key, fmt.Sprintf(format, args...)}})
}

// step is a step of the path to a node: a field, or an element of a list if the name is empty.
type step struct {
	up    *step
	name  string
	index int
	depth int
	node  int // to which the step leads
}

// String returns the path from the root.
func (s *step) String() string {
	var steps []jsonpos.Step
	for ; s != nil; s = s.up {
		one := jsonpos.Step{Key: s.name, Index: -1}
		if s.name == "" {
			one.Index = s.index
		}
		steps = append(steps, one)
	}
	slices.Reverse(steps)
	return jsonpos.Path(steps)
}

// Node is a node of a graph, with the path on which the reader has come to it.
type Node struct {
	g    *Graph
	i    int
	path *step
}

// Index returns the node's number. Two nodes with the same number are the same object.
func (n Node) Index() int { return n.i }

func (n Node) data() *data { return &n.g.nodes[n.i] }

// Key returns the type of the node, such as "tir.Add".
func (n Node) Key() string { return n.data().key }

// Name returns the type of the node without the namespace, which differs between versions of TVM: "Add"; "" for null.
func (n Node) Name() string {
	if n.IsNull() {
		return ""
	}
	key := n.data().key
	return key[strings.LastIndexByte(key, '.')+1:]
}

// IsNull reports whether there is no object.
func (n Node) IsNull() bool { k := n.data().key; return k == "None" || n.g.old && k == "" }

// IsZero reports whether the Node is the zero value, which belongs to no graph.
func (n Node) IsZero() bool { return n.g == nil }

// Old reports whether the file is of TVM up to v0.21.
func (n Node) Old() bool { return n.g.old }

// Fail ends the reading with an error at the node.
func (n Node) Fail(format string, args ...any) { fail(n.path, n.Key(), format, args...) }

// Path returns the path from the root to the node.
func (n Node) Path() string { return n.path.String() }

func (n Node) step(i int, name string, index int) Node {
	depth := 1
	if n.path != nil {
		depth += n.path.depth
	}
	next := Node{n.g, i, &step{n.path, name, index, depth, i}}
	if n.g.visits++; n.g.visits > maxVisits {
		next.Fail("more than %d nodes are referred to, counting those that are shared each time", maxVisits)
	}
	if depth > maxDepth {
		seen := map[int]bool{}
		for s := next.path; s != nil; s = s.up {
			if seen[s.node] {
				Node{n.g, s.node, nil}.Fail("node %d contains itself", s.node)
			}
			seen[s.node] = true
		}
		Node{n.g, i, nil}.Fail("nodes are nested more than %d deep", maxDepth)
	}
	return next
}

// Has reports whether the node has a field.
func (n Node) Has(field string) bool { _, ok := n.data().fields[field]; return ok }

func (n Node) field(field string) any {
	v, ok := n.data().fields[field]
	if !ok {
		n.Fail("field %q is missing", field)
	}
	return v
}

// Ref returns the node to which a field refers, which may be null.
func (n Node) Ref(field string) Node {
	at := &step{up: n.path, name: field}
	return n.step(n.g.index(n.field(field), at, n.Key()), field, -1)
}

// At returns the node to which a field refers. It must not be null.
func (n Node) At(field string) Node {
	r := n.Ref(field)
	if r.IsNull() {
		n.Fail("field %q is null", field)
	}
	return r
}

// Maybe returns the node to which a field refers; ok is false if it is null or the field is missing.
func (n Node) Maybe(field string) (r Node, ok bool) {
	if !n.Has(field) {
		return Node{}, false
	}
	r = n.Ref(field)
	return r, !r.IsNull()
}

// List returns the elements of an array.
func (n Node) List() []Node {
	if name := n.Name(); name != "Array" && name != "List" {
		n.Fail("want an array")
	}
	list := n.data().list
	out := make([]Node, len(list))
	for i, e := range list {
		out[i] = n.step(e, "", i)
	}
	return out
}

// Pair is an entry of a map. Name is the key if that is text; otherwise Key is the key.
type Pair struct {
	Name       string
	Key, Value Node
}

// Pairs returns the entries of a map, in the order of the file.
func (n Node) Pairs() []Pair {
	if name := n.Name(); name != "Map" && name != "Dict" {
		n.Fail("want a map")
	}
	d := n.data()
	var out []Pair
	if d.names != nil {
		for i, name := range d.names {
			out = append(out, Pair{Name: name, Value: n.step(d.list[i], name, -1)})
		}
		return out
	}
	for i := 0; i+1 < len(d.list); i += 2 {
		p := Pair{Key: n.step(d.list[i], "", i)}
		switch p.Key.Name() {
		case "String":
			p.Name = p.Key.Text()
		case "GlobalVar":
			p.Name = p.Key.TextAt("name_hint")
		}
		if p.Name != "" {
			p.Value = n.step(d.list[i+1], p.Name, -1)
		} else {
			p.Value = n.step(d.list[i+1], "", i+1)
		}
		out = append(out, p)
	}
	return out
}

// Text returns the value of a text node, or the name of an operator.
func (n Node) Text() string {
	s, ok := n.data().value.(string)
	if !ok {
		n.Fail("want text")
	}
	return s
}

// TextAt returns the text of the node to which a field refers.
func (n Node) TextAt(field string) string { return n.At(field).Text() }

// Direct returns the text of a field itself, such as the name of a type.
func (n Node) Direct(field string) string {
	s, ok := n.field(field).(string)
	if !ok {
		n.Fail("field %q is %s, want text", field, show(n.field(field)))
	}
	return s
}

// IfDirect returns the text of a field; ok is false if the field is not text, or missing.
func (n Node) IfDirect(field string) (text string, ok bool) {
	text, ok = n.data().fields[field].(string)
	return text, ok
}

// IfBool returns the truth value that a field is; ok is false if it is something else, or missing.
func (n Node) IfBool(field string) (v, ok bool) {
	v, ok = n.data().fields[field].(bool)
	return v, ok
}

// Int returns the integer that a field is.
func (n Node) Int(field string) int64 { return n.whole(n.field(field), "field "+strconv.Quote(field)) }

func (n Node) whole(v any, what string) int64 {
	text, ok := v.(string)
	if num, isNumber := v.(json.Number); isNumber {
		text, ok = num.String(), true
	}
	i, err := strconv.ParseInt(text, 10, 64)
	if !ok || err != nil {
		if b, isBool := v.(bool); isBool {
			if b {
				return 1
			}
			return 0
		}
		if u, err := strconv.ParseUint(text, 10, 64); err == nil {
			return int64(u) // a constant of type uint64
		}
		n.Fail("%s is %s, want an integer of 64 bits", what, show(v))
	}
	return i
}

// Float returns the number that a field is.
func (n Node) Float(field string) float64 {
	return n.number(n.field(field), "field "+strconv.Quote(field))
}

func (n Node) number(v any, what string) float64 {
	text, ok := v.(string)
	if num, isNumber := v.(json.Number); isNumber {
		text, ok = num.String(), true
	}
	switch strings.ToLower(strings.TrimPrefix(text, "-")) {
	case "nan":
		return math.NaN()
	case "inf", "infinity":
		if text[0] == '-' {
			return math.Inf(-1)
		}
		return math.Inf(1)
	}
	f, err := strconv.ParseFloat(text, 64)
	if !ok || err != nil && !errors.Is(err, strconv.ErrRange) || strings.ContainsAny(text, "xX_") {
		n.Fail("%s is %s, want a number", what, show(v))
	}
	return f
}

// Value returns a node that is a constant: int64, float64, bool or string. ok is false for other nodes.
func (n Node) Value() (v any, ok bool) {
	switch n.Name() {
	case "String", "StringImm":
		if n.data().value == nil {
			return n.TextAt("value"), true
		}
		return n.Text(), true
	case "int", "BigInt":
		return n.whole(n.data().value, "the value"), true
	case "BoxInt":
		return n.Int("value"), true
	case "bool":
		b, is := n.data().value.(bool)
		return b, is
	case "BoxBool":
		return n.Int("value") != 0, true
	case "float":
		return n.number(n.data().value, "the value"), true
	case "FloatImm", "BoxFloat":
		return n.Float("value"), true
	case "IntImm":
		i := n.IntImm()
		if n.Has("dtype") && (n.Direct("dtype") == "bool" || n.Direct("dtype") == "uint1") {
			return i != 0, true
		}
		return i, true
	}
	return nil, false
}

// IntImm returns the value of an IntImm, which some versions of TVM write into the node, others into a node of its own.
func (n Node) IntImm() int64 {
	if n.Has("ty") {
		v, ok := n.At("value").Value()
		i, isInt := v.(int64)
		if !ok || !isInt {
			n.Fail("the value is not an integer")
		}
		return i
	}
	return n.Int("value")
}

// Bytes returns the content of a node of bytes.
func (n Node) Bytes() []byte {
	b, err := base64.StdEncoding.DecodeString(n.Text())
	if err != nil {
		n.Fail("%v", err)
	}
	return b
}

// Tensor returns tensor i of an old file, as it is serialized.
func (n Node) Tensor(i int64) []byte {
	if i < 0 || i >= int64(len(n.g.tensors)) {
		n.Fail("there is no tensor %d: the file has %d", i, len(n.g.tensors))
	}
	b, err := base64.StdEncoding.DecodeString(n.g.tensors[i])
	if err != nil {
		n.Fail("tensor %d: %v", i, err)
	}
	return b
}

// Ints returns the numbers of a shape.
func (n Node) Ints() []int64 {
	list, ok := n.data().value.([]any)
	if !ok {
		n.Fail("want a list of numbers")
	}
	out := make([]int64, len(list))
	for i, v := range list {
		out[i] = n.whole(v, fmt.Sprintf("number %d", i))
	}
	return out
}
