package opencl

// Driver describes the loader and the drivers of this package's devices.
type Driver struct {
	Library   string   // file of the OpenCL loader
	Platforms []string // platforms with devices in use: number, name and version
	Lacks     []string // functions of OpenCL 1.2 that the loader does not have; operations that need them fail
	LeftOut   []string // drivers and devices that are not used, each with the reason
}
