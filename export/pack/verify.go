package pack

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"tvmgo/dlpack"
	"tvmgo/runtime"
)

// Tolerance is the allowed error of a floating-point result: Abs + Rel·|expected|.
type Tolerance struct{ Rel, Abs float64 }

// DefaultTolerance suits float32.
var DefaultTolerance = Tolerance{Rel: 1e-5, Abs: 1e-6}

// Report is the result of Verify.
type Report struct {
	File    string   `json:"file,omitempty"`
	Device  string   `json:"device"`
	Vectors []Result `json:"vectors"`
}

// Failed is the number of vectors with an error or a difference.
func (r *Report) Failed() int {
	n := 0
	for _, v := range r.Vectors {
		n += b2i(!v.OK())
	}
	return n
}

// Result is the result of one test vector.
type Result struct {
	Function    string       `json:"function"`
	Vector      int          `json:"vector"`          // among those of the function, from 0
	Error       string       `json:"error,omitempty"` // the call failed
	Differences []Difference `json:"differences,omitempty"`
}

// OK reports whether the call succeeded and all results were as expected.
func (r *Result) OK() bool { return r.Error == "" && len(r.Differences) == 0 }

// Difference describes an argument whose elements differ from the expected ones.
type Difference struct {
	Argument  int     `json:"argument"`
	Name      string  `json:"name,omitempty"`
	Type      string  `json:"type"`
	Elements  int64   `json:"elements"`  // of the tensor
	Differing int64   `json:"differing"` // of them
	Untouched int64   `json:"untouched"` // of those: unchanged by the call
	First     []int64 `json:"first"`     // index of the first of them
	Got       string  `json:"got"`       // at this index
	Want      string  `json:"want"`
	MaxAbs    Number  `json:"max_abs"` // largest difference, absolute and relative to |want|; NaN if an element is
	MaxRel    Number  `json:"max_rel"`
	Const     bool    `json:"const,omitempty"` // the argument must not be changed
}

// Verify runs the test vectors of a loaded module on a device. A result that differs is not an error; the report
// contains it. The error is runtime.ErrNotFound if the module has no vectors, runtime.ErrInvalidArgument for a negative
// tolerance, and the error of ctx if ctx ends. A kernel that crashes ends this process; with VerifyOne you can run each
// vector in a separate process.
func Verify(ctx context.Context, m *runtime.Module, dev dlpack.Device, tol Tolerance) (*Report, error) {
	if err := tol.check(); err != nil {
		return nil, err
	}
	vectors, err := loadVectors(m)
	if err != nil {
		return nil, err
	}
	r := &Report{Device: dev.String(), Vectors: []Result{}}
	for i := range vectors {
		result, err := vectors[i].verify(ctx, m, dev, tol)
		if err != nil {
			return nil, err
		}
		r.Vectors = append(r.Vectors, *result)
	}
	return r, nil
}

// Vectors lists the test vectors of a loaded module, in order, without running them. The error is runtime.ErrNotFound
// if there are none.
func Vectors(m *runtime.Module) ([]Result, error) {
	vectors, err := loadVectors(m)
	if err != nil {
		return nil, err
	}
	list := make([]Result, len(vectors))
	for i, v := range vectors {
		list[i] = Result{Function: v.Function, Vector: v.number}
	}
	return list, nil
}

// VerifyOne is Verify for one test vector, by its index in the list of Vectors. The error for an index out of range is
// runtime.ErrInvalidArgument.
func VerifyOne(ctx context.Context, m *runtime.Module, index int, dev dlpack.Device, tol Tolerance) (*Result, error) {
	if err := tol.check(); err != nil {
		return nil, err
	}
	vectors, err := loadVectors(m)
	if err != nil {
		return nil, err
	}
	if index < 0 || index >= len(vectors) {
		return nil, invalid("verify: there is no test vector %d: there are %d", index, len(vectors))
	}
	return vectors[index].verify(ctx, m, dev, tol)
}

func (t Tolerance) check() error {
	if !(t.Rel >= 0 && t.Abs >= 0) {
		return invalid("verify: the tolerances %v and %v must not be below zero", t.Rel, t.Abs)
	}
	return nil
}

