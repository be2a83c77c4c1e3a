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

// spillsIn reads the spills of functions from the assembler's report, and returns the log without the report.
func spillsIn(log string) (of map[string]cudaimage.Spills, rest string) {
	of = map[string]cudaimage.Spills{}
	var others []string
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
		if !strings.HasPrefix(line, "ptxas info ") && !strings.HasPrefix(line, "ptxas   ") {
			others = append(others, line)
		}
	}
	return of, strings.Join(others, "\n")
}

// kernelsIn describes the kernels of a cubin.
func kernelsIn(cubin []byte, spills map[string]cudaimage.Spills) ([]cudaimage.Kernel, error) {
	info, err := cudaimage.Describe(cubin)
	if err != nil {
		return nil, err
	}
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
