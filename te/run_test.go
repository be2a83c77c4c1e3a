package te

import (
	"fmt"
	"slices"

	"tvmgo/internal/testing/tirrun"
	"tvmgo/tir"
)

// number is an element: i for integers, f for floats.
type number struct {
	i int64
	f float64
}

// memory holds the elements of an argument.
type memory struct {
	shape []int64
	vals  []number
	typ   tir.Type
}

// unwritten fills results before a call: no computation here returns it.
const unwritten = 99

func newMemory(t tir.Type, shape ...int64) *memory {
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	m := &memory{shape, make([]number, n), t}
	for i := range m.vals {
		m.vals[i] = m.number(unwritten)
	}
	return m
}

func (m *memory) number(v float64) number {
	if tir.IsFloat(m.typ) {
		return number{f: v}
	}
	return number{i: int64(v)}
}

// run calls a function with memory for its tensors and integers for its variables.
func run(f *tir.PrimFunc, seed uint64, args ...any) error {
	return runAsIs(synchronized(f), seed, args...)
}

// runAsIs is run for a function that has its barriers.
func runAsIs(f *tir.PrimFunc, seed uint64, args ...any) error {
	m, err := tir.NewModule(f)
	if err != nil {
		return err
	}
	return runModule(m, tirrun.Options{Seed: seed, MaxSteps: 1 << 24}, args...)
}

// runModule calls the function of a module.
func runModule(m *tir.IRModule, o tirrun.Options, args ...any) error {
	if err := tir.Check(m); err != nil {
		return err
	}
	p, err := tirrun.Compile(m, o)
	if err != nil {
		return err
	}
	given := slices.Clone(args)
	for i, a := range args {
		mem, ok := a.(*memory)
		if !ok {
			continue
		}
		vals := make([]float64, len(mem.vals))
		for k, v := range mem.vals {
			vals[k] = float64(v.i) + v.f
		}
		if given[i], err = tirrun.From(mem.typ, vals, mem.shape...); err != nil {
			return err
		}
	}
	if _, err := p.Call(m.Funcs[0].Name, given...); err != nil {
		return err
	}
	for i, a := range args {
		if mem, ok := a.(*memory); ok {
			vals, err := tirrun.Values[float64](given[i].(*tirrun.Array))
			if err != nil {
				return err
			}
			for k, v := range vals {
				mem.vals[k] = mem.number(v)
			}
		}
	}
	return nil
}

// synchronized inserts a barrier after each statement around shared memory. For devices a pass does this.
func synchronized(f *tir.PrimFunc) *tir.PrimFunc {
	meet := &tir.Evaluate{Value: tir.NewCall(tir.CallIntrinsic, tir.Void, "storage_sync", tir.Text("shared"))}
	threads := 0
	var m *tir.Mutator
	m = &tir.Mutator{PreStmt: func(s tir.Stmt) (tir.Stmt, bool) {
		switch s := s.(type) {
		case *tir.For:
			if s.Kind == tir.ThreadBind {
				threads++
				c := *s
				c.Body = m.MutateStmt(s.Body)
				threads--
				return &c, true
			}
		case *tir.Alloc:
			if threads == 0 || s.Buffer.StorageScope() != "shared" {
				return s, false
			}
			all := []tir.Stmt{}
			body := m.MutateStmt(s.Body)
			if attr, ok := body.(*tir.AttrStmt); ok {
				body = attr.Body
			}
			parts := []tir.Stmt{body}
			if q, ok := body.(*tir.Seq); ok {
				parts = q.Stmts
			}
			for _, x := range parts {
				all = append(all, x, meet)
			}
			return &tir.Alloc{Buffer: s.Buffer, Body: tir.Sequence(all...)}, true
		}
		return s, false
	}}
	c := *f
	c.Body = m.MutateStmt(f.Body)
	return &c
}

func ints(m *memory) []int64 {
	out := make([]int64, len(m.vals))
	for i, v := range m.vals {
		out[i] = v.i
	}
	return out
}

func (n number) String() string { return fmt.Sprint(float64(n.i) + n.f) }
