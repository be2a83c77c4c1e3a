//go:build cgo

package te

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tvmgo/codegen/c"
	"tvmgo/dlpack"
	"tvmgo/export"
	"tvmgo/internal/testing/tirrun"
	"tvmgo/runtime"
	"tvmgo/tir"
	"tvmgo/tir/transform"
)

// passed returns a function after the passes of target kind c.
func passed(f *tir.PrimFunc) (*tir.PrimFunc, error) {
	m, err := tir.NewModule(f)
	if err != nil {
		return nil, err
	}
	if m, err = transform.ForHost().Run(m, nil); err != nil {
		return nil, err
	}
	return m.Funcs[0], tir.Check(m)
}

// vectorStores counts vector stores.
func vectorStores(f *tir.PrimFunc) (n int) {
	tir.Walk(f.Body, func(node any) bool {
		if s, ok := node.(*tir.BufferStore); ok && s.Value.DType().Lanes > 1 {
			n++
		}
		return true
	})
	return n
}

// perLibrary is the number of schedules that are compiled together.
const perLibrary = 50

// compileAndCompare compiles schedules as C, many in one library, and compares the results with those of the
// unscheduled computation.
func compileAndCompare(t *testing.T, all []*drawn) {
	t.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex
	slots := make(chan struct{}, 2)
	for i := 0; i < len(all); i += perLibrary {
		batch := all[i:min(i+perLibrary, len(all))]
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			which, err := compiled(t.Context(), t.TempDir(), batch)
			if err == nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if which == nil {
				t.Errorf("%v", err)
				return
			}
			which.fail(t, err, func(x *drawn) error {
				if err := x.draw(); err != nil || !forCPU(x.f) {
					return err
				}
				_, err := compiled(t.Context(), t.TempDir(), []*drawn{x})
				return err
			})
		})
	}
	wg.Wait()
	t.Logf("%d of them were compiled, too", len(all))
}

// compiled runs a batch as C, and returns the schedule with the wrong result.
func compiled(ctx context.Context, dir string, batch []*drawn) (*drawn, error) {
	var funcs []*tir.PrimFunc
	var names []string
	for i, x := range batch {
		f := x.after
		if f == nil {
			var err error
			if f, err = passed(x.f); err != nil {
				return x, fmt.Errorf("passes: %w", err)
			}
		}
		named := *f
		named.Name = fmt.Sprintf("f%d", i)
		funcs, names = append(funcs, &named), append(names, named.Name)
	}
	m, err := tir.NewModule(funcs...)
	if err != nil {
		return nil, err
	}
	var e c.Emitter
	code, err := e.Emit(m, nil)
	if err != nil {
		return named(batch, err), fmt.Errorf("emit: %w", err)
	}
	source, err := runtime.NewCSource(code, "c", names, nil)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	path := filepath.Join(dir, "batch.so")
	if err := export.Library(ctx, source, path, export.Flags("-O1", "-Wall", "-Wextra", "-Werror"),
		export.StaticCheck()); err != nil {
		return nil, err
	}
	lib, err := runtime.Load(ctx, path)
	if err != nil {
		return nil, err
	}
	defer lib.Close()
	for i, x := range batch {
		if err := x.callCompiled(lib, names[i], runtime.CPU); err != nil {
			return x, fmt.Errorf("compiled: %w", err)
		}
	}
	return nil, nil
}

// named returns the schedule whose function is named in an error.
func named(batch []*drawn, err error) *drawn {
	for i, x := range batch {
		if strings.Contains(err.Error(), fmt.Sprintf("function f%d:", i)) {
			return x
		}
	}
	if len(batch) == 1 {
		return batch[0]
	}
	return nil
}

// callCompiled calls a function of a library with tensors on a device.
func (x *drawn) callCompiled(lib *runtime.Module, name string, dev dlpack.Device) error {
	f, err := lib.Function(name)
	if err != nil {
		return err
	}
	defer f.Close()
	got := x.w.call()
	args := make([]any, len(got))
	for i, a := range got {
		m, ok := a.(*memory)
		if !ok {
			args[i] = a
			continue
		}
		t, err := m.tensor(dev)
		if err != nil {
			return err
		}
		defer t.Close()
		args[i] = t
	}
	if _, err := f.Call(args...); err != nil {
		return err
	}
	for i, a := range got {
		if m, ok := a.(*memory); ok {
			if err := m.take(args[i].(*runtime.Tensor)); err != nil {
				return err
			}
		}
	}
	return x.compare(got)
}

// array converts memory for the interpreter.
func (m *memory) array() (*tirrun.Array, error) {
	vals := make([]float64, len(m.vals))
	for k, v := range m.vals {
		vals[k] = float64(v.i) + v.f
	}
	return tirrun.From(m.typ, vals, m.shape...)
}

// tensor copies memory to a tensor of the runtime.
func (m *memory) tensor(dev dlpack.Device) (*runtime.Tensor, error) {
	a, err := m.array()
	if err != nil {
		return nil, err
	}
	t, err := runtime.NewTensor(m.typ, m.shape, dev)
	if err != nil {
		return nil, err
	}
	if len(a.Data) == 0 {
		return t, nil
	}
	return t, t.CopyFromBytes(a.Data)
}

// take copies the elements of a tensor.
func (m *memory) take(t *runtime.Tensor) error {
	a, err := m.array()
	if err != nil || len(a.Data) == 0 {
		return err
	}
	if err := t.CopyToBytes(a.Data); err != nil {
		return err
	}
	vals, err := tirrun.Values[float64](a)
	for k, v := range vals {
		m.vals[k] = m.number(v)
	}
	return err
}
