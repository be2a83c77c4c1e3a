package facts

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"tvmgo/bench"
	"tvmgo/dlpack"
	"tvmgo/runtime"
)

// Find returns the device of a name, such as "cuda:0" or "opencl", if it exists. Otherwise the error says which name is
// similar, why the driver has no device, or which devices there are.
func Find(name string) (dlpack.Device, error) {
	dev, err := dlpack.ParseDevice(name)
	if err != nil {
		return dev, err
	}
	return dev, exists(dev)
}

// exists returns an error that says what is wrong with a device; nil if it exists.
func exists(dev dlpack.Device) error {
	var present []string
	for _, s := range runtime.Devices() {
		if s.Err == nil {
			present = append(present, s.Device.String())
		} else if s.Device.Type == dev.Type {
			return s.Err
		}
	}
	if slices.Contains(present, dev.String()) {
		return nil
	}
	if err := runtime.SyncDevice(context.Background(), dev); err != nil { // the error of the device is more precise
		var e *runtime.Error
		if errors.As(err, &e) && e.Message != "" {
			e.Op = ""
			return e
		}
		return err
	}
	return runtime.Errorf(runtime.ErrDeviceUnavailable, "there is no such device here; there is: %s",
		strings.Join(present, ", "))
}

// Open describes a device for package bench: its facts, and its sensor if there is one. The caller closes it with
// [Close], after the runs that use it. The error is runtime.ErrDeviceUnavailable if the device does not exist.
func Open(dev dlpack.Device) (*bench.Device, error) {
	if err := exists(dev); err != nil {
		return nil, fmt.Errorf("open %v: %w", dev, err)
	}
	return open(dev, os.DirFS("/"))
}

// open is Open with the files of the system.
func open(dev dlpack.Device, files fs.FS) (*bench.Device, error) {
	d := &bench.Device{Name: dev.String(), Handle: dev, Facts: bench.Facts{}}
	var err error
	if d.Title, err = describe(dev, files, d.Facts); err != nil {
		return nil, fmt.Errorf("open %v: %w", dev, err)
	}
	var reads string
	if d.Sensor, reads = sensorOf(d.Facts, files); reads != "" {
		d.Facts[SensorName] = reads
	}
	return d, nil
}

// Close closes the sensor of a device. The device can still be used, but has no sensor.
func Close(d *bench.Device) error {
	if d == nil || d.Sensor == nil {
		return nil
	}
	err := d.Sensor.Close()
	d.Sensor = nil
	return err
}
