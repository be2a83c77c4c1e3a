package pack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tvmgo/blob"
	"tvmgo/dlpack"
	"tvmgo/export"
	"tvmgo/runtime"
)

// Kernels is what a file is packed from.
type Kernels struct {
	Inputs    []Input
	Functions []Function
	Builder   string // named in the metadata; "" is "tvmgo"
}

// Input is a file with kernels; its suffix says what it holds.
type Input struct {
	Path   string
	Target string // for the metadata: a kind, its options behind it, or JSON; "" is the kind that the suffix stands for
}

// Function is a function to be made.
type Function struct {
	Signature string
	Doc       string
	Vectors   []Vector
}

// function is one with all that was found for it.
type function struct {
	sig      *Signature
	doc      string
	metadata string
	variants []*variant
}

// variant is a function's kernel for one kind of device.
type variant struct {
	kind   *deviceKind
	input  *input
	symbol string         // of the kernel
	kernel *blob.Function // in a device module; nil on the CPU
}

// linked is the symbol by which the host function of f calls a kernel on the CPU.
func (v *variant) linked(f *function) string {
	if v.input.form.suffix == ".c" {
		return kernelCall + f.sig.Name
	}
	return v.symbol
}

// Library packs kernels into a file, in the form that its suffix says: see package export, whose options these are.
//
// What can be checked without a compiler is checked first, and nothing is left under the path when something fails.
func Library(ctx context.Context, k Kernels, path string, options ...export.Option) error {
	m, more, err := build(k, path)
	if err != nil {
		return packError(path, err)
	}
	defer m.Close()
	return export.Library(ctx, m, path, slices.Concat(more, options)...)
}

func packError(path string, err error) error {
	out := &runtime.Error{Op: "pack " + path, Kind: runtime.ErrFailed, Code: "RuntimeError", Message: err.Error(), Err: err}
	var inner *runtime.Error
	if errors.As(err, &inner) {
		out.Kind, out.Code = inner.Kind, inner.Code
	}
	return out
}

// Module makes the tree of modules that Library exports: the host functions, which import kernels and device code.
func Module(k Kernels) (*runtime.Module, error) {
	m, _, err := build(k, "")
	if err != nil {
		return nil, packError("kernels", err)
	}
	return m, nil
}

func build(k Kernels, path string) (*runtime.Module, []export.Option, error) {
	p := &packer{path: path, builder: k.Builder}
	if p.builder == "" {
		p.builder = "tvmgo"
	}
	for _, step := range []func(Kernels) error{p.readSignatures, p.readInputs, p.findKernels, p.describe} {
		if err := step(k); err != nil {
			return nil, nil, err
		}
	}
	vectors, err := p.vectors(k)
	if err != nil {
		return nil, nil, err
	}
	m, err := p.modules(vectors)
	return m, p.options(), err
}

// packer makes modules out of kernels.
type packer struct {
	path      string
	builder   string
	inputs    []*input
	functions []*function
}

func (p *packer) readSignatures(k Kernels) error {
	if len(k.Functions) == 0 {
		return invalid("no function is given: write its signature, as in add(handle, handle, int32)")
	}
	for _, f := range k.Functions {
		sig, err := ParseSignature(f.Signature)
		if err != nil {
			return fail(runtime.ErrInvalidArgument, "ValueError", "%w", err)
		}
		for _, other := range p.functions {
			if other.sig.Name == sig.Name {
				return invalid("there are two functions %q: give one another name, as in other=%s(…)", sig.Name, sig.Symbol)
			}
		}
		if strings.IndexByte(f.Doc, 0) >= 0 {
			return invalid("the documentation of %s has a zero byte inside", sig.Name)
		}
		p.functions = append(p.functions, &function{sig: sig, doc: f.Doc})
	}
	return nil
}

