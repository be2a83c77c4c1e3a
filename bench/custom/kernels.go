package custom

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tvmgo/bench"
	"tvmgo/bench/facts"
	"tvmgo/dlpack"
	"tvmgo/export"
	"tvmgo/export/pack"
	"tvmgo/internal/memory"
	"tvmgo/internal/spirv"
	"tvmgo/runtime"
)

// kernelFile is a file of kernels for one type of device.
type kernelFile struct {
	file   string
	device dlpack.DeviceType
	sig    *pack.Signature
}

func (k *kernelFile) path() string               { return k.file }
func (k *kernelFile) function() string           { return k.sig.Name }
func (k *kernelFile) signature() *pack.Signature { return k.sig }

func (k *kernelFile) serves(t dlpack.DeviceType) (bool, error) {
	if t != k.device {
		return false, fmt.Errorf("%s has code for %v", k.file, k.device)
	}
	return true, nil
}

// commentSignature returns the signature in the first comment of a source; nil if it has none.
func commentSignature(path string) (*pack.Signature, error) {
	switch filepath.Ext(path) {
	case ".cl", ".cu", ".c", ".ptx":
	default:
		return nil, nil
	}
	info, err := os.Stat(path)
	if err == nil {
		err = memory.Check(info.Size())
	}
	if err != nil {
		return nil, err
	}
	source, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return pack.FindSignature(source)
}

// launchSignature makes a signature of a kernel from the arguments and the sizes of a launch.
func launchSignature(o *Options) (*pack.Signature, error) {
	if o.Function == "" {
		return nil, errors.New("which kernel is launched? Give its name, or a signature")
	}
	list, err := arrange(o.In, o.Out)
	if err != nil {
		return nil, err
	}
	sig := &pack.Signature{Name: o.Function, Symbol: o.Function}
	for i, a := range list {
		p := pack.Param{Name: fmt.Sprint("a", i)}
		switch {
		case a.array != nil:
			p.Tensor, p.Type = true, a.array.DType
			for _, d := range a.array.Shape {
				p.Dims = append(p.Dims, pack.Dim{Size: d})
			}
		default:
			switch a.value.(type) {
			case int64:
				p.Type = dlpack.Int32
			case float64:
				p.Type = dlpack.Float32
			default:
				return nil, fmt.Errorf("argument %d is %s, which kernels cannot be given", i, a)
			}
		}
		if a.out {
			p.Role = pack.Out
		}
		sig.Params = append(sig.Params, p)
	}
	for i, n := range append(o.Grid[:], o.Block[:]...) {
		if n > 0 {
			tag := []string{"blockIdx", "threadIdx"}[i/3] + "." + string("xyz"[i%3])
			sig.Launch = append(sig.Launch, pack.Launch{Tag: tag, Expr: &pack.Expr{Value: int64(n)}})
		}
	}
	return sig, nil
}

// newKernelFiles reads the signatures of files of kernels, and checks that the kernels exist.
func newKernelFiles(paths []string, o *Options) (list []source, err error) {
	var common *pack.Signature
	switch {
	case o.launch():
		common, err = launchSignature(o)
	case o.Signature != "":
		common, err = pack.ParseSignature(o.Signature)
	}
	if err != nil {
		return nil, err
	}
	own := make([]*pack.Signature, len(paths))
	var why error
	for i, path := range paths {
		if own[i] = common; common == nil {
			var reason error
			if own[i], reason = commentSignature(path); reason != nil && why == nil {
				why = fmt.Errorf("%s: %w", path, reason)
			}
		}
	}
	var any *pack.Signature
	for _, sig := range own {
		if any == nil {
			any = sig
		}
	}
	if any == nil && why != nil {
		return nil, why
	}
	if any == nil {
		return nil, fmt.Errorf("%s: how is the kernel called? Give a signature, as "+
			"add(x: const float32[n], y: out float32[n]) launch blockIdx.x=ceildiv(n, 256), threadIdx.x=256, or put it into a "+
			"comment at the beginning of the file", strings.Join(paths, ", "))
	}
	for i, path := range paths {
		k := &kernelFile{file: path, device: kernelDevices[filepath.Ext(path)], sig: own[i]}
		if k.sig == nil {
			k.sig = any
		}
		if o.Function != "" && k.sig.Name != o.Function && k.sig.Symbol != o.Function {
			return nil, fmt.Errorf("%s: there is no function %s: the signature is that of %s", path, o.Function, k.sig.Name)
		}
		if err := k.check(); err != nil {
			return nil, err
		}
		list = append(list, k)
	}
	return list, nil
}

