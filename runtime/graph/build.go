package graph

/*
#include "executor/model.h"
*/
import "C"

import (
	"errors"
	goruntime "runtime"
	"slices"
	"strings"
	"unsafe"

	"tvmgo/blob/graphjson"
	"tvmgo/dlpack"
	"tvmgo/internal/fault"
	"tvmgo/internal/value"
	"tvmgo/runtime"
)

// builder makes an executor.
type builder struct {
	*executor
	model   *model
	libs    []*runtime.Module // are searched for functions, in this order
	devices []dlpack.Device
	weights *paramSet // may be nil
	linked  *linkedParams
	found   map[string]*runtime.Function

	account *C.tvmgo_vm_account // counts the storages; may be nil

	// For an executor of a GraphModel, whose inputs and results get memory with each call:
	served bool
	ofFile []bool // inputs whose memory has a parameter of the file; the builder sets them
}

func (b *builder) build() (_ *executor, err error) {
	m := b.model
	device := b.devices[0]
	steps := 0
	for i := range m.graph.Nodes {
		if isStep(&m.graph.Nodes[i]) {
			steps++
		}
	}
	if err := b.create(device, steps); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			b.Close()
		}
	}()
	parts := []func() error{b.addNames, b.addMemory, b.addSteps}
	if !b.served {
		parts = append(parts, b.addUnknown)
	}
	for _, part := range parts {
		if err := part(); err != nil {
			return nil, err
		}
	}
	C.tvmgo_executor_ready(b.c)
	if b.served {
		return b.executor, nil // the model binds parameters in scopes
	}
	return b.executor, b.copyWeights()
}

// addUnknown adds the function that raises the error for an unknown name.
func (b *builder) addUnknown() error {
	m := b.model
	unknown, err := runtime.NewFunction(func(args ...any) (any, error) {
		return nil, m.unknown(args[0].(string), args[1].(int64))
	})
	if err != nil {
		return err
	}
	defer unknown.Close()
	_, err = b.call("__unknown", unknown)
	return err
}

func isStep(n *graphjson.Node) bool { return n.Func != "" && n.Func != graphjson.Nop }

func cText(s string) (*C.char, C.size_t) {
	return (*C.char)(unsafe.Pointer(unsafe.StringData(s))), C.size_t(len(s))
}

// check calls a function that raises an error on its thread.
func check(f func() C.int) error {
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	if f() != 0 {
		return raised()
	}
	return nil
}

func (b *builder) create(device dlpack.Device, steps int) error {
	g := b.model.graph
	sizes := C.tvmgo_executor_sizes{data: C.int32_t(len(g.Data)), nodes: C.int32_t(len(g.Nodes)),
		steps: C.int32_t(steps), inputs: C.int32_t(len(g.Inputs)), outputs: C.int32_t(len(g.Outputs)),
		device: C.DLDevice{device_type: C.DLDeviceType(device.Type), device_id: C.int32_t(device.ID)}}
	return check(func() C.int {
		c := C.tvmgo_executor_new(&sizes)
		if c == nil {
			return -1
		}
		b.executor = &executor{c: c, model: b.model, params: map[string]bool{}}
		if b.account != nil {
			C.tvmgo_executor_use_account(c, b.account, C.int64_t(b.weights.bytes(b.devices)))
		}
		return 0
	})
}

// addNames adds the nodes, inputs and outputs, and which data are the same.
func (b *builder) addNames() error {
	g, p := b.model.graph, b.model.plan
	return check(func() C.int {
		for i := range g.Nodes {
			n := &g.Nodes[i]
			name, size := cText(n.Name)
			if C.tvmgo_executor_node(b.c, C.int32_t(i), name, size, C.int32_t(n.First), C.int32_t(n.Outputs)) != 0 {
				return -1
			}
		}
		for k, n := range g.Inputs {
			C.tvmgo_executor_input(b.c, C.int32_t(k), C.int32_t(n))
		}
		for k, r := range g.Outputs {
			C.tvmgo_executor_output(b.c, C.int32_t(k), C.int32_t(g.DataOf(r)), C.int32_t(r.Node), b.refusal(k))
		}
		for i, alias := range p.Alias {
			if alias != i {
				C.tvmgo_executor_alias(b.c, C.int32_t(i), C.int32_t(alias))
			}
		}
		return 0
	})
}

