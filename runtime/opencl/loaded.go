//go:build opencl

package opencl

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"tvmgo/dlpack"
	"tvmgo/internal/dl"
	"tvmgo/runtime"
)

// leftOut has the drivers and devices that are not used, each with the reason. It is set together with devices.
var leftOut atomic.Pointer[[]string]

// Loaded reports the driver in use. It is empty until a device has been used.
func Loaded() Driver {
	list, left := devices.Load(), leftOut.Load()
	if list == nil || len(*list) == 0 {
		return Driver{}
	}
	d := Driver{Library: dl.OpenCLPath(), Lacks: dl.OpenCLLacks()}
	for _, dev := range *list {
		if p := fmt.Sprintf("%v (%s)", dev.platform, dev.platform.version); !slices.Contains(d.Platforms, p) {
			d.Platforms = append(d.Platforms, p)
		}
	}
	if left != nil {
		d.LeftOut = slices.Clone(*left)
	}
	return d
}

func init() {
	runtime.RegisterDriverReport(dlpack.OpenCL, func() runtime.DriverReport {
		d := Loaded()
		return runtime.DriverReport{Library: d.Library, Platforms: d.Platforms, Lacks: d.Lacks, LeftOut: d.LeftOut,
			Summary: "platform " + strings.Join(d.Platforms, ", platform ")}
	})
}