func (p *packer) readInputs(k Kernels) error {
	if len(k.Inputs) == 0 {
		return invalid("no file with kernels is given: %s", suffixes())
	}
	for i, f := range k.Inputs {
		in, err := readInput(f.Path, f.Target)
		if err != nil {
			return err
		}
		for _, other := range k.Inputs[:i] {
			if sameFile(other.Path, f.Path) {
				return invalid("the file %s is given twice", f.Path)
			}
		}
		if p.path != "" && sameFile(p.path, f.Path) {
			return invalid("the output is the input %s: give it another name", f.Path)
		}
		p.inputs = append(p.inputs, in)
	}
	return nil
}

func sameFile(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
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

// checkUsed refuses files out of which no function is made.
func (p *packer) checkUsed() error {
	for _, in := range p.inputs {
		used := false
		for _, f := range p.functions {
			used = used || slices.ContainsFunc(f.variants, func(v *variant) bool { return v.input == in })
		}
		if !used && in.form.kind != onCPU { // which others of it may call
			return invalid("%s: none of the functions is in it", in.path)
		}
	}
	return nil
}

// findKernel finds the one of several files for a kind of device that has a kernel.
func findKernel(symbol string, files []*input) (*input, error) {
	if len(files) == 1 && files[0].form.suffix == ".c" {
		return files[0], nil // the compiler says more than could be found out here
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

// checkVariants sees to it that every variant's device can do what the signature says.
func (f *function) checkVariants() error {
	if len(f.variants) > 1 && !f.sig.hasTensors() {
		return invalid("there is no tensor among its parameters to tell which of its variants is called: give a file for one device only")
	}
	for _, v := range f.variants {
		if v.kind == onCPU {
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
			case q.Tensor && scalars && v.kind == onVulkan:
				return invalid("in kernels for vulkan all tensors come before the scalars, and argument %d is a tensor behind one", i)
			case !q.Tensor && !slices.Contains(deviceScalars, q.Type):
				return invalid("argument %d is %v, which kernels for %s can't be given: use int32, int64, uint32, float32 or float64", i, q.Type, v.kind.name)
			}
			scalars = scalars || !q.Tensor
		}
		if v.kind == onVulkan && f.sig.Launch[len(f.sig.Launch)-1].Tag == dynamicShared {
			return invalid("kernels for vulkan have no dynamic shared memory: leave it out of the launch parameters")
		}
	}
	return nil
}

// deviceScalars are the types that kernels of devices can be given (ABI.md D.2).
var deviceScalars = []dlpack.DataType{dlpack.Int32, dlpack.Int64, dlpack.UInt32, dlpack.Float32, dlpack.Float64}

// nameKernels chooses the names under which device kernels are looked up. All device modules are searched for a name, so that it
// has to be another one in each. The first of opencl, vulkan and cuda keeps the kernel's own: the first two find it by that name.
func (p *packer) nameKernels() error {
	taken := map[string]bool{}
	for _, kind := range []*deviceKind{onOpenCL, onVulkan, onCUDA} {
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
					return invalid("the functions %s and %s call one kernel %s, with different types or launch parameters", g.sig.Name, f.sig.Name, f.sig.Symbol)
				}
			}
		}
	}
	return nil
}

// modules makes the tree.
func (p *packer) modules(vectors []byte) (*runtime.Module, error) {
	names := make([]string, len(p.functions))
	for i, f := range p.functions {
		names[i] = f.sig.Name
	}
	root, err := runtime.NewCSource(hostSource(p.functions, vectors), "c", names, nil)
	if err != nil {
		return nil, err
	}
	for _, in := range p.inputs {
		if err := p.add(root, in); err != nil {
			root.Close()
			return nil, fmt.Errorf("%s: %w", in.path, err)
		}
	}
	return root, nil
}

// add imports what one file becomes.
func (p *packer) add(root *runtime.Module, in *input) error {
	m, err := p.module(in)
	if err != nil {
		return err
	}
	defer m.Close()
	return root.Import(m)
}

