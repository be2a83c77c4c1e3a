package runtime

/*
#include "bridge/bridge.h"
*/
import "C"

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"tvmgo/dlpack"
	"tvmgo/internal/fault"
	"tvmgo/internal/globals"
	"tvmgo/internal/value"
	"tvmgo/weights"
)

// tensorCache is the process's cache of named tensors, which TVM's global functions vm.builtin.tensor_cache.* fill and
// models read. The cache has a reference to each tensor.
var tensorCache = struct {
	sync.Mutex
	tensors map[string]*Tensor
}{tensors: map[string]*Tensor{}}

// cacheFunctions are the global functions. C registers their names: internal/core/loader/builtins_export.c.
var cacheFunctions = map[string]func(op string, args []any) (any, error){
	"vm.builtin.tensor_cache.get(name)":                            cacheGet,
	"vm.builtin.tensor_cache.update(name, tensor, override)":       cacheUpdate,
	"vm.builtin.tensor_cache.remove(name)":                         cacheRemove,
	"vm.builtin.tensor_cache.clear()":                              cacheClear,
	"vm.builtin.tensor_cache.load(path, device_type, device_id)":   cacheLoad,
	"vm.builtin.param_array_from_cache(prefix, count)":             cacheArray,
	"vm.builtin.param_array_from_cache_by_name(names)":             cacheArrayByName,
	"vm.builtin.param_array_from_cache_by_name_unpacked(names...)": cacheArrayUnpacked,
	"vm.builtin.param_module_from_cache(prefix, count)":            inModule(cacheArray),
	"vm.builtin.param_module_from_cache_by_name(names)":            inModule(cacheArrayByName),
}

func init() {
	for op, f := range cacheFunctions {
		name, _, _ := strings.Cut(op, "(")
		globals.Set(name, func(args ...any) (any, error) { return f(op, args) })
	}
}

// cached returns another reference to the tensor of a name; nil if there is none.
func cached(op, name string) (*Tensor, error) {
	tensorCache.Lock()
	defer tensorCache.Unlock()
	t := tensorCache.tensors[name]
	if t == nil {
		return nil, nil
	}
	return t.again(op)
}

// keep puts a tensor into the cache, which takes it over.
func keep(op, name string, t *Tensor, override bool) error {
	tensorCache.Lock()
	defer tensorCache.Unlock()
	old := tensorCache.tensors[name]
	if old != nil && !override {
		t.Close()
		return fault.New(op, ErrFailed, "the cache has a tensor %q already: remove it, or pass override", name)
	}
	old.Close()
	tensorCache.tensors[name] = t
	return nil
}

func cacheGet(op string, args []any) (any, error) {
	name, err := oneName(op, args)
	if err != nil {
		return nil, err
	}
	t, err := cached(op, name)
	if t == nil {
		return nil, err
	}
	return globals.Owned{Value: t}, nil
}

func oneName(op string, args []any) (string, error) {
	if err := value.CheckCount(op, args, 1, 1); err != nil {
		return "", err
	}
	return value.Text(op, args, 0)
}

func cacheUpdate(op string, args []any) (any, error) {
	if err := value.CheckCount(op, args, 2, 3); err != nil {
		return nil, err
	}
	name, err := value.Text(op, args, 0)
	if err != nil {
		return nil, err
	}
	given, ok := args[1].(*Tensor)
	if !ok {
		return nil, fault.New(op, ErrInvalidArgument, "argument 1: expected a tensor, got %T", args[1])
	}
	override := false
	if len(args) == 3 {
		switch v := args[2].(type) {
		case bool:
			override = v
		case int64:
			override = v != 0
		default:
			return nil, fault.New(op, ErrInvalidArgument, "argument 2: expected a bool, got %T", v)
		}
	}
	t, err := given.lasting(op)
	if err != nil {
		return nil, err
	}
	return nil, keep(op, name, t, override)
}

// lasting returns another reference to a tensor, or a copy if the tensor does not own its memory.
func (t *Tensor) lasting(op string) (*Tensor, error) {
	if err := t.use(op); err != nil {
		return nil, err
	}
	defer t.ref.release()
	if o := (*C.tvmgo_tensor)(t.ref.obj.pointer()); o.nbytes > 0 || o.owner != nil {
		return t.again(op)
	}
	to, err := NewTensor(t.dtype(), t.dims(), t.device())
	if err == nil {
		err = to.copyFrom(op, t, 0)
	}
	if err == nil {
		err = SyncDevice(context.Background(), t.device())
	}
	if err != nil {
		to.Close()
		return nil, err
	}
	return to, nil
}

func cacheRemove(op string, args []any) (any, error) {
	name, err := oneName(op, args)
	if err != nil {
		return nil, err
	}
	tensorCache.Lock()
	defer tensorCache.Unlock()
	tensorCache.tensors[name].Close()
	delete(tensorCache.tensors, name)
	return nil, nil
}

