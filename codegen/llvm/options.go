package llvm

import (
	"fmt"
	"strings"

	"tvmgo/internal/cpufeatures"
	"tvmgo/target"
)

// options are a target's options as arguments of clang.
type options struct {
	triple  string   // "": clang's own
	machine []string // flags that select the instructions
	rest    []string
}

// flags returns the arguments for all options.
func (o *options) flags() []string { return append(append([]string(nil), o.machine...), o.rest...) }

// readOptions translates a target's options to arguments of clang.
func readOptions(t *target.Target) (*options, error) {
	o := &options{triple: textOf(t, "mtriple")}
	if o.triple != "" {
		if strings.HasPrefix(o.triple, "-") || strings.ContainsAny(o.triple, " \t\n\x00") {
			return nil, wrong("mtriple", o.triple, "this is not a target triple: want one such as x86_64-unknown-linux-gnu")
		}
		o.machine = append(o.machine, "--target="+o.triple)
	}
	arch := archOf(o.triple)
	if cpu := textOf(t, "mcpu"); cpu != "" && cpu != "generic" {
		flag := "-mcpu="
		if isX86(arch) {
			flag = "-march="
		}
		o.machine = append(o.machine, flag+cpu)
	}
	for _, attr := range listOf(t, "mattr") {
		for one := range strings.SplitSeq(attr, ",") {
			if one == "" {
				continue
			}
			name := strings.TrimLeft(one, "+-")
			if name == "" {
				return nil, wrong("mattr", one, "write the name of a feature after the sign, as in +avx2")
			}
			if len(name) != len(one)-1 {
				return nil, wrong("mattr", one, "write +%[1]s to have the feature, or -%[1]s to do without", name)
			}
			o.machine = append(o.machine, "-Xclang", "-target-feature", "-Xclang", one)
		}
	}
	if abi := textOf(t, "mabi"); abi != "" {
		if isX86(arch) {
			return nil, wrong("mabi", abi, "there is one calling convention on %s: leave it out", arch)
		}
		o.machine = append(o.machine, "-mabi="+abi)
	}
	if abi := textOf(t, "mfloat-abi"); abi != "" {
		switch {
		case hasFloatABI(arch):
			o.machine = append(o.machine, "-mfloat-abi="+abi)
		case abi != "hard":
			return nil, wrong("mfloat-abi", abi, "floats are passed in one way on %s, hard", arch)
		}
	}
	if jit := textOf(t, "jit"); jit != "" {
		return nil, wrong("jit", jit, "code that is called at once goes through clang and a library, not through a "+
			"just-in-time compiler: leave it out")
	}
	level := int64(3)
	if v, err := target.Get[int64](t, "opt-level"); err == nil {
		level = v
	}
	o.rest = append(o.rest, fmt.Sprintf("-O%d", level))
	o.rest = append(o.rest, fastMath(t)...)
	if v, err := target.Get[int64](t, "vector-width"); err == nil {
		o.rest = append(o.rest, fmt.Sprintf("-mprefer-vector-width=%d", v))
	}
	for _, option := range listOf(t, "cl-opt") {
		flag, err := clOption(option)
		if err != nil {
			return nil, err
		}
		o.rest = append(o.rest, "-mllvm", flag)
	}
	return o, nil
}

// fastMath returns the flags of fast-math and its parts. A part that is set explicitly has precedence.
func fastMath(t *target.Target) []string {
	all, _ := target.Get[bool](t, "fast-math")
	// a product and its sum may be contracted within an expression; later flags take precedence
	flags := []string{"-ffp-contract=on"}
	for _, part := range []struct {
		name     string
		yes, not []string
	}{
		{"fast-math-nnan", []string{"-fno-honor-nans"}, nil},
		{"fast-math-ninf", []string{"-fno-honor-infinities"}, nil},
		{"fast-math-nsz", []string{"-fno-signed-zeros"}, nil},
		{"fast-math-arcp", []string{"-freciprocal-math"}, nil},
		{"fast-math-contract", []string{"-ffp-contract=fast"}, []string{"-ffp-contract=off"}},
		{"fast-math-reassoc", []string{"-Xclang", "-mreassociate"}, nil}, // clang itself wants it together with others
	} {
		switch on, err := target.Get[bool](t, part.name); {
		case err == nil && !on:
			flags = append(flags, part.not...)
		case on || all:
			flags = append(flags, part.yes...)
		}
	}
	return flags
}

// clOption returns an option of LLVM without the type that the target's option contains.
func clOption(option string) (string, error) {
	name, value, hasValue := strings.Cut(option, "=")
	name, typ, hasType := strings.Cut(name, ":")
	if len(name) < 2 || name[0] != '-' {
		return "", wrong("cl-opt", option, "write -name, -name=value or -name:type=value")
	}
	if hasType && typ != "bool" && typ != "int" && typ != "uint" && typ != "string" {
		return "", wrong("cl-opt", option, "the type %q is not one of bool, int, uint and string", typ)
	}
	if hasValue {
		name += "=" + value
	}
	return name, nil
}

func textOf(t *target.Target, name string) string {
	v, _ := target.Get[string](t, name) // "" if not set
	return v
}

func listOf(t *target.Target, name string) []string {
	v, _ := target.Get[[]string](t, name)
	return v
}

// archOf returns the architecture of a triple, that of this program if there is none, and "" if it is not known.
func archOf(triple string) cpufeatures.Arch {
	if triple == "" {
		triple = cpufeatures.HostTriple()
	}
	parsed, err := cpufeatures.Parse(triple)
	if err != nil {
		return ""
	}
	return parsed.Arch
}

func isX86(arch cpufeatures.Arch) bool { return arch == cpufeatures.X8664 || arch == cpufeatures.I386 }

// hasFloatABI reports whether clang has a choice of float ABIs for an architecture.
func hasFloatABI(arch cpufeatures.Arch) bool {
	for _, prefix := range []string{"arm", "thumb", "mips", "powerpc"} {
		if strings.HasPrefix(string(arch), prefix) {
			return true
		}
	}
	return false
}
