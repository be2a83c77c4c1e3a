package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"unsafe"

	"tvmgo/dlpack"
	"tvmgo/internal/memory"
	"tvmgo/internal/npyfile"
	"tvmgo/runtime"
)

// parseDevice also checks that the device is there.
func parseDevice(text string) (dlpack.Device, error) {
	dev, err := dlpack.ParseDevice(text)
	if err != nil {
		return dev, fmt.Errorf("--device %s: %w", text, err)
	}
	var present []string
	for _, s := range runtime.Devices() {
		if s.Err == nil {
			present = append(present, s.Device.String())
		} else if s.Device.Type == dev.Type {
			return dev, fmt.Errorf("--device %s: %w", text, s.Err)
		}
	}
	if !slices.Contains(present, dev.String()) {
		if err := runtime.SyncDevice(context.Background(), dev); err != nil { // the device says it better
			return dev, fmt.Errorf("--device %s: %s", text, reason(err))
		}
		return dev, fmt.Errorf("--device %s: there is no such device here; there is: %s", text, strings.Join(present, ", "))
	}
	return dev, nil
}

// call is a function with its arguments on a device.
type call struct {
	fn      *runtime.Function
	dev     dlpack.Device
	classic func() bool // whether the function is of the classic generation
	args    []any
	tensors []*runtime.Tensor // those of args
	of      map[*array]*runtime.Tensor
}

func (c *call) close() {
	for _, t := range c.tensors {
		t.Close()
	}
}

// addArguments makes arrays of the arguments that are some; those without data, which are outputs, begin as zeros.
func (c *call) addArguments(args []any) error {
	for _, v := range args {
		a, ok := v.(*array)
		if !ok {
			c.args = append(c.args, v)
			continue
		}
		if err := c.addTensor(a); err != nil {
			return fmt.Errorf("%s: %w", typeText(a.dtype, a.shape), err)
		}
	}
	return nil
}

func (c *call) addTensor(a *array) error {
	dtype := a.dtype
	if dtype == dlpack.Bool && c.classic() {
		dtype = dlpack.ClassicBool
	}
	if c.dev.Type == dlpack.CPU {
		size, err := dlpack.DataSize(a.shape, dtype)
		if err == nil {
			err = memory.Check(size)
		}
		if err != nil {
			return err
		}
	}
	t, err := runtime.NewTensor(dtype, a.shape, c.dev)
	if err != nil {
		return err
	}
	c.tensors, c.args = append(c.tensors, t), append(c.args, t)
	if c.of == nil {
		c.of = map[*array]*runtime.Tensor{}
	}
	c.of[a] = t
	if a.data != nil {
		return t.CopyFromBytes(a.data)
	}
	if host := hostBytes(t); host != nil {
		clear(host)
		return nil
	}
	zeros, err := memory.Make(t.Size())
	if err != nil {
		return err
	}
	defer memory.Free(zeros)
	return t.CopyFromBytes(zeros)
}

// hostBytes are the elements of a tensor of the CPU; nil of others. They are there until it is closed.
func hostBytes(t *runtime.Tensor) []byte {
	if t.Device().Type != dlpack.CPU || t.Size() == 0 {
		return nil
	}
	address := t.Data()
	return unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&address))), t.Size())
}

// once calls the function, waits for the device, and says what came back; "" for nothing.
func (c *call) once(ctx context.Context) (string, error) {
	result, err := c.fn.Call(c.args...)
	if err != nil {
		return "", err
	}
	if err := runtime.SyncDevice(ctx, c.dev); err != nil {
		return "", err
	}
	if closer, ok := result.(io.Closer); ok {
		defer closer.Close()
	}
	switch v := result.(type) {
	case nil:
		return "", nil
	case string:
		return fmt.Sprintf("%q", v), nil
	case *runtime.Function, *runtime.Module, *runtime.Object:
		return fmt.Sprintf("%T", v), nil
	}
	return fmt.Sprint(result), nil
}

// write writes what is in an output now as a .npy file.
func (c *call) write(w io.Writer, a *array) error {
	if err := npyfile.WriteHeader(w, a.dtype, a.shape); err != nil {
		return err
	}
	t := c.of[a]
	data := hostBytes(t)
	if data == nil {
		copied, err := memory.Make(t.Size())
		if err != nil {
			return err
		}
		defer memory.Free(copied)
		if err := t.CopyToBytes(copied); err != nil {
			return err
		}
		data = copied
	}
	_, err := w.Write(data)
	return err
}
