package pack

import (
	"fmt"
	"slices"
	"strings"

	"tvmgo/blob"
	"tvmgo/dlpack"
)

// variant is a function's kernel for one kind of device.
type variant struct {
	kind   *deviceKind
	input  *input
	symbol string         // of the kernel
	kernel *blob.Function // in a device module; nil on the CPU
}

// linked returns the symbol by which the host function of f calls a kernel on the CPU.
func (v *variant) linked(f *function) string {
	if v.input.form.suffix == ".c" {
		return kernelCall + f.sig.Name
	}
	return v.symbol
}

// findKernels gives every function a variant for each kind of device that there is a file for.
func (p *packer) findKernels(Kernels) error {
	for _, kind := range deviceKinds {
		var files []*input
		for _, in := range p.inputs {
			if in.form.kind == kind {
				files = append(files, in)
			}
		}
		if len(files) == 0 {
			continue
		}
		for _, f := range p.functions {
			in, err := findKernel(f.sig.Symbol, files)
			if err != nil {
				return fmt.Errorf("function %s: %w", f.sig.Name, err)
			}
			f.variants = append(f.variants, &variant{kind: kind, input: in, symbol: f.sig.Symbol})
		}
	}
	for _, f := range p.functions {
		if err := f.checkVariants(); err != nil {
			return fmt.Errorf("function %s: %w", f.sig.Name, err)
		}
	}
	if err := p.checkUsed(); err != nil {
		return err
	}
	return p.nameKernels()
}

// checkUsed returns an error for a file whose kernels no function calls.
func (p *packer) checkUsed() error {
	for _, in := range p.inputs {
		used := false
		for _, f := range p.functions {
			used = used || slices.ContainsFunc(f.variants, func(v *variant) bool { return v.input == in })
		}
		if !used && !in.form.kind.host { // which others of it may call
			return invalid("%s: none of the functions is in it", in.path)
		}
	}
	return nil
}

// findKernel finds the file that has a kernel, among several files for a kind of device.
func findKernel(symbol string, files []*input) (*input, error) {
	if len(files) == 1 && files[0].form.suffix == ".c" {
		return files[0], nil // the compiler reports a missing kernel in more detail
	}
	var found *input
	var missing []string
	for _, in := range files {
		err := in.find(symbol)
		switch {
		case err != nil:
			missing = append(missing, fmt.Sprintf("%s: %v", in.path, err))
		case found != nil:
			return nil, invalid("both %s and %s have the kernel %q: leave one out", found.path, in.path, symbol)
		default:
			found = in
		}
	}
	if found == nil {
		return nil, notFound("%s", strings.Join(missing, "; "))
	}
	return found, nil
}

// checkVariants checks that the device of every variant supports the signature.
func (f *function) checkVariants() error {
	if len(f.variants) > 1 && !f.sig.hasTensors() {
		return invalid("there is no tensor among its parameters to tell which of its variants is called: give a file for " +
			"one device only")
	}
	for _, v := range f.variants {
		if v.kind.host {
			continue
		}
		if len(f.sig.Launch) == 0 {
			return invalid("%s has a kernel for %s, and the signature does not say how it is launched: add for example "+
				"launch blockIdx.x, threadIdx.x=64", v.input.path, v.kind.name)
		}
		scalars := false
		for i := range f.sig.Params {
			q := &f.sig.Params[i]
			switch {
			case q.Tensor && scalars && v.kind.tensorsFirst:
				return invalid("in kernels for %s all tensors come before the scalars, and argument %d is a tensor behind "+
					"one", v.kind.name, i)
			case !q.Tensor && !slices.Contains(deviceScalars, q.Type):
				return invalid("argument %d is %v, which kernels for %s can't be given: use int32, int64, uint32, float32 or "+
					"float64", i, q.Type, v.kind.name)
			}
			scalars = scalars || !q.Tensor
		}
		if v.kind.fixedShared && f.sig.Launch[len(f.sig.Launch)-1].Tag == dynamicShared {
			return invalid("kernels for %s have no dynamic shared memory: leave it out of the launch parameters",
				v.kind.name)
		}
	}
	return nil
}

// deviceScalars are the types that kernels of devices can be given (docs/abi.md D.2).
var deviceScalars = []dlpack.DataType{dlpack.Int32, dlpack.Int64, dlpack.UInt32, dlpack.Float32, dlpack.Float64}

// nameKernels chooses the names by which device kernels are looked up. All device modules are searched for a name, so
// it must be unique among them. The first kind keeps the kernel's own name: a kind that needs the name comes first, if
// there is one.
func (p *packer) nameKernels() error {
	taken := map[string]bool{}
	kinds := slices.DeleteFunc(slices.Clone(deviceKinds), func(k *deviceKind) bool { return k.host })
	slices.SortStableFunc(kinds, func(a, b *deviceKind) int {
		switch {
		case a.ownNames == b.ownNames:
			return 0
		case a.ownNames:
			return -1
		}
		return 1
	})
	for _, kind := range kinds {
		byKernel := map[string]string{}
		for _, f := range p.functions {
			for _, v := range f.variants {
				if v.kind != kind {
					continue
				}
				key, known := byKernel[v.symbol] // two functions may have one kernel
				if !known {
					if key = v.symbol; taken[key] {
						key += "_" + kind.name
					}
					for taken[key] {
						key += "_"
					}
					byKernel[v.symbol], taken[key] = key, true
				}
				v.kernel = f.deviceKernel(key)
			}
		}
	}
	return p.checkShared()
}

func (f *function) deviceKernel(key string) *blob.Function {
	k := &blob.Function{Key: key, FunctionInfo: blob.FunctionInfo{Name: f.sig.Symbol}}
	for _, q := range f.sig.Params {
		if t := q.Type; q.Tensor {
			k.ArgTypes = append(k.ArgTypes, dlpack.Handle)
		} else {
			k.ArgTypes = append(k.ArgTypes, t)
		}
	}
	for _, l := range f.sig.Launch {
		k.LaunchParamTags = append(k.LaunchParamTags, l.Tag)
	}
	return k
}

// checkShared compares functions that call the same kernel.
func (p *packer) checkShared() error {
	for i, f := range p.functions {
		for _, g := range p.functions[:i] {
			if f.sig.Symbol != g.sig.Symbol {
				continue
			}
			for k, v := range f.variants {
				if w := g.variants[k]; v.kernel != nil && (!slices.Equal(v.kernel.ArgTypes, w.kernel.ArgTypes) ||
					!slices.Equal(v.kernel.LaunchParamTags, w.kernel.LaunchParamTags)) {
					return invalid("the functions %s and %s call one kernel %s, with different types or launch parameters", g.sig.Name,
						f.sig.Name, f.sig.Symbol)
				}
			}
		}
	}
	return nil
}
