// Package bench holds the benchmarks of the Go API; bench/compare measures the built library against
// Apache TVM's own, see README.md.
package bench
