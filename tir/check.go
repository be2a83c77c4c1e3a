package tir

import (
	"fmt"
	"maps"
	"slices"

	"tvmgo/target"
	"tvmgo/tir/internal/path"
	"tvmgo/tir/internal/scopes"
)

// Error is a violation of the rules for programs that [Check] found.
type Error struct {
	Func    string // the function's name; empty if the error concerns the module
	Path    string // from the function to the node: body[0].for(i).body.value.a
	Message string
	Err     error // the reason why an expression could not be made ([Bad])
}

// Error returns the path and the message.
func (e *Error) Error() string {
	switch {
	case e.Func == "" && e.Path == "":
		return "tir: check: " + e.Message
	case e.Func == "" || e.Path == "":
		return "tir: check " + e.Func + e.Path + ": " + e.Message
	}
	return "tir: check " + e.Func + "." + e.Path + ": " + e.Message
}

// Unwrap returns the reason why an expression could not be made; nil for other errors.
func (e *Error) Unwrap() error { return e.Err }

// maxErrors is the maximum number of errors that CheckAll returns.
const maxErrors = 100

// Check returns the first error in a module, in program order, as an *[Error]; nil if the module is well-formed. A
// module is well-formed if nothing required is nil; types are as the functions that make nodes would make them; each
// variable and buffer is defined once and used only within its scope; loops meet the requirements of their kinds;
// called functions exist and do not call each other recursively; no node is left that lowering replaces; and no index
// is certainly out of bounds. An index is certainly out of bounds if, whatever the arguments are, it is outside of its
// dimension in some iteration of the enclosing loops, and if there are arguments with which the access is executed.
// Conditions, loops without iterations, and values read from memory are taken into account. Accesses that may be out of
// bounds are not errors: transform.Unproven lists them. Check accepts any input: nil nodes, cycles and nodes of foreign
// types are reported, too.
func Check(m *IRModule) error {
	if all := checkModule(m, 1); len(all) > 0 {
		return all[0]
	}
	return nil
}

// CheckAll returns all errors that Check finds, at most 100, with each node reported once.
func CheckAll(m *IRModule) []*Error { return checkModule(m, maxErrors) }

// CheckFunc is Check for a single function. It does not check that functions of the module that it calls exist.
func CheckFunc(f *PrimFunc) error {
	c := &checker{limit: 1}
	c.function(f)
	if len(c.errs) > 0 {
		return c.errs[0]
	}
	return nil
}

func checkModule(m *IRModule, limit int) []*Error {
	c := &checker{limit: limit, calls: newCallGraph(m)}
	if m == nil {
		c.fail("the module is nil")
		return c.errs
	}
	names := map[string]bool{}
	for i, f := range m.Funcs {
		c.push(path.AtIndex("funcs", i))
		if f != nil && f.Name != "" && names[f.Name] {
			c.fail("two functions are named %q: give one another name", f.Name)
		} else if f == nil {
			c.fail("the function is nil")
		}
		c.pop()
		if f != nil {
			names[f.Name] = true
			c.function(f)
		}
	}
	c.attrs("attrs", m.Attrs, true)
	return c.errs
}

// checker walks through a module and records errors.
type checker struct {
	scopes.Scopes
	calls   *callGraph // nil when a single function is checked
	fn      *PrimFunc
	levels  map[any]int // scope levels of the variables and buffers that are in scope
	here    [][]any     // the definitions in each open scope
	binders map[any]any // the binders of all definitions in the function
	memo    map[any]checked
	path    []path.Step
	depth   int
	guarded int // number of conditions that guard the current node

	// fragments are the loads whose address an intrinsic of fragments takes.
	fragments map[*BufferLoad]bool

	returned bool
	errs     []*Error
	limit    int
}

// checked is the result for a node.
type checked struct {
	scopes.Stamp
	t                     Type
	failed, open, guarded bool
}

func (c *checker) push(s path.Step) { c.path = append(c.path, s) }
func (c *checker) pop()             { c.path = c.path[:len(c.path)-1] }
func (c *checker) stopped() bool    { return len(c.errs) >= c.limit }