// verify runs a vector and returns its result; the error is that of ctx.
func (v *testVector) verify(ctx context.Context, m *runtime.Module, dev dlpack.Device, tol Tolerance) (*Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	differences, err := v.run(ctx, m, dev, tol)
	if cause := ctx.Err(); cause != nil {
		return nil, cause
	}
	result := &Result{Function: v.Function, Vector: v.number, Differences: differences}
	if err != nil {
		result.Error = err.Error()
	}
	return result, nil
}

func loadVectors(m *runtime.Module) ([]testVector, error) {
	f, err := m.Function(vectorsFunction)
	if errors.Is(err, runtime.ErrNotFound) {
		return nil, notFound("verify: it carries no test vectors: tvmgo pack --test puts them into a file")
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	v, err := f.Call()
	if err != nil {
		return nil, err
	}
	data, ok := v.([]byte)
	if !ok {
		return nil, corrupt("verify: the function %s returned %T instead of bytes", vectorsFunction, v)
	}
	vectors, err := parseVectors(data)
	if err != nil {
		return nil, err
	}
	if len(vectors) == 0 {
		return nil, notFound("verify: its list of test vectors is empty")
	}
	return vectors, nil
}

// pattern fills tensors that are only written, so that elements which the kernel did not write are detected.
const pattern = 0xa5

// run calls the function of a vector, and compares the results.
func (v *testVector) run(ctx context.Context, m *runtime.Module, dev dlpack.Device, tol Tolerance) ([]Difference,
	error) {
	f, err := m.Function(v.Function)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	args := make([]any, len(v.Args))
	before := make([][]byte, len(v.Args))
	for i := range v.Args {
		a := &v.Args[i]
		switch {
		case a.Int != nil:
			args[i] = *a.Int
			continue
		case a.Float != nil:
			args[i] = *a.Float
			continue
		}
		t, content, err := v.tensor(a, dev)
		if err != nil {
			return nil, fmt.Errorf("argument %d%s: %w", i, nameOf(a.Name), err)
		}
		defer t.Close()
		args[i], before[i] = t, content
	}
	result, err := f.Call(args...)
	if err == nil {
		if c, ok := result.(interface{ Close() error }); ok {
			c.Close()
		}
		err = runtime.SyncDevice(ctx, dev)
	}
	if err != nil {
		return nil, err
	}
	var list []Difference
	for i := range v.Args {
		t, ok := args[i].(*runtime.Tensor)
		if !ok {
			continue
		}
		d, err := v.compare(i, t, before[i], tol)
		if err != nil {
			return nil, err
		}
		if d != nil {
			list = append(list, *d)
		}
	}
	return list, nil
}

// tensor makes an argument, and returns its content.
func (v *testVector) tensor(a *testArg, dev dlpack.Device) (*runtime.Tensor, []byte, error) {
	dtype, err := dlpack.ParseDataType(a.Type)
	if err != nil {
		return nil, nil, err
	}
	shape := a.Shape
	if shape == nil {
		shape = []int64{}
	}
	t, err := runtime.NewTensor(dtype, shape, dev)
	if err != nil {
		return nil, nil, err
	}
	content := bytes.Repeat([]byte{pattern}, int(t.Size()))
	if a.In != nil {
		content = v.data[*a.In : *a.In+t.Size()]
	} else if dtype.IsBool() {
		clear(content) // other bytes are not valid booleans
	}
	if err := t.CopyFromBytes(content); err != nil {
		t.Close()
		return nil, nil, err
	}
	return t, content, nil
}

func (v *testVector) compare(i int, t *runtime.Tensor, before []byte, tol Tolerance) (*Difference, error) {
	a := &v.Args[i]
	want := before
	switch {
	case a.Want != nil:
		want = v.data[*a.Want : *a.Want+t.Size()]
	case !a.Const:
		return nil, nil
	}
	got := make([]byte, t.Size())
	if err := t.CopyToBytes(got); err != nil {
		return nil, err
	}
	c := comparison{dtype: t.DType(), shape: t.Shape(), tolerance: tol, got: got, want: want, before: before}
	d := c.run()
	if d != nil {
		d.Argument, d.Name, d.Const = i, a.Name, a.Want == nil
	}
	return d, nil
}
