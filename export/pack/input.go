package pack

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tvmgo/blob"
	"tvmgo/dlpack"
	"tvmgo/internal/memory"
)

// deviceKind describes a kind of device that runs kernels.
type deviceKind struct {
	name      string
	device    dlpack.DeviceType
	host      bool // kernels are linked into the library, and called as functions
	addresses bool // a tensor's data is an address, to which its offset can be added

	ownNames     bool // kernels are found in the code by the names of the module's functions
	tensorsFirst bool // no tensor comes after a scalar
	fixedShared  bool // kernels have no dynamic shared memory

	prepare func(source []byte, kernels []blob.Function) []byte // makes a module's data from that of its file; may be nil
}

var (
	onCPU    = &deviceKind{name: "cpu", device: dlpack.CPU, host: true, addresses: true}
	onCUDA   = &deviceKind{name: "cuda", device: dlpack.CUDA, addresses: true}
	onOpenCL = &deviceKind{name: "opencl", device: dlpack.OpenCL, ownNames: true, prepare: openCLPieces}
	onVulkan = &deviceKind{name: "vulkan", device: dlpack.Vulkan, ownNames: true, tensorsFirst: true, fixedShared: true}
)

// deviceKinds are in the order in which variants are written.
var deviceKinds = []*deviceKind{onCPU, onCUDA, onOpenCL, onVulkan}

// target returns the kind of target for which code for the device is built.
func (k *deviceKind) target() string {
	if k.host {
		return "c"
	}
	return k.name
}

// form is a format of kernel files.
type form struct {
	suffix string
	kind   *deviceKind
	// kernels lists the kernels in the file; if they can't be listed, find reports whether one with this name may be
	// there.
	kernels func(data []byte) ([]string, error)
	find    func(data []byte, name string) error
}

var forms = []form{
	{suffix: ".c", kind: onCPU, find: findInC},
	{suffix: ".o", kind: onCPU, kernels: objectFunctions},
	{suffix: ".cl", kind: onOpenCL, find: findInOpenCL},
	{suffix: ".spv", kind: onVulkan, kernels: spirvKernels},
	{suffix: ".ptx", kind: onCUDA, find: findInPTX},
	{suffix: ".cubin", kind: onCUDA, kernels: cubinKernels},
	{suffix: ".fatbin", kind: onCUDA, find: findInFatbin},
	{suffix: ".cu", kind: onCUDA, find: findInCUDA},
}

func suffixes() string {
	list := make([]string, len(forms))
	for i, f := range forms {
		list[i] = f.suffix
	}
	return strings.Join(list, ", ")
}

// input is a file with kernels.
type input struct {
	path   string
	form   *form
	data   []byte
	hash   [sha256.Size]byte
	target string
	names  []string // of the kernels, if they can be listed
}

func readInput(path, target string) (*input, error) {
	i := slices.IndexFunc(forms, func(f form) bool { return f.suffix == filepath.Ext(path) })
	if i < 0 {
		return nil, invalid("%s: the suffix %q is none of kernels: %s", path, filepath.Ext(path), suffixes())
	}
	in := &input{path: path, form: &forms[i], target: target}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, notFound("%s: no such file", path)
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, invalid("%s is no ordinary file", path)
	}
	if err := memory.Check(info.Size()); err != nil {
		return nil, invalid("%s: %w", path, err)
	}
	if in.data, err = os.ReadFile(path); err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(in.data)) == 0 {
		return nil, invalid("%s is empty", path)
	}
	in.hash = sha256.Sum256(in.data)
	if err := in.checkTarget(); err != nil {
		return nil, err
	}
	if in.form.kernels != nil {
		if in.names, err = in.form.kernels(in.data); err != nil {
			return nil, invalid("%s: %w", path, err)
		}
	}
	return in, nil
}

// checkTarget checks the target of the file, or sets the default.
func (in *input) checkTarget() error {
	if in.target == "" {
		in.target = in.form.kind.target()
		return nil
	}
	kind, err := targetKind(in.target)
	if err != nil {
		return invalid("the target of %s: %w", in.path, err)
	}
	if allowed := append([]string{in.form.kind.target()},
		hostTargets[in.form.kind.target()]...); !slices.Contains(allowed, kind) {
		return invalid("the target of %s is of kind %q: files with the suffix %s are for %s", in.path, kind,
			in.form.suffix, strings.Join(allowed, " or "))
	}
	return nil
}

// hostTargets are other kinds for the CPU.
var hostTargets = map[string][]string{"c": {"llvm"}}

// find returns an error if the file is known to lack a kernel of this name.
func (in *input) find(name string) error {
	if in.form.kernels == nil {
		return in.form.find(in.data, name)
	}
	return findIn(in.names, name)
}

// findIn returns an error if a list of kernels lacks one.
func findIn(names []string, name string) error {
	if slices.Contains(names, name) {
		return nil
	}
	if len(names) == 0 {
		return fmt.Errorf("there is no kernel in it")
	}
	const most = 8
	list, more := names, ""
	if len(list) > most {
		list, more = list[:most], fmt.Sprintf(" and %d more", len(names)-most)
	}
	for _, other := range names {
		if strings.HasPrefix(other, "_Z") && strings.Contains(other, name) {
			return fmt.Errorf("there is no kernel %q in it, but %s: put extern \"C\" before it", name, other)
		}
	}
	return fmt.Errorf("there is no kernel %q in it; it has %s%s", name, strings.Join(list, ", "), more)
}
