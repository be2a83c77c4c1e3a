package codegen

import (
	"maps"

	"tvmgo/dlpack"
	"tvmgo/runtime"
	"tvmgo/tir"
	"tvmgo/tir/transform"
)

// placeTensors sets which tensors of host functions are on a device: those that a function only passes to functions
// that expect them there.
func placeTensors(funcs []*tir.PrimFunc) ([]*tir.PrimFunc, error) {
	p := &placing{byName: map[string]*tir.PrimFunc{}, done: map[string]bool{}}
	for _, f := range funcs {
		p.byName[f.Name] = f
	}
	out := make([]*tir.PrimFunc, len(funcs))
	for i, f := range funcs {
		if err := p.visit(f); err != nil {
			return nil, err
		}
		out[i] = p.byName[f.Name]
	}
	return out, nil
}

type placing struct {
	byName map[string]*tir.PrimFunc
	done   map[string]bool
}

// visit places the tensors of a function, after those of the functions that it calls. There is no recursion.
func (p *placing) visit(f *tir.PrimFunc) error {
	if p.done[f.Name] {
		return nil
	}
	p.done[f.Name] = true
	for _, name := range callees(f) {
		if g := p.byName[name]; g != nil {
			if err := p.visit(g); err != nil {
				return err
			}
		}
	}
	if _, set := f.Attrs[transform.AttrDevice]; set || transform.IsKernel(f) {
		return nil
	}
	touched := map[*tir.Buffer]bool{}
	type use struct {
		device int64
		by     string
	}
	uses := map[*tir.Var][]use{}
	tir.Walk(f.Body, func(node any) bool {
		switch n := node.(type) {
		case *tir.BufferLoad:
			touched[n.Buffer] = true
		case *tir.BufferStore:
			touched[n.Buffer] = true
		case *tir.AttrStmt:
		case *tir.Call:
			g := p.byName[n.Name]
			if g == nil || n.Kind != tir.CallFunc && n.Kind != tir.CallPacked || transform.IsKernel(g) {
				break
			}
			for i, a := range n.Args {
				if v, ok := a.(*tir.Var); ok && i < len(g.Params) && g.Buffers[g.Params[i]] != nil && f.Buffers[v] != nil {
					uses[v] = append(uses[v], use{deviceOf(g, i), g.Name})
				}
			}
		default:
			_, buffers := tir.Named(n)
			for _, b := range buffers {
				touched[b] = true
			}
		}
		return true
	})
	attrs := map[string]any{}
	for i, v := range f.Params {
		all := uses[v]
		if len(all) == 0 {
			continue
		}
		first := all[0]
		for _, u := range all[1:] {
			if u.device != first.device {
				return runtime.Errorf(runtime.ErrInvalidArgument, "build: function %s passes tensor %s to %s, which "+
					"takes it on %s, and to %s, which takes it on %s: copy it in between", f.Name, f.Buffers[v].Name,
					first.by, deviceName(first.device), u.by, deviceName(u.device))
			}
		}
		if first.device == int64(dlpack.CPU) {
			continue
		}
		if touched[f.Buffers[v]] {
			return runtime.Errorf(runtime.ErrInvalidArgument, "build: function %s reads or writes tensor %s, and "+
				"passes it to %s, which takes it on %s: the host cannot see the "+
				"device's memory", f.Name, f.Buffers[v].Name, first.by, deviceName(first.device))
		}
		attrs[transform.AttrDeviceOf(i)] = first.device
	}
	if len(attrs) == 0 {
		return nil
	}
	g := *f
	g.Attrs = maps.Clone(f.Attrs)
	if g.Attrs == nil {
		g.Attrs = map[string]any{}
	}
	maps.Copy(g.Attrs, attrs)
	p.byName[f.Name] = &g
	return nil
}

// deviceOf returns the device on which a function expects a tensor.
func deviceOf(f *tir.PrimFunc, i int) int64 {
	for _, key := range []string{transform.AttrDeviceOf(i), transform.AttrDevice} {
		if d, ok := f.Attrs[key].(int64); ok && d != 0 {
			return d
		}
	}
	return int64(dlpack.CPU)
}

func deviceName(d int64) string { return dlpack.DeviceType(d).String() }
