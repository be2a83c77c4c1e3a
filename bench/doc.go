// Package bench measures operations on devices, and compares devices with each other: the program tvmgo bench uses it.
//
// A [Case] is an operation, such as the product of two matrices of one size. Open prepares it for a device, as a
// [Work]. [Run] opens a case on each device, checks each result before any time is taken, and then takes samples in
// rounds: one sample of each device in each round, in alternating order, so that a change of the machine affects all of
// them. It returns a [Report], which has every sample and what follows from them.
//
//	report, err := bench.Run(ctx, bench.Config{Rounds: 21}, cases, devices)
//
// Something that cannot be measured is a row with its reason, and not an error: a device without the type, a wrong
// result, a device that disappears. A context that is cancelled ends the run; the report then has what was measured.
//
// # Packages
//
//   - bench/stats: percentiles, intervals of ratios, and changes beyond noise. It knows no devices.
//   - bench/suite: the cases of tvmgo bench, with the names and units of clpeak, vkpeak and nvbandwidth.
//   - bench/custom: your own kernels as cases.
//   - bench/facts: why devices differ: what a driver, a compiler or a sensor reports.
//   - bench/page: a report as text, Markdown, HTML and pictures, and in the formats of other programs.
//
// The other folders measure this project itself: bench/compare compares libtvmgo.so with Apache TVM's libraries and
// bench/kernels compares generated kernels with kernels by hand; README.md describes both.
package bench
