package codegen

import (
	"maps"
	"slices"

	"tvmgo/internal/modulekind"
	"tvmgo/runtime"
	"tvmgo/tir"
)

// connect finds which part calls which, and divides parts that would call each other.
func (b *build) connect() error {
	if len(b.parts) < 2 {
		return nil
	}
	var all []*tir.PrimFunc
	owner := map[string]*part{}
	for _, p := range b.parts {
		for _, f := range p.funcs {
			all = append(all, f)
			owner[f.Name] = p
		}
	}
	if err := checkCircle(all); err != nil {
		return err
	}
	if b.findCalls(owner); b.inCircle() {
		b.layer(all, owner)
		b.findCalls(owner)
	}
	packed, err := packCalls(all, func(f *tir.PrimFunc) any { return owner[f.Name] })
	if err != nil {
		return err
	}
	if packed, err = placeTensors(packed); err != nil {
		return err
	}
	for _, p := range b.parts {
		p.funcs = slices.DeleteFunc(slices.Clone(packed), func(f *tir.PrimFunc) bool { return owner[f.Name] != p })
	}
	return nil
}

// findCalls sets for each part the parts that it calls.
func (b *build) findCalls(owner map[string]*part) {
	for _, p := range b.parts {
		p.calls = nil
		for _, f := range p.funcs {
			for _, name := range callees(f) {
				if q := owner[name]; q != nil && q != p && !slices.Contains(p.calls, q) {
					p.calls = append(p.calls, q)
				}
			}
		}
	}
}

// inCircle reports whether parts call each other.
func (b *build) inCircle() bool {
	for _, p := range b.parts {
		for _, q := range p.calls {
			if q.reaches(p) {
				return true
			}
		}
	}
	return false
}

func (p *part) reaches(q *part) bool {
	seen := map[*part]bool{p: true}
	for todo := []*part{p}; len(todo) > 0; todo = todo[1:] {
		if todo[0] == q {
			return true
		}
		for _, next := range todo[0].calls {
			if !seen[next] {
				seen[next] = true
				todo = append(todo, next)
			}
		}
	}
	return false
}

// layer divides parts by how often the target changes along the calls of a function, so that no part calls one that
// calls it.
func (b *build) layer(all []*tir.PrimFunc, owner map[string]*part) {
	byName := map[string]*tir.PrimFunc{}
	for _, f := range all {
		byName[f.Name] = f
	}
	depths := map[string]int{}
	var depth func(f *tir.PrimFunc) int
	depth = func(f *tir.PrimFunc) int {
		if d, known := depths[f.Name]; known {
			return d
		}
		d := 0
		for _, name := range callees(f) {
			if g := byName[name]; g != nil {
				step := 0
				if owner[name] != owner[f.Name] {
					step = 1
				}
				d = max(d, depth(g)+step)
			}
		}
		depths[f.Name] = d
		return d
	}
	type key struct {
		p     *part
		depth int
	}
	layers := map[key]*part{}
	var parts []*part
	next := map[string]*part{}
	for _, f := range all {
		k := key{owner[f.Name], depth(f)}
		if layers[k] == nil {
			layers[k] = &part{target: k.p.target, from: k.p.from}
			parts = append(parts, layers[k])
		}
		layers[k].funcs = append(layers[k].funcs, f)
		next[f.Name] = layers[k]
	}
	b.parts = parts
	maps.Copy(owner, next)
}

// link makes one module of the modules of the parts.
func (b *build) link() (*runtime.Module, error) {
	if err := b.checkListed(); err != nil {
		return nil, err
	}
	root := b.root
	if root == nil {
		root = b.chooseRoot()
	}
	for _, p := range b.parts {
		for _, q := range p.calls {
			if err := p.module.Import(q.module); err != nil {
				return nil, withContext("build: link the code for kind %q with that for kind %q: %w", p.target.Kind(),
					q.target.Kind(), err)
			}
		}
	}
	for _, p := range b.parts {
		if p == root || slices.Contains(root.calls, p) {
			continue
		}
		if err := root.module.Import(p.module); err != nil {
			return nil, withContext("build: link the code for kind %q with that for kind %q: %w", root.target.Kind(),
				p.target.Kind(), err)
		}
	}
	m := root.module
	root.module = nil // the caller owns it now
	return m, nil
}

// chooseRoot returns the part that imports the others: the host's if no other part calls it, otherwise the first
// one on the CPU, otherwise the first.
func (b *build) chooseRoot() *part {
	called := map[*part]bool{}
	for _, p := range b.parts {
		for _, q := range p.calls {
			called[q] = true
		}
	}
	best, rank := (*part)(nil), 0
	for _, p := range b.parts {
		if called[p] {
			continue
		}
		r := 1
		host := b.target
		if h := b.target.Host(); h != nil && !isHost(b.target) {
			host = h
		}
		switch {
		case p.target.Equal(host) && isHost(p.target):
			r = 4
		case isHost(p.target) && p.module.Properties()&runtime.Exportable != 0: // it can become the exported library
			r = 3
		case isHost(p.target):
			r = 2
		}
		if r > rank {
			best, rank = p, r
		}
	}
	return best
}

// checkListed returns an error if a module lacks one of its functions, or has one of another module. Modules that list
// no functions are not checked.
func (b *build) checkListed() error {
	owner := map[string]*part{}
	for _, p := range b.parts {
		for _, f := range p.funcs {
			owner[f.Name] = p
		}
	}
	for _, p := range b.parts {
		listed := functionsOf(p.module)
		if len(listed) == 0 {
			continue
		}
		for _, f := range p.funcs {
			if !slices.Contains(listed, f.Name) {
				return runtime.Errorf(runtime.ErrFailed, "build for kind %q: the module that its code generator returned lacks "+
					"function %s", p.target.Kind(), f.Name)
			}
		}
		for _, name := range listed {
			if q := owner[name]; q != nil && q != p {
				return runtime.Errorf(runtime.ErrInvalidArgument, "build: the code for kind %q brings a function %s, "+
					"as does that for kind %q: give one another name", p.target.Kind(), name, q.target.Kind())
			}
		}
	}
	return nil
}

// functionsOf lists the functions of a module; for a module that only provides constants, those of its imports.
func functionsOf(m *runtime.Module) []string {
	if list := m.Functions(); len(list) > 0 || m.Kind() != modulekind.ConstLoader.Name {
		return list
	}
	var all []string
	deps, _ := m.Imports()
	for _, d := range deps {
		all = append(all, d.Functions()...)
		d.Close()
	}
	return all
}
