// Package suite has the cases of tvmgo bench. [Select] returns those that you name:
//
//	cases, err := suite.Select([]string{"launch", "bandwidth"}, suite.Options{})
//	report, err := bench.Run(ctx, bench.Config{}, cases, devices)
//
// Suites have the names and units of clpeak, vkpeak and nvbandwidth where these programs measure the same;
// docs/benchmarks.md describes each case. Kernels are generated for the device's own target when a case is opened.
//
// The package imports no device: a program imports those that it measures, or runtime/all.
package suite