// refusal says why an output cannot be the caller's memory.
func (b *builder) refusal(output int) C.int {
	g, p := b.model.graph, b.model.plan
	alias := p.Alias[g.DataOf(g.Outputs[output])]
	for _, n := range g.Inputs {
		if g.Nodes[n].First == alias {
			return C.TVMGO_OUTPUT_IS_INPUT
		}
	}
	for k, r := range g.Outputs {
		if k != output && p.Alias[g.DataOf(r)] == alias {
			return C.TVMGO_OUTPUT_TWICE
		}
	}
	return C.TVMGO_OUTPUT_FREE
}

// device returns the executor's device for a storage.
func (b *builder) device(s *graphjson.Storage) (dlpack.Device, error) {
	if s.Device == 0 {
		return b.devices[0], nil
	}
	for _, d := range b.devices {
		if d.Type == s.Device {
			return d, nil
		}
	}
	return dlpack.Device{}, fault.New("", runtime.ErrInvalidArgument,
		"%s is on a device of type %v, and the executor has only %v: pass a device of this type, too",
		b.model.graph.Describe(s.Data[0]), s.Device, b.devices)
}

// addMemory allocates the storages, and makes a tensor for each entry of the data.
func (b *builder) addMemory() error {
	for i := range b.model.plan.Storages {
		s := &b.model.plan.Storages[i]
		dev, err := b.device(s)
		if err != nil {
			return err
		}
		if err := b.addStorage(s, dev); err != nil {
			return fault.Wrap("storage of "+b.model.graph.Describe(s.Data[0]), fault.KindOf(fault.CodeOf(err)), err)
		}
	}
	return nil
}

func (b *builder) addStorage(s *graphjson.Storage, dev dlpack.Device) error {
	g := b.model.graph
	if done, err := b.addLinked(s, dev); done || err != nil {
		b.isOfFile(s)
		return err
	}
	if s.Input >= 0 && s.Scope == "" {
		name := g.Nodes[g.Inputs[s.Input]].Name
		t, err := b.weights.on(dev, name)
		if err != nil {
			return err
		}
		if t != nil {
			b.params[name] = true
			b.isOfFile(s)
			return b.addViews(s, t, shared)
		}
	}
	if b.served {
		if s.Scope == "" && (s.Input >= 0 || b.holdsResult(s)) {
			return b.addForms(s, dev)
		}
	}
	if b.account != nil {
		if err := b.charge(s); err != nil {
			return err
		}
	}
	if s.Scope != "" {
		d := &g.Data[s.Data[0]] // all have its form
		t, err := runtime.NewTensorInScope(d.DType, d.Shape, dev, s.Scope)
		if err != nil {
			return err
		}
		defer t.Close()
		for _, i := range s.Data {
			if _, err := b.call("__data", i, t, scoped); err != nil {
				return err
			}
		}
		return nil
	}
	t, err := runtime.NewTensor(dlpack.UInt8, []int64{s.Bytes}, dev)
	if err != nil {
		return err
	}
	defer t.Close()
	return b.addViews(s, t, 0)
}

// Flags of the memory of data: it is also that of other executors; it is in a storage scope.
const (
	shared = 1
	scoped = 2
)

func (b *builder) isOfFile(s *graphjson.Storage) {
	if b.ofFile != nil {
		b.ofFile[s.Input] = true
	}
}

// holdsResult reports whether a storage has only the data of an output that can be the caller's memory.
func (b *builder) holdsResult(s *graphjson.Storage) bool {
	g, p := b.model.graph, b.model.plan
	for k, r := range g.Outputs {
		alias := p.Alias[g.DataOf(r)]
		other := func(i int) bool { return p.Alias[i] != alias }
		if !slices.ContainsFunc(s.Data, other) {
			return b.refusal(k) == C.TVMGO_OUTPUT_FREE
		}
	}
	return false
}

