package cuda

// Driver is what stands behind the devices of this package.
type Driver struct {
	Library string   // file of the driver
	Version string   // the newest CUDA that it knows: "13.0"
	Devices []string // their names, by index
	Lacks   []string // functions of newer CUDA that it does not have; what needs them fails
	LeftOut []string // devices that cannot be used, and why
}
