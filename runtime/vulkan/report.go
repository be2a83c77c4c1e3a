package vulkan

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"tvmgo/dlpack"
	"tvmgo/internal/dl"
	"tvmgo/runtime"
)

// Driver describes the loader and the drivers of this package's devices.
type Driver struct {
	Library   string   // file of the Vulkan loader
	Version   string   // Vulkan version of the instance
	Devices   []string // name, driver and memory type of each device in use
	LeftOut   []string // drivers and devices that are not used, each with the reason
	Validated bool     // the validation layer is enabled
	Messages  []string // the first 64 messages of the validation layer
}

// loaded is set when the devices are open.
var loaded atomic.Pointer[Driver]

// Loaded reports the driver in use. It is empty until a device has been used.
func Loaded() Driver {
	p := loaded.Load()
	if p == nil {
		return Driver{}
	}
	d := *p
	d.Library = dl.VulkanPath()
	d.Devices, d.LeftOut = slices.Clone(d.Devices), slices.Clone(d.LeftOut)
	d.Messages = messages()
	return d
}

func init() {
	runtime.RegisterDriverReport(dlpack.Vulkan, func() runtime.DriverReport {
		d := Loaded()
		return runtime.DriverReport{Library: d.Library, Version: d.Version, Drivers: d.Devices, LeftOut: d.LeftOut,
			Summary: fmt.Sprintf("Vulkan %s: %s", d.Version, strings.Join(d.Devices, ", "))}
	})
}

// version formats Vulkan's packed version number, as in "1.3.0".
func version(v uint32) string { return fmt.Sprintf("%d.%d.%d", v>>22&0x7f, v>>12&0x3ff, v&0xfff) }
