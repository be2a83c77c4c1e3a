package custom

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"

	"tvmgo/bench"
	"tvmgo/dlpack"
	"tvmgo/export/pack"
	"tvmgo/runtime"
)

// reference is what a function must compute.
type reference struct {
	mu     sync.Mutex
	tried  bool // whether the CPU can compute it
	arrays [][]byte
	result any
	by     string // "cpu:0", "opencl:0"
	first  bool   // the first device computed it: nothing has verified it
}

// verify compares what a call computed with the expected arrays, with the CPU's, or with those of the first device.
func (k *kernel) verify(ctx context.Context, w *work, arrays [][]byte, result any) (string, error) {
	if k.options.Expect != nil {
		return k.compareExpected(arrays)
	}
	ref := &k.reference
	ref.mu.Lock()
	defer ref.mu.Unlock()
	if !ref.tried && w.On.Type != dlpack.CPU {
		if err := k.compute(ctx); err != nil {
			return "", err
		}
	}
	if ref.tried = true; ref.arrays == nil || ref.by == w.on.Name {
		ref.arrays, ref.result, ref.by, ref.first = arrays, result, w.on.Name, true
		if w.On.Type == dlpack.CPU {
			return bench.NotVerified + ": it is what other devices are compared with", nil
		}
		return bench.NotVerified + ": no file runs on the CPU; other devices are compared with this one", nil
	}
	for i, a := range k.arguments {
		if a.array == nil {
			continue
		}
		if err := k.compare(i, a, arrays[i], ref.arrays[i], "on "+ref.by); err != nil {
			return "", err
		}
	}
	if err := k.compareResult(result, ref.result, ref.by); err != nil {
		return "", err
	}
	how := fmt.Sprintf("%s, compared with %s", k.compared(result), ref.by)
	if ref.first && !strings.HasPrefix(ref.by, "cpu") {
		how += ", which nothing verified"
	}
	return how, nil
}

// compared says how much is compared: "3 arrays", "the result".
func (k *kernel) compared(result any) string {
	n := 0
	var elements int64
	for _, a := range k.arguments {
		if a.array != nil {
			n++
			elements += count(a.array.Shape)
		}
	}
	var parts []string
	if n > 0 {
		parts = append(parts, fmt.Sprintf("%s with %s", plural(n, "array"), plural(int(elements), "element")))
	}
	if _, opaque := result.(object); result != nil && !opaque {
		parts = append(parts, "the result")
	}
	if len(parts) == 0 {
		return "nothing to compare"
	}
	return strings.Join(parts, " and ")
}

func count(shape []int64) int64 {
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	return n
}

// compute calls the function on the CPU, if one of the files can run there, and keeps what it computes.
func (k *kernel) compute(ctx context.Context) (err error) {
	s, sure, err := k.find(dlpack.CPU)
	if err != nil {
		return nil
	}
	if _, knows := s.(*library); !sure && !knows {
		return nil
	}
	cpu := &bench.Device{Name: runtime.CPU.String(), Handle: runtime.CPU}
	w, err := k.prepare(ctx, s, cpu)
	if errors.Is(err, bench.ErrNotMeasured) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("compute the reference on the CPU: %w", err)
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if !w.sure && !sure {
		return nil // calling it could crash
	}
	arrays, result, err := w.once(ctx)
	if err != nil {
		return fmt.Errorf("compute the reference on the CPU: %w", err)
	}
	k.reference.arrays, k.reference.result, k.reference.by = arrays, result, cpu.Name
	return nil
}

// tolerance returns the allowed error of an argument.
func (k *kernel) tolerance(t dlpack.DataType) pack.Tolerance {
	if k.options.Tolerance != nil {
		return *k.options.Tolerance
	}
	return DefaultTolerance(t)
}

// compare compares an array with what it should be. The error is bench.ErrWrongResult.
func (k *kernel) compare(i int, a *argument, got, want []byte, by string) error {
	d := pack.Compare(&Array{DType: a.array.DType, Shape: a.array.Shape, Data: got},
		&Array{DType: a.array.DType, Shape: a.array.Shape, Data: want}, k.tolerance(a.array.DType))
	return wrongResult(title(i, a.name)+", "+a.String(), d, by)
}

func wrongResult(what string, d *pack.Difference, by string) error {
	if d == nil {
		return nil
	}
	at := strings.ReplaceAll(fmt.Sprint(d.First), " ", ",")
	text := fmt.Sprintf("%s: %d of %s differ, first at %s: got %s, want %s", what, d.Differing,
		plural(int(d.Elements), "element"), at, d.Got, d.Want)
	if by != "" {
		text += " as " + by
	}
	if abs := float64(d.MaxAbs); !math.IsNaN(abs) {
		text += fmt.Sprintf("; the largest difference is %.3g", abs)
	}
	return fmt.Errorf("%w: %s", bench.ErrWrongResult, text)
}

