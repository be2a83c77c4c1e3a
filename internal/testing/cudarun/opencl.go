package cudarun

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	clAttribute = `\s*__attribute__\(\((?:[^()]|\([^()]*\))*\)\)`
	clKernel    = regexp.MustCompile(`__kernel((?:` + clAttribute + `)*)\s*void\s+(\w+)`)
	clBlock     = regexp.MustCompile(`reqd_work_group_size\((\d+), (\d+), (\d+)\)`)
	clLocal     = regexp.MustCompile(`\b__local\s+([A-Za-z_]\w*\s+\w+\s*\[)`)
	clVector    = regexp.MustCompile(`\b(u?(?:char|short|int|long)|float|double)(2|4|8|16)\b`)
	clMake      = regexp.MustCompile(`\((cl_\w+)\)\(`)
	clLane      = regexp.MustCompile(`\.s([0-9a-f])\b`)
)

// translateOpenCL translates generated OpenCL C into CUDA C with the functions of device/opencl.h, and keeps the
// numbers of lines. C++ has no form for the values of vectors and their lanes.
func translateOpenCL(source string) string {
	code := clKernel.ReplaceAllStringFunc(source, func(head string) string {
		m := clKernel.FindStringSubmatch(head)
		bounds := ""
		if b := clBlock.FindStringSubmatch(m[1]); b != nil {
			bounds = fmt.Sprintf("__launch_bounds__(%s * %s * %s) ", b[1], b[2], b[3])
		}
		return "__global__ " + strings.Repeat("\n", strings.Count(head, "\n")) + bounds + "void " + m[2]
	})
	code = clLocal.ReplaceAllString(code, "__shared__ $1")
	code = clVector.ReplaceAllString(code, "cl_$1$2")
	code = clMake.ReplaceAllString(code, "cudarun::make<$1>(")
	return clLane.ReplaceAllString(code, "[0x$1]")
}
