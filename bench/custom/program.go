package custom

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tvmgo/bench"
	"tvmgo/bench/facts"
	"tvmgo/bench/suite"
	"tvmgo/codegen"
	_ "tvmgo/codegen/all" // the generators of the kinds
	"tvmgo/codegen/explain"
	"tvmgo/dlpack"
	"tvmgo/export/pack"
	"tvmgo/internal/nearest"
	"tvmgo/internal/programfile"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir"
)

// program is a program of package tir. It is built for each device.
type program struct {
	file    string
	fn      *tir.PrimFunc
	module  *tir.IRModule // the function, and those that it calls
	sig     *pack.Signature
	target  *target.Target // nil: that of the device
	threads bool           // it has loops over threads
}

func (p *program) path() string               { return p.file }
func (p *program) function() string           { return p.fn.Name }
func (p *program) signature() *pack.Signature { return p.sig }

// newProgram reads a program in text or JSON.
func newProgram(path string, o *Options) (source, error) {
	all, err := programfile.Read(strings.NewReader(""), path)
	if err != nil {
		return nil, err
	}
	p := &program{file: path}
	if p.fn, err = findFunction(all, o.Function); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if o.Target != "" {
		if p.target, err = target.New(o.Target); err != nil {
			return nil, fmt.Errorf("target %s: %w", o.Target, err)
		}
	}
	kept := reachable(all, p.fn)
	p.module = &tir.IRModule{Attrs: all.Attrs, Funcs: kept}
	for _, f := range kept {
		tir.Walk(f.Body, func(node any) bool {
			loop, is := node.(*tir.For)
			p.threads = p.threads || is && loop.Kind == tir.ThreadBind
			return true
		})
	}
	p.sig = programSignature(p.fn, kept)
	return p, nil
}

func findFunction(m *tir.IRModule, name string) (*tir.PrimFunc, error) {
	var names []string
	for _, f := range m.Funcs {
		if f.Name == name {
			return f, nil
		}
		names = append(names, f.Name)
	}
	switch near := nearest.Name(name, names); {
	case name == "" && len(names) == 1:
		return m.Funcs[0], nil
	case name == "":
		return nil, fmt.Errorf("which function? It has %s", strings.Join(names, ", "))
	case near != "":
		return nil, fmt.Errorf("there is no function %q in it; did you mean %q?", name, near)
	}
	return nil, fmt.Errorf("there is no function %q in it; it has %s", name, strings.Join(names, ", "))
}

// reachable lists a function and the functions that it calls, in the order of the module.
func reachable(m *tir.IRModule, f *tir.PrimFunc) []*tir.PrimFunc {
	wanted := map[string]bool{f.Name: true}
	for todo := []*tir.PrimFunc{f}; len(todo) > 0; {
		g := todo[0]
		todo = todo[1:]
		tir.Walk(g.Body, func(node any) bool {
			if c, ok := node.(*tir.Call); ok && !wanted[c.Name] {
				if h := m.Func(c.Name); h != nil {
					wanted[c.Name] = true
					todo = append(todo, h)
				}
			}
			return true
		})
	}
	return slices.DeleteFunc(slices.Clone(m.Funcs), func(g *tir.PrimFunc) bool { return !wanted[g.Name] })
}

// programSignature describes the params of a function. Tensors that it only writes are outputs, unless a function that
// it calls may read them.
func programSignature(f *tir.PrimFunc, all []*tir.PrimFunc) *pack.Signature {
	sig := &pack.Signature{Name: f.Name, Symbol: f.Name}
	reads, writes := map[*tir.Var]bool{}, map[*tir.Var]bool{}
	tir.Walk(f.Body, func(node any) bool {
		switch n := node.(type) {
		case *tir.BufferLoad:
			reads[n.Buffer.Data] = true
		case *tir.BufferStore:
			writes[n.Buffer.Data] = true
		}
		return true
	})
	for _, v := range f.Params {
		p := pack.Param{Name: v.Name, Type: dlpack.DataType(v.Type)}
		b := f.Buffers[v]
		switch {
		case b != nil:
			p.Tensor, p.Type = true, dlpack.DataType(b.DType)
			for _, d := range b.Shape {
				p.Dims = append(p.Dims, dimOf(d))
			}
			switch known := len(all) == 1; {
			case known && !writes[b.Data]:
				p.Const = true
			case known && !reads[b.Data]:
				p.Role = pack.Out
			default:
				p.Role = pack.InOut
			}
			if b.Name != "" {
				p.Name = b.Name
			}
		case v.Type == tir.Handle:
			p.Tensor, p.Any = true, true
		}
		sig.Params = append(sig.Params, p)
	}
	return sig
}

