package custom

import (
	"fmt"
	"math"

	"tvmgo/bench"
	"tvmgo/dlpack"
	"tvmgo/export/pack"
	"tvmgo/internal/arguments"
)

// Array is an argument: elements in row-major order, or only their type and shape, if Data is nil.
type Array = pack.Array

// Output is an argument: the array of Options.Out with this index.
type Output int

// Options describes a call. The zero value is enough for a file with one function, whose signature has only known
// sizes.
type Options struct {
	// Name is the name of the case; "" is that of the function.
	Name string
	// Function is the name of a function. "" is the only one of the file, or that of the signature.
	Function string
	// Signature is that of kernels, instead of those in the files: see the package comment.
	Signature string
	// Grid and Block are the sizes of a launch of kernels without a signature: their arrays are those of the arguments,
	// integers are int32, and numbers float32. Zeros count as 1; all zero means that there is a signature.
	Grid, Block [3]int
	// In has the arguments: int64, uint64 (from 2⁶³ on), float64, string, *Array, or [Output] for an array of Out that
	// is not at the end. [ParseArgument] reads one from text.
	In []any
	// Out has the type and shape of each array that the function only writes. [ParseArray] reads one from text.
	Out []*Array
	// Sizes has values of names in the signature, for arrays that are not in In and Out.
	Sizes map[string]int64
	// Expect has what the arrays of Out must contain after a call; without Out, the last arrays of the call. nil: they
	// are compared with the CPU's, or with the first device's.
	Expect []*Array
	// Tolerance is the allowed error of numbers that are not integers. nil means the one for their type: see
	// [DefaultTolerance].
	Tolerance *pack.Tolerance
	// Target is the target for which a program is built; "" is each device's own. Devices of another kind are not
	// measured.
	Target string
	// Figure is what is reported; "" is the time of a call.
	Figure bench.Figure
	// Ops is the number of operations on numbers of a call, 0 if unknown.
	Ops float64
}

// ParseArgument reads an argument: i:3 (an integer), f:0.5 (a number), s:text, o:1 (the first array of Out), a type and
// a shape such as float32[1024] (an array with synthetic elements), or else the path of a .npy file, which is read.
func ParseArgument(text string) (any, error) {
	v, err := arguments.Parse(text)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case arguments.Output:
		return Output(v), nil
	case arguments.File:
		if a, err := ParseArray(text); err == nil {
			return a, nil
		} else if looksLikeArray(text) {
			return nil, err
		}
		a, err := arguments.ReadNPY(string(v))
		if err != nil {
			return nil, err
		}
		return (*Array)(a), nil
	}
	return v, nil
}

// DefaultTolerance returns the allowed error of elements of a type, 0 for integers.
func DefaultTolerance(t dlpack.DataType) pack.Tolerance {
	switch {
	case t.Code == dlpack.CodeBFloat:
		return pack.Tolerance{Rel: 3e-2, Abs: 1e-3}
	case t.Code == dlpack.CodeFloat && t.Bits == 16:
		return pack.Tolerance{Rel: 5e-3, Abs: 1e-4}
	case t.Code == dlpack.CodeFloat && t.Bits == 64:
		return pack.Tolerance{Rel: 1e-9, Abs: 1e-12}
	case t.Code == dlpack.CodeFloat:
		return pack.Tolerance{Rel: 1e-4, Abs: 1e-6}
	}
	return pack.Tolerance{}
}

// check returns an error for a value that is not possible.
func (o *Options) check() error {
	for i, n := range append(o.Grid[:], o.Block[:]...) {
		if n < 0 || int64(n) > math.MaxUint32 {
			return fmt.Errorf("%s of %d: give a number from 1", []string{"a grid", "a block"}[i/3], n)
		}
	}
	switch {
	case !(o.Ops >= 0) || math.IsInf(o.Ops, 0):
		return fmt.Errorf("%v operations: give a number from 0", o.Ops)
	case o.Tolerance != nil && (!(o.Tolerance.Rel >= 0) || !(o.Tolerance.Abs >= 0)):
		return fmt.Errorf("a tolerance of %v and %v: give numbers from 0", o.Tolerance.Rel, o.Tolerance.Abs)
	case o.launch() && o.Signature != "":
		return fmt.Errorf("there are a signature and the size of a grid or block: leave one out")
	}
	switch o.Figure {
	case "", bench.Time, bench.Bandwidth, bench.Flops, bench.IntOps:
	default:
		return fmt.Errorf("the figure %q is unknown: it is one of %s, %s, %s, %s", o.Figure, bench.Time, bench.Bandwidth,
			bench.Flops, bench.IntOps)
	}
	for name, n := range o.Sizes {
		if n < 0 {
			return fmt.Errorf("size %s=%d: give a number from 0", name, n)
		}
	}
	return nil
}

// launch reports whether the options have the sizes of a launch.
func (o *Options) launch() bool { return o.Grid != [3]int{} || o.Block != [3]int{} }
