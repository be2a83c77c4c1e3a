package cuda

// Driver is what stands behind the devices of this package.
type Driver struct {
	Library string   // file of the driver
	Version string   // the newest CUDA that it knows: "13.0"
	Devices []string // their names, by index
	LeftOut []string // devices that cannot be used, and why
}
