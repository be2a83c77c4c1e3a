package runtime

import (
	"fmt"
	"sync"

	"tvmgo/dlpack"
)

// DriverReport says which driver the devices of a type use.
type DriverReport struct {
	Library   string   // file of the driver, or of the loader of drivers
	Version   string   // of the driver or its API
	Platforms []string // those with devices in use
	Drivers   []string // of the devices in use
	Lacks     []string // functions that the library does not have; operations that need them fail with an error
	LeftOut   []string // drivers and devices that are not used, and why
	Summary   string   // version, platforms and drivers in readable form: "Vulkan 1.3.204: llvmpipe"
}

// DriverReporter is implemented by devices that know the driver that they use.
type DriverReporter interface {
	// DriverReport returns an empty report until a device was opened successfully.
	DriverReport() DriverReport
}

var driverReports sync.Map // dlpack.DeviceType → func() DriverReport

func init() {
	RegisterDriverReport(dlpack.CPU, func() DriverReport {
		return DriverReport{Summary: fmt.Sprintf("%d threads", NumThreads())}
	})
}

// RegisterDriverReport sets the function that reports the driver of a type of device. It is for devices whose table is
// written in C; a device written in Go implements DriverReporter. Many goroutines may call report at once.
func RegisterDriverReport(t dlpack.DeviceType, report func() DriverReport) {
	driverReports.Store(t, report)
}

// DriverOf reports the driver that the devices of a type use; false if they do not report one. It opens no driver.
func DriverOf(t dlpack.DeviceType) (DriverReport, bool) {
	report, ok := driverReports.Load(t)
	if !ok {
		return DriverReport{}, false
	}
	return report.(func() DriverReport)(), true
}
