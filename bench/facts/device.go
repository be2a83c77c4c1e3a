package facts

import (
	"errors"
	"io/fs"
	"regexp"
	"strings"

	"tvmgo/bench"
	"tvmgo/dlpack"
	"tvmgo/runtime"
)

// describe adds the facts of a device, and returns the name of the hardware. An error means that the device does not
// answer; a fact that it does not have is left out.
func describe(dev dlpack.Device, files fs.FS, f bench.Facts) (title string, err error) {
	timer, err := runtime.NewTimer(dev)
	if err != nil {
		return "", err
	}
	f[DeviceTimer] = timer.OnDevice()
	if err := timer.Close(); err != nil {
		return "", err
	}
	if dev.Type == dlpack.CPU {
		return describeCPU(files, f), nil
	}
	d := &asked{of: dev, facts: f}
	title, _ = d.attr(runtime.AttrDeviceName).(string)
	d.limits()
	d.memory()
	d.driver(files)
	return title, d.err
}

// asked takes what a driver reports about a device. After an error it asks no more.
type asked struct {
	of    dlpack.Device
	facts bench.Facts
	err   error
}

// attr returns an attribute; nil if the device does not have it.
func (d *asked) attr(kind runtime.AttrKind) any {
	if d.err != nil {
		return nil
	}
	var v any
	v, d.err = runtime.DeviceAttr(d.of, kind)
	return v
}

// property returns a property; nil if the device does not have it.
func (d *asked) property(name string) any {
	if d.err != nil {
		return nil
	}
	var v any
	v, d.err = runtime.TargetProperty(d.of, name)
	return v
}

// set adds a fact, unless its value is unknown: nil, "" or 0.
func (d *asked) set(name string, value any) {
	switch value {
	case nil, "", int64(0), 0.0:
		return
	}
	d.facts[name] = value
}

// mhz converts kHz.
func mhz(v any) any {
	if khz, ok := v.(int64); ok {
		return float64(khz) / 1000
	}
	return nil
}

func (d *asked) limits() {
	d.set(ThreadsLimit, d.attr(runtime.AttrMaxThreadsPerBlock))
	d.set(SharedLimit, d.attr(runtime.AttrMaxSharedMemoryPerBlock))
	d.set(SharedLimitOptIn, d.property("max_shared_memory_per_block_optin"))
	d.set(SharedPerUnit, d.property("max_shared_memory_per_multi_processor"))
	d.set(ThreadsPerUnit, d.property("max_threads_per_multi_processor"))
	d.set(RegistersLimit, d.property("registers_per_block"))
	d.set(ComputeUnits, d.attr(runtime.AttrMultiProcessorCount))
	d.set(MaximumClock, mhz(d.attr(runtime.AttrMaxClockRate)))
	d.set(L2Cache, d.attr(runtime.AttrL2CacheSizeBytes))
	d.set(SubgroupSize, d.property("subgroup_size"))
	d.set(TimerResolution, d.property("timer_resolution_ns"))
	if d.of.Type == dlpack.CUDA {
		d.set(SubgroupSize, d.attr(runtime.AttrWarpSize))
		d.set(Architecture, d.property("arch"))
	}
}

// processors are the values of fact Processor for those of property device_type.
var processors = map[any]string{"cpu": "CPU", "gpu": "GPU", "discrete": "discrete GPU", "integrated": "integrated GPU",
	"virtual": "virtual GPU", "accelerator": "accelerator", "other": "other"}

// The memory types.
const (
	deviceLocal = "device-local"
	shared      = "shared with the host"
	hostMemory  = "host"
)

func (d *asked) memory() {
	d.set(Processor, processors[d.property("device_type")])
	unified, known := d.property("host_unified_memory").(bool)
	if known && d.facts[Processor] == nil {
		d.set(Processor, map[bool]string{true: "integrated GPU", false: "discrete GPU"}[unified])
	}
	if known {
		d.set(MemoryType, map[bool]string{true: shared, false: deviceLocal}[unified])
	}
	d.set(MemoryHeap, d.property("memory_type"))
	d.set(Memory, d.attr(runtime.AttrTotalGlobalMemory))
	d.set(FreeMemory, d.freeMemory())
	d.set(AllocationLimit, d.property("max_allocation_bytes"))
	d.set(MemoryClock, mhz(d.property("memory_clock_rate")))
	d.set(MemoryBus, d.property("memory_bus_width"))
}

func (d *asked) freeMemory() any {
	if d.err != nil {
		return nil
	}
	stats, err := runtime.DeviceMemory(d.of)
	if err != nil && !errors.Is(err, runtime.ErrNotSupported) {
		d.err = err
	}
	return stats.Free
}

func (d *asked) driver(files fs.FS) {
	if report, ok := runtime.DriverOf(d.of.Type); ok {
		d.set(Library, report.Library)
		if d.of.Type == dlpack.CUDA {
			d.set(APIVersion, report.Version)
		}
	}
	switch d.of.Type {
	case dlpack.CUDA:
		d.set(DriverName, "NVIDIA")
		d.set(DriverVersion, nvidiaVersion(files))
	case dlpack.OpenCL:
		d.set(DriverName, d.property("platform_name"))
		d.set(DriverVersion, d.attr(runtime.AttrDriverVersion))
		d.set(APIVersion, d.attr(runtime.AttrComputeVersion))
	case dlpack.Vulkan:
		d.set(DriverName, d.property("driver_name"))
		d.set(DriverVersion, d.property("driver_info"))
		d.set(APIVersion, d.attr(runtime.AttrComputeVersion))
	}
	d.set(UUID, d.property("uuid"))
	if address, ok := d.property("pci_bus_id").(string); ok && address != "" {
		address = pciAddress(address)
		d.set(PCIAddress, address)
		d.set(PCIeLink, pcieLink(files, address))
	}
}

var nvrm = regexp.MustCompile(`NVRM version:.*?\s(\d+\.\d[\d.]*)\s`)

// nvidiaVersion returns the version of NVIDIA's kernel driver, such as "550.54.14"; "" if it is not loaded.
func nvidiaVersion(files fs.FS) string {
	if m := nvrm.FindStringSubmatch(text(files, "proc/driver/nvidia/version") + "\n"); m != nil {
		return m[1]
	}
	return ""
}

// pciAddress returns the address of a PCI device as sysfs writes it: "0000:65:00.0". Drivers write upper case, and
// domains of 8 digits.
func pciAddress(s string) string {
	domain, rest, ok := strings.Cut(strings.ToLower(s), ":")
	if ok && strings.Count(rest, ":") == 0 {
		domain, rest = "0000", domain+":"+rest // without a domain
	}
	if len(domain) > 4 && strings.TrimLeft(domain[:len(domain)-4], "0") == "" {
		domain = domain[len(domain)-4:]
	}
	return domain + ":" + rest
}

// pcieLink describes the link of a PCI device: "16.0 GT/s x16 (of 32.0 GT/s x16)"; "" if it is not known.
func pcieLink(files fs.FS, address string) string {
	link := func(which string) string {
		speed := text(files, "sys/bus/pci/devices/"+address+"/"+which+"_link_speed")
		width := text(files, "sys/bus/pci/devices/"+address+"/"+which+"_link_width")
		speed, _, _ = strings.Cut(speed, " PCIe")
		if speed == "" || width == "" || strings.HasPrefix(speed, "Unknown") || width == "0" || width == "255" {
			return ""
		}
		return speed + " x" + width
	}
	now, most := link("current"), link("max")
	switch {
	case now == "" || most == "" || now == most:
		return now
	}
	return now + " (of " + most + ")"
}
