package spirv

import "strings"

// Mix counts the instructions in the functions of a module by class: "fma", "float", "integer", "special", "convert",
// "matrix", "dot product", "load global", "store global", "load shared", "store shared", "local", "atomic", "subgroup",
// "barrier", "branch", "logic" and "other". Each instruction counts once, in however many iterations it is executed.
// Declarations, labels and the addresses of elements are no instructions.
func Mix(code []byte) (map[string]int, error) {
	words, err := toWords(code)
	if err != nil {
		return nil, err
	}
	c := &counting{storage: map[id]uint32{}, pointers: map[id]uint32{}, mix: map[string]int{}}
	return c.mix, decode(words, c.add)
}

// counting has the state of Mix.
type counting struct {
	storage  map[id]uint32 // the storage class of a pointer type
	pointers map[id]uint32 // the storage class of a pointer
	inside   bool          // a function
	mix      map[string]int
}

func (c *counting) add(i *instruction) {
	name := i.rule.name
	switch name {
	case "TypePointer":
		c.storage[i.result] = i.words(1)
	case "Function":
		c.inside = true
	case "FunctionEnd":
		c.inside = false
	}
	if s, ok := c.storage[i.resType]; ok && i.result != 0 {
		c.pointers[i.result] = s
	}
	if class := c.class(i, name); c.inside && class != "" {
		c.mix[class]++
	}
}

// words returns the first word of an operand; 0 if there is none.
func (i *instruction) words(operand int) uint32 {
	if operand < len(i.operands) && len(i.operands[operand].words) > 0 {
		return i.operands[operand].words[0]
	}
	return 0
}

// Storage classes.
const (
	classInput        = 1
	classWorkgroup    = 4
	classPrivate      = 6
	classFunction     = 7
	classPushConstant = 9
)

// memory returns the class of a load or a store by a pointer.
func (c *counting) memory(what string, pointer uint32) string {
	switch c.pointers[id(pointer)] {
	case classWorkgroup:
		return what + " shared"
	case classPrivate, classFunction:
		return "local"
	case classInput, classPushConstant: // registers or constants
		return "other"
	}
	return what + " global"
}

// special are beginnings of the names of functions that a special unit or several instructions compute.
var special = []string{"Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Pow", "Exp", "Log", "Sqrt", "InverseSqrt"}

func hasPrefix(name string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// class returns the class of an instruction; "" if it is not executed.
func (c *counting) class(i *instruction, name string) string {
	switch name {
	case "Function", "FunctionEnd", "FunctionParameter", "Label", "Variable", "Line", "NoLine", "Undef", "SelectionMerge",
		"LoopMerge", "AccessChain", "InBoundsAccessChain", "PtrAccessChain", "InBoundsPtrAccessChain":
		return ""
	case "Load":
		return c.memory("load", i.words(operandsBefore(i)))
	case "Store":
		return c.memory("store", i.words(0))
	case "ExtInst":
		return extended(i)
	case "Branch", "BranchConditional", "Switch", "Return", "ReturnValue", "Kill", "Unreachable", "FunctionCall":
		return "branch"
	case "ControlBarrier", "MemoryBarrier":
		return "barrier"
	case "Select", "Phi", "Any", "All", "Not":
		return "logic"
	case "Dot", "FNegate", "VectorTimesScalar", "FMod", "FRem":
		return "float"
	case "SNegate", "UMod", "SMod", "SRem":
		return "integer"
	case "Bitcast", "QuantizeToF16":
		return "convert"
	}
	switch {
	case strings.HasPrefix(name, "Atomic"):
		return "atomic"
	case strings.HasPrefix(name, "GroupNonUniform") || strings.HasPrefix(name, "Subgroup"):
		return "subgroup"
	case strings.HasPrefix(name, "CooperativeMatrix"):
		return "matrix"
	case strings.Contains(name, "Dot"):
		return "dot product"
	case strings.HasPrefix(name, "Convert") || strings.HasSuffix(name, "Convert"):
		return "convert"
	case strings.HasPrefix(name, "FOrd") || strings.HasPrefix(name, "FUnord") || strings.HasPrefix(name, "Logical") ||
		strings.HasPrefix(name, "Is") || hasSuffix(name, "Equal", "LessThan", "GreaterThan", "NotEqual"):
		return "logic"
	case name == "FAdd" || name == "FSub" || name == "FMul" || name == "FDiv":
		return "float"
	case hasSuffix(name, "Add", "Sub", "Mul", "Div", "AddCarry", "SubBorrow", "MulExtended") ||
		strings.HasPrefix(name, "Shift") || strings.HasPrefix(name, "Bit"):
		return "integer"
	}
	return "other"
}

// operandsBefore returns how many operands of an instruction are its type and its result.
func operandsBefore(i *instruction) (n int) {
	for _, o := range i.operands {
		if o.kind != "t" && o.kind != "r" {
			break
		}
		n++
	}
	return n
}

func hasSuffix(name string, suffixes ...string) bool {
	for _, s := range suffixes {
		if strings.HasSuffix(name, s) {
			return true
		}
	}
	return false
}

// extended returns the class of a function of an extended instruction set.
func extended(i *instruction) string {
	name := ""
	for _, o := range i.operands {
		if o.rule != nil {
			name = o.rule.name
		}
	}
	switch {
	case strings.HasPrefix(name, "Debug"):
		return ""
	case name == "Fma" || name == "fma" || name == "mad":
		return "fma"
	case hasPrefix(strings.ToUpper(name[:min(1, len(name))])+name[min(1, len(name)):], special):
		return "special"
	case strings.HasPrefix(name, "S") || strings.HasPrefix(name, "U") || strings.HasPrefix(name, "Find"):
		return "integer" // SMin, UClamp, …
	case name != "":
		return "float"
	}
	return "other"
}
