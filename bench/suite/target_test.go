package suite

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/bench"
	"tvmgo/dlpack"
	"tvmgo/internal/cpufeatures"
	"tvmgo/internal/testing/must"
)

// Without clang, the C compiler generates code of the CPU, with the same instructions.
func TestTarget_WithoutClang(t *testing.T) {
	t.Setenv("TVMGO_CLANG", "/nonexistent/clang")
	on := &bench.Device{Name: "cpu:0", Handle: dlpack.Device{Type: dlpack.CPU}}
	to := must.Get(Target(on))(t)
	require.Equal(t, "c", to.Kind().Name())
	cpu, _ := cpufeatures.HostCPU()
	require.Equal(t, cpu, to.Attrs()["mcpu"])

	cases := must.Get(Select([]string{"launch/function_call", "compute/fp32-vec4"},
		Options{WithoutLimits: true}))(t)
	report := must.Get(bench.Run(t.Context(), quick, cases, []*bench.Device{on}))(t)
	require.NotEmpty(t, report.Rows)
	for _, row := range report.Rows {
		require.Equal(t, bench.Measured, row.Status, "%s: %s", row.ID(), row.Reason)
	}
}
