package runtime

import (
	"errors"

	"tvmgo/dlpack"
	"tvmgo/internal/fault"
)

// KernelResources is what a driver reports about a kernel on a device. A field is -1 if the driver does not report it.
type KernelResources struct {
	Registers     int64 // of a thread, with 32 bits
	LocalBytes    int64 // memory of a thread: its arrays, and registers that are spilled
	SharedBytes   int64 // of a block, without what a launch adds (LaunchConfig.SharedBytes)
	ConstantBytes int64
	MaxThreads    int64 // of a block of this kernel
	Multiple      int64 // the threads of a block should be a multiple of it
	Blocks        int64 // that a compute unit holds at the same time
}

// KernelCode is the code that contains a kernel. It may have other kernels, too.
type KernelCode struct {
	Format string // "spv", "ptx", "cubin", "fatbin", "cu" or "cl"
	Data   []byte
	Source string // CUDA C from which Data was compiled; "" if it is not known, as after a load
}

// KernelReporter is implemented by a ModuleImpl that knows more about its kernels.
type KernelReporter interface {
	KernelDescriber
	// KernelResources builds the kernel for a device, if it is not built. c has the sizes for which Blocks is counted.
	KernelResources(name string, device int, c LaunchConfig) (KernelResources, error)
	// KernelCode returns the code of a kernel, which the caller owns.
	KernelCode(name string) (KernelCode, error)
}

// KernelResources returns what the driver reports about a kernel on a device. The kernel is looked up in the module,
// else in its imports, depth first, for the type of the device; it is compiled if it was not launched there. Blocks is
// for blocks of the sizes in c; the grid does not matter. The error is ErrNotFound if there is no such kernel, and
// ErrNotSupported if the driver reports nothing.
func (m *Module) KernelResources(name string, dev dlpack.Device, c LaunchConfig) (KernelResources, error) {
	const op = "query kernel"
	if !DeviceExists(dev) {
		return KernelResources{}, fault.New(op, ErrDeviceUnavailable, "there is no device %v", dev)
	}
	var r KernelResources
	err := m.reporter(op, name, dev.Type, func(k KernelReporter) (err error) {
		r, err = k.KernelResources(name, int(dev.ID), c)
		return err
	})
	return r, err
}

// KernelCode returns the code of a kernel for a type of device, which the caller owns. The kernel is looked up as by
// KernelResources. The error is ErrNotFound if there is no such kernel.
func (m *Module) KernelCode(name string, of dlpack.DeviceType) (code KernelCode, err error) {
	err = m.reporter("get code", name, of, func(k KernelReporter) (err error) {
		code, err = k.KernelCode(name)
		return err
	})
	return code, err
}

// reporter calls f with the module that has a kernel for a type of device: the module itself, else one of its imports.
func (m *Module) reporter(op, name string, of dlpack.DeviceType, f func(KernelReporter) error) error {
	if err := m.use(op); err != nil {
		return err
	}
	defer m.ref.release()
	if k, ok := implOf(m.ref.obj).(KernelReporter); ok && k.DeviceType() == of {
		if _, ok := k.Kernel(name); ok {
			return f(k)
		}
	}
	imports, err := m.Imports()
	if err != nil {
		return err
	}
	defer func() {
		for _, dep := range imports {
			dep.Close()
		}
	}()
	for _, dep := range imports {
		if err := dep.reporter(op, name, of, f); !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	return m.noFunction(op, name)
}
