// Command hello_device adds a new device, "hello", with two indices, and uses it:
//
//	go run ./examples/hello_device
//
// The device is in device.go: the six mandatory methods of runtime.DeviceAPI. Streams, timers and workspaces come from
// the runtime. hello_test.go runs the suite that every device must pass.
package main

import (
	"fmt"
	"io"
	"os"

	"tvmgo/dlpack"
	"tvmgo/runtime"
)

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "hello_device:", err)
		os.Exit(1)
	}
}

// run registers the device, and copies a tensor to index 0, from there to index 1, and back to the host.
func run(w io.Writer) error {
	if err := register(); err != nil {
		return err
	}
	first, err := dlpack.ParseDevice("hello:0") // the registered name works wherever a device is named
	if err != nil {
		return err
	}
	second := dlpack.Device{Type: number, ID: 1}
	name, err := runtime.DeviceAttr(first, runtime.AttrDeviceName)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%v is %q; hello:2 exists: %t\n", first, name, runtime.DeviceExists(dlpack.Device{Type: number, ID: 2}))

	x, err := runtime.NewTensor(dlpack.Float32, []int64{2, 3}, first)
	if err != nil {
		return err
	}
	defer x.Close()
	fmt.Fprintf(w, "allocated %v of shape %v on %v: %d bytes\n", x.DType(), x.Shape(), x.Device(), x.Size())
	if err := runtime.CopyFrom(x, []float32{1, 2, 3, 4, 5, 6}); err != nil {
		return err
	}
	y, err := runtime.NewTensor(dlpack.Float32, []int64{2, 3}, second)
	if err != nil {
		return err
	}
	defer y.Close()
	if err := y.CopyFromTensor(x, nil); err != nil { // nil: the default stream
		return err
	}
	values, err := runtime.ToSlice[float32](y)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "copied to %v, to %v and back: %v\n", x.Device(), y.Device(), values)
	return nil
}
