package c

import (
	"fmt"
	"maps"
	"strings"

	"tvmgo/codegen/abi"
	"tvmgo/tir"
	"tvmgo/tir/compare"
)

// selfName is the parameter of a shared body that contains the name of the called function, for errors.
const selfName = "tvmgo_function"

// findSame finds functions with equal bodies. The first body of each set is written, and the other functions call it.
func (g *generator) findSame() {
	h := g.hooks
	if g.kernels || h.Before != nil || h.Declare != nil || h.Prologue != nil || h.Epilogue != nil {
		return
	}
	g.same = SameBodies(g.module.Funcs, false)
	for _, first := range g.same {
		g.shared[first] = true
	}
}

// SameBodies maps functions to the first one that they equal, apart from their names, documentation, and the names of
// variables and, unless parameters is set, of parameters.
func SameBodies(funcs []*tir.PrimFunc, parameters bool) map[*tir.PrimFunc]*tir.PrimFunc {
	type known struct{ f, bare *tir.PrimFunc }
	byKey := map[string][]known{}
	same := map[*tir.PrimFunc]*tir.PrimFunc{}
	for _, f := range funcs {
		if f == nil || f.Body == nil {
			continue // Check reports the error
		}
		bare := withoutName(f)
		key := fmt.Sprint(compare.Hash(bare), memoryNames(f))
		if parameters {
			key += parameterNames(f)
		}
		found := false
		for _, k := range byKey[key] {
			if found = compare.Equal(k.bare, bare); found {
				same[f] = k.f
				break
			}
		}
		if !found {
			byKey[key] = append(byKey[key], known{f, bare})
		}
	}
	return same
}

// OwnAttrs are the attributes of a function that its body does not depend on.
var OwnAttrs = []string{AttrDoc, AttrShown, "global_symbol"}

// withoutName returns a function without the attributes that its body does not depend on.
func withoutName(f *tir.PrimFunc) *tir.PrimFunc {
	bare := *f
	bare.Name, bare.Attrs = "", maps.Clone(f.Attrs)
	for _, name := range OwnAttrs {
		delete(bare.Attrs, name)
	}
	return &bare
}

// memoryNames returns the names in the error messages of a body.
func memoryNames(f *tir.PrimFunc) string {
	var names []string
	tir.Walk(f.Body, func(node any) bool {
		if a, ok := node.(*tir.Alloc); ok && a.Buffer != nil {
			names = append(names, a.Buffer.Name)
		}
		return true
	})
	return strings.Join(names, "\x00")
}

// parameterNames returns the names of parameters in error messages and metadata.
func parameterNames(f *tir.PrimFunc) string {
	var text strings.Builder
	for _, p := range f.Params {
		if p == nil {
			continue
		}
		fmt.Fprintf(&text, "\x00%s", p.Name)
		if b := f.Buffers[p]; b != nil {
			fmt.Fprintf(&text, "\x01%s", b.Name)
			for _, e := range shapeParts(b) {
				tir.Walk(e, func(node any) bool {
					if v, ok := node.(*tir.Var); ok {
						fmt.Fprintf(&text, "\x02%s", v.Name)
					}
					return true
				})
			}
		}
	}
	return text.String()
}

// self returns the name of the called function, in C.
func (w *writer) self() string {
	if w.shared[w.fn.PrimFunc] {
		return selfName
	}
	return abi.Literal(shownName(w.fn.PrimFunc))
}

// selfArgument precedes the other arguments in the call of a body.
func (g *generator) selfArgument(f *tir.PrimFunc) []string {
	if g.shared[f] || g.same[f] != nil {
		return []string{abi.Literal(shownName(f))}
	}
	return nil
}
