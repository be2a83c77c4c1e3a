package codegen

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tvmgo/codegen/c"
	"tvmgo/dlpack"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/transform"
)

// Attributes of functions that Build reads.
const (
	AttrTarget = transform.AttrTarget     // *target.Target, or text for target.New: the target of the function
	AttrConv   = transform.AttrConvention // int64: the calling convention
	AttrOp     = "op"                     // string: the operator, for code that divides a program among targets: "conv2d"
)

// Calling conventions, with the numbers of Apache TVM.
const (
	ConvDefault = 0 // a packed function, whose arguments are checked
	ConvPacked  = 1 // the same
	ConvLaunch  = 2 // a kernel, which is launched on a device
)

// Build makes one module of the runtime from a program. The caller closes it.
//
// Each function is built for the target in its attribute "target", else for t. Functions for a composite target are
// divided among its members by partition.New, with each function as an operation: its kind is its attribute "op"
// (else "matmul" if that is what it computes, else "function"), and its attributes are the function's and OpFunction.
// Then, for each target, the passes of its kind run (columns ColumnLower and ColumnPasses), which may assign functions
// to other targets by the same attribute, and its code generator makes a module.
//
// The modules are linked: the host's module, or else the first one that no other needs, imports the others, and each
// imports those whose functions it calls. Calls of functions that are built for another target become packed calls, so
// they can pass tensors that are parameters, and numbers. The module that Build returns finds every function by its
// name.
//
// With more targets, the program is built for each of them: see [BuildVariants].
func Build(m *tir.IRModule, t *target.Target, more ...*target.Target) (*runtime.Module, error) {
	switch {
	case m == nil:
		return nil, runtime.Errorf(runtime.ErrInvalidArgument, "build: the module is nil")
	case t == nil || t.Kind() == nil:
		return nil, runtime.Errorf(runtime.ErrInvalidArgument, "build: the target is nil: make one by target.New, as in "+
			"target.New(\"c\")")
	}
	if len(more) > 0 {
		variants := []Variant{{t, m}}
		for _, u := range more {
			variants = append(variants, Variant{u, m})
		}
		return BuildVariants(variants)
	}
	if err := tir.Check(m); err != nil {
		return nil, runtime.Errorf(runtime.ErrInvalidArgument, "build for kind %q: %w", t.Kind(), err)
	}
	b := &build{target: t, attrs: m.Attrs, wanted: names(m.Funcs)}
	return b.run(m)
}

func (b *build) run(m *tir.IRModule) (*runtime.Module, error) {
	defer b.close()
	if err := b.divide(m); err != nil {
		return nil, err
	}
	if err := b.connect(); err != nil {
		return nil, err
	}
	if b.fat != nil { // the host's code depends on the format of the devices' code
		if err := b.generateAll(func(p *part) bool { return !isHost(p.target) }); err != nil {
			return nil, err
		}
		if err := b.addDispatch(); err != nil {
			return nil, err
		}
	}
	if err := b.generateAll(func(p *part) bool { return p.module == nil }); err != nil {
		return nil, err
	}
	return b.link()
}

// build is the state of one Build.
type build struct {
	target *target.Target
	attrs  map[string]any // of the program
	wanted []string       // the names of its functions
	parts  []*part
	found  *targets // of its functions
	fat    *fat     // of a build for several targets, otherwise nil
	root   *part    // imports the others; set when it is known
	about  string   // the origin of its functions, for their metadata
	// aliases lists which of their arguments must not overlap.
	aliases string
}

// part holds the functions that are built together for one target.
type part struct {
	target *target.Target
	funcs  []*tir.PrimFunc
	from   *tir.IRModule   // the last result of the passes
	calls  []*part         // those whose functions it calls
	module *runtime.Module // owned
}

func (b *build) close() {
	for _, p := range b.parts {
		p.module.Close()
	}
}

