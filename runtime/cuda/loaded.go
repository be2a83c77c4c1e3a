//go:build cuda

package cuda

import (
	"sync/atomic"

	"tvmgo/dlpack"
	"tvmgo/runtime"
)

// loaded is set when the devices are enumerated.
var loaded atomic.Pointer[Driver]

// Loaded reports the driver in use. It is empty until a device has been used.
func Loaded() Driver {
	d := loaded.Load()
	if d == nil {
		return Driver{}
	}
	return *d
}

func init() {
	runtime.RegisterDriverReport(dlpack.CUDA, func() runtime.DriverReport {
		d := Loaded()
		return runtime.DriverReport{Library: d.Library, Version: d.Version, Lacks: d.Lacks, LeftOut: d.LeftOut,
			Summary: "the driver of CUDA " + d.Version}
	})
}
