package page_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"tvmgo/bench"
	"tvmgo/bench/stats"
)

// maker makes reports of devices that do not exist. Its statistics are its own, so that golden files do not depend on
// those of package stats.
type maker struct {
	random *rand.Rand
	report *bench.Report
}

func newMaker() *maker {
	return &maker{rand.New(rand.NewPCG(7, 7)), &bench.Report{Schema: bench.Schema, Devices: []bench.DeviceInfo{},
		Started: time.Date(2026, 11, 23, 14, 5, 0, 0, time.UTC), Took: 12*time.Minute + 3*time.Second,
		Machine: bench.Machine{Name: "lab-7", CPU: "Example CPU 9354", Cores: 32, Memory: 270 << 30,
			OS: "linux/amd64 6.8.0", Governor: "performance", Load: "0.12", Version: "0.9.0"},
		Config: bench.Config{Rounds: 21, Sample: 5 * time.Millisecond, WarmUp: time.Second, Case: 20 * time.Second,
			Confidence: 0.95}}}
}

// interval describes sorted samples: the median with the range of its middle half.
func interval(sorted []float64) stats.Interval {
	n := len(sorted)
	return stats.Interval{Value: sorted[n/2], Low: sorted[n*3/10], High: sorted[min(n*7/10, n-1)], Confidence: 0.95,
		Coverage: 0.973}
}

// row adds a row whose operation takes about some nanoseconds.
func (m *maker) row(suite, name, device, variant string, f bench.Figure, a bench.Amount, ns, noise float64) *bench.Row {
	r := &bench.Row{Suite: suite, Case: name, Device: device, Variant: variant, Status: bench.Measured, Figure: f,
		Unit: f.Unit(), Amount: a, Checked: "64 elements, formula in float64", Clock: bench.ClockDevice,
		Calls: max(1, int(5e6/ns)), Warmup: bench.Warmup{Samples: 9, Took: 80 * time.Millisecond, Stable: true}}
	for i := range 21 {
		t := ns * (1 + noise*math.Abs(m.random.NormFloat64()) + noise*0.2*m.random.Float64())
		r.Samples, r.Wall, r.Rounds = append(r.Samples, t), append(r.Wall, t+2000), append(r.Rounds, i)
	}
	describe(r)
	m.report.Rows = append(m.report.Rows, r)
	return r
}

// describe sets what follows from the samples.
func describe(r *bench.Row) {
	s := slices.Sorted(slices.Values(r.Samples))
	n, mean := len(s), 0.0
	for _, t := range s {
		mean += t / float64(n)
	}
	squares := 0.0
	for _, t := range s {
		squares += (t - mean) * (t - mean)
	}
	i := interval(s)
	r.Times = &stats.Summary{Samples: n, Min: s[0], P50: i.Value, P90: s[n*9/10], P99: s[n-1], Max: s[n-1], Mean: mean,
		Variation: math.Sqrt(squares/float64(max(n-1, 1))) / mean}
	low, high := r.Figure.Of(r.Amount, i.Low), r.Figure.Of(r.Amount, i.High)
	r.Value = r.Figure.Of(r.Amount, i.Value)
	r.Range = &stats.Interval{Value: r.Value, Low: min(low, high), High: max(low, high), Confidence: 0.95,
		Coverage: i.Coverage}
}

func (m *maker) missing(suite, name, device string, f bench.Figure, status bench.Status, reason string) *bench.Row {
	r := &bench.Row{Suite: suite, Case: name, Device: device, Status: status, Reason: reason, Figure: f, Unit: f.Unit()}
	m.report.Rows = append(m.report.Rows, r)
	return r
}

