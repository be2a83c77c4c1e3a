package codegen

import (
	"fmt"
	"strings"

	"tvmgo/runtime"
	"tvmgo/tir"
	"tvmgo/tir/text"
)

// checkSignatures returns an error unless the programs have the same functions, with the same parameters and results.
func (f *fat) checkSignatures() error {
	first := f.variants[0].Program
	for i, v := range f.variants {
		if err := f.checkOwnTargets(i); err != nil {
			return err
		}
		for _, g := range first.Funcs {
			other := v.Program.Func(g.Name)
			if other == nil {
				return f.missing(g.Name, 0, i)
			}
			if err := f.sameSignature(g, other, i); err != nil {
				return err
			}
		}
		for _, g := range v.Program.Funcs {
			if first.Func(g.Name) == nil {
				return f.missing(g.Name, i, 0)
			}
		}
	}
	return nil
}

func (f *fat) missing(name string, in, not int) error {
	return runtime.Errorf(runtime.ErrInvalidArgument, "build: function %s is in the program for %s, and not in that for "+
		"%s: give every target a variant of each function", name, f.texts[in], f.texts[not])
}

// checkOwnTargets returns an error for functions whose variants would be built for another target, or that are kernels.
func (f *fat) checkOwnTargets(i int) error {
	v := f.variants[i]
	for _, g := range v.Program.Funcs {
		t, set, err := targetOf(g)
		if err != nil {
			return err
		}
		if set && textOf(t) != f.texts[i] {
			return runtime.Errorf(runtime.ErrInvalidArgument, "build: function %s has the attribute %s (%s), and its variant "+
				"is for %s: leave the attribute out, because each function is built for every target of the list", g.Name,
				AttrTarget, textOf(t), f.texts[i])
		}
		if conv, _ := g.Attrs[AttrConv].(int64); conv == ConvLaunch {
			return runtime.Errorf(runtime.ErrInvalidArgument, "build: function %s is a kernel (attribute %s is 2), which has "+
				"no code on the host that could select a variant: leave the attribute out", g.Name, AttrConv)
		}
	}
	return nil
}

// sameSignature compares a function with its variant for target i.
func (f *fat) sameSignature(g, h *tir.PrimFunc, i int) error {
	differ := func(what, a, b string) error {
		return runtime.Errorf(runtime.ErrInvalidArgument, "build: function %s: %s is %s for %s, and %s for %s: variants "+
			"have the same parameters and results", g.Name, what, a, f.texts[0], b, f.texts[i])
	}
	if a, b := len(g.Params), len(h.Params); a != b {
		return differ("the number of arguments", fmt.Sprint(a), fmt.Sprint(b))
	}
	a, b := newSignature(g), newSignature(h)
	for k := range g.Params {
		if x, y := a.param(k), b.param(k); x != y {
			return differ(fmt.Sprintf("argument %d (%s)", k, a.name(k)), x, y)
		}
	}
	if x, y := resultText(g), resultText(h); x != y {
		return differ("the result", x, y)
	}
	return nil
}

func resultText(f *tir.PrimFunc) string {
	if f.Result == (tir.Type{}) || f.Result == tir.Void {
		return "nothing"
	}
	return f.Result.String()
}

// signature writes the parameters of a function so that equal ones have equal texts: names of sizes are those of the
// parameters that bind them, or numbered in their order.
type signature struct {
	f     *tir.PrimFunc
	names map[*tir.Var]*tir.Var
}

func newSignature(f *tir.PrimFunc) *signature {
	s := &signature{f: f, names: map[*tir.Var]*tir.Var{}}
	for i, p := range f.Params {
		s.names[p] = tir.NewVar(fmt.Sprintf("arg%d", i), p.Type)
	}
	n := 0
	for _, p := range f.Params {
		b := f.Buffers[p]
		if b == nil {
			continue
		}
		for _, list := range [][]tir.Expr{b.Shape, b.Strides, {b.Offset}} {
			for _, e := range list {
				if e == nil {
					continue
				}
				tir.Walk(e, func(node any) bool {
					if v, ok := node.(*tir.Var); ok && s.names[v] == nil {
						s.names[v] = tir.NewVar(fmt.Sprintf("n%d", n), v.Type)
						n++
					}
					return true
				})
			}
		}
	}
	return s
}

func (s *signature) name(i int) string {
	if b := s.f.Buffers[s.f.Params[i]]; b != nil && b.Name != "" {
		return b.Name
	}
	return s.f.Params[i].Name
}

// param returns the type of a parameter: "float32[n0, 16]", with strides and an offset if the buffer has these.
func (s *signature) param(i int) string {
	p := s.f.Params[i]
	b := s.f.Buffers[p]
	if b == nil {
		return p.Type.String()
	}
	typ := b.DType.String() + "[" + s.list(b.Shape) + "]"
	if b.Strides != nil {
		typ += " with strides [" + s.list(b.Strides) + "]"
	}
	if b.Offset != nil {
		typ += " with offset " + s.list([]tir.Expr{b.Offset})
	}
	return typ
}

func (s *signature) list(all []tir.Expr) string {
	texts := make([]string, len(all))
	rename := &tir.Mutator{Expr: func(e tir.Expr) tir.Expr {
		if v, ok := e.(*tir.Var); ok {
			return s.names[v]
		}
		return e
	}}
	for i, e := range all {
		texts[i] = text.Print(rename.MutateExpr(e))
	}
	return strings.Join(texts, ", ")
}
