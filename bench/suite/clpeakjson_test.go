package suite

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tvmgo/bench"
	"tvmgo/bench/stats"
	"tvmgo/internal/testing/golden"
)

func clpeakReport() *bench.Report {
	row := func(name, variant string, f bench.Figure, value float64, status bench.Status) *bench.Row {
		r := &bench.Row{Suite: "compute", Case: name, Device: "opencl:0", Variant: variant, Figure: f, Status: status}
		if status == bench.Measured {
			r.Value, r.Times = value, &stats.Summary{Samples: 3}
		} else {
			r.Reason = "the reason <why>"
		}
		return r
	}
	launch := row("kernel_launch_latency", "", bench.Time, 6.5, bench.Measured)
	launch.Suite = "launch"
	elsewhere := row("fp32-vec4", "", bench.Flops, 1, bench.Measured)
	elsewhere.Device = "cpu:0"
	return &bench.Report{Started: time.Date(2026, 11, 23, 20, 0, 0, 0, time.UTC), Took: 90 * time.Second,
		Machine: bench.Machine{OS: "Linux", CPU: "a CPU", Cores: 2, Memory: 1 << 30, Version: "1.0"},
		Devices: []bench.DeviceInfo{
			{Name: "opencl:0", Title: "a GPU", Facts: bench.Facts{"driver": "3.1", "memory": 25276510208.0}},
			{Name: "cpu:0"}},
		Rows: []*bench.Row{row("single_precision_compute/float", "", bench.Flops, 2.5, bench.Measured),
			row("single_precision_compute/float2", "", bench.Flops, 0, bench.NotMeasured),
			row("single_precision_compute/float4", "", bench.Flops, 0, bench.Wrong),
			row("single_precision_compute/float8", "", bench.Flops, 0, bench.Interrupted),
			row("fp32-vec4", "", bench.Flops, 10, bench.Measured), row("int32-vec4", "", bench.IntOps, 11, bench.Measured),
			row("matmul", "CLBlast", bench.Flops, 9, bench.Measured), launch, elsewhere}}
}

// The document has the structure and the units of clpeak's.
func TestWriteClpeak(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, WriteClpeak(&b, clpeakReport()))
	golden.Text(t, "testdata/run.clpeak.json", b.String())

	d := json.NewDecoder(&b)
	d.DisallowUnknownFields()
	var back clpeakDocument
	require.NoError(t, d.Decode(&back))
	require.Equal(t, "clpeak/run", back.Schema)
	require.Len(t, back.Devices, 2)
	tests := back.Devices[0].Tests
	require.Len(t, tests, 4)
	require.Equal(t, 2.5e9, *tests[0].Metrics[0].Value)
	require.Equal(t, "unsupported", tests[0].Metrics[1].Status)
	require.Equal(t, "error", tests[0].Metrics[2].Status)
	require.Equal(t, "skipped", tests[0].Metrics[3].Status)
	require.Equal(t, "heterogeneous", tests[1].Shape)
	require.Equal(t, "OPS", tests[1].Metrics[1].Unit)
	require.Equal(t, "CLBlast", tests[2].Variant)
	require.InEpsilon(t, 6.5e-6, *tests[3].Metrics[0].Value, 1e-9)
	require.Equal(t, "latency", tests[3].Category)
	require.Equal(t, "kernel_launch_latency/roundtrip", tests[3].ID+"/"+tests[3].Metrics[0].ID)
	require.Equal(t, "cpu:0", back.Devices[1].Name)
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestWriteClpeak_FullDisk(t *testing.T) {
	err := WriteClpeak(full{}, clpeakReport())
	require.ErrorContains(t, err, "write clpeak's JSON")
	require.ErrorContains(t, err, "no space left")
}
