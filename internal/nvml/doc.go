// Package nvml reads clocks, temperature, power and throttle reasons of NVIDIA's GPUs from NVML, the library of
// nvidia-smi. It opens the library at run time, so that programs build and start without it. It changes no setting.
//
//	l, err := nvml.Open()
//	defer l.Close()
//	g, err := l.Find("0000:65:00.0", "GPU-8a4f…")
//	state, err := g.Read()
//
// GPUs are found by their PCI address or UUID: their order in NVML differs from that of CUDA.
package nvml
