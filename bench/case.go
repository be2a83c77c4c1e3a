package bench

import (
	"context"
	"errors"
	"time"

	"tvmgo/dlpack"
)

// Case is an operation that is measured on each device that can execute it.
type Case struct {
	Suite string // "compute"
	Name  string // "fp32-vec4": unique in its suite; the name in the tool from which the case is known
	Doc   string // one line: what an operation is

	// Figure says what is reported of the time of an operation; "" is Time.
	Figure Figure

	// Limits are the names "suite/name" of cases, or of families of cases, whose figures, on the same device and in the
	// same run, limit this one: a rate of operations, a bandwidth, or the time of a launch. Row.Shares has what is
	// reached of each; of several rates of operations, such as those of two kinds of units, and of several bandwidths,
	// only the highest one is a limit.
	Limits []string

	// Family names cases of one limit, "compute/fp32": a case that has the family among its Limits is compared with the
	// best of them on its device. "" is none.
	Family string

	// Variants are the ways to execute the operation: the first one is ours, with the name "". Others, such as
	// cuBLAS's, are measured in the same rounds.
	Variants []Variant
}

// ID returns "suite/name", which is unique in a report.
func (c *Case) ID() string { return c.Suite + "/" + c.Name }

// Variant is a way to execute the operation of a case.
type Variant struct {
	Name string // "" for ours, or that of the library, such as "cuBLAS"

	// On reports whether the variant is for a device: there is no row of a library on devices that it is not made for.
	// nil is all devices.
	On func(*Device) bool

	// Open prepares the operation on a device: it builds and loads what is needed, and allocates arrays. An error that
	// is [ErrNotMeasured] means that the device or the machine lacks something; every other error is a failure.
	Open func(ctx context.Context, on *Device) (Work, error)
}

// ErrNotMeasured says that a case does not apply: the device has no such type, a library is not installed, the arrays
// do not fit. Its row gives the reason, and the run is no failure.
var ErrNotMeasured = errors.New("not measured")

// ErrWrongResult says that a result is not that of the reference. Such an operation is never timed.
var ErrWrongResult = errors.New("wrong result")

// Work is a case that was prepared for a device. One goroutine at a time uses it.
type Work interface {
	// Amount returns what one operation does. It does not change.
	Amount() Amount
	// Check executes the operation once, and compares what it computes with the CPU's result. It returns how that was
	// done, as "64 elements, formula in float64"; "" if the operation has no result, as an empty launch. It begins with
	// [NotVerified] if there was nothing to compare with.
	Check(ctx context.Context) (how string, err error)
	// Run executes the operation n times and waits for the last.
	Run(ctx context.Context, n int) (Elapsed, error)
	// Facts returns what is known about the operation on its device.
	Facts() Facts
	// Close frees what Open allocated.
	Close() error
}

// Amount is what an operation does.
type Amount struct {
	Ops   float64 `json:"ops,omitempty"`   // operations on numbers: a fused multiply-add is two
	Bytes float64 `json:"bytes,omitempty"` // read and written in memory, if each element is read or written once
}

// Elapsed is the time of a sample.
type Elapsed struct {
	Wall   time.Duration // until the host knew that the work was done
	Device time.Duration // by the device's timer; 0 if the device has none
}

// Facts are named values that explain a figure: "registers": 64. Values are numbers, strings or booleans. The names and
// their meanings are in docs/benchmarks.md. In a report, numbers are float64.
type Facts map[string]any

// Device is a device that is measured.
type Device struct {
	Name   string        // "cuda:0"; unique in a run
	Handle dlpack.Device // what Open passes to package runtime; zero for devices of tests
	Title  string        // the name of the hardware
	Facts  Facts         // driver, memory, limits

	// Sensor is read after each sample; nil if the device has none.
	Sensor Sensor
}

// Sensor reads the state of a device.
type Sensor interface {
	Read() (Reading, error)
	Close() error
}

// Reading is the state of a device at one moment. A nil field is unknown.
type Reading struct {
	ClockMHz       *float64 // of the processor
	MemoryClockMHz *float64
	Celsius        *float64
	Watts          *float64
	Throttled      []string // reasons for a reduced clock, in the driver's words
}