// relate sets the ratios to the first measured row of each case, and what is reached of the limits.
func (m *maker) relate() {
	first, by := map[string]*bench.Row{}, map[string]*bench.Row{}
	for _, r := range m.report.Rows {
		if r.Times == nil {
			continue
		}
		by[r.ID()] = r
		if f := first[r.Suite+"/"+r.Case]; f == nil {
			first[r.Suite+"/"+r.Case] = r
		} else {
			ratios := make([]float64, 0, 21)
			for i := range r.Samples {
				ratios = append(ratios, r.Samples[i]/f.Samples[i])
			}
			slices.Sort(ratios)
			r.Ratio = &bench.Ratio{To: f.ID(), Interval: interval(ratios)}
		}
	}
	for _, r := range m.report.Rows {
		if r.Suite != "kernels" || r.Times == nil {
			continue
		}
		fma, copied := by["compute/fp32-vec4 on "+r.Device], by["bandwidth/global on "+r.Device]
		if r.Amount.Ops > 0 {
			r.Shares = append(r.Shares, bench.Share{Of: fma.ID(), Share: r.Amount.Ops / r.Times.P50 / fma.Value})
			l := &bench.Roofline{Intensity: r.Amount.Ops / r.Amount.Bytes, Bound: "compute", Limit: fma.Value}
			if b := l.Intensity * copied.Value; b < l.Limit {
				l.Bound, l.Limit = "memory", b
			}
			l.Share = r.Amount.Ops / r.Times.P50 / l.Limit
			r.Roofline = l
		}
		r.Shares = append(r.Shares, bench.Share{Of: copied.ID(), Share: r.Amount.Bytes / r.Times.P50 / copied.Value})
	}
}

// card is a device that does not exist.
type card struct {
	info                    bench.DeviceInfo
	launch, bandwidth, peak float64 // µs, GB/s, GFLOPS of float32
	double, half, kernels   float64 // relative to float32 and to the limits
}

var cards = []card{
	{bench.DeviceInfo{Name: "cuda:0", Title: "Example Graphics 9000", Facts: graphics("CUDA 12.8", "device-local", 32)},
		4.8, 912, 71_200, 1. / 64, 2, 0.91},
	{bench.DeviceInfo{Name: "vulkan:0", Title: "Example Graphics 9000", Facts: graphics("Vulkan 1.4", "heap 0", 48)},
		11.2, 905, 69_800, 1. / 64, 1.97, 0.83},
	{bench.DeviceInfo{Name: "cpu", Title: "Example CPU 9354", Facts: bench.Facts{"memory type": "host",
		"memory": 27 << 33,
		"cores":  32, "SIMD": "avx512f", "device timer": false}}, 0.19, 301, 2_950, 0.5, 1, 0.78},
}

func graphics(api, memory string, shared int) bench.Facts {
	return bench.Facts{"driver": api, "driver version": "560.28", "memory": 24 << 30, "memory type": memory,
		"subgroup size": 32, "shared-memory limit": shared << 10, "compute units": 128, "maximum clock": 2520,
		"device timer": true}
}

type kernel struct {
	name       string
	ops, bytes float64
	figure     bench.Figure
	quality    float64 // relative to the device's
}

var kernelCases = []kernel{
	{"add-f32", 268e6, 3.2e9, bench.Bandwidth, 1.05}, {"sum-f32", 268e6, 1.07e9, bench.Bandwidth, 1.02},
	{"transpose-f32", 0, 2.1e9, bench.Bandwidth, 0.93}, {"softmax-f32", 1.3e9, 2.1e9, bench.Bandwidth, 0.9},
	{"layernorm-f32", 2.1e9, 2.1e9, bench.Bandwidth, 0.97}, {"matmul-f32-512", 268e6, 3.1e6, bench.Flops, 0.45},
	{"matmul-f32-1024", 2.1e9, 12.6e6, bench.Flops, 0.7}, {"matmul-f32-2048", 17e9, 50e6, bench.Flops, 0.86},
	{"matmul-f32-4096", 137e9, 201e6, bench.Flops, 0.93}, {"matmul-f32-8192", 1.1e12, 805e6, bench.Flops, 0.95},
	{"conv2d-3x3-64", 14.8e9, 105e6, bench.Flops, 0.7}, {"conv2d-1x1-256", 6.6e9, 77e6, bench.Flops, 0.62},
	{"attention-f32-1024", 8.6e9, 33e6, bench.Flops, 0.55}, {"attention-f32-4096", 137e9, 134e6, bench.Flops, 0.66},
}