// addForms describes the data of a storage that gets its memory later.
func (b *builder) addForms(s *graphjson.Storage, dev dlpack.Device) error {
	for _, i := range s.Data {
		d := &b.model.graph.Data[i]
		if _, err := b.call("__form", i, d.DType, runtime.Shape(d.Shape), dev); err != nil {
			return err
		}
	}
	return nil
}

// charge counts the bytes of a storage.
func (b *builder) charge(s *graphjson.Storage) error {
	return check(func() C.int { return C.tvmgo_executor_charge(b.c, C.int64_t(s.Bytes)) })
}

// addViews makes the tensors of a storage.
func (b *builder) addViews(s *graphjson.Storage, t *runtime.Tensor, flag int) error {
	for _, i := range s.Data {
		d := &b.model.graph.Data[i]
		v, err := t.View(d.DType, d.Shape, nil, 0)
		if err != nil {
			return err
		}
		_, err = b.call("__data", i, v, flag)
		v.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// addSteps adds the calls.
func (b *builder) addSteps() error {
	g := b.model.graph
	defer func() {
		for _, f := range b.found {
			f.Close()
		}
	}()
	b.found = map[string]*runtime.Function{}
	at := 0
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if !isStep(n) {
			continue
		}
		kind := C.int(C.TVMGO_STEP_CALL)
		if n.Func == graphjson.Copy {
			kind = C.TVMGO_STEP_COPY
		}
		if err := b.addStep(at, kind, i); err != nil {
			return err
		}
		if kind == C.TVMGO_STEP_CALL {
			f, err := b.lookUp(i)
			if err != nil {
				return err
			}
			if _, err := b.call("__function", at, f); err != nil {
				return err
			}
		}
		at++
	}
	return nil
}

func (b *builder) addStep(at int, kind C.int, node int) error {
	n := &b.model.graph.Nodes[node]
	var args []C.int32_t
	for _, r := range n.Args {
		args = append(args, C.int32_t(b.model.graph.DataOf(r)))
	}
	for k := range n.Outputs {
		args = append(args, C.int32_t(n.First+k))
	}
	flatten := C.int(0)
	if n.Flatten {
		flatten = 1
	}
	name, size := cText(n.Func)
	return check(func() C.int {
		return C.tvmgo_executor_step(b.c, C.int32_t(at), kind, C.int32_t(node), name, size, flatten,
			unsafe.SliceData(args), C.int32_t(len(args)))
	})
}

// lookUp finds the function of a node in the modules.
func (b *builder) lookUp(node int) (*runtime.Function, error) {
	name := b.model.graph.Nodes[node].Func
	if f := b.found[name]; f != nil {
		return f, nil
	}
	var kinds, names []string
	for _, lib := range b.libs {
		f, err := lib.Function(name)
		if err == nil {
			b.found[name] = f
			return f, nil
		}
		if !errors.Is(err, runtime.ErrNotFound) {
			return nil, fault.Wrap(b.model.graph.Title(node), fault.KindOf(fault.CodeOf(err)), err)
		}
		kinds, names = append(kinds, lib.Kind()), append(names, lib.AllFunctions()...)
	}
	if len(b.libs) == 0 {
		return nil, fault.New("", runtime.ErrNotFound, "%s needs the function %q, but the graph has no module with "+
			"functions: import the library that was built with it", b.model.graph.Title(node), name)
	}
	slices.Sort(names)
	return nil, fault.New("", runtime.ErrNotFound, "%s needs the function %q, which is in none of its modules (%s)%s",
		b.model.graph.Title(node), name, strings.Join(kinds, ", "), like(name, names))
}

// copyWeights copies parameters to inputs whose memory is also that of other data.
func (b *builder) copyWeights() error {
	if b.weights == nil {
		return nil
	}
	for _, name := range b.weights.names() {
		if b.params[name] {
			continue
		}
		t, err := b.weights.on(runtime.CPU, name)
		if err != nil {
			return err
		}
		v, err := b.call("set_input", name, t)
		if err != nil {
			return err
		}
		value.Close(v)
		b.params[name] = true
	}
	return nil
}
