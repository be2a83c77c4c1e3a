package spirv

import (
	"fmt"
	"slices"
	"strings"
)

// maxIDs is the limit that the specification sets for a module's bound of ids.
const maxIDs = 4194303

// Check returns an error if the structure of the module is invalid: its header, its blocks and functions, undefined
// ids, entry points without a function, memory accesses with a wrong type. Drivers crash on such modules. Check does
// not replace spirv-val, which checks more.
func (m *Module) Check() error {
	c := &checker{words: m.Words, defined: map[id]uint16{}, types: map[id][]uint32{}, typed: map[id]id{},
		params: map[id][]uint32{}, forward: map[id]bool{}, matrices: map[id]id{}}
	if err := c.header(); err != nil {
		return err
	}
	for c.at = headerWords; c.at < len(c.words); c.at += int(c.words[c.at] >> 16) {
		if err := c.instruction(uint16(c.words[c.at]), c.words[c.at+1:c.at+int(c.words[c.at]>>16)]); err != nil {
			return err
		}
	}
	return c.end(m.r)
}

type checker struct {
	words    []uint32
	at       int
	defined  map[id]uint16   // the instruction that defines each id
	types    map[id][]uint32 // the result and parameter types of each function type; the type of each function
	uses     []use
	typed    map[id]id       // the types of values
	matrices map[id]id       // the types of the components of cooperative matrices
	params   map[id][]uint32 // the types of the parameters of each function
	accesses []access
	ruled    []access    // the instructions that have a rule
	strange  bool        // there are unknown instructions, so that the ids that they define are unknown
	forward  map[id]bool // pointers that are declared before the types that they point to
	memory   bool        // the module has a memory model
	function id          // the current function; 0 outside of functions
	blocks   int
	open     bool // the current instruction is in a block
}

type use struct {
	of     id
	at     int // the word offset of the instruction
	isType bool
}

func (c *checker) wrong(format string, args ...any) error { return c.wrongAt(c.at, format, args...) }

func (c *checker) wrongAt(at int, format string, args ...any) error {
	return fmt.Errorf("the SPIR-V is damaged at byte %d: %s", 4*at, fmt.Sprintf(format, args...))
}

func (c *checker) header() error {
	switch version, bound := c.words[1], c.words[3]; {
	case version&0xff0000ff != 0 || version>>16 != 1:
		return c.wrongAt(1, "its version is %#08x, not 1.x", version)
	case bound == 0 || bound > maxIDs:
		return c.wrongAt(3, "its bound of ids is %d, expected 1 to %d", bound, maxIDs)
	case c.words[4] != 0:
		return c.wrongAt(4, "its schema is %d, expected 0", c.words[4])
	}
	return nil
}

func (c *checker) instruction(op uint16, w []uint32) error {
	if err := c.position(op, w); err != nil {
		return err
	}
	shape, known := shapes[op]
	if !known {
		c.strange = true
		return nil
	}
	early := c.function == 0 && !c.strange && op >= OpTypeVoid && op <= OpVariable && op != OpTypeForwardPointer
	for i, letter := range shape {
		rest := letter == 'I' || letter == 'L' || letter == 'E'
		if !rest && i >= len(w) {
			return c.wrong("instruction %d has too few operands: %d", op, len(w))
		}
		switch letter {
		case 'r':
			if c.defined[w[i]] != 0 {
				return c.wrong("id %d is defined twice", w[i])
			}
			defer func() { c.defined[w[i]] = op }()
			if err := c.use(w[i], false); err != nil {
				return err
			}
		case 't', 'i':
			if err := c.use(w[i], letter == 't'); err != nil {
				return err
			}
			if early && c.defined[w[i]] == 0 && !c.forward[w[i]] {
				return c.wrong("id %d is used before it is defined", w[i])
			}
		case 'I':
			for _, of := range w[min(i, len(w)):] {
				if err := c.use(of, false); err != nil {
					return err
				}
				if early && c.defined[of] == 0 && !c.forward[of] {
					return c.wrong("id %d is used before it is defined", of)
				}
			}
		}
	}
	if strings.HasPrefix(shape, "tr") {
		c.typed[w[1]] = w[0]
		if rules[op] != "" {
			c.ruled = append(c.ruled, access{op, w, c.at})
		}
	}
	switch op {
	case OpTypeForwardPointer:
		c.forward[w[0]] = true
	case OpTypeCooperativeMatrixKHR:
		c.matrices[w[0]] = w[1]
	case OpFunctionParameter:
		c.params[c.function] = append(c.params[c.function], w[0])
	case OpVariable, OpLoad, OpStore, OpAccessChain, OpInBoundsAccessChain, OpFunctionCall, OpConstantComposite,
		OpSpecConstantComposite,
		OpCompositeConstruct:
		c.accesses = append(c.accesses, access{op, w, c.at})
	case OpTypeFunction:
		c.types[w[0]] = w[1:]
	case OpFunction:
		c.types[w[1]] = w[3:4]
	}
	return nil
}