// divide assigns the functions to targets and runs the passes.
func (b *build) divide(m *tir.IRModule) error {
	targets, err := b.targets(m)
	if err != nil {
		return err
	}
	b.found = targets
	if err := checkCircle(m.Funcs); err != nil {
		return err
	}
	if b.about, err = aboutOf(m.Funcs, targets.of); err != nil {
		return err
	}
	if b.aliases, err = aliasesOf(m, targets.of); err != nil {
		return err
	}
	funcs, err := packCalls(targets.settle(m.Funcs), func(f *tir.PrimFunc) any { return targets.key(f.Name) })
	if err != nil {
		return err
	}
	batches := []batch{}
	for _, f := range funcs {
		batches = addTo(batches, targets.of(f.Name), f, 0)
	}
	if len(batches) == 0 { // an empty program
		batches = append(batches, batch{target: b.target})
	}
	// Devices first: their passes may leave functions for the host, which then go through the host's passes with the
	// others.
	slices.SortStableFunc(batches, func(x, y batch) int { return boolOrder(isHost(x.target), isHost(y.target)) })
	for len(batches) > 0 {
		now := batches[0]
		out, err := b.runPasses(now)
		if err != nil {
			return err
		}
		p := b.part(now.target)
		p.from = out
		var moved []batch
		for _, f := range out.Funcs {
			to, set, err := targetOf(f)
			switch {
			case err != nil:
				return err
			case set && !to.Equal(now.target) && now.hops == mostHops:
				return runtime.Errorf(runtime.ErrInvalidArgument, "build for kind %q: its passes pass function %s on to kind "+
					"%q, which passed it on, too: one of the targets must keep the function", now.target.Kind(), f.Name, to.Kind())
			case set && !to.Equal(now.target):
				moved = addTo(moved, to, f, now.hops+1)
			default:
				p.funcs = append(p.funcs, f)
			}
		}
		batches = merge(batches[1:], moved)
	}
	b.parts = slices.DeleteFunc(b.parts, func(p *part) bool { return len(p.funcs) == 0 && len(b.wanted) > 0 })
	return b.checkNames()
}

// mostHops limits how often passes may hand a function to another target.
const mostHops = 4

// batch holds functions of a target whose passes have not run yet.
type batch struct {
	target *target.Target
	funcs  []*tir.PrimFunc
	hops   int
}

func addTo(list []batch, t *target.Target, f *tir.PrimFunc, hops int) []batch {
	for i := range list {
		if list[i].target.Equal(t) {
			list[i].funcs = append(list[i].funcs, f)
			list[i].hops = max(list[i].hops, hops)
			return list
		}
	}
	return append(list, batch{target: t, funcs: []*tir.PrimFunc{f}, hops: hops})
}

// merge adds moved functions to the batches of their targets.
func merge(list, moved []batch) []batch {
	for _, m := range moved {
		for _, f := range m.funcs {
			list = addTo(list, m.target, f, m.hops)
		}
	}
	return list
}

// part returns the part of a target.
func (b *build) part(t *target.Target) *part {
	for _, p := range b.parts {
		if p.target.Equal(t) {
			return p
		}
	}
	p := &part{target: t}
	b.parts = append(b.parts, p)
	return p
}

// runPasses runs the passes of a kind.
func (b *build) runPasses(now batch) (*tir.IRModule, error) {
	kind := now.target.Kind()
	if _, err := generator(kind); err != nil {
		return nil, b.blame(now.funcs, err)
	}
	passes, err := passesOf(kind)
	if err != nil {
		return nil, err
	}
	run := func(funcs []*tir.PrimFunc) (*tir.IRModule, error) {
		m, err := transform.ForEvery().Run(&tir.IRModule{Funcs: funcs, Attrs: b.attrs}, now.target)
		if err != nil {
			return nil, withContext("build for kind %q: %w", kind, err)
		}
		for i, pass := range passes {
			next, err := guarded(func() (*tir.IRModule, error) { return pass(m, now.target) })
			if err != nil {
				return nil, withContext("build for kind %q: pass %d: %w", kind, i, err)
			}
			if next == nil {
				return nil, runtime.Errorf(runtime.ErrFailed, "build for kind %q: pass %d returned no module", kind, i)
			}
			m = next
		}
		return m, nil
	}
	if len(passes) > 0 && &passes[0] == &hostPasses[0] { // these passes do not use names
		run = onceEach(run)
	}
	m, err := run(now.funcs)
	if err != nil {
		return nil, err
	}
	if len(passes) > 0 {
		if err := tir.Check(m); err != nil {
			return nil, runtime.Errorf(runtime.ErrFailed, "build for kind %q: its passes made an invalid program: %w",
				kind, err)
		}
	}
	return m, nil
}

