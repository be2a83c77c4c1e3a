package cudaimage

import (
	"regexp"
	"strings"
	"sync"
)

// ptxForms are compiled at the first use: libtvmgo_runtime.so has no mixes, and so no regular expressions.
var ptxForms struct {
	once                 sync.Once
	heading, instruction *regexp.Regexp
}

func compilePTXForms() {
	ptxForms.heading = regexp.MustCompile(
		`^\s*(?:\.(?:visible|weak|extern)\s+)*\.(entry|func)\s+(?:\([^)]*\)\s*)?([\w$]+)`)
	ptxForms.instruction = regexp.MustCompile(
		`^\s*(?:\{\s*)?(?:@!?%?\w+\s+)?([a-z][a-z0-9]*(?:[.:]+[a-zA-Z0-9_]+)*)[\s;]`)
}

// PTXMix counts the instructions of a kernel in PTX by class, with the names of spirv.Mix. Each instruction counts
// once, in however many iterations it is executed; those of functions that the kernel calls do not count. It is nil if
// the text has no such kernel.
func PTXMix(ptx []byte, kernel string) map[string]int {
	ptxForms.once.Do(compilePTXForms)
	var mix map[string]int
	inside, depth := false, 0
	for line := range strings.Lines(string(ptx)) {
		if i := strings.Index(line, "//"); i >= 0 {
			line = line[:i] + "\n"
		}
		if m := ptxForms.heading.FindStringSubmatch(line); m != nil && depth == 0 {
			if inside = m[1] == "entry" && m[2] == kernel; inside && mix == nil {
				mix = map[string]int{}
			}
		}
		if inside && depth > 0 {
			for statement := range strings.SplitAfterSeq(line, ";") {
				if m := ptxForms.instruction.FindStringSubmatch(statement); m != nil {
					mix[ptxClass(m[1])]++
				}
			}
		}
		depth += strings.Count(line, "{") - strings.Count(line, "}")
		depth = max(depth, 0)
	}
	return mix
}

// ptxClass returns the class of an instruction, as "fma.rn.f32".
func ptxClass(name string) string {
	op, rest, _ := strings.Cut(name, ".")
	has := func(part string) bool {
		return strings.Contains("."+rest+".", "."+part+".") || strings.Contains(rest, part+"::")
	}
	float := has("f16") || has("f32") || has("f64") || has("f16x2") || has("bf16") || has("bf16x2") || has("f32x2")
	switch op {
	case "fma":
		return "fma"
	case "mad":
		if float {
			return "fma"
		}
		return "integer"
	case "add", "sub", "mul", "neg", "abs", "min", "max", "div", "rem", "sad", "copysign":
		if float {
			return "float"
		}
		return "integer"
	case "mad24", "mul24", "addc", "subc", "madc", "shl", "shr", "shf", "bfe", "bfi", "brev", "popc", "clz", "bfind",
		"prmt", "and", "or", "xor", "not", "lop3", "cnot":
		return "integer"
	case "rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh":
		return "special"
	case "cvt", "cvta":
		return "convert"
	case "dp4a", "dp2a":
		return "dot product"
	case "mma", "wmma", "wgmma", "tcgen05", "ldmatrix", "stmatrix":
		return "matrix"
	case "ld", "ldu":
		return ptxMemory("load", has)
	case "st":
		return ptxMemory("store", has)
	case "cp":
		return "load global" // cp.async: from global to shared memory
	case "atom", "red":
		return "atomic"
	case "shfl", "vote", "match", "redux", "activemask", "elect":
		return "subgroup"
	case "bar", "barrier", "membar", "fence", "mbarrier":
		return "barrier"
	case "bra", "brx", "call", "ret", "exit", "trap":
		return "branch"
	case "setp", "set", "selp", "slct", "testp":
		return "logic"
	}
	return "other"
}

func ptxMemory(what string, has func(string) bool) string {
	switch {
	case has("shared"):
		return what + " shared"
	case has("local"):
		return "local"
	case has("param") || has("const"):
		return "other"
	}
	return what + " global"
}
