package graph

/*
#include "executor/model.h"

static uintptr_t model_bind(tvmgo_graph_model* m) { return (uintptr_t)tvmgo_graph_model_bind(m); }
*/
import "C"

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tvmgo/dlpack"
	"tvmgo/internal/fault"
	"tvmgo/internal/value"
	"tvmgo/runtime"
)

// alignment of memory that generated code reads, in bytes.
const alignment = 64

// bind implements tvmgo.bind(parameters): tensors by the names of inputs. Everything is checked and uploaded before the
// model changes; calls in progress go on with the earlier parameters. A tensor on the input's device is not copied, and
// must not be changed afterwards.
func (g *graphModel) bind(op string, args []any) (any, error) {
	if err := value.CheckCount(op, args, 1, 1); err != nil {
		return nil, err
	}
	params, ok := args[0].(runtime.Map)
	if !ok {
		return nil, fault.New(op, runtime.ErrInvalidArgument, "expected a map of names and tensors, got %s", kindOf(args[0]))
	}
	given := map[int]*runtime.Tensor{}
	if err := g.checkBound(op, params, given); err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	bound := slices.Clone(g.bound)
	var fresh []*runtime.Tensor
	drop := func(err error) (any, error) {
		for _, t := range fresh {
			t.Close()
		}
		return nil, err
	}
	for i, t := range given {
		placed, err := g.place(i, t)
		if err != nil {
			return drop(fault.Wrap(fmt.Sprintf("%s: parameter %q", op, g.inputName(i)), fault.KindOf(fault.CodeOf(err)), err))
		}
		fresh = append(fresh, placed)
		bound[i] = placed
	}
	if err := g.install(bound); err != nil {
		return drop(err)
	}
	for i := range given {
		g.shared.bound.Add(bound[i].Size())
		if old := g.bound[i]; old != nil {
			g.shared.bound.Add(-old.Size())
			old.Close()
		}
	}
	g.bound = bound
	return nil, nil
}

// checkBound checks all parameters, and sorts them by inputs.
func (g *graphModel) checkBound(op string, params runtime.Map, given map[int]*runtime.Tensor) error {
	var surplus []string
	for _, p := range params {
		name, isText := p.Key.(string)
		t, isTensor := p.Value.(*runtime.Tensor)
		if !isText || !isTensor {
			return fault.New(op, runtime.ErrInvalidArgument, "expected a map of names and tensors, got %s and %s",
				kindOf(p.Key), kindOf(p.Value))
		}
		i, _, err := g.model.input(name)
		if err != nil {
			surplus = append(surplus, name)
			continue
		}
		if err := g.model.checkParam(name, t.DType(), t.Shape()); err != nil {
			return fault.Wrap(op, fault.KindOf(fault.CodeOf(err)), err)
		}
		given[i] = t
	}
	if len(surplus) == 0 {
		return nil
	}
	inputs := g.model.graph.InputNames()
	for i, name := range surplus {
		surplus[i] = fmt.Sprintf("%q%s", name, like(name, inputs))
	}
	const most = 20
	if n := len(surplus); n > most {
		surplus = append(surplus[:most], fmt.Sprintf("and %d more", n-most))
	}
	return fault.New(op, runtime.ErrNotFound, "the graph has no inputs of these names: %s; it has: %s",
		strings.Join(surplus, "; "), list(inputs))
}

func (g *graphModel) inputName(i int) string { return g.model.graph.InputNames()[i] }

// place returns a tensor on the device of an input: a view, or a copy. The caller closes it.
func (g *graphModel) place(input int, t *runtime.Tensor) (*runtime.Tensor, error) {
	d := g.inputData(input)
	dev, err := g.device(d)
	if err != nil {
		return nil, err
	}
	if sameDevice(t.Device(), dev) && t.IsContiguous() && readsDirectly(t, dev) {
		return t.View(t.DType(), t.Shape(), nil, 0)
	}
	return copyTo(t, dev)
}

func sameDevice(a, b dlpack.Device) bool {
	return a.Type == b.Type && (a.ID == b.ID || a.Type == dlpack.CPU)
}

// readsDirectly reports whether generated code reads the memory of a tensor as it reads new memory.
func readsDirectly(t *runtime.Tensor, dev dlpack.Device) bool {
	switch dev.Type {
	case dlpack.CPU, dlpack.CUDA:
		return (t.Data()+uintptr(t.ByteOffset()))%alignment == 0
	}
	return t.ByteOffset() == 0
}

// copyTo returns a copy on a device, which is complete. The caller closes it.
func copyTo(t *runtime.Tensor, dev dlpack.Device) (copied *runtime.Tensor, err error) {
	if dev.Type != dlpack.CPU && t.Device().Type != dlpack.CPU && t.Device().Type != dev.Type {
		host, err := copyTo(t, runtime.CPU)
		if err != nil {
			return nil, err
		}
		defer host.Close()
		return copyTo(host, dev)
	}
	if copied, err = runtime.NewTensor(t.DType(), t.Shape(), dev); err != nil {
		return nil, err
	}
	if err = copied.CopyFromTensor(t, nil); err == nil {
		on := dev
		if on.Type == dlpack.CPU {
			on = t.Device()
		}
		err = runtime.SyncDevice(context.Background(), on)
	}
	if err != nil {
		copied.Close()
		return nil, err
	}
	return copied, nil
}

// bindScoped binds the file's parameters of inputs in storage scopes, which executors copy there.
func (g *graphModel) bindScoped() error {
	for i := range g.bound {
		d := g.inputData(i)
		if g.model.graph.Data[d].Scope == "" {
			continue
		}
		dev, err := g.device(d)
		if err != nil {
			return err
		}
		t, err := g.weights.on(dev, g.inputName(i))
		if err != nil {
			return err
		}
		if t == nil {
			continue
		}
		if g.bound[i], err = t.View(t.DType(), t.Shape(), nil, 0); err != nil {
			return err
		}
		g.shared.bound.Add(g.bound[i].Size())
	}
	return nil
}

// install replaces the binding in C.
func (g *graphModel) install(bound []*runtime.Tensor) error {
	args := make([]any, len(bound))
	for i, t := range bound {
		switch {
		case t != nil:
			args[i] = t
		case g.ofFile[i]:
			args[i] = true
		}
	}
	_, err := g.ask(func(C.uintptr_t) C.uintptr_t { return C.model_bind(g.c) }, args...)
	return err
}

// lend gives the bound tensors to an executor, which does not write to them.
func (g *graphModel) lend(executor *runtime.Module) error {
	for i, t := range g.bound {
		if t == nil {
			continue
		}
		name := useShared
		if g.model.graph.Data[g.inputData(i)].Scope != "" {
			name = "set_input"
		}
		f, err := executor.Function(name)
		if err != nil {
			return err
		}
		_, err = f.Call(g.inputName(i), t)
		f.Close()
		if err != nil {
			return err
		}
	}
	return nil
}
