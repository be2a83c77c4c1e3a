//go:build cgo

package passes_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob/vmcode"
	"tvmgo/graph"
	"tvmgo/graph/lower"
	"tvmgo/internal/testing/must"
	"tvmgo/target"
)

// storages counts the allocations of storages in the code for a target.
func storages(t *testing.T, f *graph.Function, to string) int {
	t.Helper()
	p := must.Get(lower.Model([]*target.Target{must.Get(target.New(to))(t)}, f))(t)
	n := 0
	for _, i := range p.Code.Code {
		if i.Op == vmcode.Call && p.Code.Functions[i.Callee].Name == "vm.builtin.alloc_storage" {
			n++
		}
	}
	return n
}

// A result is written over an operand that nothing reads afterwards, if each element depends on the element at its own
// place; not if the kernel also reads others, if the operand is read later or is an argument, and not on devices.
func TestMemory_InPlace(t *testing.T) {
	for _, c := range []struct {
		name        string
		cpu, device int
		build       func(b *builder, e, s *graph.Value) *graph.Value
	}{
		{"elements", 3, 4, func(b *builder, e, s *graph.Value) *graph.Value { return b.op("div", e, s) }},
		{"also others", 4, 4, func(b *builder, e, s *graph.Value) *graph.Value {
			return b.op("add", e, b.op("transpose", b.op("mul", e, s)))
		}},
		{"read later", 5, 5, func(b *builder, e, s *graph.Value) *graph.Value {
			return b.op("matmul", b.op("div", e, s), b.op("relu", e))
		}},
		{"an argument", 4, 4, func(b *builder, e, s *graph.Value) *graph.Value {
			return b.op("matmul", b.op("relu", b.Params[0]), s)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBuilder(t)
			x := b.input("x", 8, 8)
			e := b.op("matmul", x, x)
			s := b.op("reduce_max", e, b.Ints("axes", 1))
			y := c.build(b, e, s)
			b.Return(b.op("matmul", x, y))
			require.Equal(t, c.cpu, storages(t, b.Function, "c"), "c")
			require.Equal(t, c.device, storages(t, b.Function, "opencl"), "opencl")
			run(t, b.Function, 1)
		})
	}
}
