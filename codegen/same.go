package codegen

import (
	"maps"
	"slices"

	"tvmgo/codegen/c"
	"tvmgo/tir"
)

// onceEach runs passes on one function of each set whose members differ only in their names. The passes must not depend
// on names.
func onceEach(run func([]*tir.PrimFunc) (*tir.IRModule, error)) func([]*tir.PrimFunc) (*tir.IRModule, error) {
	return func(funcs []*tir.PrimFunc) (*tir.IRModule, error) {
		same := c.SameBodies(funcs, true)
		if len(same) == 0 {
			return run(funcs)
		}
		var first []*tir.PrimFunc
		for _, f := range funcs {
			if same[f] == nil {
				first = append(first, f)
			}
		}
		out, err := run(first)
		if err != nil {
			return nil, err
		}
		if !slices.Equal(names(first), names(out.Funcs)) {
			return run(funcs)
		}
		made := map[*tir.PrimFunc]*tir.PrimFunc{}
		for i, f := range first {
			made[f] = out.Funcs[i]
		}
		all := make([]*tir.PrimFunc, len(funcs))
		for i, f := range funcs {
			if same[f] == nil {
				all[i] = made[f]
				continue
			}
			g := *made[same[f]]
			g.Name, g.Attrs = f.Name, maps.Clone(g.Attrs)
			for _, name := range c.OwnAttrs {
				delete(g.Attrs, name)
				if v, has := f.Attrs[name]; has {
					g.Attrs[name] = v
				}
			}
			all[i] = &g
		}
		return &tir.IRModule{Funcs: all, Attrs: out.Attrs}, nil
	}
}
