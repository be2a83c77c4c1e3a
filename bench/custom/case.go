package custom

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"tvmgo/bench"
	"tvmgo/bench/suite"
	"tvmgo/dlpack"
)

// Suite is the suite of all cases of this package.
const Suite = "custom"

// ErrNoOps says that a rate of operations is not known without Options.Ops.
var ErrNoOps = errors.New("it needs the number of operations of a call, which only programs with loops over threads " +
	"have: give it")

// kernel is a function of the user's files, with its arguments.
type kernel struct {
	options   Options
	sources   []source
	arguments []*argument
	ops       float64 // of a call; 0 if unknown
	reference reference
}

// Case makes a case of a function in files, each for other devices. The error is about the files and the options:
// nothing is loaded and executed before the case is opened on a device.
func Case(files []string, o Options) (*bench.Case, error) {
	k, err := newKernel(files, o)
	if err != nil {
		return nil, err
	}
	name := o.Name
	if name == "" {
		name = k.sources[0].function()
	}
	c := &bench.Case{Suite: Suite, Name: name, Doc: k.doc(), Figure: o.Figure, Limits: k.limits(),
		Variants: []bench.Variant{{Open: k.open}}}
	switch c.Figure {
	case "":
		c.Figure = bench.Time
	case bench.Flops, bench.IntOps:
		if k.ops == 0 {
			return nil, fmt.Errorf("the figure %s: %w", c.Figure, ErrNoOps)
		}
	case bench.Bandwidth:
		if bytesOf(k.arguments) == 0 {
			return nil, fmt.Errorf("the figure %s needs arrays, and %s has none", c.Figure, name)
		}
	}
	return c, nil
}

// limits returns the limits of the suites: the bandwidth, and the rate for the first type of array that has one. Where
// nothing says which arrays are written, the bandwidth is that of reads.
func (k *kernel) limits() []string {
	outputs := slices.DeleteFunc(slices.Clone(k.arguments), func(a *argument) bool { return !a.out })
	written := float64(bytesOf(outputs))
	list := suite.BandwidthLimits(float64(bytesOf(k.arguments))-written, written)
	if k.ops == 0 {
		return list
	}
	rates := map[dlpack.DataType]string{dlpack.Float32: suite.FP32, dlpack.Float64: suite.FP64,
		dlpack.Float16: suite.FP16, dlpack.Int32: suite.Int32}
	for _, a := range k.arguments {
		if a.array != nil && rates[a.array.DType] != "" {
			return append(list, rates[a.array.DType])
		}
	}
	return list
}

// doc describes a call: "add of add.cl, add.spv: x float32[8], y float32[8]".
func (k *kernel) doc() string {
	var files, args []string
	for _, s := range k.sources {
		files = append(files, filepath.Base(s.path()))
	}
	for _, a := range k.arguments {
		args = append(args, strings.TrimSpace(a.name+" "+a.String()))
	}
	return fmt.Sprintf("%s of %s: %s", k.sources[0].function(), strings.Join(files, ", "), strings.Join(args, ", "))
}

func newKernel(files []string, o Options) (*kernel, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no file is given: files are %s", strings.Join(suffixes, ", "))
	}
	k := &kernel{options: o}
	var kernels []string
	for i, path := range files {
		if slices.Contains(files[:i], path) {
			return nil, fmt.Errorf("%s is given twice", path)
		}
		if err := checkFile(path); err != nil {
			return nil, err
		}
		var s source
		var err error
		switch suffixOf(path) {
		case ".so":
			s, err = newLibrary(path, &o)
		case ".tir", ".json":
			s, err = newProgram(path, &o)
		default:
			kernels = append(kernels, path)
			continue
		}
		if err != nil {
			return nil, err
		}
		k.sources = append(k.sources, s)
	}
	if o.Target != "" && !slices.ContainsFunc(k.sources, isProgram) {
		return nil, errors.New("only a program (.tir) is built for a target")
	}
	if len(kernels) > 0 {
		list, err := newKernelFiles(kernels, &o)
		if err != nil {
			return nil, err
		}
		k.sources = append(k.sources, list...)
	} else if o.Signature != "" || o.launch() {
		return nil, errors.New("only files with kernels have a signature or the sizes of a launch")
	}
	if err := k.checkSources(); err != nil {
		return nil, err
	}
	return k, k.resolve()
}

func isProgram(s source) bool {
	_, is := s.(*program)
	return is
}

// checkSources returns an error if two files are for the same device.
func (k *kernel) checkSources() error {
	for i, s := range k.sources {
		for _, other := range k.sources[:i] {
			for _, t := range []dlpack.DeviceType{dlpack.CPU, dlpack.CUDA, dlpack.OpenCL, dlpack.Vulkan} {
				a, _ := s.serves(t)
				if b, _ := other.serves(t); a && b {
					return fmt.Errorf("both %s and %s have code for %v: make a case of each", other.path(), s.path(), t)
				}
			}
		}
	}
	return nil
}

// resolve makes the arguments by the first signature, and checks them with all.
func (k *kernel) resolve() (err error) {
	i := max(0, slices.IndexFunc(k.sources, func(s source) bool { return s.signature() != nil }))
	if k.arguments, err = resolve(k.sources[i].signature(), &k.options); err != nil {
		return fmt.Errorf("%s: %w", k.sources[i].path(), err)
	}
	for _, s := range k.sources {
		if sig := s.signature(); sig != nil {
			if err := check(sig, k.arguments, k.options.Sizes); err != nil {
				return fmt.Errorf("%s: %w", s.path(), err)
			}
		}
	}
	k.ops = k.options.Ops
	for _, s := range k.sources {
		if p, is := s.(*program); is && k.ops == 0 {
			k.ops = p.ops(sizesOf(p.sig, k.arguments))
		}
	}
	return k.checkExpected()
}

// find returns the file for a type of device. The error says why there is none.
func (k *kernel) find(t dlpack.DeviceType) (s source, sure bool, err error) {
	var reasons []string
	for _, s := range k.sources {
		sure, why := s.serves(t)
		if why == nil {
			return s, sure, nil
		}
		reasons = append(reasons, why.Error())
	}
	return nil, false, notMeasured("there is no code for %v: %s", t, strings.Join(reasons, "; "))
}

// open prepares the call on a device.
func (k *kernel) open(ctx context.Context, on *bench.Device) (bench.Work, error) {
	s, sure, err := k.find(on.Handle.Type)
	if err != nil {
		return nil, err
	}
	w, err := k.prepare(ctx, s, on)
	if err != nil {
		return nil, err
	}
	w.sure = w.sure || sure
	return w, nil
}
