package cpufeatures

import "strings"

// mProfile are the microcontroller CPUs with special features, by the prefix of their names.
var mProfile = []struct {
	prefix   string
	dsp, mve bool
}{
	{"cortex-m0", false, false}, {"cortex-m3", false, false},
	{"cortex-m4", true, false}, {"cortex-m7", true, false}, {"cortex-m33", true, false}, {"cortex-m35p", true, false},
	{"cortex-m55", true, true}, {"cortex-m85", true, true},
}

// aProfile are the features of application CPUs, by the LLVM features that imply them.
var aProfile = map[string]string{
	"has_asimd":     "neon",
	"has_sve":       "sve",
	"has_dotprod":   "dotprod",
	"has_matmul_i8": "i8mm",
	"has_fp16_simd": "fullfp16",
	"has_sme":       "sme",
}

// Arm returns the features of an Arm CPU for a target of kind llvm or c, each with the prefix "feature."; such a target
// also has the keys arm_cpu and cpu. It returns nil for other CPUs. For a target of kind c, triple and attributes are
// empty.
//
// Cortex-M CPUs are recognized by their names, whatever the triple: has_dsp and has_mve are set unless "+nodsp" or
// "+nomve" in the CPU's name or in the attributes removes them. For others the prefix of the triple decides, as in the
// reference implementation: "aarch64" and "arm" are Arm CPUs, "thumb" is not; and only "aarch64", not "arm64", sets
// is_aarch64.
func Arm(triple, cpu string, attrs []string) map[string]bool {
	if has := armM(cpu, attrs); has != nil {
		return has
	}
	aarch64 := strings.HasPrefix(triple, "aarch64")
	if !aarch64 && (!strings.HasPrefix(triple, "arm") || strings.HasPrefix(cpu, "cortex-m")) {
		return nil
	}
	set, _ := Features(triple, cpu, attrs)
	if set.table == nil {
		return nil // it only has the prefix
	}
	has := map[string]bool{"is_aarch64": aarch64}
	for name, feature := range aProfile {
		has[name] = set.Has(feature)
	}
	return has
}

// armM returns nil unless the CPU is of the M profile.
func armM(cpu string, attrs []string) map[string]bool {
	found := false
	var dsp, mve bool
	for _, m := range mProfile {
		if strings.HasPrefix(cpu, m.prefix) {
			found, dsp, mve = true, m.dsp, m.mve // the last one is the longest
		}
	}
	if !found {
		return nil
	}
	flags := strings.Join(append([]string{cpu}, attrs...), ",")
	if strings.Contains(flags, "+nodsp") {
		dsp, mve = false, false // MVE needs DSP
	}
	if strings.Contains(flags, "+nomve") {
		mve = false
	}
	return map[string]bool{"has_dsp": dsp, "has_mve": mve}
}
