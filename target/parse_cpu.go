package target

import (
	"slices"
	"strings"

	"tvmgo/internal/cpufeatures"
	"tvmgo/internal/nearest"
)

// parseLLVM sets the machine that this program was built for if neither machine nor CPU is given, and determines the
// features of Arm CPUs from tables.
func parseLLVM(c *Config) error {
	_, hasTriple := c.Value("mtriple")
	_, hasCPU := c.Value("mcpu")
	if !hasTriple && !hasCPU {
		if err := c.Set("mtriple", cpufeatures.HostTriple()); err != nil {
			return err
		}
	}
	v, _ := c.Value("mattr")
	attrs, _ := v.([]string)
	triple := c.Text("mtriple")
	if c.Text("mcpu") == native && isHost(triple) {
		cpu, more := cpufeatures.HostCPU()
		if err := resolveNative(c, "mcpu", cpu); err != nil {
			return err
		}
		if len(more) > 0 { // the target's own features take precedence
			attrs = append(more, attrs...)
			if err := c.Set("mattr", attrs); err != nil {
				return err
			}
		}
	}
	cpu := c.Text("mcpu")
	warnOfFeatures(c, triple, attrs)
	warnOfCPU(c, triple, cpu)
	setArm(c, cpufeatures.Arm(triple, cpu, attrs))
	return nil
}

// parseC determines the features of a CPU from its name and mattr. For the native instruction set, it adds what
// distinguishes this machine from its name.
func parseC(c *Config) error {
	v, _ := c.Value("mattr")
	attrs, _ := v.([]string)
	own, _ := cpufeatures.HostCPU()
	if own == generic { // whose features have no name in one
		own = ""
	}
	if c.Text("march") == native || c.Text("mcpu") == native && cpufeatures.IsArm64CPU(own) { // on x86, mcpu is for tuning
		if more := cpufeatures.BesideHostArch(); len(more) > 0 {
			attrs = append(more, attrs...)
			if err := c.Set("mattr", attrs); err != nil {
				return err
			}
		}
	}
	if err := resolveNative(c, "march", cpufeatures.HostArch()); err != nil {
		return err
	}
	if err := resolveNative(c, "mcpu", own); err != nil {
		return err
	}
	arch, cpu, triple := c.Text("march"), c.Text("mcpu"), ""
	features := cpufeatures.Arm("", cpu, attrs)
	if strings.HasPrefix(arch, "armv") || cpufeatures.IsArm64CPU(arch) || cpufeatures.IsArm64CPU(cpu) ||
		features != nil {
		triple = "aarch64-linux-gnu"
	}
	warnOfFeatures(c, triple, attrs)
	setArm(c, features)
	return nil
}

func setArm(c *Config, features map[string]bool) {
	if features == nil {
		return
	}
	for name, has := range features {
		c.putFeature(name, has)
	}
	c.AddKeys("arm_cpu", "cpu")
}

// native is the compilers' name for the machine on which they run, and generic that of a CPU with the features of all.
const (
	native  = "native"
	generic = "generic"
)

// isHost reports whether a triple is one of this machine's architecture; the compiler reports that others have no
// native CPU. "" is this machine's.
func isHost(triple string) bool {
	want, err := cpufeatures.Parse(triple)
	own, ownErr := cpufeatures.Parse(cpufeatures.HostTriple())
	return triple == "" || err == nil && ownErr == nil && want.Arch == own.Arch
}

// resolveNative replaces "native" as the value of an option by the name of this machine's CPU, so that the target has
// the same meaning everywhere. If the CPU is not known, the option is not changed.
func resolveNative(c *Config, option, own string) error {
	switch {
	case c.Text(option) != native:
		return nil
	case own == "":
		c.Warn(`%s "native" is kept, since this machine's CPU is unknown: its features are assumed to be `+
			`those of a generic one`, option)
		return nil
	}
	c.Warn(`%s "native" is %q on this machine: generated code may not run on other machines`, option, own)
	return c.Set(option, own)
}

// warnOfFeatures warns about features that the tables of the architecture do not contain.
func warnOfFeatures(c *Config, triple string, attrs []string) {
	known := cpufeatures.FeatureNames(triple)
	for _, attr := range attrs {
		for one := range strings.SplitSeq(attr, ",") {
			if one == "" || one[0] != '+' && one[0] != '-' {
				c.Warn("mattr %s starts with neither + nor -, and has no effect", brief(one))
				continue
			}
			if len(known) == 0 || slices.Contains(known, one[1:]) {
				continue
			}
			advice := ""
			if n := nearest.Name(one[1:], known); n != "" {
				advice = `; did you mean "` + one[:1] + n + `"?`
			}
			c.Warn("mattr %s is not a known feature of %s%s", brief(one), archText(triple), advice)
		}
	}
}

func archText(triple string) string {
	if triple == "" {
		return "this machine's architecture"
	}
	return triple
}

// warnOfCPU warns about a CPU that the tables of its architecture do not contain.
func warnOfCPU(c *Config, triple, cpu string) {
	name, _, _ := strings.Cut(cpu, "+")
	if name == "" || name == native || cpufeatures.ValidCPU(triple, name) {
		return
	}
	known := cpufeatures.CPUs(triple)
	if len(known) == 0 {
		return
	}
	advice := ""
	if n := nearest.Name(name, known); n != "" {
		advice = `; did you mean "` + n + `"?`
	}
	c.Warn("mcpu %s is not a known CPU of %s: its features are assumed to be those of a generic one%s", brief(cpu),
		archText(triple), advice)
}

// CPUFeatures returns the features of the CPU for which code of kind llvm or c is generated, sorted, by their names in
// LLVM ("avx512f"): those of mcpu on mtriple, with mattr applied. They are read from tables; no machine is queried. The
// result is nil for other kinds, and for architectures without a table.
func (t *Target) CPUFeatures() []string {
	set, ok := t.cpuFeatures()
	if !ok {
		return nil
	}
	return set.Names()
}

// HasCPUFeature reports whether CPUFeatures contains a name.
func (t *Target) HasCPUFeature(name string) bool {
	set, ok := t.cpuFeatures()
	return ok && set.Has(name)
}

func (t *Target) cpuFeatures() (cpufeatures.Set, bool) {
	if t.valid() != nil || !slices.Contains([]string{"llvm", "c"}, t.kind.name) {
		return cpufeatures.Set{}, false
	}
	triple, _ := Get[string](t, "mtriple")
	cpu, _ := Get[string](t, "mcpu")
	attrs, _ := Get[[]string](t, "mattr")
	set, _ := cpufeatures.Features(triple, cpu, attrs)
	return set, true
}
