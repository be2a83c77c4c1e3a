//go:build cgo

package ops

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/spirvtest"
	"tvmgo/internal/testing/tirrun"
	"tvmgo/target"
	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/transform"
)

// withMatrices is a Vulkan device that has cooperative matrices.
func withMatrices(t *testing.T, matrices string) *target.Target {
	t.Helper()
	return must.Get(target.New(`{"kind": "vulkan", "host": "c", "max_spirv_version": 67072, "thread_warp_size": 32, ` +
		`"supports_float16": true, "supports_16bit_buffer": true, "supports_int16": true, "supports_int8": true, ` +
		`"supports_8bit_buffer": true, "supports_int64": true, "max_shared_memory_per_block": 49152, ` +
		`"max_threads_per_block": 1024, "max_num_threads": 1024, "supports_cooperative_matrix": ` + matrices + `}`))(t)
}

// On a Vulkan device with cooperative matrices, products of float16 with sums of float32 use them. The kernels are
// valid, and the loops that they are made of have the values of the reference; no device here has such matrices.
func TestTensorCores_CooperativeMatrices(t *testing.T) {
	to := withMatrices(t, "true")
	none := func(*te.Tensor) *Config { return nil }
	for _, c := range fragmentProducts() {
		if c.ins[0].t != tir.Float16 {
			continue
		}
		f := loweredCase(t, &c, to, "f", none)
		m := must.Get(tir.NewModule(f))(t)
		lib := must.Get(codegen.Build(m, to))(t)
		kernels := must.Get(lib.Imports())(t)[0]
		spirvtest.ValidateModule(t, kernels)
		code := must.Get(kernels.GetSource("spvasm"))(t)
		require.Contains(t, code, "OpCooperativeMatrixMulAddKHR", c.name)
		require.NoError(t, kernels.Close())
		require.NoError(t, lib.Close())

		for _, pass := range []transform.Pass{transform.SoftwarePipeline(transform.Language{}), transform.ThreadSync} {
			m = must.Get(pass(m, to))(t)
		}
		out := memory(t, &nd{c.want.t, c.want.shape, make([]float64, len(c.want.v))}, false)
		var args []any
		for _, a := range c.ins {
			args = append(args, memory(t, a, false))
		}
		require.NoError(t, tirrun.Run(m, "f", append(args, out)...), c.name)
		c.check(t, "interpreted for "+to.String(), out)
	}
}

// Cooperative matrices are for float16 alone, and for devices that have them.
func TestTensorCores_CooperativeMatricesChosen(t *testing.T) {
	for _, row := range []struct {
		matrices string
		dt       tir.Type
		uses     bool
	}{{"true", tir.Float16, true}, {"true", tir.Float32, false}, {"false", tir.Float16, false}} {
		to := withMatrices(t, row.matrices)
		x, y := te.Placeholder(te.Dims(64, 64), row.dt, "X"), te.Placeholder(te.Dims(64, 64), row.dt, "Y")
		z := Matmul(x, y, "Z", AccumulateIn(tir.Float32))
		s := must.Get(Schedule(to, z))(t)
		lib := must.Get(codegen.Build(must.Get(te.Lower(s, []any{x, y, z}, "f"))(t), to))(t)
		kernels := must.Get(lib.Imports())(t)[0]
		code := must.Get(kernels.GetSource("spvasm"))(t)
		if row.uses {
			require.Contains(t, code, "OpCooperativeMatrixMulAddKHR", row)
		} else {
			require.NotContains(t, code, "CooperativeMatrix", row)
		}
		require.NoError(t, kernels.Close())
		require.NoError(t, lib.Close())
	}
}