// compareResult compares what two calls returned.
func (k *kernel) compareResult(got, want any, by string) error {
	g, isArray := got.(*Array)
	w, wasArray := want.(*Array)
	if isArray && wasArray {
		if g.DType != w.DType || !reflect.DeepEqual(g.Shape, w.Shape) {
			return fmt.Errorf("%w: the result is %v%v, and %v%v on %s", bench.ErrWrongResult, g.DType, g.Shape, w.DType,
				w.Shape, by)
		}
		return wrongResult("the result", pack.Compare(g, w, k.tolerance(w.DType)), "on "+by)
	}
	same := reflect.DeepEqual(got, want)
	x, isFloat := got.(float64)
	y, wasFloat := want.(float64)
	if isFloat && wasFloat && !same {
		tol := k.tolerance(dlpack.Float32) // it may have been computed from such numbers
		same = math.IsNaN(x) && math.IsNaN(y) || math.Abs(x-y) <= tol.Abs+tol.Rel*math.Abs(y)
	}
	if !same {
		return fmt.Errorf("%w: the result is %v, and %v on %s", bench.ErrWrongResult, got, want, by)
	}
	return nil
}

// expected returns the indices of the arguments that Options.Expect is for.
func (k *kernel) expected() []int {
	var outs, arrays []int
	for i, a := range k.arguments {
		if a.array != nil {
			arrays = append(arrays, i)
		}
		if a.out {
			outs = append(outs, i)
		}
	}
	if n := len(k.options.Expect); len(outs) == 0 {
		return arrays[max(0, len(arrays)-n):]
	}
	return outs
}

// checkExpected compares the types and shapes of Options.Expect with the arguments.
func (k *kernel) checkExpected() error {
	if k.options.Expect == nil {
		return nil
	}
	at := k.expected()
	if len(at) != len(k.options.Expect) {
		return fmt.Errorf("%s expected, and the function has %s", plural(len(k.options.Expect), "array"),
			plural(len(at), "output"))
	}
	for n, i := range at {
		want := &argument{array: k.options.Expect[n]}
		if want.array.Data == nil {
			return fmt.Errorf("the expected array %d has no elements: give a .npy file", n)
		}
		if a := k.arguments[i]; a.String() != want.String() {
			return fmt.Errorf("the expected array %d is %s, and %s is %s", n, want, title(i, a.name), a)
		}
		if err := want.valid(); err != nil {
			return err
		}
	}
	return nil
}

func (k *kernel) compareExpected(arrays [][]byte) (string, error) {
	var elements int64
	for n, i := range k.expected() {
		a := k.arguments[i]
		if err := k.compare(i, a, arrays[i], k.options.Expect[n].Data, "expected"); err != nil {
			return "", err
		}
		elements += count(a.array.Shape)
	}
	return fmt.Sprintf("%s with %s, compared with those expected", plural(len(k.options.Expect), "array"),
		plural(int(elements), "element")), nil
}

// finite reports whether all elements of float arrays are finite and not subnormal, which would change the time of a
// call. Elements that have become zero since the first call may have been subnormal in between.
func finite(list []*argument, first, arrays [][]byte) bool {
	for i, a := range list {
		if a.array == nil || a.array.DType.Lanes != 1 {
			continue
		}
		if !finiteElements(a.array.DType, first[i], arrays[i]) {
			return false
		}
	}
	return true
}

func finiteElements(t dlpack.DataType, first, data []byte) bool {
	var exponent uint64 // its bits in an element
	switch {
	case t == dlpack.Float64:
		exponent = 0x7ff << 52
	case t == dlpack.Float32:
		exponent = 0xff << 23
	case t == dlpack.Float16:
		exponent = 0x1f << 10
	case t == dlpack.BFloat16:
		exponent = 0xff << 7
	default:
		return true
	}
	each := int(t.Bits) / 8
	sign := uint64(1) << (t.Bits - 1)
	for i := 0; i < len(data); i += each {
		bits, before := uint64(0), uint64(0)
		for b := each - 1; b >= 0; b-- {
			bits, before = bits<<8|uint64(data[i+b]), before<<8|uint64(first[i+b])
		}
		if e := bits & exponent; e == exponent || e == 0 && bits&^sign != 0 || bits&^sign == 0 && before&^sign != 0 {
			return false
		}
	}
	return true
}