func (c *checker) fail(format string, args ...any) {
	if c.stopped() {
		return
	}
	e := &Error{Path: path.Short(c.path), Message: fmt.Sprintf(format, args...)}
	if c.fn != nil {
		e.Func = c.fn.Name
	}
	c.errs = append(c.errs, e)
}

func (c *checker) function(f *PrimFunc) {
	if f == nil {
		c.fail("the function is nil")
		return
	}
	c.fn, c.levels, c.binders, c.memo = f, map[any]int{}, map[any]any{}, map[any]checked{}
	c.fragments = map[*BufferLoad]bool{}
	c.Scopes, c.here, c.returned = scopes.Scopes{}, nil, false
	before := len(c.errs)
	if f.Name == "" {
		c.fail("the function has no name")
	} else if !isIdentifier(f.Name) {
		c.fail("function name %q is no C identifier: use letters, digits and _, and no digit first", f.Name)
	}
	if t := f.Result; t != Void && (CheckType(t) != nil || t.Lanes != 1) {
		c.fail("result of type %s: want void or a scalar", TypeName(t))
	}
	c.attrs("attrs", f.Attrs, true)
	c.inside()
	for i, p := range f.Params {
		c.push(path.AtIndex("params", i))
		if p != nil && c.defined(p) {
			c.fail("parameter %s occurs twice", p.Name)
		} else {
			c.bindVar(p, f)
			if p != nil && p.Type.Lanes > 1 {
				c.fail("parameter %s of type %s: want a scalar", p.Name, p.Type)
			}
		}
		c.pop()
	}
	c.parameterBuffers(f)
	errors := len(c.errs)
	c.body(f.Body)
	if f.Result != Void && !c.returned && len(c.errs) == errors {
		c.fail("the function has a result of type %s, and no call of ret", f.Result)
	}
	if len(c.errs) == before && !c.stopped() { // indices can be checked only in a program without other errors
		c.bounds(f)
	}
	c.fn = nil
}

// parameterBuffers defines the buffers of parameters, and before them the variables of their sizes.
func (c *checker) parameterBuffers(f *PrimFunc) {
	var buffers []*Buffer
	var owners []*Var
	for _, p := range f.Params {
		b, ok := f.Buffers[p]
		if !ok || p == nil {
			continue
		}
		switch {
		case p.Type != Handle:
			c.fail("parameter %s of type %s has a buffer: want type handle", p.Name, p.Type)
		case b == nil:
			c.fail("the buffer of parameter %s is nil", p.Name)
		case slices.Contains(buffers, b):
			c.fail("two parameters have buffer %s", b.Name)
		default:
			buffers, owners = append(buffers, b), append(owners, p)
		}
	}
	strangers := []string{}
	for key := range f.Buffers {
		if key == nil || !slices.Contains(f.Params, key) {
			strangers = append(strangers, NameOf(key))
		}
	}
	slices.Sort(strangers)
	for _, name := range strangers {
		c.fail("a buffer is given for %s, which is no parameter", name)
	}
	for _, b := range buffers {
		c.push(path.At("buffer(" + b.Name + ")"))
		for _, v := range b.SizeVars() {
			if v != nil && !c.defined(v) {
				c.bindVar(v, b)
			}
		}
		c.pop()
	}
	for i, b := range buffers {
		c.push(path.At("buffer(" + b.Name + ")"))
		c.bindBuffer(b, owners[i], f)
		c.pop()
	}
}

// isIdentifier reports whether a name is a valid C identifier and symbol of a library. Generators deal with reserved
// words.
func isIdentifier(name string) bool {
	for i, r := range name {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}

func (c *checker) attrs(name string, all map[string]any, targets bool) {
	for _, key := range slices.Sorted(maps.Keys(all)) {
		c.push(path.At(name + "[" + key + "]"))
		if key == "" {
			c.fail("the key is empty")
		}
		switch v := all[key].(type) {
		case int64, bool, float64, string:
		case *target.Target:
			if v == nil {
				c.fail("the target is nil")
			} else if !targets {
				c.fail("only functions and modules can have a target")
			}
		default:
			want := "int64, bool, float64 or string"
			if targets {
				want = "int64, bool, float64, string or *target.Target"
			}
			c.fail("the value is of Go type %T: want %s", v, want)
		}
		c.pop()
	}
}
