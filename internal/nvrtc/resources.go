package nvrtc

import (
	"strings"

	"tvmgo/internal/cudaimage"
)

// verbose makes the assembler report what kernels use.
const verbose = "--ptxas-options=-v"

// The forms of lines of its report, with one space between words, see cudaimage.MatchWords. Versions of the assembler
// begin the second one differently.
const (
	aboutFunction = "ptxas info : Function properties for %s"
	aboutStack    = "%d bytes stack frame, %d bytes spill stores, %d bytes spill loads"
)

// spillsIn reads the spills of functions from a log with the assembler's report.
func spillsIn(log string) map[string]cudaimage.Spills {
	of := map[string]cudaimage.Spills{}
	function := ""
	for line := range strings.SplitSeq(log, "\n") {
		words := strings.Fields(line)
		line = strings.Join(words, " ")
		var stack int
		var s cudaimage.Spills
		cudaimage.MatchWords(line, aboutFunction, &function)
		end := strings.Join(words[max(0, len(words)-len(strings.Fields(aboutStack))):], " ")
		if cudaimage.MatchWords(end, aboutStack, &stack, &s.Stores, &s.Loads) && function != "" {
			of[function] = s
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
