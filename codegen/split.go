package codegen

import (
	"maps"
	"slices"
	"strings"

	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir"
)

// targets maps functions to targets.
type targets struct {
	all   []*target.Target // all different
	place map[string]int   // index of a function's target in all, by the function's name
}

func (t *targets) set(name string, to *target.Target) {
	i := slices.IndexFunc(t.all, to.Equal)
	if i < 0 {
		i = len(t.all)
		t.all = append(t.all, to)
	}
	t.place[name] = i
}

func (t *targets) key(name string) any           { return t.place[name] }
func (t *targets) of(name string) *target.Target { return t.all[t.place[name]] }

// settle sets the targets of functions whose attribute names a composite one: the members that they were given to.
func (t *targets) settle(funcs []*tir.PrimFunc) []*tir.PrimFunc {
	out := slices.Clone(funcs)
	for i, f := range funcs {
		if own, set, err := targetOf(f); err == nil && set && own.Kind().IsComposite() {
			g := *f
			g.Attrs = maps.Clone(f.Attrs)
			g.Attrs[AttrTarget] = t.of(f.Name)
			out[i] = &g
		}
	}
	return out
}

// targets finds the target of each function. Functions for a composite target are divided among its members.
func (b *build) targets(m *tir.IRModule) (*targets, error) {
	found := &targets{place: map[string]int{}}
	var composites []*target.Target
	members := map[int][]*tir.PrimFunc{} // by index in composites
	for _, f := range m.Funcs {
		t, set, err := targetOf(f)
		if err != nil {
			return nil, err
		}
		if !set {
			t = b.target
		}
		if err := checkConvention(f, t); err != nil {
			return nil, err
		}
		if !t.Kind().IsComposite() {
			found.set(f.Name, t)
			continue
		}
		i := slices.IndexFunc(composites, t.Equal)
		if i < 0 {
			i = len(composites)
			composites = append(composites, t)
		}
		members[i] = append(members[i], f)
	}
	for i, t := range composites {
		if err := b.assign(found, t, members[i], m); err != nil {
			return nil, err
		}
	}
	if len(m.Funcs) == 0 && b.target.Kind().IsComposite() {
		return nil, runtime.Errorf(runtime.ErrInvalidArgument, "build for kind %q: the program has no functions to divide",
			b.target.Kind())
	}
	return found, nil
}

// targetOf returns the target in a function's attributes.
func targetOf(f *tir.PrimFunc) (t *target.Target, set bool, err error) {
	v, set := f.Attrs[AttrTarget]
	if !set {
		return nil, false, nil
	}
	switch v := v.(type) {
	case *target.Target:
		if v == nil || v.Kind() == nil {
			return nil, true, runtime.Errorf(runtime.ErrInvalidArgument,
				"build: function %s: the target in its attribute %s is nil", f.Name, AttrTarget)
		}
		return v, true, nil
	case string:
		if t, err = target.New(v); err != nil {
			return nil, true, runtime.Errorf(runtime.ErrInvalidArgument, "build: function %s: attribute %s: %w", f.Name,
				AttrTarget, err)
		}
		return t, true, nil
	}
	return nil, true, wrongType("build: function %s: attribute %s is a %T: want a target", f.Name, AttrTarget, v)
}

// checkConvention returns an error for a kernel whose target has no device to launch it on.
func checkConvention(f *tir.PrimFunc, t *target.Target) error {
	v, set := f.Attrs[AttrConv]
	if !set {
		return nil
	}
	conv, ok := v.(int64)
	switch {
	case !ok || conv < ConvDefault || conv > ConvLaunch:
		return runtime.Errorf(runtime.ErrInvalidArgument, "build: function %s: attribute %s is %v: want 0 or 1 (a "+
			"packed function), or 2 (a kernel)", f.Name, AttrConv, v)
	case conv == ConvLaunch && !t.Kind().IsComposite() && isHost(t):
		return runtime.Errorf(runtime.ErrInvalidArgument, "build: function %s is a kernel (attribute %s is 2), and "+
			"the target's kind %q has no device to launch it on: give it the target of one", f.Name, AttrConv, t.Kind())
	}
	return nil
}