func (c *checker) use(of id, isType bool) error {
	if of == 0 || of >= c.words[3] {
		return c.wrong("an operand is id %d, expected 1 to %d", of, c.words[3]-1)
	}
	c.uses = append(c.uses, use{of, c.at, isType})
	return nil
}

// position checks that an instruction is at a valid position in functions and blocks.
func (c *checker) position(op uint16, w []uint32) error {
	switch {
	case op == OpMemoryModel:
		c.memory = true
	case op == OpFunction:
		c.function, c.blocks = w[1], 0
	case op == OpFunctionEnd && c.function == 0:
		return c.wrong("a function ends outside of functions")
	case op == OpFunctionEnd && (c.open || c.blocks == 0):
		return c.wrong("function %d ends inside of a block, or has no block", c.function)
	case op == OpFunctionEnd:
		c.function = 0
	case op == OpLabel && (c.function == 0 || c.open):
		return c.wrong("a block begins outside of functions, or inside of another block")
	case op == OpLabel:
		c.open = true
		c.blocks++
	case op >= OpBranch && op <= OpUnreachable && !c.open:
		return c.wrong("a block ends outside of blocks")
	case op >= OpBranch && op <= OpUnreachable || op == OpTerminateInvocation:
		c.open = false
	case op == OpFunctionParameter && (c.function == 0 || c.blocks > 0):
		return c.wrong("a parameter is not at the beginning of a function")
	case c.function != 0 && !c.open && !slices.Contains([]uint16{OpNop, OpLine, OpNoLine, OpFunctionParameter, OpExtInst},
		op):
		return c.wrong("instruction %d is in a function, but outside of its blocks", op)
	}
	return nil
}

// end makes the checks that need the complete module.
func (c *checker) end(r *reader) error {
	if !c.memory {
		return c.wrong("the module has no memory model")
	}
	for _, u := range c.uses {
		switch op := c.defined[u.of]; {
		case c.strange:
		case op == 0:
			return c.wrongAt(u.at, "id %d is used, but never defined", u.of)
		case u.isType && (op < OpTypeVoid || op > OpTypeFunction) && op != OpTypeCooperativeMatrixKHR:
			return c.wrongAt(u.at, "id %d is used as a type, but it is not a type", u.of)
		}
	}
	for of, t := range c.types {
		if c.defined[of] == OpFunction && c.defined[t[0]] != OpTypeFunction {
			return fmt.Errorf("the SPIR-V is damaged: function %d has the type %d, which is not a function type", of, t[0])
		}
	}
	for f, t := range c.types {
		if c.defined[f] == OpFunction && !slices.Equal(c.params[f], c.types[t[0]][1:]) && !c.strange {
			return fmt.Errorf("the SPIR-V is damaged: the parameters of function %d do not match its type", f)
		}
	}
	for _, e := range r.entries {
		if c.defined[e.function] != OpFunction {
			return fmt.Errorf("the SPIR-V is damaged: the entry point %q is function %d, which is missing", e.name, e.function)
		}
		if t := c.types[c.types[e.function][0]]; !c.strange && (len(t) != 1 || c.defined[t[0]] != OpTypeVoid) {
			return fmt.Errorf("the SPIR-V is damaged: the entry point %q is a function with parameters or a result", e.name)
		}
	}
	if c.strange {
		return nil
	}
	if err := c.memoryTypes(r); err != nil {
		return err
	}
	return c.arithmetic(r)
}

