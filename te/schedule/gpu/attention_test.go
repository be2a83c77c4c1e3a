package gpu_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/tirrun"
	"tvmgo/target"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
	"tvmgo/tir/text"
	"tvmgo/tir/transform"
)

// TestAttention runs the kernels that the limits of targets lead to in the interpreter, with sizes that the tiles do
// not divide, and compares them with the operator without a schedule.
func TestAttention(t *testing.T) {
	const batch, n, m, d, e = 2, 37, 41, 8, 5
	q, k := te.Placeholder(te.Dims(batch, n, d), tir.Float32, "q"), te.Placeholder(te.Dims(batch, m, d), tir.Float32, "k")
	v := te.Placeholder(te.Dims(batch, m, e), tir.Float32, "v")
	run := func(s *te.Schedule, out *te.Tensor) ([]float64, string) {
		module := must.Get(te.Lower(s, []any{q, k, v, out}, "attention"))(t)
		synced := must.Get(transform.ThreadSync(module, nil))(t)
		p := must.Get(tirrun.Compile(synced, tirrun.Options{Seed: 3}))(t)
		var args []any
		for i, shape := range [][]int64{{batch, n, d}, {batch, m, d}, {batch, m, e}, {batch, n, e}} {
			values := make([]float64, shape[0]*shape[1]*shape[2])
			for j := range values {
				values[j] = math.Sin(float64(j*(i+2))) * 3
			}
			args = append(args, must.Get(tirrun.From(tir.Float32, values, shape...))(t))
		}
		must.Get(p.Call("attention", args...))(t)
		return must.Get(tirrun.Values[float64](args[3].(*tirrun.Array)))(t), text.Print(module)
	}
	for _, causal := range []bool{false, true} {
		options := []ops.AttentionOption{ops.KeyChunk(16)}
		if causal {
			options = append(options, ops.Causal())
		}
		out := ops.Relu(ops.Attention(q, k, v, "A", options...), "Y")
		want, _ := run(must.Get(te.NewSchedule(out))(t), out)
		for to, parts := range map[string][]string{
			"opencl":                                  {`alloc A.shown: float32[1, 32, 1, 16]`, `scope "shared"`},
			"opencl -device_type=cpu":                 {`alloc A.scores: float32[1, 1, 1, 16], scope "local"`},
			"opencl -max_num_threads=8":               {`scope "shared"`},
			"cuda -arch=sm_80":                        {`scope "shared"`},
			"opencl -max_shared_memory_per_block=512": {`scope "local"`},
		} {
			s := must.Get(ops.Schedule(must.Get(target.New(to))(t), out))(t)
			got, code := run(s, out)
			require.InDeltaSlice(t, want, got, 1e-5, to)
			require.NotRegexp(t, `alloc [^\n]*\[2, 37`, code, "nothing is stored as a whole")
			for _, p := range parts {
				require.Contains(t, code, p, to)
			}
		}
	}
}
