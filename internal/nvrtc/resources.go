package nvrtc

import (
	"regexp"
	"strconv"
	"strings"

	"tvmgo/internal/cudaimage"
)

// verbose makes the assembler report what kernels use.
const verbose = "--ptxas-options=-v"

var (
	aboutFunction = regexp.MustCompile(`^ptxas info +: Function properties for (\S+)$`)
	aboutStack    = regexp.MustCompile(`(\d{1,9}) bytes stack frame, (\d{1,9}) bytes spill stores, ` +
		`(\d{1,9}) bytes spill loads$`)
)

// spillsIn reads the spills of functions from a log with the assembler's report.
func spillsIn(log string) map[string]cudaimage.Spills {
	of := map[string]cudaimage.Spills{}
	function := ""
	for line := range strings.SplitSeq(log, "\n") {
		if m := aboutFunction.FindStringSubmatch(line); m != nil {
			function = m[1]
		}
		if m := aboutStack.FindStringSubmatch(line); m != nil && function != "" {
			stores, _ := strconv.Atoi(m[2])
			loads, _ := strconv.Atoi(m[3])
			of[function] = cudaimage.Spills{Stores: stores, Loads: loads}
		}
	}
	return of
}

// withoutReport returns a log without the assembler's report.
func withoutReport(log string) string {
	var others []string
	for line := range strings.SplitSeq(log, "\n") {
		if !strings.HasPrefix(line, "ptxas info ") && !strings.HasPrefix(line, "ptxas   ") {
			others = append(others, line)
		}
	}
	return strings.Join(others, "\n")
}

// kernelsIn describes the kernels of a cubin with the assembler's report about them.
func kernelsIn(cubin []byte, report string) ([]cudaimage.Kernel, error) {
	info, err := cudaimage.Describe(cubin)
	if err != nil {
		return nil, err
	}
	spills := spillsIn(report)
	var kernels []cudaimage.Kernel
	for _, p := range info.Parts {
		for _, k := range p.Kernels {
			if s, known := spills[k.Name]; known && k.Resources != nil {
				k.Resources.Spills = &s
			}
			kernels = append(kernels, k)
		}
	}
	return kernels, nil
}
