package cuda

// Driver describes the CUDA driver and the devices of this package.
type Driver struct {
	Library string   // file of the driver
	Version string   // the newest CUDA version that it supports, such as "13.0"
	Devices []string // the devices' names, by index
	Lacks   []string // functions of newer CUDA versions that it does not have; operations that need them fail
	LeftOut []string // devices that cannot be used, each with the reason
}
