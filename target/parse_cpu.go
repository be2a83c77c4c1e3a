package target

import (
	"slices"
	"strings"

	"tvmgo/internal/cpufeatures"
	"tvmgo/internal/nearest"
)

// parseLLVM fills in the machine that this program was built for where neither machine nor CPU is given, and finds out from tables what
// an Arm CPU can do.
func parseLLVM(c *Config) error {
	_, hasTriple := c.Value("mtriple")
	_, hasCPU := c.Value("mcpu")
	if !hasTriple && !hasCPU {
		if err := c.Set("mtriple", cpufeatures.HostTriple()); err != nil {
			return err
		}
	}
	triple, cpu := c.Text("mtriple"), c.Text("mcpu")
	v, _ := c.Value("mattr")
	attrs, _ := v.([]string)
	for _, a := range attrs {
		if a == "" || a[0] != '+' && a[0] != '-' {
			c.Warn("mattr %s starts with neither + nor -, and is without effect", brief(a))
		}
	}
	warnOfCPU(c, triple, cpu)
	setArm(c, cpufeatures.Arm(triple, cpu, attrs))
	return nil
}

// parseC knows a CPU by its name alone.
func parseC(c *Config) error {
	setArm(c, cpufeatures.Arm("", c.Text("mcpu"), nil))
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

// warnOfCPU speaks of a CPU that the tables of its architecture do not have.
func warnOfCPU(c *Config, triple, cpu string) {
	name, _, _ := strings.Cut(cpu, "+")
	if name == "" || cpufeatures.ValidCPU(triple, name) {
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
	where := "this machine's architecture"
	if triple != "" {
		where = triple
	}
	c.Warn("mcpu %s is no CPU of %s that is known here: its features are taken to be those of a generic one%s", brief(cpu), where, advice)
}

// CPUFeatures are the features of the CPU that the code of a target of kind llvm or c is for, as LLVM names them ("avx512f"), sorted: those
// of mcpu on mtriple, with mattr applied. They come from tables; no machine is asked. nil for other kinds, and for architectures without a
// table.
func (t *Target) CPUFeatures() []string {
	set, ok := t.cpuFeatures()
	if !ok {
		return nil
	}
	return set.Names()
}

// HasCPUFeature says whether a feature is among CPUFeatures.
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
