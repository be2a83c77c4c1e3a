package target

import (
	"errors"
	"sync/atomic"

	"tvmgo/dlpack"
	"tvmgo/internal/jsonpos"
)

// Devices provides properties of devices for from_device. Package runtime implements it.
type Devices interface {
	// Registered reports whether the program has an API for devices of a type.
	Registered(t dlpack.DeviceType) bool
	// Exists reports whether a device exists and is usable.
	Exists(dev dlpack.Device) bool
	// TargetProperty returns the device's property with the name of an option: int64, bool or string; nil if the device
	// does not have it.
	TargetProperty(dev dlpack.Device, name string) (any, error)
}

var devices atomic.Pointer[Devices]

// SetDevices sets the implementation that from_device uses; nil removes it. Importing tvmgo/runtime sets it.
func SetDevices(d Devices) {
	if d == nil {
		devices.Store(nil)
		return
	}
	devices.Store(&d)
}

// Property sets the name of the device property that from_device reads for the option, by default the option's name.
// With "" the option is not read from devices.
func Property(name string) OptionSetting {
	return func(o *OptionInfo) error { o.property = &name; return nil }
}

// askDevice sets options that were not given from properties of the device. Without an API for the device, the defaults
// are used; it is an error if the device does not exist.
func (c *Config) askDevice() (err error) {
	if !c.asked {
		return nil
	}
	defer func() {
		if v := recover(); v != nil {
			err = wrong(jsonpos.Member(c.path, "from_device"), ErrDevice, "querying the device failed: %v", v)
		}
	}()
	typ := c.kind.device
	if n, ok := c.values[slotDeviceType].(int64); ok {
		typ = dlpack.DeviceType(n)
	}
	dev, path := dlpack.Device{Type: typ, ID: int32(c.fromDevice)}, jsonpos.Member(c.path, "from_device")
	p := devices.Load()
	if p == nil || !(*p).Registered(typ) {
		c.Warn("from_device: this program has no API for %s devices; the defaults are used", typ)
		return nil
	}
	if !(*p).Exists(dev) {
		return wrong(path, ErrDevice, "there is no device %s: omit from_device to describe a device of another machine", dev)
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
			return wrong(path, ErrDevice, "%s does not report %q: %v", dev, name, err)
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

// wrongAnswer returns the error for a property of a device that the option does not accept.
func wrongAnswer(path string, dev dlpack.Device, name string, refused error) error {
	e := wrong(path, ErrDevice, "%s reports a value of %q that the option does not accept", dev, name)
	var why *Error
	if errors.As(refused, &why) {
		if e.Expected, e.Found = why.Expected, why.Found; e.Expected == "" {
			e.Message += ": " + why.Message
		}
	}
	return e
}
