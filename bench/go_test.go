package bench

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/bench/emptycgo"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

const (
	addoneSO = "../testdata/artifacts/modern/addone_llvm.so"
	multiSO  = "../testdata/artifacts/modern/multi_c.so"
)

// operation is a measurement. setup returns the function to measure and registers its cleanup with tb.
type operation struct {
	name  string
	bytes int64 // moved by one operation
	setup func(tb testing.TB) func() error
}

var operations = []operation{
	{name: "EmptyCgo", setup: func(testing.TB) func() error {
		return func() error { emptycgo.Call(); return nil }
	}},
	{name: "Call/vadd", setup: func(tb testing.TB) func() error {
		f, args := vadd(tb)
		return func() error {
			_, err := f.Call(args...)
			return err
		}
	}},
	{name: "Bound/vadd", setup: func(tb testing.TB) func() error {
		f, args := vadd(tb)
		b := must.Open(f.Bind(args...))(tb)
		return b.Call
	}},
	{name: "Call/global", setup: func(tb testing.TB) func() error {
		f := must.Open(runtime.Global("runtime.NumThreads"))(tb)
		return func() error {
			_, err := f.Call()
			return err
		}
	}},
	{name: "Call/go", setup: func(tb testing.TB) func() error {
		f := must.Open(runtime.NewFunction(func(...any) (any, error) { return nil, nil }))(tb)
		return func() error {
			_, err := f.Call(int64(1), int64(2))
			return err
		}
	}},
	{name: "Function", setup: func(tb testing.TB) func() error {
		m := modules.Load(tb, multiSO)
		return func() error {
			f, err := m.Function("vadd")
			if err != nil {
				return err
			}
			return f.Close()
		}
	}},
	{name: "Tensor/alloc1KiB", setup: func(tb testing.TB) func() error {
		shape := []int64{256}
		return func() error {
			t, err := runtime.NewTensor(dlpack.Float32, shape, runtime.CPU)
			if err != nil {
				return err
			}
			return t.Close()
		}
	}},
	copyIn("Tensor/copyIn4KiB", 1<<10),
	copyIn("Tensor/copyIn4MiB", 1<<20),
	copyOut("Tensor/copyOut4KiB", 1<<10),
	copyOut("Tensor/copyOut4MiB", 1<<20),
	{name: "Load", setup: func(tb testing.TB) func() error {
		ctx := context.Background()
		return func() error {
			m, err := runtime.Load(ctx, addoneSO)
			if err != nil {
				return err
			}
			f, err := m.Function("addone")
			if err != nil {
				return err
			}
			f.Close()
			return m.Close()
		}
	}},
}

func tensor(tb testing.TB, elements int) *runtime.Tensor {
	return must.Open(runtime.FromSlice(make([]float32, elements)))(tb)
}

// vadd returns a serial generated function and arguments of one element.
func vadd(tb testing.TB) (*runtime.Function, []any) {
	return must.Open(modules.Load(tb, multiSO).Function("vadd"))(tb), []any{tensor(tb, 1), tensor(tb, 1), tensor(tb, 1)}
}

func copyIn(name string, elements int) operation {
	return operation{name: name, bytes: 4 * int64(elements), setup: func(tb testing.TB) func() error {
		t, data := tensor(tb, elements), make([]float32, elements)
		return func() error { return runtime.CopyFrom(t, data) }
	}}
}

func copyOut(name string, elements int) operation {
	return operation{name: name, bytes: 4 * int64(elements), setup: func(tb testing.TB) func() error {
		t, data := tensor(tb, elements), make([]float32, elements)
		return func() error { return runtime.CopyTo(t, data) }
	}}
}

func BenchmarkGo(b *testing.B) {
	for _, o := range operations {
		b.Run(o.name, func(b *testing.B) {
			run := o.setup(b)
			b.ReportAllocs()
			b.SetBytes(o.bytes)
			for b.Loop() {
				if err := run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestOperations_RunOnce executes each benchmark once, so that tests notice if one no longer works.
func TestOperations_RunOnce(t *testing.T) {
	for _, o := range operations {
		t.Run(o.name, func(t *testing.T) {
			require.NoError(t, o.setup(t)())
		})
	}
}

func TestBoundCall_DoesNotAllocate(t *testing.T) {
	f, args := vadd(t)
	b := must.Open(f.Bind(args...))(t)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if err := b.Call(); err != nil {
			t.Error(err)
		}
	}))
}
