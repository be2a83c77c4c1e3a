package suite_test

import (
	"context"
	"fmt"
	"time"

	"tvmgo/bench"
	"tvmgo/bench/suite"
	"tvmgo/runtime"
)

// A program measures cases by their names. It imports the devices that it measures; runtime/all has all of them.
func Example() {
	cases, err := suite.Select([]string{"launch/workspace", "bandwidth/device_local_copy_1MiB"}, suite.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	cpu := &bench.Device{Name: "cpu", Handle: runtime.CPU}
	config := bench.Config{Rounds: 7, Sample: time.Millisecond}
	report, err := bench.Run(context.Background(), config, cases, []*bench.Device{cpu})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, row := range report.Rows {
		fmt.Println(row.ID(), row.Status, row.Value > 0, row.Unit)
	}
	// Output:
	// launch/workspace_4KiB on cpu measured true µs
	// launch/workspace_64KiB on cpu measured true µs
	// launch/workspace_1MiB on cpu measured true µs
	// bandwidth/device_local_copy_1MiB on cpu measured true GB/s
}

// A name that is not known is an error that names the nearest one.
func ExampleSelect() {
	_, err := suite.Select([]string{"bandwith"}, suite.Options{})
	fmt.Println(err)
	_, err = suite.Select([]string{"launch/kernel_lunch_queued"}, suite.Options{})
	fmt.Println(err)
	// Output:
	// there is no suite "bandwith": did you mean "bandwidth"?
	// there is no case "launch/kernel_lunch_queued": did you mean "launch/kernel_launch_queued"?
}

// Origins says which rows of other programs a case can be compared with.
func ExampleOrigins() {
	cases, _ := suite.Select([]string{"bandwidth/device_to_host_memcpy_pageable_256MiB"}, suite.Options{})
	for _, o := range suite.Origins(cases[0]) {
		fmt.Println(o.Tool, o.Row)
	}
	// Output: clpeak transfer_bandwidth/enqueuereadbuffer
}
