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

// Driver is what stands behind the devices of this package.
type Driver struct {
	Library   string   // file of the Vulkan loader
	Version   string   // of Vulkan, as agreed on with the loader
	Devices   []string // name, driver and type of memory of each device in use
	LeftOut   []string // drivers and devices that are not used, and why
	Validated bool     // the validation layer watches
	Messages  []string // what it said so far; the first 64
}

// loaded is set when the devices were found.
var loaded atomic.Pointer[Driver]

// Loaded reports the driver in use. It is empty until a device was asked for with success.
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

// version is Vulkan's packed number as people write it.
func version(v uint32) string { return fmt.Sprintf("%d.%d.%d", v>>22&0x7f, v>>12&0x3ff, v&0xfff) }