func cacheClear(op string, args []any) (any, error) {
	if err := value.CheckCount(op, args, 0, 0); err != nil {
		return nil, err
	}
	tensorCache.Lock()
	defer tensorCache.Unlock()
	for _, t := range tensorCache.tensors {
		t.Close()
	}
	tensorCache.tensors = map[string]*Tensor{}
	return nil, nil
}

// cacheLoad adds the tensors of a file on a device; they replace those of the same names. TVM reads only tensor caches,
// this function every format of package weights.
func cacheLoad(op string, args []any) (any, error) {
	if err := value.CheckCount(op, args, 3, 3); err != nil {
		return nil, err
	}
	path, err := value.Text(op, args, 0)
	if err != nil {
		return nil, err
	}
	kind, ok := args[1].(int64)
	id, ok2 := args[2].(int64)
	if !ok || !ok2 || int64(int32(kind)) != kind || int64(int32(id)) != id {
		return nil, fault.New(op, ErrInvalidArgument, "expected the type and the index of a device, got %v and %v", args[1],
			args[2])
	}
	set, err := weights.Open(path)
	if err != nil {
		return nil, fault.Wrap(op, openKind(err), err)
	}
	defer set.Close()
	dev := dlpack.Device{Type: dlpack.DeviceType(kind), ID: int32(id)}
	for _, w := range set.Tensors() {
		t, err := FromWeights(w, dev)
		if err != nil {
			return nil, fmt.Errorf("%s: tensor %q: %w", op, w.Name, err)
		}
		if err := keep(op, w.Name, t, true); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// cacheArray returns the tensors prefix_0, prefix_1 and so on: count of them, or all if count is -1.
func cacheArray(op string, args []any) (any, error) {
	if err := value.CheckCount(op, args, 2, 2); err != nil {
		return nil, err
	}
	prefix, err := value.Text(op, args, 0)
	if err != nil {
		return nil, err
	}
	count, ok := args[1].(int64)
	if !ok {
		return nil, fault.New(op, ErrInvalidArgument, "argument 1: expected a number, got %T", args[1])
	}
	var list []any
	for i := int64(0); i < count || count == -1; i++ {
		name := prefix + "_" + strconv.FormatInt(i, 10)
		t, err := cached(op, name)
		if t == nil && err == nil && count == -1 {
			break
		}
		if t == nil {
			value.CloseAll(list)
			return nil, notCached(op, name, err)
		}
		list = append(list, t)
	}
	return globals.Owned{Value: list}, nil
}

func notCached(op, name string, err error) error {
	if err != nil {
		return err
	}
	tensorCache.Lock()
	defer tensorCache.Unlock()
	names := make([]string, 0, len(tensorCache.tensors))
	for n := range tensorCache.tensors {
		names = append(names, n)
	}
	slices.Sort(names)
	return fault.New(op, ErrInvalidArgument, "the cache has no tensor %q%s", name, suggest(name, names))
}

func cacheArrayByName(op string, args []any) (any, error) {
	if err := value.CheckCount(op, args, 1, 1); err != nil {
		return nil, err
	}
	names, err := value.Texts(op, args, 0)
	if err != nil {
		return nil, err
	}
	list := make([]any, 0, len(names))
	for _, name := range names {
		t, err := cached(op, name)
		if t == nil {
			value.CloseAll(list)
			return nil, notCached(op, name, err)
		}
		list = append(list, t)
	}
	return globals.Owned{Value: list}, nil
}

func cacheArrayUnpacked(op string, args []any) (any, error) { return cacheArrayByName(op, []any{args}) }

// paramModule is a module whose function get_params returns a list of tensors.
type paramModule struct {
	ModuleBase
	list []any
}

func (m *paramModule) Function(name string) (*Function, error) {
	if name != "get_params" {
		return nil, fault.New("get function", ErrNotFound, "a module of parameters has no function %q: it has get_params",
			name)
	}
	return NewFunction(func(...any) (any, error) { return m.list, nil })
}

func (m *paramModule) Functions() []string { return []string{"get_params"} }

func (m *paramModule) Close() error {
	value.CloseAll(m.list)
	return nil
}

// inModule makes a function that returns the list of another one in a module.
func inModule(list func(op string, args []any) (any, error)) func(op string, args []any) (any, error) {
	return func(op string, args []any) (any, error) {
		v, err := list(op, args)
		if err != nil {
			return nil, err
		}
		m := &paramModule{list: v.(globals.Owned).Value.([]any)}
		module, err := NewModule("param_module", 0, m)
		if err != nil {
			return nil, err
		}
		return globals.Owned{Value: module}, nil
	}
}
