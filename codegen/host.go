package codegen

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"

	"tvmgo/codegen/c"
	"tvmgo/codegen/internal/jit"
	"tvmgo/export"
	"tvmgo/include"
	"tvmgo/internal/cpufeatures"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/transform"
)

// hostKind is the kind of target that this package builds itself.
const hostKind = "c"

// buildHost is target.build.c.
func buildHost(m *tir.IRModule, t *target.Target) (*runtime.Module, error) {
	if err := checkCPU(t); err != nil {
		return nil, err
	}
	code, units, err := c.EmitAll(m, t)
	if err != nil {
		return nil, runtime.Errorf(runtime.ErrInvalidArgument, "%w", err)
	}
	flags := hostFlags(t)
	for _, l := range Libraries(m) {
		flags = append(flags, "-l"+l)
	}
	return newHostModule(code, units, names(m.Funcs), flags)
}

// hostPasses run before C is generated.
var hostPasses = func() (all []Pass) {
	for _, s := range transform.ForHost() {
		all = append(all, s.Pass)
	}
	return all
}()

func init() {
	if err := AsHost(hostKind); err != nil {
		panic(fmt.Sprintf("codegen: %v", err)) // the kind is always registered
	}
}

// AsHost sets the attributes of kind c for another kind of target: the passes that run before C is generated, and a
// partitioner that takes functions for the CPU. Attributes that the program has set before are kept. A kind that is not
// registered is an error.
func AsHost(kind string) error {
	for column, value := range map[string]any{ColumnPasses: hostPasses,
		target.ColumnPartitioner: target.Predicate(TakesFunctions)} {
		if err := target.SetAttr(kind, column, value); err != nil && !errors.Is(err, target.ErrDuplicate) {
			return runtime.Errorf(runtime.ErrInvalidArgument, "build kind %q as kind %s: %w", kind, hostKind, err)
		}
	}
	return nil
}

// Libraries lists the libraries that a program's calls of C functions need, as export.Libraries takes them.
func Libraries(m *tir.IRModule) []string {
	for _, f := range m.Funcs {
		if tir.Contains(f.Body, func(node any) bool {
			c, ok := node.(*tir.Call)
			return ok && c.Kind == tir.CallExtern && strings.HasPrefix(c.Name, "cblas_")
		}) {
			return []string{"openblas|cblas|blas"}
		}
	}
	return nil
}

// hostFlags returns the arguments of the C compiler for the target's processor.
func hostFlags(t *target.Target) []string {
	var flags []string
	arch, _ := target.Get[string](t, "march")
	cpu, _ := target.Get[string](t, "mcpu")
	if arch != "" {
		flags = append(flags, archFlag(arch))
	}
	if cpu != "" {
		flags = append(flags, cpuFlag(cpu))
	}
	attrs, _ := target.Get[[]string](t, "mattr")
	arm := strings.HasPrefix(arch, "arm") || strings.HasPrefix(cpuFlag(cmp.Or(cpu, arch)), "-mcpu=")
	for _, attr := range attrs {
		for one := range strings.SplitSeq(attr, ",") {
			name := strings.TrimLeft(one, "+-")
			switch on := strings.HasPrefix(one, "+"); {
			case len(name) != len(one)-1: // it has no effect, which a warning of the target says
			case arm: // a suffix of the name
				if len(flags) == 0 {
					flags = []string{"-march=armv8.2-a"}
				}
				if other, differs := armNames[name]; differs {
					name = other
				}
				flags[0] += "+" + map[bool]string{true: "", false: "no"}[on] + name
			default:
				flags = append(flags, "-m"+map[bool]string{true: "", false: "no-"}[on]+name)
			}
		}
	}
	return flags
}

// armNames are features of Arm CPUs that GCC names otherwise than LLVM.
var armNames = map[string]string{"neon": "simd", "fullfp16": "fp16", "fp-armv8": "fp", "rdm": "rdma"}

