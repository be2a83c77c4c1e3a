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
	"tvmgo/internal/modulekind"
	"tvmgo/internal/spirv"
	"tvmgo/internal/version"
	"tvmgo/runtime"
)

// Kernels describes a file to be packed.
type Kernels struct {
	Inputs    []Input
	Functions []Function
	Builder   string // named in the metadata; "" is tvmgo with its version
}

// Input is a file with kernels. Its suffix identifies the format.
type Input struct {
	Path   string
	Target string // for the metadata: a kind, its options behind it, or JSON; "" is the kind that the suffix stands for
}

// Function describes a function to be made: its signature (see the package comment), documentation and test vectors.
type Function struct {
	Signature string
	Doc       string
	Vectors   []Vector
}

// function is a function with its parsed signature and its kernels.
type function struct {
	sig      *Signature
	doc      string
	metadata string
	variants []*variant
}

// Library packs kernels into a file, in the form that its suffix selects. The options, and the errors of building, are
// those of export.Library. All checks that need no compiler come first; after an error there is no new file at the
// path.
func Library(ctx context.Context, k Kernels, path string, options ...export.Option) error {
	m, more, err := build(k, path, false)
	if err != nil {
		return packError(path, err)
	}
	defer m.Close()
	return export.Library(ctx, m, path, slices.Concat(more, options)...)
}

func packError(path string, err error) error {
	out := &runtime.Error{Op: "pack " + path, Kind: runtime.ErrFailed, Code: runtime.CodeOf(runtime.ErrFailed),
		Message: err.Error(), Err: err}
	var inner *runtime.Error
	if errors.As(err, &inner) {
		out.Kind, out.Code = inner.Kind, inner.Code
	}
	return out
}

// Module makes the tree of modules that Library exports: the host functions, which import kernels and device code. The
// caller closes it.
func Module(k Kernels) (*runtime.Module, error) { return module(k, false) }

// LoadedModule is Module, except that its imports with device code are ready for launches, if the program imports the
// packages of the devices: Function returns a kernel, whose launch parameters are further arguments.
func LoadedModule(k Kernels) (*runtime.Module, error) { return module(k, true) }

func module(k Kernels, launched bool) (*runtime.Module, error) {
	m, _, err := build(k, "", launched)
	if err != nil {
		return nil, packError("kernels", err)
	}
	return m, nil
}

func build(k Kernels, path string, launched bool) (*runtime.Module, []export.Option, error) {
	p := &packer{path: path, builder: k.Builder, launched: launched}
	if p.builder == "" {
		p.builder = version.Builder()
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

// packer makes modules from kernels.
type packer struct {
	path      string
	builder   string
	launched  bool // kernels can be launched without an export
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
			return runtime.Errorf(runtime.ErrInvalidArgument, "%w", err)
		}
		for _, other := range p.functions {
			if other.sig.Name == sig.Name {
				return invalid("there are two functions %q: give one another name, as in other=%s(…)", sig.Name,
					sig.Symbol)
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

// modules makes the tree of modules.
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

// add makes the module of one file, and imports it.
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
			if v.kernel != nil && !slices.ContainsFunc(kernels,
				func(k blob.Function) bool { return k.Key == v.kernel.Key }) {
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
		return p.vulkanModule(in, kernels)
	}
	data := in.data
	if prepare := in.form.kind.prepare; prepare != nil {
		data = prepare(data, kernels)
	}
	format := modulekind.CodeFormat(in.form.suffix[1:])
	m := &blob.DeviceModule{Format: format.Name(), Functions: kernels, Data: data}
	if p.launched {
		return runtime.NewDeviceCode(in.form.kind.name, m)
	}
	return runtime.NewDeviceSource(in.form.kind.name, m)
}

// openCLPieces returns a source repeated for each kernel, after a line that names the kernel: runtimes build each piece
// separately. A source that already has such lines is returned unchanged.
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

func (p *packer) vulkanModule(in *input, kernels []blob.Function) (*runtime.Module, error) {
	code, err := spirv.Parse(in.data)
	if err != nil {
		return nil, invalid("%w", err)
	}
	m := &blob.VulkanModule{Format: in.form.kind.name, Functions: kernels}
	for _, k := range kernels {
		s := blob.Shader{Key: k.Key, Code: code.Bytes()}
		if slices.ContainsFunc(k.ArgTypes, func(t dlpack.DataType) bool { return t != dlpack.Handle }) {
			e, ok := code.EntryPoint(k.Name, spirv.Compute)
			if !ok {
				return nil, invalid("there is no kernel %q in it", k.Name)
			}
			uniform, err := scalarsInUniform(code, e)
			if err != nil {
				return nil, invalid("%w", err)
			}
			if uniform {
				s.Flag |= blob.ShaderUniformScalars
			}
		}
		m.Shaders = append(m.Shaders, s)
	}
	if p.launched {
		return runtime.NewVulkanCode(m)
	}
	return runtime.NewVulkanSource(m)
}

// options returns the export options that these files need.
func (p *packer) options() []export.Option {
	// A kernel may have the name of a function of the program or of the C library, which would be called instead.
	list := []export.Option{export.Flags("-Wl,-Bsymbolic")}
	for _, in := range p.inputs {
		if in.form.suffix == ".c" {
			list = append(list, export.Includes(filepath.Dir(in.path)))
		}
	}
	return list
}