// callees lists the functions that a function calls, by name, each once. A packed call may call any function.
func callees(f *tir.PrimFunc) []string {
	var all []string
	tir.Walk(f.Body, func(node any) bool {
		if c, ok := node.(*tir.Call); ok && (c.Kind == tir.CallFunc || c.Kind == tir.CallPacked) &&
			!slices.Contains(all, c.Name) {
			all = append(all, c.Name)
		}
		return true
	})
	return all
}

// checkCircle returns an error if functions call each other recursively, packed calls included.
func checkCircle(funcs []*tir.PrimFunc) error {
	byName := map[string]*tir.PrimFunc{}
	for _, f := range funcs {
		byName[f.Name] = f
	}
	const open, done = 1, 2
	state := map[string]int{}
	var way []string
	var visit func(f *tir.PrimFunc) error
	visit = func(f *tir.PrimFunc) error {
		state[f.Name] = open
		way = append(way, f.Name)
		for _, name := range callees(f) {
			g := byName[name]
			switch {
			case g == nil || state[name] == done:
			case state[name] == open:
				circle := append(slices.Clone(way[slices.Index(way, name):]), name)
				return runtime.Errorf(runtime.ErrInvalidArgument, "build: functions call each other recursively: %s: "+
					"recursion is not supported", strings.Join(circle, " calls "))
			default:
				if err := visit(g); err != nil {
					return err
				}
			}
		}
		way = way[:len(way)-1]
		state[f.Name] = done
		return nil
	}
	for _, f := range funcs {
		if state[f.Name] == 0 {
			if err := visit(f); err != nil {
				return err
			}
		}
	}
	return nil
}

// packCalls replaces calls between functions of different targets by packed calls.
func packCalls(funcs []*tir.PrimFunc, place func(*tir.PrimFunc) any) ([]*tir.PrimFunc, error) {
	byName := map[string]*tir.PrimFunc{}
	for _, f := range funcs {
		byName[f.Name] = f
	}
	out := make([]*tir.PrimFunc, len(funcs))
	for i, f := range funcs {
		var failed error
		change := &tir.Mutator{Expr: func(e tir.Expr) tir.Expr {
			c, ok := e.(*tir.Call)
			if !ok || c.Kind != tir.CallFunc {
				return e
			}
			g := byName[c.Name]
			if g == nil || place(g) == place(f) {
				return e
			}
			if err := canPass(f, g, c); err != nil && failed == nil {
				failed = err
			}
			return &tir.Call{Type: c.Type, Kind: tir.CallPacked, Name: c.Name, Args: c.Args}
		}}
		body := change.MutateStmt(f.Body)
		if failed != nil {
			return nil, failed
		}
		out[i] = f
		if body != f.Body {
			changed := *f
			changed.Body = body
			out[i] = &changed
		}
	}
	return out, nil
}

// canPass returns an error if a packed call cannot pass the arguments of a function.
func canPass(f, g *tir.PrimFunc, c *tir.Call) error {
	for i, p := range g.Params {
		if i >= len(c.Args) || g.Buffers[p] == nil {
			continue
		}
		if v, ok := c.Args[i].(*tir.Var); !ok || f.Buffers[v] == nil {
			return runtime.Errorf(runtime.ErrInvalidArgument, "build: function %s calls %s, which is built for another "+
				"target: argument %d (%s) must be a tensor that is a parameter of %s: an address says nothing "+
				"of its shape", f.Name, g.Name, i, g.Buffers[p].Name, f.Name)
		}
	}
	return nil
}

// checkNames returns an error if passes made two functions of one name, or lost a function.
func (b *build) checkNames() error {
	owner := map[string]*part{}
	for _, p := range b.parts {
		for _, f := range p.funcs {
			if other := owner[f.Name]; other != nil {
				return runtime.Errorf(runtime.ErrInvalidArgument, "build: there are two functions %s: one for kind "+
					"%q, and one for kind %q: give one another name", f.Name, other.target.Kind(), p.target.Kind())
			}
			owner[f.Name] = p
		}
	}
	for _, name := range b.wanted {
		if owner[name] == nil {
			return runtime.Errorf(runtime.ErrFailed, "build: passes removed function %s", name)
		}
	}
	return nil
}
