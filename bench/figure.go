package bench

// Figure is a quantity that follows from the time of an operation.
type Figure string

// The figures, with their units. Rates use powers of ten.
const (
	Time      Figure = "time"      // µs of an operation; smaller is better
	Flops     Figure = "flops"     // GFLOPS: floating-point operations
	IntOps    Figure = "integer"   // GIOPS: integer operations
	Bandwidth Figure = "bandwidth" // GB/s
)

// valid reports whether it is one of the figures.
func (f Figure) valid() bool { return f == Time || f == Flops || f == IntOps || f == Bandwidth }

// Unit returns the unit of a figure: "GFLOPS".
func (f Figure) Unit() string {
	switch f {
	case Flops:
		return "GFLOPS"
	case IntOps:
		return "GIOPS"
	case Bandwidth:
		return "GB/s"
	}
	return "µs"
}

// Rate reports whether more is better.
func (f Figure) Rate() bool { return f != Time }

// Of returns the figure of an operation that takes some nanoseconds.
func (f Figure) Of(a Amount, ns float64) float64 {
	switch f {
	case Flops, IntOps:
		return a.Ops / ns
	case Bandwidth:
		return a.Bytes / ns
	}
	return ns / 1e3
}
