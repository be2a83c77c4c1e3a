package tir

import (
	"slices"
	"strings"

	"tvmgo/tir/internal/path"
)

// call checks a call. Calls of ret and ret_none are statements: see evaluate.
func (c *checker) call(e *Call) (Type, bool) {
	if e.Kind == CallIntrinsic && (e.Name == "ret" || e.Name == "ret_none") {
		c.fail("%s is part of an expression: make it a statement of its own, with Evaluate", e.Name)
		return Void, false
	}
	return c.callParts(e)
}

func (c *checker) callParts(e *Call) (Type, bool) {
	if e.Kind >= numCallKinds {
		c.fail("call of %s: kind %d does not exist", e.Name, e.Kind)
		return Void, false
	}
	if !c.failed(CheckType(e.Type)) {
		return Void, false
	}
	ok := true
	types := make([]Type, len(e.Args))
	for i, a := range e.Args {
		c.push(path.AtIndex("args", i))
		if load := addressed(a); load != nil && IsFragmentCall(e) {
			c.fragments[load] = true
		}
		if s, isText := a.(*StringImm); isText && s != nil && takesText(e) {
			types[i] = Handle
		} else {
			behind := e.Kind == CallIntrinsic && e.Name == "if_then_else" && i > 0
			if behind {
				c.guarded++
			}
			t, fine := c.value(a)
			if behind {
				c.guarded--
			}
			types[i], ok = t, ok && fine
		}
		c.pop()
	}
	if !ok || !c.failed(e.checkTypes(types)) {
		return Void, false
	}
	switch {
	case e.Kind == CallFunc && c.calls != nil:
		return e.Type, c.callee(e, types)
	case e.Kind == CallIntrinsic && e.Name == "address_of":
		if len(e.Args) != 1 || e.Type != Handle {
			c.fail("intrinsic address_of of type %s takes an element of a buffer: want type handle and 1 argument, found %d",
				TypeName(e.Type), len(e.Args))
			return Void, false
		}
		if _, isLoad := e.Args[0].(*BufferLoad); !isLoad {
			c.fail("intrinsic address_of takes an element of a buffer, found %s", NodeName(e.Args[0]))
			return Void, false
		}
	}
	return e.Type, true
}

// takesText reports whether arguments of a call may be text.
func takesText(e *Call) bool {
	if e.Kind != CallIntrinsic {
		return true
	}
	i := intrinsics[e.Name]
	return i != nil && (i.Args < 0 || e.Name == "fragment_load" || e.Name == "fragment_store")
}

// evaluate checks an expression that is computed for its effect. A call of ret or ret_none ends the function.
func (c *checker) evaluate(e Expr) {
	call, ok := e.(*Call)
	if !ok || call == nil || call.Kind != CallIntrinsic || call.Name != "ret" && call.Name != "ret_none" {
		c.expr(e)
		return
	}
	c.returned = true
	if _, ok := c.callParts(call); !ok {
		return
	}
	t := Void
	if call.Name == "ret" {
		t = c.memoType(call.Args[0])
	}
	if result := c.fn.Result; t != result {
		c.fail("%s returns type %s, but the function's result is of type %s", call.Name, TypeName(t), TypeName(result))
	}
}

// memoType returns the type of an expression that was found correct.
func (c *checker) memoType(e Expr) Type {
	if f, ok := c.memo[e]; ok {
		return f.t
	}
	return e.DType() // an expression without parts
}

// callee checks a call of a function of the module.
func (c *checker) callee(e *Call, types []Type) bool {
	f := c.calls.functions[e.Name]
	switch {
	case f == nil:
		c.fail("call of function %s, which the module does not contain", e.Name)
		return false
	case len(types) != len(f.Params):
		c.fail("function %s takes %d arguments, found %d", e.Name, len(f.Params), len(types))
		return false
	case e.Type != f.Result:
		c.fail("call of function %s of type %s: its result is of type %s", e.Name, TypeName(e.Type), TypeName(f.Result))
		return false
	}
	for i, p := range f.Params {
		if p != nil && p.Type != types[i] {
			c.fail("function %s: argument %d is of type %s: want %s", e.Name, i, types[i], p.Type)
			return false
		}
	}
	if circle := c.calls.circle(c.fn.Name, e.Name); circle != nil {
		c.fail("functions call each other recursively: %s", strings.Join(circle, " calls "))
		return false
	}
	return true
}

// callGraph records which functions of a module call which others.
type callGraph struct {
	functions map[string]*PrimFunc
	callees   map[string][]string // of the functions for which of has been called
	reported  map[string]bool     // cycles
}

func newCallGraph(m *IRModule) *callGraph {
	g := &callGraph{map[string]*PrimFunc{}, map[string][]string{}, map[string]bool{}}
	if m == nil {
		return g
	}
	for _, f := range m.Funcs {
		if f != nil && g.functions[f.Name] == nil {
			g.functions[f.Name] = f
		}
	}
	return g
}

// of returns the functions that a function calls. It visits each node once, whatever its type.
func (g *callGraph) of(name string) []string {
	if known, ok := g.callees[name]; ok {
		return known
	}
	g.callees[name] = nil
	f := g.functions[name]
	if f == nil {
		return nil
	}
	seen := map[any]bool{}
	for todo := []any{f.Body}; len(todo) > 0; {
		node := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if IsNil(node) || !IsNode(node) || seen[node] {
			continue
		}
		seen[node] = true
		if e, ok := node.(*Call); ok && e.Kind == CallFunc && !slices.Contains(g.callees[name], e.Name) {
			g.callees[name] = append(g.callees[name], e.Name)
		}
		eachPart(node, func(_ *Field, _ int, part any) { todo = append(todo, part) })
	}
	return g.callees[name]
}

// circle returns the shortest path from a call back to the caller; nil if there is none, or if the cycle was reported
// before.
func (g *callGraph) circle(caller, callee string) []string {
	from := map[string]string{callee: ""}
	for todo := []string{callee}; len(todo) > 0; todo = todo[1:] {
		if todo[0] == caller {
			var way []string
			for f := caller; f != ""; f = from[f] {
				way = append(way, f)
			}
			way = append(way, caller) // in reverse: caller … callee, caller
			slices.Reverse(way)
			key := slices.Sorted(slices.Values(way[1:]))
			if g.reported[strings.Join(key, " ")] {
				return nil
			}
			g.reported[strings.Join(key, " ")] = true
			return way
		}
		for _, next := range g.of(todo[0]) {
			if _, seen := from[next]; !seen {
				from[next] = todo[0]
				todo = append(todo, next)
			}
		}
	}
	return nil
}
