package opencl

// Driver is what stands behind the devices of this package.
type Driver struct {
	Library   string   // file of the OpenCL loader
	Platforms []string // those with devices in use: number, name and version
	Lacks     []string // functions of OpenCL 1.2 that the loader does not have; what needs them fails
	LeftOut   []string // drivers and devices that are not used, and why
}