func dimOf(e tir.Expr) pack.Dim {
	switch e := e.(type) {
	case *tir.IntImm:
		return pack.Dim{Size: e.Value}
	case *tir.Var:
		return pack.Dim{Name: e.Name}
	}
	return pack.Dim{Any: true}
}

func (p *program) serves(t dlpack.DeviceType) (bool, error) {
	switch {
	case p.target != nil && t != p.target.DeviceType():
		return false, fmt.Errorf("%s is built for %s", p.file, p.target)
	case p.threads && t == dlpack.CPU:
		return false, fmt.Errorf("%s of %s has loops over threads, which only a device has", p.fn.Name, p.file)
	case !p.threads && t != dlpack.CPU:
		return false, fmt.Errorf("%s of %s has no loops over threads, which %v needs: bind some, as by Schedule.Bind",
			p.fn.Name, p.file, t)
	}
	return true, nil
}

// targetFor returns the target for a device.
func (p *program) targetFor(on *bench.Device) (*target.Target, error) {
	if p.target != nil {
		return p.target, nil
	}
	return suite.Target(on)
}

// open builds the program for a device.
func (p *program) open(_ context.Context, on *bench.Device, list []*argument) (*opened, error) {
	t, err := p.targetFor(on)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(codegen.Kinds(), t.Kind().Name()) {
		return nil, notMeasured("there is no code generator for %s: there are %s", t.Kind().Name(),
			strings.Join(codegen.Kinds(), ", "))
	}
	m, err := codegen.Build(p.module, t)
	if err != nil {
		err = shortened(err)
		// The program is valid: it is the target that lacks a type, or has a limit that is too low.
		if errors.Is(err, runtime.ErrNotSupported) || errors.Is(err, runtime.ErrInvalidArgument) {
			return nil, notMeasured("%s cannot be built for %s: %v", p.file, on.Name, err)
		}
		return nil, fmt.Errorf("build %s for %s: %w", p.file, on.Name, err)
	}
	o := &opened{facts: facts.OfProgram(p.module, t, sizesOf(p.sig, list), m, on)}
	o.facts["target"] = t.String()
	o.close = append(o.close, m.Close)
	if o.fn, err = m.Function(p.fn.Name); err != nil {
		return nil, errors.Join(shortened(err), o.Close())
	}
	o.close = append(o.close, o.fn.Close)
	return o, nil
}

// counted are the targets with which operations are counted: the first one for which the program is valid. They are not
// those of the devices, because Explain counts whole warps exactly, and so that all rows have the same number.
var counted = []string{"opencl -thread_warp_size=32 -max_threads_per_block=1024 -max_shared_memory_per_block=1048576",
	"cuda -arch=sm_90"}

// ops counts the operations of a call by its loops over threads; 0 if they are not known exactly.
func (p *program) ops(known map[string]int64) float64 {
	if !p.threads {
		return 0
	}
	for _, text := range counted {
		if t, err := target.New(text); err == nil {
			if r, err := codegen.Explain(p.module, t, codegen.WithSizes(known)); err == nil {
				return operations(r)
			}
		}
	}
	return 0
}

func operations(r *explain.Report) float64 {
	total := 0.0
	for _, k := range r.Kernels {
		if k.Work == nil || k.Work.Estimated {
			return 0
		}
		total += k.Work.Operations
	}
	return total
}