// example returns a report of 3 devices and about 40 cases with every state of a row.
func example() *bench.Report {
	m := newMaker()
	for _, c := range cards {
		m.report.Devices = append(m.report.Devices, c.info)
	}
	each := func(f func(c card) *bench.Row) {
		for _, c := range cards {
			r := f(c)
			if c.info.Name == "cpu" && r.Times != nil {
				r.Clock, r.Wall = bench.ClockWall, nil
			}
		}
	}
	for i, name := range []string{"empty", "round-trip", "chain-1000", "graph-1000", "allocation-1MiB", "workspace-4KiB"} {
		factor := []float64{1, 2.6, 640, 410, 1.9, 0.06}[i]
		each(func(c card) *bench.Row {
			if name == "graph-1000" && c.info.Name == "cpu" {
				return m.missing("launch", name, "cpu", bench.Time, bench.NotMeasured,
					"not measured: cpu records no graphs")
			}
			return m.row("launch", name, c.info.Name, "", bench.Time, bench.Amount{}, c.launch*factor*1e3, 0.02)
		})
	}
	for i, name := range []string{"global", "shared", "host-to-device-64KiB", "host-to-device-16MiB",
		"host-to-device-1GiB",
		"device-to-host-64KiB", "device-to-host-16MiB", "device-to-host-1GiB", "device-to-device-1GiB"} {
		factor, bytes := []float64{1, 11, 0.008, 0.025, 0.027, 0.007, 0.026, 0.028, 0.98}[i], 1.07e9
		each(func(c card) *bench.Row {
			return m.row("bandwidth", name, c.info.Name, "", bench.Bandwidth, bench.Amount{Bytes: bytes},
				bytes/(c.bandwidth*factor), 0.006)
		})
	}
	for _, name := range []string{"fp32-scalar", "fp32-vec4", "fp64-scalar", "fp64-vec4", "fp16-vec4", "fp16-matrix",
		"bf16-matrix", "int32-vec4", "int8-dotprod", "int8-matrix"} {
		each(func(c card) *bench.Row {
			figure, peak := bench.Flops, c.peak
			switch name {
			case "fp64-scalar", "fp64-vec4":
				peak *= c.double
			case "fp16-vec4":
				peak *= c.half
			case "fp16-matrix", "bf16-matrix":
				peak *= 4 * c.half
			case "int8-matrix", "int8-dotprod", "int32-vec4":
				figure = bench.IntOps
			}
			if name[len(name)-6:] == "matrix" && c.info.Name != "cuda:0" {
				reason := "not measured: the device has no matrix instructions for this type"
				return m.missing("compute", name, c.info.Name, figure, bench.NotMeasured, reason)
			}
			return m.row("compute", name, c.info.Name, "", figure, bench.Amount{Ops: 1e10}, 1e10/(peak*0.97), 0.003)
		})
	}
	for i, k := range kernelCases {
		each(func(c card) *bench.Row { return m.kernel(i, k, c) })
		if k.name == "matmul-f32-4096" {
			m.row("kernels", k.name, "cuda:0", "cuBLAS", k.figure, bench.Amount{Ops: k.ops, Bytes: k.bytes},
				k.ops/(0.94*cards[0].peak), 0.004)
		}
	}
	m.relate()
	m.baseline()
	return m.report
}

