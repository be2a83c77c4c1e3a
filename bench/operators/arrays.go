package operators

import (
	"context"
	"errors"
	"fmt"
	"math"

	"tvmgo/bench"
	"tvmgo/dlpack"
	"tvmgo/runtime"
)

// Arrays holds the inputs and the result of an operator on a device.
type Arrays struct {
	Operator *Operator
	Device   dlpack.Device

	// HalfSums says that what executes the operator adds in float16. Its errors have no useful bound: only the result
	// of integers is compared, which is exact all the same.
	HalfSums bool

	all []*runtime.Tensor
}

// NewArrays allocates the arrays of an operator. Check sets the inputs; until then their values are undefined.
func NewArrays(o *Operator, device dlpack.Device) (*Arrays, error) {
	a := &Arrays{Operator: o, Device: device}
	for _, s := range o.Shapes() {
		t, err := runtime.NewTensor(s.Type, s.Sizes, device)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("allocate the arrays of %s: %w", o.Name, err), a.Close())
		}
		a.all = append(a.all, t)
	}
	return a, nil
}

// Tensors returns the inputs, then the result. They stay those of the receiver.
func (a *Arrays) Tensors() []*runtime.Tensor { return a.all }

// Args returns the arguments of the function that Lower makes.
func (a *Arrays) Args() (args []any) {
	for _, t := range a.all {
		args = append(args, t)
	}
	return args
}

// Bytes returns the size of all arrays.
func (a *Arrays) Bytes() (n int64) {
	for _, t := range a.all {
		n += t.Size()
	}
	return n
}

// Close frees the arrays.
func (a *Arrays) Close() (err error) {
	for _, t := range a.all {
		err = errors.Join(err, t.Close())
	}
	a.all = nil
	return err
}

// Check sets the inputs, executes the operator and compares the result with the reference, as the package comment
// describes. execute executes the operator once on the arrays, and waits. how says how the result was verified. The
// error is bench.ErrWrongResult if an element is wrong; it names the element.
func (a *Arrays) Check(ctx context.Context, execute func() error) (how string, err error) {
	o := a.Operator
	r := &run{Context: ctx, of: o}
	stage := func(value func(input int) func(at int) float64) error {
		if err := a.fill(r, value); err != nil {
			return err
		}
		out := a.all[len(a.all)-1]
		if err := out.CopyFromBytes(nothing(out.Size())); err != nil {
			return err
		}
		if err := execute(); err != nil {
			return err
		}
		r.count = int(out.Len())
		r.got, err = elementsOf(out)
		return err
	}
	if o.exact != nil {
		if err := stage(o.integer); err != nil {
			return "", err
		}
		if err := o.exact(r); err != nil {
			return "", err
		}
		how = "all elements exact, for integers"
	}
	if o.rounded != nil {
		if err := stage(o.fraction); err != nil {
			return "", err
		}
		if a.HalfSums && o.exact != nil {
			return how, nil
		}
		part, err := r.compare(o.rounded)
		if err != nil {
			return "", err
		}
		if how != "" {
			how += "; "
		}
		how += part
	}
	return how, nil
}

// nothing returns bytes that are NaN in each type of floats.
func nothing(n int64) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = 0xff
	}
	return b
}

// hash returns 64 bits that are different for each element of each input.
func hash(input, at int) uint64 {
	h := (uint64(at)+1)*0x9e3779b97f4a7c15 ^ uint64(input+1)*0xd1342543de82ef95
	h = (h ^ h>>32) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>29) * 0x94d049bb133111eb
	return h ^ h>>32
}

// integer returns the elements of an input for the exact reference: integers other than 0.
func (o *Operator) integer(input int) func(at int) float64 {
	limit := uint64(o.limit[input])
	return func(at int) float64 {
		v := int64(hash(input, at)>>20%(2*limit)) - int64(limit)
		if v >= 0 {
			v++
		}
		return float64(v)
	}
}

// fraction returns the elements of an input whose significands have all bits of the type: odd numbers.
func (o *Operator) fraction(input int) func(at int) float64 {
	values := 1 / unit(o.Type)
	scale := o.scale[input]
	return func(at int) float64 {
		k := float64(hash(input+8, at) >> 20 & (uint64(values) - 1))
		return (2*k + 1 - values) / values * scale
	}
}

// fill sets the inputs on the device, and keeps their values in the run.
func (a *Arrays) fill(r *run, value func(input int) func(at int) float64) error {
	r.inputs = nil
	for input, t := range a.all[:len(a.all)-1] {
		of, data := value(input), make([]float32, t.Len())
		err := r.parallel((len(data)+chunk-1)/chunk, func(i int) error {
			for at := i * chunk; at < min(len(data), (i+1)*chunk); at++ {
				data[at] = float32(of(at))
			}
			return nil
		})
		if err != nil {
			return err
		}
		r.inputs = append(r.inputs, data)
		if t.DType() == dlpack.Float32 {
			if err := runtime.CopyFrom(t, data); err != nil {
				return err
			}
			continue
		}
		halves := make([]dlpack.Float16Bits, len(data))
		err = r.parallel((len(data)+chunk-1)/chunk, func(i int) error {
			for at := i * chunk; at < min(len(data), (i+1)*chunk); at++ {
				halves[at] = dlpack.Float16Of(float64(data[at]))
			}
			return nil
		})
		if err != nil {
			return err
		}
		if err := runtime.CopyFrom(t, halves); err != nil {
			return err
		}
	}
	return nil
}

func elementsOf(t *runtime.Tensor) (at func(i int) float64, err error) {
	if t.DType() == dlpack.Float16 {
		values, err := runtime.ToSlice[dlpack.Float16Bits](t)
		return func(i int) float64 { return float64(values[i].Float32()) }, err
	}
	values, err := runtime.ToSlice[float32](t)
	return func(i int) float64 { return float64(values[i]) }, err
}

// wrong returns the error for an element.
func (o *Operator) wrong(at int, got, want, tolerance float64) error {
	shapes := o.Shapes()
	sizes, index := shapes[len(shapes)-1].Sizes, ""
	for i := len(sizes) - 1; i >= 0; i-- {
		index = fmt.Sprintf(", %d%s", at%int(sizes[i]), index)
		at /= int(sizes[i])
	}
	if index != "" {
		index = index[2:]
	}
	more := ""
	if tolerance > 0 {
		more = fmt.Sprintf(" ± %.3g", tolerance)
	}
	if math.IsNaN(got) {
		return fmt.Errorf("%w: element [%s] of %s is NaN, as before the execution: want %v%s", bench.ErrWrongResult,
			index, o.Name, want, more)
	}
	return fmt.Errorf("%w: element [%s] of %s is %v: want %v%s", bench.ErrWrongResult, index, o.Name, got, want, more)
}
