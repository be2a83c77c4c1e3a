package codegen

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"tvmgo/codegen/c"
	"tvmgo/dlpack"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir"
)

// Variant is a program for one target of a fat module.
type Variant struct {
	Target  *target.Target
	Program *tir.IRModule
}

// BuildVariants makes one module from a program for each of several targets: a fat module. The programs have functions
// of the same names, parameters and results, which may be scheduled differently. The caller closes the module.
//
// The module has a function NAME for each function of the programs, and a function NAME__TARGET for each variant, such
// as add__opencl or add__cuda_sm_90. NAME calls the variant for the device of its first tensor (of the first tensor
// whose device differs between the variants). Without a tensor it calls the CPU's variant, or else the first one;
// all of these are code for the host.
//
// Of several variants for a type of device, the first that a device is suitable for is called. For CUDA these are, in
// this order: machine code for the device's major compute capability, with the largest minor one that is not above the
// device's; then code that the driver or NVRTC translates, for the largest capability that is not above it. For other
// devices they are sorted by max_threads_per_block, max_shared_memory_per_block and thread_warp_size of their targets,
// largest first: a device is suitable if its limits are not smaller, and its warps have the same size. The choice is
// made once for each device.
//
// The host's code of all variants is in one module. Its target is the one for the CPU in the list, or else the host of
// the others, or else "c". Different hosts are an error, as are equal targets, and targets between which nothing
// selects.
func BuildVariants(variants []Variant) (*runtime.Module, error) {
	if len(variants) == 0 {
		return nil, runtime.Errorf(runtime.ErrInvalidArgument, "build: there are no targets: give at least one")
	}
	for i, v := range variants {
		if v.Program == nil {
			return nil, runtime.Errorf(runtime.ErrInvalidArgument, "build: program %d is nil", i)
		}
		if v.Target == nil || v.Target.Kind() == nil {
			return nil, runtime.Errorf(runtime.ErrInvalidArgument, "build: target %d is nil: make one by target.New, as in "+
				"target.New(\"c\")", i)
		}
	}
	if len(variants) == 1 {
		return Build(variants[0].Program, variants[0].Target)
	}
	checked := map[*tir.IRModule]bool{}
	for _, v := range variants {
		if checked[v.Program] {
			continue
		}
		checked[v.Program] = true
		if err := tir.Check(v.Program); err != nil {
			return nil, runtime.Errorf(runtime.ErrInvalidArgument, "build for %s: %w", textOf(v.Target), err)
		}
	}
	f, err := newFat(variants)
	if err != nil {
		return nil, err
	}
	m := f.merge()
	if len(m.Funcs) == 0 {
		return Build(m, f.host)
	}
	b := &build{target: f.host, attrs: m.Attrs, wanted: names(m.Funcs), fat: f}
	return b.run(m)
}

// fat is the state of a build for several targets.
type fat struct {
	variants []Variant // with the common host
	texts    []string  // the targets as they were given, without their hosts, for messages
	suffixes []string  // of the names of functions
	host     *target.Target
}

func newFat(given []Variant) (*fat, error) {
	f := &fat{variants: slices.Clone(given)}
	for i, v := range given {
		if err := checkDistinct(given[:i], v.Target); err != nil {
			return nil, err
		}
		f.texts = append(f.texts, textOf(v.Target))
	}
	if err := f.findHost(); err != nil {
		return nil, err
	}
	for i := range f.variants {
		v := &f.variants[i]
		if isHost(v.Target) && !v.Target.Kind().IsComposite() {
			continue
		}
		var err error
		if v.Target, err = v.Target.WithHost(f.host); err != nil {
			return nil, runtime.Errorf(runtime.ErrInvalidArgument, "build for %s: %w", f.texts[i], err)
		}
		if err := checkDistinct(f.variants[:i], v.Target); err != nil {
			return nil, err
		}
	}
	f.nameVariants()
	if err := f.checkSignatures(); err != nil {
		return nil, err
	}
	return f, f.checkNames()
}

// checkDistinct returns an error if a target is among those before it, or is a second one for the CPU.
func checkDistinct(before []Variant, t *target.Target) error {
	for i, v := range before {
		if v.Target.Equal(t) {
			return runtime.Errorf(runtime.ErrInvalidArgument, "build: target %s is in the list twice (%d and %d): give it "+
				"once", textOf(t), i, len(before))
		}
		if isHost(v.Target) && isHost(t) && !v.Target.Kind().IsComposite() && !t.Kind().IsComposite() {
			return runtime.Errorf(runtime.ErrInvalidArgument, "build: targets %s and %s are both for the CPU, and nothing "+
				"selects between them in a call: give one of them, and build another file for the other",
				textOf(v.Target), textOf(t))
		}
	}
	return nil
}

// findHost sets the host, which all targets share.
func (f *fat) findHost() error {
	by := "" // the target that the host comes from
	claim := func(host *target.Target, from string) error {
		bare, err := host.WithHost(nil)
		if err != nil {
			return runtime.Errorf(runtime.ErrInvalidArgument, "build for %s: %w", from, err)
		}
		if f.host != nil && !f.host.Equal(bare) {
			return runtime.Errorf(runtime.ErrInvalidArgument, "build: target %s needs host code for %s, and target %s for "+
				"%s: the host code of all targets is built together: give all of them one host, as in \"%s -host=%s\"", by,
				textOf(f.host), from, textOf(bare), from, f.host.Kind())
		}
		f.host, by = bare, from
		return nil
	}
	var visit func(t *target.Target, from string) error
	visit = func(t *target.Target, from string) error {
		if members := t.Members(); len(members) > 0 {
			for _, m := range members {
				if err := visit(m, from); err != nil {
					return err
				}
			}
			return nil
		}
		switch {
		case isHost(t) && buildsHost(t):
			return claim(t, from)
		case t.Host() != nil:
			return claim(t.Host(), from)
		}
		return nil
	}
	for i, v := range f.variants {
		if err := visit(v.Target, f.texts[i]); err != nil {
			return err
		}
	}
	if f.host == nil {
		host, err := target.New(hostKind)
		if err != nil {
			return err
		}
		f.host = host
	}
	return nil
}

