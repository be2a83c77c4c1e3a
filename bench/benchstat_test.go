package bench_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/perf/benchfmt"

	"tvmgo/bench"
)

// The lines are read by benchstat's own package: a result for each sample, with its configuration and units.
func TestWriteBenchstat_ReadByBenchfmt(t *testing.T) {
	r := &bench.Report{Schema: bench.Schema, Started: time.Unix(0, 0), Machine: bench.Machine{CPU: "A  CPU",
		OS: "linux/amd64 6.1"}, Devices: []bench.DeviceInfo{{Name: "cuda:0", Title: "NVIDIA H200"}, {Name: "cpu"}}}
	add := row("compute", "fp32-vec4", "cuda:0", bench.Flops, bench.Amount{Ops: 4000}, 1, 2)
	add.Clock, add.Wall, add.Calls = bench.ClockDevice, []float64{3, 4}, 17
	lib := row("compute", "fp32-vec4", "cpu", bench.Bandwidth, bench.Amount{Bytes: 100}, 10.5)
	lib.Variant = "my lib"
	small := row("launch", "größe α", "cpu", bench.Time, bench.Amount{}, 1e-3)
	failed := row("launch", "broken", "cpu", bench.Time, bench.Amount{}, 5)
	failed.Status = bench.Failed
	none := row("launch", "none", "cpu", bench.Time, bench.Amount{})
	none.Status = bench.NotMeasured
	r.Rows = []*bench.Row{add, lib, small, failed, none}
	var text bytes.Buffer
	require.NoError(t, r.WriteBenchstat(&text))

	type result struct {
		name       string
		iterations int
		values     []benchfmt.Value
		config     map[string]string
	}
	var got []result
	units := 0
	for in := benchfmt.NewReader(&text, "run"); in.Scan(); {
		switch of := in.Result().(type) {
		case *benchfmt.Result:
			config := map[string]string{}
			for _, c := range of.Config {
				config[c.Key] = string(c.Value)
			}
			got = append(got, result{string(of.Name), of.Iters, append([]benchfmt.Value(nil), of.Values...), config})
		case *benchfmt.UnitMetadata:
			units++
			require.Equal(t, "higher", of.Value)
		default:
			t.Fatalf("%v", of)
		}
	}
	require.Equal(t, 3, units)
	config := func(pkg, device, clock string) map[string]string {
		return map[string]string{"goos": "linux", "goarch": "amd64", "cpu": "A CPU", "pkg": "tvmgo/bench/" + pkg,
			"device": device, "clock": clock}
	}
	seconds := func(ns float64) benchfmt.Value {
		return benchfmt.Value{Value: ns * 1e-9, Unit: "sec/op", OrigValue: ns, OrigUnit: "ns/op"}
	}
	require.Len(t, got, 4)
	require.Equal(t, result{"Fp32-vec4/device=cuda:0", 17,
		[]benchfmt.Value{seconds(1), {Value: 4e12, Unit: "flop/s"}}, config("compute", "cuda:0 NVIDIA H200", "device timer")},
		got[0])
	require.Equal(t, []benchfmt.Value{seconds(2), {Value: 2e12, Unit: "flop/s"}}, got[1].values)
	require.Equal(t, "Fp32-vec4/device=cpu/by=my_lib", got[2].name)
	require.InEpsilon(t, 100/10.5*1e9, got[2].values[1].Value, 1e-12)
	require.Equal(t, "B/s", got[2].values[1].Unit)
	require.Equal(t, result{"Größe_α/device=cpu", 1, []benchfmt.Value{seconds(1e-3)},
		config("launch", "cpu", "wall time")}, got[3])
}
