//go:build opencl

package opencl_test

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/codegen"
	"tvmgo/codegen/c"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
	"tvmgo/tir/transform"
)

// plain is a language like OpenCL C, without vectors.
var plain = transform.Language{
	Name:   "plain C",
	Types:  []tir.Type{tir.Bool, tir.UInt8, tir.Int32, tir.Int64, tir.UInt32, tir.UInt64, tir.Float32},
	Scopes: []string{"global", "local", "shared"},
	Lacks:  map[string]string{"prefetch": "plain C has none"},
}

func emitPlain(m *tir.IRModule, t *target.Target) (string, error) {
	space := func(scope string) string {
		return map[string]string{"global": "__global", "shared": "__local"}[scope]
	}
	e := &c.Emitter{}
	e.Kernels = true
	e.Hooks = c.Hooks{
		Language: plain.Name,
		Inline:   "static ",
		Head: func(*tir.IRModule, *target.Target) string {
			return "typedef uchar uint8_t; typedef int int32_t; typedef long int64_t;\n" +
				"typedef uint uint32_t; typedef ulong uint64_t;\n"
		},
		Before: func(f *tir.PrimFunc) string { return "// Function: " + f.Name + "\n" },
		Declare: func(_ *tir.PrimFunc, name, params string) string {
			return fmt.Sprintf("__kernel void %s(%s)", name, params)
		},
		Math:    func(name string, _ tir.Type) string { return name },
		Scope:   func(scope string) (string, error) { return space(scope), nil },
		Pointer: func(b *tir.Buffer, element string) string { return space(b.StorageScope()) + " " + element + "*" },
		ThreadIndex: func(tag string) (string, error) {
			function := map[string]string{"blockIdx": "get_group_id", "threadIdx": "get_local_id"}
			name, dim, _ := strings.Cut(tag, ".")
			return fmt.Sprintf("%s(%d)", function[name], strings.Index("xyz", dim)), nil
		},
		Intrinsic: func(call *tir.Call, _ []string) (string, error) {
			if call.Name == "storage_sync" {
				return "barrier(CLK_LOCAL_MEM_FENCE)", nil
			}
			return "", nil
		},
	}
	return e.Emit(m, t)
}

// A program adds a generator for a device of its own: an emitter, a Language and a registration. The schedules of
// te/ops and the pipeline of devices fit what the language lacks.
func TestForeignGenerator(t *testing.T) {
	need(t)
	const kind = "plain_test"
	must.Get(target.RegisterKind(kind, dlpack.OpenCL, target.DefaultKeys("gpu"),
		target.Option("max_threads_per_block", target.Int, target.Default(128)),
		target.Option("max_shared_memory_per_block", target.Int, target.Default(8192))))(t)
	require.NoError(t, codegen.AsDevice(kind, plain))
	require.NoError(t, codegen.Register(kind, func(m *tir.IRModule, to *target.Target) (*runtime.Module, error) {
		return codegen.BuildKernels("opencl", m, func(d *blob.DeviceModule) error {
			text, err := emitPlain(m, to)
			d.Format, d.Data = "cl", []byte(text)
			return err
		})
	}))
	rng := rand.New(rand.NewSource(1))
	for _, formula := range []func(x, y *te.Tensor) *te.Tensor{
		func(x, y *te.Tensor) *te.Tensor { return ops.Add(x, ops.Transpose(y, "y1", 1, 0), "z") },
		func(x, y *te.Tensor) *te.Tensor { return ops.Matmul(x, y, "z") },
		func(x, y *te.Tensor) *te.Tensor {
			return ops.Add(ops.Softmax(x, "s"), ops.Sum(y, "t", nil, false), "z")
		},
	} {
		var results [][]float32
		data := [2][]float32{}
		for i := range data {
			for range 35 * 70 {
				data[i] = append(data[i], float32(rng.Intn(9)-4))
			}
		}
		for _, to := range []*target.Target{must.Get(target.New("c"))(t), must.Get(target.New(kind))(t)} {
			x := te.Placeholder(te.Dims(35, 70), tir.Float32, "x")
			y := te.Placeholder(te.Dims(70, 35), tir.Float32, "y")
			z := formula(x, y)
			s := must.Get(ops.Schedule(to, z))(t)
			m := must.Get(codegen.Build(must.Get(te.Lower(s, []any{x, y, z}, "f"))(t), to))(t)
			f := must.Get(m.Function("f"))(t)
			dev := dlpack.Device{Type: to.DeviceType()}
			var shape []int64
			for _, size := range z.ProducerShape() {
				shape = append(shape, size.(*tir.IntImm).Value)
			}
			var args []any
			for i, dims := range [][]int64{{35, 70}, {70, 35}, shape} {
				a := must.Get(runtime.NewTensor(dlpack.Float32, dims, dev))(t)
				defer a.Close()
				if i < 2 {
					require.NoError(t, runtime.CopyFrom(a, data[i]))
				}
				args = append(args, a)
			}
			must.Get(f.Call(args...))(t)
			results = append(results, must.Get(runtime.ToSlice[float32](args[2].(*runtime.Tensor)))(t))
			f.Close()
			require.NoError(t, m.Close())
		}
		require.InDeltaSlice(t, results[0], results[1], 1e-4)
	}
}
