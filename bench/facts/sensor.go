package facts

import (
	"io/fs"
	"strings"

	"tvmgo/bench"
	"tvmgo/internal/nvml"
	"tvmgo/runtime"
)

// sensorOf returns the sensor of a device with these facts, and the name of what reads it; nil if there is none. The
// processor of a device behind OpenCL or Vulkan can be the CPU: then the sensor is the CPU's. A GPU is found by its PCI
// address or its UUID.
func sensorOf(f bench.Facts, files fs.FS) (bench.Sensor, string) {
	if f[Processor] == processors["cpu"] {
		return system(cpuSensor(files))
	}
	address, _ := f[PCIAddress].(string)
	uuid, _ := f[UUID].(string)
	if address == "" && uuid == "" {
		return nil, ""
	}
	if s := nvidiaSensor(address, uuid); s != nil {
		return s, "NVML"
	}
	if address == "" {
		return nil, ""
	}
	return system(gpuSensor(files, address))
}

// system returns a sensor of files, if there are any.
func system(s *fileSensor) (bench.Sensor, string) {
	if len(s.parts) == 0 {
		return nil, ""
	}
	s.begin()
	return s, strings.Join(s.parts, ", ")
}

// nvidia is a GPU that NVML knows.
type nvidia struct {
	library *nvml.Library
	gpu     *nvml.GPU
}

// nvidiaSensor returns the sensor of a GPU; nil if there is no NVML, or if it does not know the GPU.
func nvidiaSensor(address, uuid string) bench.Sensor {
	l, err := nvml.Open()
	if err != nil {
		return nil
	}
	g, err := l.Find(address, uuid)
	if err != nil {
		_ = l.Close() // the GPU is another maker's
		return nil
	}
	return &nvidia{l, g}
}

func (n *nvidia) Read() (bench.Reading, error) {
	s, err := n.gpu.Read()
	if err != nil {
		return bench.Reading{}, runtime.Errorf(runtime.ErrDeviceUnavailable, "read the sensor: %w", err)
	}
	return bench.Reading{ClockMHz: s.ClockMHz, MemoryClockMHz: s.MemoryClockMHz, Celsius: s.Celsius, Watts: s.Watts,
		Throttled: s.Throttled}, nil
}

func (n *nvidia) Close() error { return n.library.Close() }
