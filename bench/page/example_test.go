package page_test

import (
	"fmt"
	"os"

	"tvmgo/bench"
	"tvmgo/bench/page"
)

// A report of a run goes to the terminal; its other forms are written to files in the same way.
func ExampleText() {
	m := newMaker() // stands for bench.Run
	m.report.Devices = []bench.DeviceInfo{{Name: "opencl:0", Title: "Example Graphics"}}
	m.row("launch", "empty", "opencl:0", "", bench.Time, bench.Amount{}, 4800, 0.01)
	m.missing("launch", "graph-1000", "opencl:0", bench.Time, bench.NotMeasured, "not measured: no graphs in OpenCL")
	if err := page.Text(os.Stdout, m.report, page.TextOptions{Width: 80}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// tvmgo bench 0.9.0 · lab-7 · 2026-11-23 14:05 UTC · took 12 min 3 s
	// Example CPU 9354, 32 cores, 270 GiB, linux/amd64 6.8.0, governor performance,
	// load 0.12
	//
	//   opencl:0  Example Graphics
	//
	// LAUNCH
	//   case        unit   figure    ±
	//   empty       µs      4.829 0.6%
	//   graph-1000  µs          –
	//     opencl:0, graph-1000: not measured: no graphs in OpenCL
	//
	// ±  the larger half of the 95 % confidence interval
	// 2 rows: 1 measured, 1 not measured
}
