package suite

import (
	"bytes"
	"context"
	"fmt"

	"tvmgo/bench"
	"tvmgo/dlpack"
	"tvmgo/runtime"
)

// memoryWork is a kernel that reads and writes arrays of a device.
type memoryWork struct {
	bench.Calls
	of     shape
	groups int
	inputs []*runtime.Tensor
	output *runtime.Tensor
}

// Arrays repeat integers, with a period that is no divisor of the sizes of groups. The second array has others.
const repeats = 61

func inputAt(array, at int) float64 { return float64((at + 7*array) % repeats) }

// allocate makes the arrays, fills those that are read, and binds the kernel to them.
func (w *memoryWork) allocate(k *kernelCall, r *resources) (err error) {
	var arguments []any
	n := int64(w.groups) * int64(w.of.elements())
	for i := range w.of.inputs {
		x, err := keep(runtime.NewTensor(dlpack.DataType(w.of.t), []int64{n}, w.On))(r)
		if err != nil {
			return err
		}
		block, err := w.block(func(at int) float64 { return inputAt(i, at) })
		if err != nil {
			return err
		}
		if err := w.parts(x, block, func(part *runtime.Tensor, want []byte) error {
			return part.CopyFromBytes(want)
		}); err != nil {
			return err
		}
		w.inputs, arguments = append(w.inputs, x), append(arguments, x)
	}
	if w.of.value == "" {
		n = int64(w.groups) * int64(w.of.sums())
	}
	if w.output, err = keep(runtime.NewTensor(dlpack.DataType(w.of.t), []int64{n}, w.On))(r); err != nil {
		return err
	}
	w.Call, err = k.bind(w.groups, append(arguments, w.output)...)
	return err
}

// block returns some MiB of an array whose element i has the value at(i % repeats).
func (w *memoryWork) block(at func(int) float64) (data []byte, err error) {
	for i := range repeats {
		if data, err = appendValue(data, w.of.t, at(i)); err != nil {
			return nil, err
		}
	}
	return bytes.Repeat(data, 8<<10), nil
}

// parts calls f for parts of an array, with the bytes of the block that belong to each.
func (w *memoryWork) parts(x *runtime.Tensor, block []byte, f func(part *runtime.Tensor, want []byte) error) error {
	each := int64(len(block)) / (int64(w.of.t.Bits) / 8)
	for from := int64(0); from < x.Len(); from += each {
		n := min(each, x.Len()-from)
		part, err := x.View(x.DType(), []int64{n}, nil, from*int64(w.of.t.Bits)/8)
		if err != nil {
			return err
		}
		err = f(part, block[:part.Size()])
		part.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// Check compares all that the kernel writes. All values are integers, and exact.
func (w *memoryWork) Check(ctx context.Context) (string, error) {
	empty, err := w.block(func(int) float64 { return -1 })
	if err != nil {
		return "", err
	}
	fill := func(part *runtime.Tensor, data []byte) error { return part.CopyFromBytes(data) }
	if err := w.parts(w.output, empty, fill); err != nil {
		return "", err
	}
	if err := w.Call(); err != nil {
		return "", err
	}
	if err := runtime.SyncDevice(ctx, w.On); err != nil {
		return "", err
	}
	how := fmt.Sprintf("%d elements, exact", w.output.Len())
	if w.of.value == "" {
		return how, w.checkSums()
	}
	want, err := w.block(func(at int) float64 {
		x, y := inputAt(0, at), inputAt(1, at)
		return map[string]float64{"X": x, "ONE": 1, "THREE * X": 3 * x, "X + Y": x + y, "X + THREE * Y": x + 3*y}[w.of.value]
	})
	if err != nil {
		return "", err
	}
	got, first := make([]byte, len(want)), int64(0)
	return how, w.parts(w.output, want, func(part *runtime.Tensor, want []byte) error {
		got = got[:len(want)]
		if err := part.CopyToBytes(got); err != nil {
			return err
		}
		if !bytes.Equal(got, want) {
			size := int(w.of.t.Bits) / 8
			at := 0
			for bytes.Equal(got[at:at+size], want[at:at+size]) {
				at += size
			}
			return wrong("element %d of %d is %x, and not %x, in memory", first+int64(at/size), w.output.Len(),
				got[at:at+size], want[at:at+size])
		}
		first += part.Len()
		return nil
	})
}

// checkSums compares what each work item has added.
func (w *memoryWork) checkSums() error {
	got, err := valuesOf(w.output)
	if err != nil {
		return err
	}
	s := w.of
	for i, v := range got {
		group, item := i/s.sums(), i%s.sums()
		want := 0.0
		for n := range s.vectors * s.loop {
			at := group*s.elements() + n*s.threads*s.width + item*s.width
			for lane := range s.width {
				want += inputAt(0, at+lane)
			}
		}
		if v != want {
			return wrong("sum %d of %d is %v, and not %v", i, len(got), v, want)
		}
	}
	return nil
}
