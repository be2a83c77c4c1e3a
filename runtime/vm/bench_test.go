package vm_test

import (
	"context"
	"errors"
	"testing"

	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// BenchmarkCalls measures a call of a function that returns its argument: as a function, and through Model.Run, whose
// difference is the check of the inputs; with a context that can end, also a goroutine.
func BenchmarkCalls(b *testing.B) {
	module := session(b, loaded(b, pairs("vm.builtin.make_tuple")))
	m := must.Open(runtime.NewModel(module))(b)
	id := must.Open(module.Function("id"))(b)
	x := modules.Tensor(b, []float32{1})
	cancellable, cancel := context.WithCancel(ctx)
	defer cancel()
	run := func(ctx context.Context, inputs runtime.Inputs) func() error {
		return func() error {
			out, err := m.RunFunction(ctx, "id", inputs)
			out.Close()
			return err
		}
	}
	for name, call := range map[string]func() error{
		"function": func() error {
			v, err := id.Call(x)
			v.(*runtime.Tensor).Close()
			return err
		},
		"run":     run(ctx, runtime.Ordered{x}),
		"context": run(cancellable, runtime.Ordered{x}),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := call(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkBatch measures one request of a small model, 16 requests one after another, and the same in one batch.
func BenchmarkBatch(b *testing.B) {
	m := loadMLP(b)
	x := modules.Tensor(b, make([]float32, 16), 1, 16)
	requests := make([]runtime.Inputs, 16)
	for i := range requests {
		requests[i] = runtime.Ordered{x}
	}
	one := func(inputs runtime.Inputs) error {
		out, err := m.RunFunction(ctx, "forward", inputs)
		out.Close()
		return err
	}
	for _, c := range []struct {
		name string
		call func() error
	}{
		{"ordered", func() error { return one(runtime.Ordered{x}) }},
		{"named", func() error { return one(runtime.Named{"x": x}) }},
		{"apart", func() (err error) {
			for _, r := range requests {
				err = errors.Join(err, one(r))
			}
			return err
		}},
		{"batch", func() error {
			outs, err := m.RunFunctionBatch(ctx, "forward", requests)
			for _, out := range outs {
				out.Close()
			}
			return err
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := c.call(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