// archFlag returns GCC's option for the instruction set of a name. For Arm, -march does not take the name of a CPU.
func archFlag(arch string) string {
	if name, _, _ := strings.Cut(arch, "+"); cpufeatures.IsArm64CPU(name) {
		return cpuFlag(arch)
	}
	return "-march=" + arch
}

// cpuFlag returns GCC's option for a processor. On x86 it selects only the tuning, because -march selects the
// instructions.
func cpuFlag(cpu string) string {
	name, _, _ := strings.Cut(cpu, "+")
	for _, triple := range []string{"aarch64-linux-gnu", "arm-linux-gnueabihf", "riscv64-linux-gnu"} {
		if name != "generic" && cpufeatures.ValidCPU(triple, name) {
			return "-mcpu=" + cpu
		}
	}
	if goruntime.GOARCH == "amd64" || goruntime.GOARCH == "386" || cpufeatures.ValidCPU("x86_64-linux-gnu", name) {
		return "-mtune=" + cpu
	}
	return "-mcpu=" + cpu
}

// NewHostModule makes a module of kind c from code that defines the named functions, as package codegen/c writes it. It
// can be exported, with the flags, as any module of that kind. Its functions can also be called at once: the first call
// of Function compiles the code with the flags into a library, which is kept on disk for the next process (see
// TVMGO_CACHE_DIR) and finds functions of the module's imports. Flags that begin with -l are libraries that the code
// calls; they are linked at an export too (export.Libraries). The caller closes the module.
func NewHostModule(code string, names []string, flags ...string) (*runtime.Module, error) {
	return newHostModule(code, nil, names, flags)
}

// newHostModule is NewHostModule for code that can also be compiled as several C files (units).
func newHostModule(code string, units, names, flags []string) (*runtime.Module, error) {
	h := &hostModule{units: units}
	h.Host = jit.Host{Kind: hostKind, Code: code, Names: slices.Clone(names), Cache: "host", Key: h.key, Answer: h.answer}
	for _, f := range flags {
		if l, ok := strings.CutPrefix(f, "-l"); ok {
			h.Libraries = append(h.Libraries, l)
		} else {
			h.flags = append(h.flags, f)
		}
	}
	return h.New(h, runtime.Serializable|runtime.Runnable|runtime.Exportable)
}

// hostModule is a module of kind c whose functions can be called.
type hostModule struct {
	jit.Host
	units []string // C files that are compiled instead of the code; nil: none
	flags []string
}

// key lists what a library depends on, except the code.
func (h *hostModule) key() []string {
	return append(slices.Clone(h.flags), include.ID(), compiler())
}

// answer returns a function by which an exporter queries the module.
func (h *hostModule) answer(name string) (*runtime.Function, error) {
	switch {
	case name == export.FlagsQuery:
		return jit.Texts(h.flags)
	case name == export.UnitsQuery && h.units != nil:
		return jit.Texts(h.units)
	}
	return nil, nil
}

// compilerCommand returns the command with which package export compiles; nil if there is none.
func compilerCommand() []string {
	if words := strings.Fields(os.Getenv("CC")); len(words) > 0 {
		return words
	}
	for _, name := range []string{"cc", "gcc", "clang"} {
		if _, err := exec.LookPath(name); err == nil {
			return []string{name}
		}
	}
	return nil
}

// compiler identifies the compiler of package export; "" if there is none.
func compiler() string {
	command := compilerCommand()
	if command == nil {
		return ""
	}
	path, err := exec.LookPath(command[0])
	if err != nil {
		return ""
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return ""
	}
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return fmt.Sprint(os.Getenv("CC"), path, info.Size(), info.ModTime().UnixNano())
}

func (h *hostModule) GetSource(format string) (string, error) { return h.Source.GetSource(format) }
func (h *hostModule) SaveToBinary() ([]byte, error)           { return h.Source.SaveToBinary() }
func (h *hostModule) SaveToFile(path, format string) error    { return h.Source.SaveToFile(path, format) }
func (h *hostModule) WriteFormats() []string                  { return []string{"c"} }