// check checks the file, and that its kernel exists. The only kernel of a shader may have another name.
func (k *kernelFile) check() error {
	if k.device == dlpack.Vulkan {
		code, err := os.ReadFile(k.file)
		if err != nil {
			return err
		}
		if m, err := spirv.Parse(code); err == nil {
			if names := m.Names(spirv.Compute); len(names) == 1 && names[0] != k.sig.Symbol {
				other := *k.sig
				other.Symbol = names[0]
				k.sig = &other
			}
		}
	}
	m, err := k.module()
	if err != nil {
		return err
	}
	return m.Close()
}

// module packs the file: the host functions, which import the kernels.
func (k *kernelFile) module() (*runtime.Module, error) {
	m, err := pack.LoadedModule(pack.Kernels{Inputs: []pack.Input{{Path: k.file}},
		Functions: []pack.Function{{Signature: k.sig.String()}}})
	var e *runtime.Error
	if errors.As(err, &e) && e.Op == "pack kernels" {
		return nil, errors.Unwrap(err) // it names the file
	}
	return m, err
}

// open loads the kernel for a device, or compiles and loads the function for the CPU.
func (k *kernelFile) open(ctx context.Context, on *bench.Device, list []*argument) (*opened, error) {
	root, err := k.module()
	if err != nil {
		return nil, err
	}
	o := &opened{facts: bench.Facts{}}
	o.close = append(o.close, root.Close)
	if k.device == dlpack.CPU {
		err = k.openHost(ctx, root, o)
	} else {
		err = k.openDevice(root, on, list, o)
	}
	if err != nil {
		return nil, errors.Join(err, o.Close())
	}
	return o, nil
}

// openHost compiles and links the function, and loads it.
func (k *kernelFile) openHost(ctx context.Context, root *runtime.Module, o *opened) error {
	dir, err := os.MkdirTemp("", "tvmgo-bench")
	if err != nil {
		return err
	}
	o.close = append(o.close, func() error { return os.RemoveAll(dir) })
	file := filepath.Join(dir, "kernel.so")
	if err := export.Library(ctx, root, file, export.Flags("-O3")); err != nil {
		if errors.Is(err, runtime.ErrNotFound) {
			return notMeasured("compile %s: %v", k.file, err)
		}
		return fmt.Errorf("compile %s: %w", k.file, shortened(err))
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	m, err := runtime.LoadBytes(ctx, data, runtime.Name(file)) // which needs no signature
	if err != nil {
		return err
	}
	o.close = append(o.close, m.Close)
	if o.fn, err = m.Function(k.sig.Name); err != nil {
		return err
	}
	o.close = append(o.close, o.fn.Close)
	return nil
}

func (k *kernelFile) openDevice(root *runtime.Module, on *bench.Device, list []*argument, o *opened) error {
	imports, err := root.Imports()
	if err != nil {
		return err
	}
	for _, m := range imports {
		o.close = append(o.close, m.Close)
	}
	if o.more, o.idle, err = extents(k.sig, list); err != nil || o.idle {
		return err
	}
	o.launched = len(k.sig.CallerExtents())
	if o.fn, err = imports[0].Function(k.sig.Symbol); err != nil {
		return shortened(err)
	}
	o.close = append(o.close, o.fn.Close)
	o.facts = facts.OfModule(imports[0], k.sig.Symbol, on, launchOf(k.sig, o.more))
	return nil
}

// shortened cuts an error of a compiler after some lines.
func shortened(err error) error {
	const most = 12
	if err == nil {
		return nil
	}
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	if len(lines) <= most {
		return err
	}
	return &shortError{fmt.Sprintf("%s\n… %d more lines", strings.Join(lines[:most], "\n"), len(lines)-most), err}
}

type shortError struct {
	text string
	err  error
}

func (e *shortError) Error() string { return e.text }
func (e *shortError) Unwrap() error { return e.err }
