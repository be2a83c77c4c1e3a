package suite

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tvmgo/bench"
)

// The documents that clpeak 3.0 writes and compares with -o and --compare: format 3. Debian's clpeak 1.1 has only XML,
// with the same names of tests and metrics. Values are in units without prefixes: FLOPS, OPS, B/s, s.
type (
	clpeakDocument struct {
		Schema     string         `json:"schema"`
		Format     int            `json:"format_version"`
		Version    string         `json:"clpeak_version"`
		Generated  string         `json:"generated_at"`
		Seconds    float64        `json:"duration_s"`
		Cancelled  bool           `json:"cancelled,omitempty"`
		Host       clpeakHost     `json:"host"`
		Invocation map[string]any `json:"invocation"`
		Devices    []clpeakDevice `json:"devices"`
	}
	clpeakHost struct {
		OS     string `json:"os"`
		CPU    string `json:"cpu"`
		Cores  int    `json:"logical_cores"`
		Memory int64  `json:"memory_bytes"`
	}
	clpeakDevice struct {
		Backend    string           `json:"backend"`
		Platform   string           `json:"platform"`
		Name       string           `json:"name"`
		Driver     string           `json:"driver,omitempty"`
		Type       string           `json:"type"`
		Index      int              `json:"device_index"`
		Properties []clpeakProperty `json:"properties,omitempty"`
		Tests      []*clpeakTest    `json:"tests"`
	}
	clpeakProperty struct {
		Key   string `json:"key"`
		Value string `json:"value"`
	}
	clpeakTest struct {
		ID       string `json:"id"`
		Title    string `json:"title"`
		Variant  string `json:"variant,omitempty"`
		Category string `json:"category"`
		Shape    string `json:"shape"`
		clpeakUnit
		Metrics []clpeakMetric `json:"metrics"`
	}
	clpeakMetric struct {
		ID     string   `json:"id"`
		Value  *float64 `json:"value,omitempty"`
		Status string   `json:"status,omitempty"` // of a metric without a value
		Reason string   `json:"reason,omitempty"`

		// If they are not the test's.
		Unit      string `json:"unit,omitempty"`
		Quantity  string `json:"quantity,omitempty"`
		Direction string `json:"direction,omitempty"`
	}
	clpeakUnit struct {
		Direction string  `json:"direction"`
		Quantity  string  `json:"quantity"`
		Unit      string  `json:"unit"`
		factor    float64 // from the figure of a report
	}
)

var clpeakUnits = map[bench.Figure]clpeakUnit{
	bench.Flops:     {"higher_is_better", "flops", "FLOPS", 1e9},
	bench.IntOps:    {"higher_is_better", "ops", "OPS", 1e9},
	bench.Bandwidth: {"higher_is_better", "bytes_per_second", "B/s", 1e9},
	bench.Time:      {"lower_is_better", "seconds", "s", 1e-6},
}

// clpeakTitles are clpeak's titles of its tests.
var clpeakTitles = map[string]string{
	"single_precision_compute": "Single-precision compute", "half_precision_compute": "Half-precision compute",
	"double_precision_compute": "Double-precision compute", "integer_compute": "Integer compute",
	"global_memory_bandwidth": "Global memory bandwidth", "local_memory_bandwidth": "Local memory bandwidth",
	"kernel_launch_latency": "Kernel launch latency",
}

// WriteClpeak writes a report in the JSON format of clpeak 3.0, which its option --compare reads. A row named
// "test/metric" becomes that of clpeak; all others are metrics of a test that is named like their suite, with the
// library in its variant. Rows without a figure have their reason.
func WriteClpeak(w io.Writer, r *bench.Report) error {
	d := clpeakDocument{Schema: "clpeak/run", Format: 3, Version: "tvmgo " + r.Machine.Version,
		Generated: r.Started.UTC().Format(time.RFC3339), Seconds: r.Took.Seconds(), Cancelled: r.Ended != "",
		Host:       clpeakHost{r.Machine.OS, r.Machine.CPU, r.Machine.Cores, r.Machine.Memory},
		Invocation: map[string]any{}, Devices: []clpeakDevice{}}
	for _, on := range r.Devices {
		d.Devices = append(d.Devices, clpeakDeviceOf(r, on))
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(d); err != nil {
		return fmt.Errorf("write clpeak's JSON: %w", err)
	}
	return nil
}

func clpeakDeviceOf(r *bench.Report, on bench.DeviceInfo) clpeakDevice {
	kind, index, _ := strings.Cut(on.Name, ":")
	names := map[string]string{"cpu": "CPU", "cuda": "CUDA", "opencl": "OpenCL", "vulkan": "Vulkan"}
	types := map[string]string{"cpu": "cpu", "cuda": "gpu"}
	d := clpeakDevice{Backend: names[kind], Name: on.Title, Type: types[kind], Tests: []*clpeakTest{}}
	if d.Backend == "" {
		d.Backend = kind
	}
	if d.Type == "" {
		d.Type = "unknown"
	}
	if d.Platform = d.Backend; d.Name == "" {
		d.Name = on.Name
	}
	d.Index, _ = strconv.Atoi(index)
	for _, key := range slices.Sorted(maps.Keys(on.Facts)) {
		if key == "driver" {
			d.Driver = fmt.Sprint(on.Facts[key])
		}
		d.Properties = append(d.Properties, clpeakProperty{key, clpeakText(on.Facts[key])})
	}
	tests := map[[2]string]*clpeakTest{}
	for _, row := range r.Rows {
		if row.Device != on.Name {
			continue
		}
		id, metric, named := strings.Cut(row.Case, "/")
		if !named {
			id, metric = row.Suite, row.Case
		}
		for _, o := range copyOrigins {
			if test, name, found := strings.Cut(o.Row, "/"); found && o.Tool == "clpeak" && o.Case == row.Suite+"/"+row.Case {
				id, metric = test, name
			}
		}
		key := [2]string{id, row.Variant}
		t := tests[key]
		if t == nil {
			t = newClpeakTest(row, id)
			tests[key], d.Tests = t, append(d.Tests, t)
		}
		t.add(row, metric)
	}
	return d
}

func newClpeakTest(row *bench.Row, id string) *clpeakTest {
	t := &clpeakTest{ID: id, Title: clpeakTitles[id], Variant: row.Variant, Category: "compute", Shape: "homogeneous",
		clpeakUnit: clpeakUnits[row.Figure]}
	if t.Title == "" {
		t.Title = "tvmgo " + id
	}
	switch row.Suite {
	case "bandwidth":
		t.Category = "bandwidth"
	case "launch":
		t.Category = "latency"
	}
	return t
}

// add adds the metric of a row. One with another unit than the test's has its own.
func (t *clpeakTest) add(row *bench.Row, id string) {
	unit := clpeakUnits[row.Figure]
	m := clpeakMetric{ID: id}
	if unit != t.clpeakUnit {
		t.Shape, m.Unit, m.Quantity, m.Direction = "heterogeneous", unit.Unit, unit.Quantity, unit.Direction
	}
	switch {
	case row.Status == bench.Measured && row.Times != nil:
		v := row.Value * unit.factor
		m.Value = &v
	case row.Status == bench.NotMeasured:
		m.Status, m.Reason = "unsupported", row.Reason
	case row.Status == bench.Interrupted:
		m.Status, m.Reason = "skipped", row.Reason
	default:
		m.Status, m.Reason = "error", row.Reason
	}
	t.Metrics = append(t.Metrics, m)
}

// clpeakText writes a fact as text, numbers without an exponent.
func clpeakText(fact any) string {
	if n, is := fact.(float64); is {
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return fmt.Sprint(fact)
}
