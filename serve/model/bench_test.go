package model_test

import (
	"testing"

	"tvmgo/internal/testing/modules"
	"tvmgo/runtime"
	"tvmgo/serve/model"
)

// BenchmarkModel measures a request of a small model, the same 16 times in one batch, and the checks alone; and a
// request of a packed function, which does nothing.
func BenchmarkModel(b *testing.B) {
	m := mlp(b)
	x := tensors(modules.Tensor(b, make([]float32, 16), 1, 16))
	batch := make([][]*runtime.Tensor, 16)
	for i := range batch {
		batch[i] = x
	}
	nothing := load(b, packed(b, map[string]string{"k.c": "void f(float* x, float* y) {}\n"}, "f(x: float32[n], y: out "+
		"float32[n])"), model.Options{})
	v := tensors(modules.Tensor(b, make([]float32, 16)))
	for _, c := range []struct {
		name string
		call func() error
	}{
		{"run", func() error { return drop(m.Run(ctx, x)) }},
		{"batch", func() error {
			outs, err := m.RunBatch(ctx, batch)
			for _, out := range outs {
				_ = drop(out, nil)
			}
			return err
		}},
		{"check", func() error { return m.Check(x) }},
		{"key", func() error { _, _ = m.Key(x); return nil }},
		{"packed", func() error { return drop(nothing.Run(ctx, v)) }},
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

func drop(out []*runtime.Tensor, err error) error {
	for _, x := range out {
		x.Close()
	}
	return err
}
