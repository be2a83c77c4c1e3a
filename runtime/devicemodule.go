package runtime

import (
	"errors"
	"slices"
	"sync"

	"tvmgo/blob"
	"tvmgo/dlpack"
	"tvmgo/internal/fault"
	"tvmgo/internal/launch"
)

// makers has the module kinds that make modules from code, by name.
var makers sync.Map // string -> ModuleKind

// KernelType declares a kernel of hand-written code: its name and the types of its arguments. dlpack.Handle means
// device memory; which other types are allowed depends on the kind of module.
type KernelType struct {
	Name string
	Args []dlpack.DataType

	// Features of CUDA: a launch sets its amount of shared memory (LaunchConfig.SharedBytes); it groups blocks into
	// clusters (Cluster); all blocks of the grid can wait for each other; a launch may begin before the work queued
	// ahead of it has ended.
	DynamicShared, Cluster, Cooperative, Programmatic bool
}

// tags returns the launch parameters of a kernel as files describe them: its sizes and flags.
func (k KernelType) tags() []string {
	n := launch.Cluster
	if k.Cluster {
		n = launch.Preferred
	}
	tags := slices.Clone(launch.Tags[:n])
	if k.Cooperative {
		tags = append(tags, launch.Cooperative)
	}
	if k.Programmatic {
		tags = append(tags, launch.Programmatic)
	}
	if k.DynamicShared { // the last, by TVM's rule
		tags = append(tags, launch.SharedMemory)
	}
	return tags
}

// NewDeviceModule makes a module from code for a device. kind is the module kind ("opencl", "cuda", "vulkan"), format
// the format of the code ("cl" for OpenCL C); "" is the kind's source language. Nothing is compiled, and no device is
// needed, before a kernel is first used. A kind whose package is not imported is ErrNotSupported. The caller closes the
// module.
//
//	m, err := runtime.NewDeviceModule("opencl", "", source, runtime.KernelType{Name: "scale",
//		Args: []dlpack.DataType{dlpack.Handle, dlpack.Float32}})
//	k, err := m.Kernel("scale")
//	err = k.Launch(stream, runtime.Dim3{n / 64}, runtime.Dim3{64}, x, 2.5)
func NewDeviceModule(kind, format string, code []byte, kernels ...KernelType) (*Module, error) {
	const op = "make device module"
	v, ok := makers.Load(kind)
	if !ok {
		return nil, fault.New(op, ErrNotSupported, "nothing here makes modules of kind %q: %s", kind,
			loaderHint(kind, modernLoader))
	}
	if len(code) == 0 || len(kernels) == 0 {
		return nil, fault.New(op, ErrInvalidArgument, "there are %d bytes of code and %d kernels: both are needed",
			len(code), len(kernels))
	}
	m := &blob.DeviceModule{Format: format, Data: slices.Clone(code)}
	for _, k := range kernels {
		if _, twice := m.Function(k.Name); twice || k.Name == "" {
			return nil, fault.New(op, ErrInvalidArgument, "the kernel %q has no name, or one that occurs twice", k.Name)
		}
		m.Functions = append(m.Functions, blob.Function{Key: k.Name, FunctionInfo: blob.FunctionInfo{
			Name: k.Name, ArgTypes: slices.Clone(k.Args), LaunchParamTags: k.tags()}})
	}
	return makeDevice(kind, v.(ModuleKind), m)
}

func makeDevice(kind string, by ModuleKind, m *blob.DeviceModule) (*Module, error) {
	impl, err := by.Make(m)
	if err != nil {
		return nil, err
	}
	mod, err := NewModule(kind, by.Properties, impl)
	if err != nil {
		impl.Close()
	}
	return mod, err
}

// KernelDescriber is implemented by a ModuleImpl whose functions are kernels.
type KernelDescriber interface {
	// Kernel describes a kernel; false when there is none of this name.
	Kernel(name string) (blob.FunctionInfo, bool)
	// DeviceType is where kernels run.
	DeviceType() dlpack.DeviceType
}

// Dim3 is the size of a grid, a block or a cluster in x, y and z. Trailing zeros mean 1, so Dim3{} has one element
// and Dim3{8} is 8×1×1. A zero before another size is a zero: a grid of Dim3{0, 1, 1} has no block, and launching it
// does nothing.
type Dim3 [3]int

// sizes returns the sizes of a launch, with 1 for omitted dimensions.
func (d Dim3) sizes() [3]int {
	for i := 2; i >= 0 && d[i] == 0; i-- {
		d[i] = 1
	}
	return d
}

// Kernel is a kernel of a device module, launched with sizes and arguments apart from each other. It is safe for use by
// many goroutines at once.
type Kernel struct {
	f      *Function
	device dlpack.DeviceType
	args   int
	slots  []int // of the sizes that the kernel takes: indices of launch.Tags
}