// shapes have a letter for each operand of an instruction: r for the result id, t for the result type, i for an id, l
// for a literal. The last letter may stand for all operands that follow: I for ids, L for literals or nothing, E for
// the name and the ids of an entry point.
var shapes = func() map[uint16]string {
	all := map[uint16]string{OpNop: "", 1: "tr", 5: "iL", 6: "iL", 7: "rL", OpLine: "iL", 11: "rL", OpExtInst: "trilI",
		OpEntryPoint:    "liE",
		OpExecutionMode: "iL", OpTypeVoid: "r", OpTypeBool: "r", OpTypeInt: "rll", OpTypeFloat: "rL", OpTypeVector: "ril",
		OpTypeMatrix: "ril",
		25:           "riL", 26: "r", 27: "ri", OpTypeArray: "rii", OpTypeRuntimeArray: "ri", OpTypeStruct: "rI", 31: "rL",
		OpTypePointer:  "rli",
		OpTypeFunction: "riI", OpTypeForwardPointer: "il", 41: "tr", 42: "tr", OpConstant: "trL", OpConstantComposite: "trI",
		45: "trlll", 46: "tr", 48: "tr", 49: "tr",
		OpSpecConstant: "trL", OpSpecConstantComposite: "trI", 52: "trlL", OpFunction: "trli", OpFunctionParameter: "tr",
		OpFunctionEnd:  "",
		OpFunctionCall: "triI", OpVariable: "trlI", 60: "triii", OpLoad: "triL", OpStore: "iiL", 63: "iiL", 64: "iiiL",
		68: "tril", OpDecorate: "ilL",
		OpMemberDecorate: "illL", 73: "r", OpGroupDecorate: "iI", 75: "iL", 77: "trii", 78: "triii", 79: "triiL", 80: "trI",
		81: "triL", 82: "triiL",
		83: "tri", 84: "tri", 86: "trii", 99: "iiiL", 100: "tri", 168: "tri", 169: "triii", 200: "tri", 201: "triiii",
		202: "triii",
		203: "triii", 204: "tri", 205: "tri", 224: "iii", 225: "ii", 227: "triii", 228: "iiii", 229: "triiii",
		230: "triiiiii", 232: "triii",
		233: "triii", 245: "trI", 246: "iiL", 247: "il", OpLabel: "r", OpBranch: "i", 250: "iiiL", 251: "iiL", 252: "",
		253: "", 254: "i",
		OpUnreachable: "", OpNoLine: "", 331: "ilI", 332: "ilI", 333: "tri", 337: "triii", 341: "triii", 342: "trilI",
		365: "triii", 366: "triii",
		400: "tri", OpTerminateInvocation: "", OpTypeCooperativeMatrixKHR: "riiiii",
		OpCooperativeMatrixLoadKHR:   "triiL",
		OpCooperativeMatrixStoreKHR:  "iiiL",
		OpCooperativeMatrixMulAddKHR: "triiiL", 4460: "tri", 5632: "iL", 5633: "iL", 6035: "triiii"}
	// Ranges of instructions with the same operands: strings, conversions, arithmetic, comparisons, atomics, subgroups,
	// dot products.
	for _, run := range []struct {
		from, to uint16
		shape    string
	}{
		{2, 4, "L"}, {OpExtension, OpExtension, "L"}, {OpMemoryModel, OpMemoryModel, "L"}, {OpCapability, OpCapability, "l"},
		{65, 67, "triI"}, {70, 70, "triI"},
		{87, 98, "triiL"}, {101, 107, "triI"}, {109, 122, "tri"}, {124, 124, "tri"}, {126, 127, "tri"}, {128, 152, "trii"},
		{154, 160, "tri"}, {161, 167, "trii"},
		{170, 191, "trii"}, {194, 199, "trii"}, {207, 215, "tri"}, {234, 242, "triiii"}, {330, 330, "L"}, {334, 336, "trii"},
		{338, 340, "trii"},
		{343, 344, "trii"}, {345, 348, "triii"}, {349, 364, "trilI"}, {401, 403, "trii"}, {4450, 4452, "triiL"}, {4453, 4455,
			"triiiL"},
	} {
		for op := run.from; op <= run.to; op++ {
			all[op] = run.shape
		}
	}
	return all
}()
