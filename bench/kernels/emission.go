package kernels

import (
	"fmt"

	"tvmgo/codegen/cuda"
	"tvmgo/codegen/spirv"
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/transform"
)

// Emission emits code for the kernels of [OnCPU], after all passes, as often as it is called.
type Emission struct {
	Kernels int // that a call emits
	Run     func() error
}

// NewEmission prepares the emission of CUDA C ("cuda", for an H100) or SPIR-V ("vulkan", for a GPU with the least
// limits that Vulkan guarantees). No compiler and no device is involved.
func NewEmission(kind string) (*Emission, error) {
	name, language := "nvidia/h100", cuda.Language
	if kind == "vulkan" {
		name, language = "vulkan", spirv.Language
	}
	t, err := target.New(name)
	if err != nil {
		return nil, err
	}
	kernels := &tir.IRModule{}
	for _, c := range OnCPU {
		m, err := c.Lower(t)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
		if m, err = transform.ForDevice(language).Run(m, t); err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
		for _, f := range m.Funcs {
			if transform.IsKernel(f) {
				kernels.Funcs = append(kernels.Funcs, f)
			}
		}
	}
	return &Emission{len(kernels.Funcs), func() error {
		if kind == "vulkan" {
			m, err := spirv.Build(kernels, t)
			if err != nil {
				return err
			}
			return m.Close()
		}
		_, err := cuda.New().Emit(kernels, t)
		return err
	}}, nil
}