// Kernel returns a kernel of a module of a device kind: of the module itself, else of its imports, depth first.
// The error is ErrNotFound if there is none. The caller closes the kernel, which keeps the module alive.
func (m *Module) Kernel(name string) (*Kernel, error) {
	const op = "get kernel"
	if err := m.use(op); err != nil {
		return nil, err
	}
	defer m.ref.release()
	if d, ok := implOf(m.ref.obj).(KernelDescriber); ok {
		if info, ok := d.Kernel(name); ok {
			return m.kernel(op, name, info, d.DeviceType())
		}
	}
	imports, err := m.Imports()
	if err != nil {
		return nil, err
	}
	defer func() {
		for _, dep := range imports {
			dep.Close()
		}
	}()
	for _, dep := range imports {
		if k, err := dep.Kernel(name); !errors.Is(err, ErrNotFound) {
			return k, err
		}
	}
	if slices.Contains(m.functions(true), name) {
		return nil, fault.New(op, ErrNotFound,
			"%q is a function, not a kernel of a device module: Module.Function returns it", name)
	}
	return nil, m.noFunction(op, name)
}

func (m *Module) kernel(op, name string, info blob.FunctionInfo, device dlpack.DeviceType) (*Kernel, error) {
	k := &Kernel{device: device, args: len(info.ArgTypes)}
	for _, tag := range info.LaunchParamTags {
		tag = launch.Canonical(tag)
		if tag == launch.Cooperative || tag == launch.Programmatic {
			continue // of each launch of the kernel; it takes no argument
		}
		slot := slices.Index(launch.Tags, tag)
		if slot < 0 || slot >= launch.Preferred && slot < launch.Shared {
			return nil, fault.New(op, ErrNotSupported, "kernel %s takes %q, which Launch cannot give: call its function",
				name, tag)
		}
		k.slots = append(k.slots, slot)
	}
	var err error
	k.f, err = m.Function(name)
	return k, err
}

// Close releases the kernel; queued launches still run. Closing twice is fine.
func (k *Kernel) Close() error {
	if k == nil {
		return nil
	}
	return k.f.Close()
}

// LaunchConfig holds the sizes of a launch.
type LaunchConfig struct {
	Grid, Block Dim3 // blocks of the grid, and work items of a block
	Cluster     Dim3 // blocks of a cluster
	SharedBytes int  // of shared memory for each block, in addition to what the kernel's code declares
}

// Launch queues the kernel on a stream and returns at once. grid is in blocks, block in work items (threads) per block.
// Arguments are tensors of the device for handles, and numbers for all other types. A nil stream is the default stream
// of the device of the first tensor. You may close the tensors after the call.
func (k *Kernel) Launch(s *Stream, grid, block Dim3, args ...any) error {
	return k.LaunchWith(s, LaunchConfig{Grid: grid, Block: block}, args...)
}

// LaunchWith is Launch for a kernel with clusters or dynamic shared memory, as its KernelType, or the file that it is
// from, declares. A size that the kernel does not take must be 0, or 1 for a cluster.
func (k *Kernel) LaunchWith(s *Stream, c LaunchConfig, args ...any) error {
	const op = "launch kernel"
	if k == nil {
		return fault.IsClosed(op, "kernel")
	}
	if len(args) != k.args {
		return fault.New(op, ErrInvalidArgument, "%d arguments are needed, %d were given", k.args, len(args))
	}
	grid, block := c.Grid.sizes(), c.Block.sizes()
	sizes := [launch.Count]int{grid[0], grid[1], grid[2], block[0], block[1], block[2],
		c.Cluster[0], c.Cluster[1], c.Cluster[2], launch.Shared: c.SharedBytes}
	all := slices.Grow(slices.Clone(args), len(k.slots))
	taken := [launch.Count]bool{}
	for _, slot := range k.slots {
		all = append(all, sizes[slot])
		taken[slot] = true
	}
	for slot, n := range sizes {
		switch {
		case taken[slot] || n == 1 && slot != launch.Shared || n == 0 && slot >= launch.Cluster:
		case slot < launch.Cluster:
			return fault.New(op, ErrInvalidArgument, "%s is %d, but the kernel has no such size: it is 1",
				launch.Tags[slot], n)
		case slot == launch.Shared:
			return fault.New(op, ErrInvalidArgument,
				"SharedBytes is %d, but the kernel takes none: set DynamicShared in its KernelType", n)
		default:
			return fault.New(op, ErrInvalidArgument,
				"Cluster is %v, but the kernel has no clusters: set Cluster in its KernelType", c.Cluster)
		}
	}
	if s == nil {
		s = streamOf(k.place(args))
	} else if s.dev.Type != k.device {
		return fault.New(op, ErrInvalidArgument, "the stream is one of %v, the kernel runs on %v", s.dev, k.device)
	}
	v, err := k.f.CallOn(s, all...)
	if err == nil && v != nil {
		err = fault.New(op, ErrFailed, "the kernel returned a %T", v)
	}
	return err
}

// place returns the device of the first tensor whose device has the kernel's type, or else the first device of that
// type.
func (k *Kernel) place(args []any) dlpack.Device {
	for _, a := range args {
		if t, ok := a.(*Tensor); ok && t.Device().Type == k.device {
			return t.Device()
		}
	}
	return dlpack.Device{Type: k.device}
}