func (m *maker) kernel(i int, k kernel, c card) *bench.Row {
	if k.name == "attention-f32-4096" && c.info.Name == "vulkan:0" {
		return m.missing("kernels", k.name, "vulkan:0", k.figure, bench.Wrong,
			"wrong result: element 4097 is 0.3117, the CPU computes 0.2981: the largest difference may be 1e-4")
	}
	if k.name == "attention-f32-4096" && c.info.Name == "cpu" {
		return m.missing("kernels", k.name, "cpu", k.figure, bench.Failed, "the library was not loaded: undefined symbol")
	}
	best := k.bytes / c.bandwidth
	if k.ops > 0 {
		best = max(best, k.ops/c.peak)
	}
	r := m.row("kernels", k.name, c.info.Name, "", k.figure, bench.Amount{Ops: k.ops, Bytes: k.bytes},
		best/(k.quality*c.kernels), 0.008)
	r.Facts = bench.Facts{"kernel": "tiled", "threads per block": 256, "registers": 32 + 8*i, "spills": 0,
		"shared memory": 32 << 10, "instruction mix": "fma 1920, load 640, other 210"}
	low, high := 2520.0, 2745.0
	switch c.info.Name {
	case "vulkan:0":
		r.Facts["registers"], r.Facts["occupancy"], low = 40+8*i, 0.5, 2400
	case "cpu":
		r.Facts = bench.Facts{"kernel": "blocked"}
		low, high = 3200, 3750
	default:
		r.Facts["occupancy"] = 0.667
	}
	r.Conditions = &bench.Conditions{ClockMHz: &bench.Range{Min: low, Max: high}, Celsius: &bench.Range{Min: 54, Max: 66}}
	if k.name == "matmul-f32-8192" && c.info.Name == "cuda:0" {
		r.Conditions.Throttled, r.Conditions.Watts = []string{"power limit"}, &bench.Range{Min: 330, Max: 351}
	}
	r.Warmup.Stable = !(k.name == "softmax-f32" && c.info.Name == "cpu")
	return r
}

// baseline compares with an older report in which two rows were different.
func (m *maker) baseline() {
	m.report.Baseline = &bench.Baseline{File: "old.json", Started: time.Date(2026, 11, 9, 8, 0, 0, 0, time.UTC),
		Warnings: []string{"the driver of cuda:0 was 550.54 and is 560.28"}}
	for i, r := range m.report.Rows {
		if r.Times == nil {
			continue
		}
		c := &bench.Change{Verdict: "same", Change: stats.Change{P: 0.4,
			Ratio: stats.Interval{Value: 1 + float64(i%7)/1000, Low: 0.995, High: 1.012, Confidence: 0.95, Coverage: 0.96}}}
		switch r.ID() {
		case "kernels/softmax-f32 on cuda:0":
			c.Verdict, c.Significant, c.P = "slower", true, 0.00002
			c.Ratio = stats.Interval{Value: 1.034, Low: 1.029, High: 1.041, Confidence: 0.95, Coverage: 0.96}
		case "kernels/matmul-f32-2048 on vulkan:0":
			c.Verdict, c.Significant, c.P = "slower", true, 0.0007
			c.Ratio = stats.Interval{Value: 1.081, Low: 1.06, High: 1.1, Confidence: 0.95, Coverage: 0.96}
		case "kernels/layernorm-f32 on cpu":
			c.Verdict, c.Significant, c.P = "faster", true, 0.003
			c.Ratio = stats.Interval{Value: 0.874, Low: 0.85, High: 0.9, Confidence: 0.95, Coverage: 0.96}
		}
		r.Change = c
	}
}

// large returns a report of many rows with values of every size.
func large(rows, devices int) *bench.Report {
	m := newMaker()
	for i := range devices {
		m.report.Devices = append(m.report.Devices, bench.DeviceInfo{Name: fmt.Sprintf("cuda:%d", i), Title: "Example"})
	}
	for i := range rows {
		k := i / devices
		ns := math.Pow(10, float64(k%18))
		m.row([]string{"launch", "compute"}[k%2], fmt.Sprintf("case-%03d", k), fmt.Sprintf("cuda:%d", i%devices), "",
			[]bench.Figure{bench.Time, bench.Flops}[k%2], bench.Amount{Ops: 1e9}, ns*float64(1+i%devices), 0.01)
	}
	m.relate()
	return m.report
}
