package runtime

/*
#include <stdlib.h>
#include "bridge/bridge.h"
*/
import "C"

import (
	"fmt"
	"unsafe"

	"tvmgo/dlpack"
	"tvmgo/internal/fault"
)

// AttrKind is the number of an attribute of a device. The numbers are those of the global function
// runtime.GetDeviceAttr.
type AttrKind int

// Attributes of devices. Sizes are in bytes, clock rates in kHz.
const (
	AttrExist                   AttrKind = iota // int64: 1 when the device is there
	AttrMaxThreadsPerBlock                      // int64
	AttrWarpSize                                // int64
	AttrMaxSharedMemoryPerBlock                 // int64
	AttrComputeVersion                          // string, "9.0"
	AttrDeviceName                              // string
	AttrMaxClockRate                            // int64
	AttrMultiProcessorCount                     // int64
	AttrMaxThreadDimensions                     // string, "[1024, 1024, 64]"
	AttrMaxRegistersPerBlock                    // int64
	AttrGcnArch                                 // string
	AttrAPIVersion                              // int64
	AttrDriverVersion                           // string
	AttrL2CacheSizeBytes                        // int64
	AttrTotalGlobalMemory                       // int64
	AttrAvailableGlobalMemory                   // int64
	AttrImagePitchAlignment                     // int64
)

var attrNames = [...]string{"Exist", "MaxThreadsPerBlock", "WarpSize", "MaxSharedMemoryPerBlock",
	"ComputeVersion", "DeviceName", "MaxClockRate", "MultiProcessorCount", "MaxThreadDimensions",
	"MaxRegistersPerBlock", "GcnArch", "APIVersion", "DriverVersion", "L2CacheSizeBytes",
	"TotalGlobalMemory", "AvailableGlobalMemory", "ImagePitchAlignment"}

// String returns the attribute's name.
func (k AttrKind) String() string {
	if k < 0 || int(k) >= len(attrNames) {
		return fmt.Sprintf("attribute(%d)", int(k))
	}
	return attrNames[k]
}

// DeviceAttr returns an attribute of a device as int64 or string; nil, without an error, if the device does not have
// it. AttrExist is 1, or 0 for a device that does not exist or is not enabled. The error for any other attribute of
// such a device is ErrDeviceUnavailable; for an unknown device type it is ErrInvalidArgument.
func DeviceAttr(dev dlpack.Device, kind AttrKind) (any, error) {
	v, err := anyResult("get device attribute", C.tvmgo_bridge_device_attr(C.int32_t(dev.Type), C.int32_t(dev.ID),
		C.int32_t(kind)))
	if err != nil {
		return nil, err
	}
	return v.take()
}

// TargetProperty returns a property of a device under the name of a target's option ("arch", "max_threads_per_block"),
// or another name that the device knows ("uuid"), as int64, float64, bool or string; nil, without an error, if the
// device does not have it. The error is ErrDeviceUnavailable if the device does not exist or is not enabled.
func TargetProperty(dev dlpack.Device, name string) (any, error) {
	c := C.CString(name)
	defer C.free(unsafe.Pointer(c))
	v, err := anyResult("get device property", C.tvmgo_bridge_device_property(C.int32_t(dev.Type), C.int32_t(dev.ID),
		c))
	if err != nil {
		return nil, err
	}
	return v.take()
}

// DeviceExists reports whether a device exists, is enabled and is usable.
func DeviceExists(dev dlpack.Device) bool {
	v, err := DeviceAttr(dev, AttrExist)
	n, _ := v.(int64)
	return err == nil && n != 0
}

// DeviceStatus is one row of Devices.
type DeviceStatus struct {
	Device dlpack.Device
	Name   string // of the hardware; "" when the device has none
	Err    error  // why the registered type has no device; nil for a device
}

// Devices lists the devices of every registered type, by type and index. A type without any device has one row, whose
// Err says why. It opens the drivers.
func Devices() []DeviceStatus {
	learnDeviceTypes()
	var all []DeviceStatus
	for _, info := range dlpack.DeviceTypes() {
		if !deviceRegistered(info.Type) {
			continue
		}
		found := false
		for id := int32(0); id < 64; id++ {
			dev := dlpack.Device{Type: info.Type, ID: id}
			if (info.Type == dlpack.CPU && id > 0) || !DeviceExists(dev) {
				break
			}
			v, _ := DeviceAttr(dev, AttrDeviceName)
			name, _ := v.(string)
			all = append(all, DeviceStatus{Device: dev, Name: name})
			found = true
		}
		if !found {
			all = append(all, DeviceStatus{Device: dlpack.Device{Type: info.Type}, Err: deviceError(info.Type)})
		}
	}
	return all
}

// learnDeviceTypes registers the names of C's devices with package dlpack.
func learnDeviceTypes() {
	for n := dlpack.DeviceType(1); n < dlpack.MaxDeviceAPI; n++ {
		if name := C.tvmgo_device_type_name(C.int32_t(n)); name != nil && !n.Known() {
			// If a name is in use, the number keeps its old name; the core knows the device regardless.
			_ = dlpack.RegisterDeviceType(n, C.GoString(name))
		}
	}
}

func deviceRegistered(t dlpack.DeviceType) bool {
	f, err := Global("device_api." + t.APIName())
	if err != nil {
		return false
	}
	f.Close()
	return true
}

// deviceError asks a device for its table and returns the error that explains why it has none.
func deviceError(t dlpack.DeviceType) error {
	f, err := Global("device_api." + t.APIName())
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Call(); err != nil {
		return err
	}
	if DeviceExists(dlpack.Device{Type: t}) {
		return fault.New("open device", ErrDeviceUnavailable, "Devices (tvmgo devices) lists those that exist")
	}
	return fault.New("open device", ErrDeviceUnavailable, "there is no %v device on this machine", t)
}

// MemoryStats is what a device reports about its memory. All sizes are in bytes; 0 if the device does not report one.
type MemoryStats struct {
	Total, Free               int64 // of the device, for all processes
	Data, DataPeak, DataCount int64 // data space of this process: now, at most, allocations
	Workspace, WorkspaceInUse int64 // held for workspaces; handed out of that
	Pinned                    int64 // page-locked host memory
}

// DeviceMemory reports the memory of a device. Memory that the runtime keeps for workspaces is counted as such and not
// as data. The error is ErrNotSupported if the device keeps no statistics.
func DeviceMemory(dev dlpack.Device) (MemoryStats, error) {
	c := C.TVMGOMemoryStats{struct_size: C.sizeof_TVMGOMemoryStats}
	if _, err := result("memory statistics", C.tvmgo_bridge_memory_stats(cDevice(dev), &c)); err != nil {
		return MemoryStats{}, err
	}
	return MemoryStats{
		Total: max(0, int64(c.total_bytes)), Free: max(0, int64(c.free_bytes)),
		Data: max(0, int64(c.data_bytes)), DataPeak: max(0, int64(c.data_peak_bytes)),
		DataCount: max(0, int64(c.data_count)),
		Workspace: int64(c.workspace_bytes), WorkspaceInUse: int64(c.workspace_in_use_bytes),
		Pinned: max(0, int64(c.pinned_bytes)),
	}, nil
}
