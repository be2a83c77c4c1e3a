//go:build !runtimeonly

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

// targetDevices answers the queries for "from_device" of a target.
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

// fullArch returns the name of a CUDA architecture with all its instructions. From 9.0 on, the name without the letter
// excludes instructions that later architectures lack (docs/abi.md F.2).
func fullArch(arch string) string {
	var number int
	if _, err := fmt.Sscanf(strings.TrimPrefix(arch, "sm_"), "%d", &number); err == nil && number >= 90 {
		return arch + "a"
	}
	return arch
}

// DetectTarget describes a device as a target: the kind of code that runs on it (of a CPU: llvm), with the device's
// properties as the kind's options. The error is ErrDeviceUnavailable if the device does not exist or its package is
// not imported.
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