// buildsHost reports whether the kind of a target generates the host's code of other kinds: see AsHost.
func buildsHost(t *target.Target) bool {
	passes, err := passesOf(t.Kind())
	return err == nil && len(passes) > 0 && &passes[0] == &hostPasses[0]
}

// textOf returns a target without its host, for messages.
func textOf(t *target.Target) string {
	if bare, err := t.WithHost(nil); err == nil {
		t = bare
	}
	return given(t)
}

// given returns the kind of a target and the options that differ from the kind's defaults and do not follow from
// others.
func given(t *target.Target) string {
	if t.Kind().IsComposite() {
		return t.String()
	}
	usual := map[string]bool{}
	for _, o := range t.Kind().Options() {
		usual[fmt.Sprintf("-%s=%v", o.Name, o.Default)] = true
	}
	if isHost(t) { // some options are those of this machine
		if plain, err := target.New(t.Kind().Name()); err == nil {
			for _, word := range strings.Fields(plain.String()) {
				usual[word] = true
			}
		}
	}
	words := slices.DeleteFunc(strings.Fields(t.String())[1:], func(w string) bool {
		return usual[w] || strings.HasPrefix(w, "-keys=") || strings.HasPrefix(w, "-feature.")
	})
	return strings.Join(append([]string{t.Kind().Name()}, words...), " ")
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9]+`)

// nameVariants chooses the ends of the variants' names: the kind, and for several targets of a kind what they differ
// in.
func (f *fat) nameVariants() {
	kinds := map[string]int{}
	for _, v := range f.variants {
		kinds[v.Target.Kind().Name()]++
	}
	taken := map[string]int{}
	for _, v := range f.variants {
		kind := v.Target.Kind().Name()
		name := kind
		for _, option := range []string{"arch", "mcpu"} {
			if arch, err := target.Get[string](v.Target, option); err == nil && arch != "" &&
				v.Target.DeviceType() == dlpack.CUDA && name == kind {
				name += "_" + arch
			}
		}
		name = strings.Trim(notInNames.ReplaceAllString(name, "_"), "_")
		if taken[name]++; taken[name] > 1 {
			name = fmt.Sprintf("%s_%d", name, taken[name])
		}
		f.suffixes = append(f.suffixes, name)
	}
}

// variantName returns the name of the variant of a function.
func (f *fat) variantName(i int, function string) string { return function + "__" + f.suffixes[i] }

// indexOf returns the number of the target that a variant of a function is for.
func (f *fat) indexOf(function, variant string) int {
	return slices.IndexFunc(f.suffixes, func(s string) bool { return function+"__"+s == variant })
}

// checkNames returns an error if a variant has the name of another function.
func (f *fat) checkNames() error {
	owner := map[string]string{}
	for _, g := range f.variants[0].Program.Funcs {
		owner[g.Name] = g.Name
	}
	for i, v := range f.variants {
		for _, g := range v.Program.Funcs {
			name := f.variantName(i, g.Name)
			if other, taken := owner[name]; taken {
				return runtime.Errorf(runtime.ErrInvalidArgument, "build: the variant of function %s for %s is named %s, as "+
					"is %s: rename one of the functions", g.Name, f.texts[i], name, describeOwner(other, name))
			}
			owner[name] = g.Name
		}
	}
	return nil
}

func describeOwner(function, name string) string {
	if function == name {
		return "a function of the program"
	}
	return "a variant of function " + function
}

// onHost reports whether a function has nothing to do with devices: no tensors and no kernels.
func onHost(f *tir.PrimFunc) bool {
	return len(f.Buffers) == 0 && !tir.Contains(f.Body, func(node any) bool {
		loop, ok := node.(*tir.For)
		return ok && loop.Kind == tir.ThreadBind
	})
}

// merge returns one program with all variants.
func (f *fat) merge() *tir.IRModule {
	m := &tir.IRModule{Attrs: map[string]any{}}
	for i, v := range f.variants {
		for key, value := range v.Program.Attrs {
			if _, set := m.Attrs[key]; !set {
				m.Attrs[key] = value
			}
		}
		own := map[string]bool{}
		for _, g := range v.Program.Funcs {
			own[g.Name] = true
		}
		rename := &tir.Mutator{Expr: func(e tir.Expr) tir.Expr {
			call, ok := e.(*tir.Call)
			if !ok || call.Kind != tir.CallFunc && call.Kind != tir.CallPacked || !own[call.Name] {
				return e
			}
			renamed := *call
			renamed.Name = f.variantName(i, call.Name)
			return &renamed
		}}
		for _, g := range v.Program.Funcs {
			variant := *g
			variant.Name, variant.Attrs = f.variantName(i, g.Name), maps.Clone(g.Attrs)
			if variant.Attrs == nil {
				variant.Attrs = map[string]any{}
			}
			variant.Attrs[AttrTarget], variant.Attrs[c.AttrShown] = v.Target, g.Name
			if onHost(g) {
				variant.Attrs[AttrTarget] = f.host
			}
			delete(variant.Attrs, "global_symbol")
			variant.Body = rename.MutateStmt(g.Body)
			m.Funcs = append(m.Funcs, &variant)
		}
	}
	return m
}
