package target

import (
	"fmt"
	"sync/atomic"

	"tvmgo/dlpack"
)

// Devices answers what from_device asks. The runtime implements it.
type Devices interface {
	// Registered says whether there is an API for devices of a type.
	Registered(t dlpack.DeviceType) bool
	// Exists says whether a device is there and usable.
	Exists(dev dlpack.Device) bool
	// TargetProperty is what a device is under the name of an option: int64, bool or string; nil where it has no such thing.
	TargetProperty(dev dlpack.Device, name string) (any, error)
}

var devices atomic.Pointer[Devices]

// SetDevices says who is asked when a target has from_device. Importing tvmgo/runtime does it. nil: nobody.
func SetDevices(d Devices) {
	if d == nil {
		devices.Store(nil)
		return
	}
	devices.Store(&d)
}

// Property names what a device is asked for instead of the option's own name; "" never asks for it.
func Property(name string) OptionSetting {
	return func(o *OptionInfo) error { o.property = &name; return nil }
}

// askDevice fills in what is not given. Without an API for the device, defaults stay; without the device it is an error.
func (c *Config) askDevice() error {
	if !c.asked {
		return nil
	}
	typ := c.kind.device
	if n, ok := c.values[slotDeviceType].(int64); ok {
		typ = dlpack.DeviceType(n)
	}
	dev, path := dlpack.Device{Type: typ, ID: int32(c.fromDevice)}, child(c.path, "from_device")
	p := devices.Load()
	if p == nil || !(*p).Registered(typ) {
		c.Warn("from_device: this program has no API for %s devices, so that nothing was asked and defaults stand", typ)
		return nil
	}
	if !(*p).Exists(dev) {
		return wrong(path, ErrDevice, "there is no device %s: leave from_device out to describe one that is not here", dev)
	}
	for i := numCommon; i < len(c.values); i++ {
		o := &c.kind.options[i]
		name := o.Name
		if o.property != nil {
			name = *o.property
		}
		if c.values[i] != nil || name == "" || o.Type.base == baseTarget {
			continue
		}
		v, err := (*p).TargetProperty(dev, name)
		if err != nil {
			return wrong(path, ErrDevice, "%s does not tell %q: %v", dev, name, err)
		}
		if v == nil {
			continue
		}
		value, err := o.check(child(c.path, o.Name), v)
		if err != nil {
			return fmt.Errorf("target: %s answers %q with a value that the option does not take: %w", dev, name, err)
		}
		c.values[i] = value
	}
	return nil
}