// module makes the module of one file.
func (p *packer) module(in *input) (*runtime.Module, error) {
	var used []*function
	var kernels []blob.Function
	for _, f := range p.functions {
		for _, v := range f.variants {
			if v.input != in {
				continue
			}
			used = append(used, f)
			if v.kernel != nil && !slices.ContainsFunc(kernels, func(k blob.Function) bool { return k.Key == v.kernel.Key }) {
				kernels = append(kernels, *v.kernel)
			}
		}
	}
	switch in.form.suffix {
	case ".c":
		return runtime.NewCSource(kernelSource(in, used), "c", nil, nil)
	case ".o":
		return runtime.NewStaticLibrary(in.data, nil)
	case ".spv":
		return vulkanModule(in, kernels)
	case ".cl":
		return runtime.NewDeviceSource(in.form.kind.name, &blob.DeviceModule{Format: in.form.format, Functions: kernels, Data: openCLPieces(in.data, kernels)})
	}
	return runtime.NewDeviceSource(in.form.kind.name, &blob.DeviceModule{Format: in.form.format, Functions: kernels, Data: in.data})
}

// openCLPieces is a source once for each kernel: a line before it says which, and runtimes build each piece by itself. A source that
// has such lines stays as it is.
func openCLPieces(source []byte, kernels []blob.Function) []byte {
	var b bytes.Buffer
	if bytes.HasPrefix(source, []byte(pieceMark)) || bytes.Contains(source, []byte("\n"+pieceMark)) {
		return source
	}
	for _, k := range kernels {
		fmt.Fprintf(&b, "%s%s\n", pieceMark, k.Name)
		b.Write(source)
		if !bytes.HasSuffix(source, []byte("\n")) {
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}

const pieceMark = "// Function: "

func vulkanModule(in *input, kernels []blob.Function) (*runtime.Module, error) {
	m := &blob.VulkanModule{Format: in.form.format, Functions: kernels}
	for _, k := range kernels {
		s := blob.Shader{Key: k.Key, Code: in.data}
		if slices.ContainsFunc(k.ArgTypes, func(t dlpack.DataType) bool { return t != dlpack.Handle }) {
			uniform, err := spirvScalarsInUniform(in.data)
			if err != nil {
				return nil, invalid("%w", err)
			}
			if uniform {
				s.Flag |= blob.ShaderUniformScalars
			}
		}
		m.Shaders = append(m.Shaders, s)
	}
	return runtime.NewVulkanSource(m)
}

// kernelSource is a file of C with calls of its kernels behind it, so that the compiler compares them with their signatures.
func kernelSource(in *input, used []*function) string {
	w := &cWriter{}
	w.line("#line 1 %s", cString(filepath.Base(in.path)))
	w.Write(in.data)
	w.line("\n#line 1 \"signatures\"")
	w.line("#include <stdint.h>")
	for _, kind := range []string{"implicit-function-declaration", "incompatible-pointer-types", "int-conversion"} {
		w.line("#pragma GCC diagnostic error \"-W%s\"", kind)
	}
	for _, f := range used {
		params, args := make([]string, len(f.sig.Params)), make([]string, len(f.sig.Params))
		for i := range f.sig.Params {
			args[i] = fmt.Sprintf("tvmgo_%d", i)
			params[i] = f.sig.Params[i].cType() + " " + args[i]
		}
		if len(params) == 0 {
			params = []string{"void"}
		}
		symbol := kernelCall + f.sig.Name
		w.line("__attribute__((visibility(\"hidden\"))) void %s(%s);", symbol, strings.Join(params, ", "))
		w.line("#line 1 %s", cString("signature of "+f.sig.Name))
		w.line("void %s(%s) { %s(%s); }", symbol, strings.Join(params, ", "), f.sig.Symbol, strings.Join(args, ", "))
	}
	return w.String()
}

const kernelCall = "tvmgo_kernel_"

// options are what the export needs for these files.
func (p *packer) options() []export.Option {
	// A kernel may be called like a function of the program or of the C library, which would be called instead.
	list := []export.Option{export.Flags("-Wl,-Bsymbolic")}
	for _, in := range p.inputs {
		if in.form.suffix == ".c" {
			list = append(list, export.Includes(filepath.Dir(in.path)))
		}
	}
	return list
}
