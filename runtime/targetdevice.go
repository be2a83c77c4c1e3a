package runtime

import (
	"fmt"
	"strings"

	"tvmgo/dlpack"
	"tvmgo/internal/fault"
	"tvmgo/internal/targetvalue"
	"tvmgo/target"
)

func init() { target.SetDevices(targetDevices{}) }

// targetDevices answers what "from_device" of a target asks.
type targetDevices struct{}

func (targetDevices) Registered(t dlpack.DeviceType) bool { return deviceRegistered(t) }

func (targetDevices) Exists(dev dlpack.Device) bool { return DeviceExists(dev) }

func (targetDevices) TargetProperty(dev dlpack.Device, name string) (any, error) {
	v, err := TargetProperty(dev, name)
	if arch, ok := v.(string); ok && dev.Type == dlpack.CUDA && name == "arch" {
		return fullArch(arch), err
	}
	return v, err
}

// fullArch is the name under which an architecture of CUDA has all its instructions: from 9.0 on those that later ones
// lack are left out without the letter (docs/abi.md F.2).
func fullArch(arch string) string {
	var number int
	if _, err := fmt.Sscanf(strings.TrimPrefix(arch, "sm_"), "%d", &number); err == nil && number >= 90 {
		return arch + "a"
	}
	return arch
}

// DetectTarget describes a device as a target: the kind of code that runs on it (of a CPU: llvm), with what the device
// answers for the kind's options. ErrDeviceUnavailable when it is not there, or its package is not imported.
func DetectTarget(dev dlpack.Device) (*target.Target, error) {
	const op = "detect target"
	kind := dev.Type.APIName()
	if dev.Type == dlpack.CPU {
		kind = "llvm"
	}
	if _, err := target.LookupKind(kind); err != nil {
		return nil, fault.New(op, ErrNotSupported,
			"there is no target kind for %v devices: describe the target in target.New", dev.Type)
	}
	if !deviceRegistered(dev.Type) {
		return nil, fault.New(op, ErrDeviceUnavailable, "this program has no API for %v devices: import tvmgo/runtime/%s",
			dev.Type, kind)
	}
	if !DeviceExists(dev) {
		return nil, fault.New(op, ErrDeviceUnavailable, "there is no device %v: %v", dev, deviceError(dev.Type))
	}
	t, err := target.New(map[string]any{"kind": kind, "from_device": dev.ID})
	return t, targetvalue.Error(err)
}