// blame names the function that needs a missing generator, if not all functions do.
func (b *build) blame(funcs []*tir.PrimFunc, err error) error {
	if len(funcs) == 0 || len(funcs) == len(b.wanted) {
		return err
	}
	var e *runtime.Error
	if errors.As(err, &e) {
		return sameKind(e, "function %s: %w", funcs[0].Name, err)
	}
	return fmt.Errorf("function %s: %w", funcs[0].Name, err)
}

func (b *build) generateAll(wanted func(p *part) bool) error {
	for _, p := range b.parts {
		if wanted(p) {
			if err := b.generate(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// generate makes a part's module.
func (b *build) generate(p *part) error {
	kind := p.target.Kind()
	build, err := generator(kind)
	if err != nil {
		return err
	}
	m := p.from
	if m == nil || !slices.Equal(m.Funcs, p.funcs) {
		m = &tir.IRModule{Funcs: p.funcs, Attrs: b.attrs}
		if p.from != nil {
			m.Attrs = p.from.Attrs
		}
	}
	m = &tir.IRModule{Funcs: m.Funcs, Attrs: maps.Clone(m.Attrs)}
	if m.Attrs == nil {
		m.Attrs = map[string]any{}
	}
	m.Attrs[c.AttrAbout], m.Attrs[c.AttrAliases] = b.about, b.aliases
	if others := b.others(p); others != "" {
		m.Attrs[c.AttrProgram] = others
	}
	p.module, err = guarded(func() (*runtime.Module, error) { return build(m, p.target) })
	switch {
	case err != nil:
		return withContext("build for kind %q: %w", kind, err)
	case p.module == nil:
		return runtime.Errorf(runtime.ErrFailed, "build for kind %q: the code generator returned no module", kind)
	case p.module.ID() == 0:
		return runtime.Errorf(runtime.ErrClosed, "build for kind %q: the code generator returned a closed module", kind)
	}
	constants, err := guarded(func() (*constantsResult, error) {
		c, err := constantsOf(kind, m, p.target)
		return &constantsResult{c}, err
	})
	if err != nil {
		return withContext("build for kind %q: its constants: %w", kind, err)
	}
	if constants.value == nil {
		return nil
	}
	outer, err := runtime.NewConstants(constants.value)
	if err != nil {
		return withContext("build for kind %q: its constants: %w", kind, err)
	}
	if err := outer.Import(p.module); err != nil {
		outer.Close()
		return err
	}
	p.module.Close()
	p.module = outer
	return nil
}

// others lists the functions of other parts.
func (b *build) others(p *part) string {
	var all []string
	for _, q := range b.parts {
		if q != p {
			all = append(all, names(q.funcs)...)
		}
	}
	return strings.Join(all, " ")
}

// withContext formats an error around another one and keeps its kind; ErrInvalidArgument if it has none.
func withContext(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	var e *runtime.Error
	if errors.As(err, &e) && e.Kind != nil {
		return sameKind(e, "%w", err)
	}
	return runtime.Errorf(runtime.ErrInvalidArgument, "%w", err)
}

// guarded runs code of third parties: a panic becomes an error.
func guarded[T any](f func() (*T, error)) (out *T, err error) {
	defer func() {
		if p := recover(); p != nil {
			out, err = nil, runtime.Errorf(runtime.ErrFailed, "it panicked: %v", p)
		}
	}()
	return f()
}

// isHost reports whether code for a target runs on the CPU.
func isHost(t *target.Target) bool { return t.DeviceType() == dlpack.CPU }

func boolOrder(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func names(funcs []*tir.PrimFunc) []string {
	all := make([]string, len(funcs))
	for i, f := range funcs {
		all[i] = f.Name
	}
	return all
}

// sameKind makes an error of the kind and the code of another.
func sameKind(as *runtime.Error, format string, args ...any) error {
	e := runtime.Errorf(as.Kind, format, args...)
	e.Code = as.Code
	return e
}
