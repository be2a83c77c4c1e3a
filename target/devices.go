package target

import (
	"errors"
	"sync/atomic"

	"tvmgo/dlpack"
	"tvmgo/internal/jsonpos"
)

// Devices answers questions about devices for from_device. Package runtime implements it.
type Devices interface {
	// Registered reports whether there is an API for devices of a type.
	Registered(t dlpack.DeviceType) bool
	// Exists reports whether a device is there and usable.
	Exists(dev dlpack.Device) bool
	// TargetProperty is what a device is under the name of an option: int64, bool or string; nil where it has no such
	// thing.
	TargetProperty(dev dlpack.Device, name string) (any, error)
}

var devices atomic.Pointer[Devices]

// SetDevices sets the implementation that answers from_device; nil for none. Importing tvmgo/runtime sets it.
func SetDevices(d Devices) {
	if d == nil {
		devices.Store(nil)
		return
	}
	devices.Store(&d)
}

// Property sets the name under which from_device asks a device for the option, instead of the option's own; "" never
// asks.
func Property(name string) OptionSetting {
	return func(o *OptionInfo) error { o.property = &name; return nil }
}

// askDevice fills in what is not given. Without an API for the device, defaults stay; without the device it is an
// error.
func (c *Config) askDevice() (err error) {
	if !c.asked {
		return nil
	}
	defer func() {
		if v := recover(); v != nil {
			err = wrong(jsonpos.Member(c.path, "from_device"), ErrDevice, "asking the device failed: %v", v)
		}
	}()
	typ := c.kind.device
	if n, ok := c.values[slotDeviceType].(int64); ok {
		typ = dlpack.DeviceType(n)
	}
	dev, path := dlpack.Device{Type: typ, ID: int32(c.fromDevice)}, jsonpos.Member(c.path, "from_device")
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
		value, err := o.check(jsonpos.Member(c.path, o.Name), v)
		if err != nil {
			return wrongAnswer(jsonpos.Member(c.path, o.Name), dev, name, err)
		}
		c.values[i] = value
	}
	return nil
}

// wrongAnswer is the error for what a device says of itself, and the option does not take.
func wrongAnswer(path string, dev dlpack.Device, name string, refused error) error {
	e := wrong(path, ErrDevice, "%s answers %q with a value that the option does not take", dev, name)
	var why *Error
	if errors.As(refused, &why) {
		if e.Expected, e.Found = why.Expected, why.Found; e.Expected == "" {
			e.Message += ": " + why.Message
		}
	}
	return e
}
