package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"tvmgo/dlpack"
	"tvmgo/runtime"
)

// One stream copies, and another one waits for the copies before its next work. The host waits for neither until Sync.
func ExampleStream_WaitFor() {
	upload, err := runtime.NewStream(runtime.CPU)
	if err != nil {
		log.Fatal(err)
	}
	defer upload.Close()
	compute, err := runtime.NewStream(runtime.CPU)
	if err != nil {
		log.Fatal(err)
	}
	defer compute.Close()
	input, err := runtime.FromSlice([]int32{1, 2, 3})
	if err != nil {
		log.Fatal(err)
	}
	defer input.Close()
	x, err := upload.NewTensor(dlpack.Int32, []int64{3})
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()

	err = errors.Join(x.CopyFromTensor(input, upload), compute.WaitFor(upload)) // now work on compute may use x
	if err != nil {
		log.Fatal(err)
	}
	if err := compute.Sync(context.Background()); err != nil {
		log.Fatal(err)
	}
	fmt.Println(runtime.ToSlice[int32](x))
	// Output: [1 2 3] <nil>
}

// A timer measures the device's own time between two positions in a stream.
func ExampleNewTimer() {
	x, err := runtime.NewTensor(dlpack.Float32, []int64{1 << 16}, runtime.CPU)
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()
	timer, err := runtime.NewTimer(runtime.CPU)
	if err != nil {
		log.Fatal(err)
	}
	defer timer.Close()
	if err := timer.Start(nil); err != nil { // nil: the default stream
		log.Fatal(err)
	}
	if err := runtime.CopyFrom(x, make([]float32, x.Len())); err != nil {
		log.Fatal(err)
	}
	if err := timer.Stop(nil); err != nil {
		log.Fatal(err)
	}
	d, err := timer.Elapsed()
	fmt.Println(d > 0, err)
	// Output: true <nil>
}

// A registered type without a device is listed with the reason.
func ExampleDevices() {
	for _, d := range runtime.Devices() {
		if d.Err != nil {
			log.Printf("no device of type %v: %v", d.Device.Type, d.Err)
		} else if d.Device == runtime.CPU {
			fmt.Println("found", d.Device)
		}
	}
	// Output: found cpu:0
}

// An attribute that a device does not have is nil, without an error.
func ExampleDeviceAttr() {
	exists, err := runtime.DeviceAttr(runtime.CPU, runtime.AttrExist)
	fmt.Println(exists, err)
	warp, err := runtime.DeviceAttr(runtime.CPU, runtime.AttrWarpSize)
	fmt.Println(warp, err)
	// Output:
	// 1 <nil>
	// <nil> <nil>
}

// A program can use a device if it exists, and run on the CPU otherwise.
func ExampleDeviceExists() {
	dev := dlpack.Device{Type: dlpack.Hexagon}
	_, err := runtime.NewTensor(dlpack.Float32, []int64{3}, dev)
	fmt.Println(errors.Is(err, runtime.ErrDeviceUnavailable))
	if !runtime.DeviceExists(dev) {
		dev = runtime.CPU
	}
	x, err := runtime.NewTensor(dlpack.Float32, []int64{3}, dev)
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()
	fmt.Println(x.Device())
	// Output:
	// true
	// cpu:0
}

// The CPU and most devices do not record: queue the work each time there.
func ExampleStream_Capture() {
	s, err := runtime.NewStream(runtime.CPU)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	work := func() error { return nil } // f.CallOn(s, …), kernel.Launch(s, …), x.CopyFromTensor(y, s)
	g, err := s.Capture(work)
	switch {
	case errors.Is(err, runtime.ErrNotSupported):
		fmt.Println("queued")
		err = work()
	case err == nil:
		defer g.Close()
		err = g.Launch(s)
	}
	if err != nil {
		log.Fatal(err)
	}
	// Output: queued
}
