// Package bench has the benchmarks of the Go API. The program bench/compare compares libtvmgo.so with Apache TVM's
// libraries, see README.md.
package bench
