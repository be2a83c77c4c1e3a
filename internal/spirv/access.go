package spirv

// access is an instruction whose types are checked: a variable, an access chain, a load, a store, a call, a composite.
type access struct {
	op    uint16
	words []uint32
	at    int
}

// memoryTypes returns an error for a type that consists of types without data, or for an invalid access.
func (c *checker) memoryTypes(r *reader) error {
	for of, t := range r.values {
		if !c.holdsData(r, t) {
			return c.wrong("type %d consists of types without data", of)
		}
	}
	for _, a := range c.accesses {
		if cause := c.access(r, a); cause != "" {
			return c.wrongAt(a.at, "%s", cause)
		}
	}
	return nil
}

// holdsData reports whether all types that a type consists of have data. It is true for a value that is not a type.
func (c *checker) holdsData(r *reader, t value) bool {
	var parts []uint32
	switch t.op {
	case OpTypeVector:
		op := r.values[t.words[0]].op
		return op == OpTypeBool || op == OpTypeInt || op == OpTypeFloat
	case OpTypeMatrix:
		return r.values[t.words[0]].op == OpTypeVector
	case OpTypeArray, OpTypeRuntimeArray:
		parts = t.words[:1]
	case OpTypePointer:
		parts = t.words[1:]
	case OpTypeStruct:
		parts = t.words
	}
	for _, part := range parts {
		if op := c.defined[part]; op <= OpTypeVoid || op >= OpTypeFunction && op != OpTypeCooperativeMatrixKHR {
			return false
		}
	}
	return true
}

// access returns the error text for an access; "" when the access is valid.
func (c *checker) access(r *reader, a access) string {
	pointer := func(of id) value { return r.values[c.typed[of]] }
	w := a.words
	switch a.op {
	case OpVariable:
		t := r.values[w[0]]
		if t.op != OpTypePointer || t.words[0] != w[2] {
			return "the type of a variable is not a pointer with its storage class"
		}
		block := r.values[t.words[1]]
		if block.op == OpTypeArray || block.op == OpTypeRuntimeArray { // of descriptors
			block = r.values[block.words[0]]
		}
		if isBlock := w[2] == ClassPushConstant || w[2] == ClassUniform || w[2] == ClassStorageBuffer; isBlock &&
			block.op != OpTypeStruct {
			return "the type of a block variable is not a structure"
		}
		if len(w) > 3 { // the initializer
			op := c.defined[w[3]]
			if constant := op == OpUndef || op >= OpConstantTrue && op <= OpSpecConstantOp; !constant ||
				c.typed[w[3]] != t.words[1] {
				return "the initializer of a variable is not a constant of its type"
			}
		}
	case OpLoad:
		if t := pointer(w[2]); t.op != OpTypePointer || t.words[1] != w[0] {
			return "the result type of a load is not the type that its pointer points to"
		}
	case OpStore:
		if t := pointer(w[0]); t.op != OpTypePointer || t.words[1] != c.typed[w[1]] {
			return "the value of a store does not have the type that its pointer points to"
		}
	case OpFunctionCall:
		f := c.types[w[2]]
		if c.defined[w[2]] != OpFunction || len(w)-3 != len(c.params[w[2]]) || c.types[f[0]][0] != w[0] {
			return "the result type or the number of arguments of a call does not match the function"
		}
		for i, of := range w[3:] {
			if c.typed[of] != c.params[w[2]][i] {
				return "the types of a call's arguments do not match the function's parameters"
			}
		}
	case OpConstantComposite, OpSpecConstantComposite, OpCompositeConstruct:
		if c.defined[w[0]] == OpTypeCooperativeMatrixKHR { // one component, for all
			if len(w) != 3 || c.typed[w[2]] != c.matrices[w[0]] {
				return "a cooperative matrix is not constructed from one component of its type"
			}
			return ""
		}
		if t := r.values[w[0]]; a.op != OpCompositeConstruct || t.op != OpTypeVector {
			return c.composite(r, t, w[2:])
		}
		want := r.kindOf(w[0])
		for _, part := range w[2:] { // a vector may be constructed from vectors
			k := r.kindOf(c.typed[part])
			if k.op != want.op || k.bits != want.bits || k.parts > want.parts {
				return "a constituent of a composite has the wrong type"
			}
			want.parts -= k.parts
		}
		if want.parts != 0 {
			return "a composite does not have as many constituents as its type"
		}
	default:
		from, to := pointer(w[2]), r.values[w[0]]
		if from.op != OpTypePointer || to.op != OpTypePointer || from.words[0] != to.words[0] {
			return "an access chain does not begin with a pointer, or its result is not a pointer of the same storage class"
		}
		for _, index := range w[3:] {
			if k := r.kindOf(c.typed[index]); k.op != OpTypeInt || k.parts != 1 {
				return "an index of an access chain is not an integer"
			}
		}
		part, cause := r.walk(from.words[1], w[3:])
		if cause == "" && part != to.words[1] {
			cause = "the result type of an access chain is not the type that its indices select"
		}
		return cause
	}
	return ""
}

// composite returns the error text for a composite value; "" when the value is valid.
func (c *checker) composite(r *reader, t value, parts []uint32) string {
	n := uint64(len(parts))
	switch t.op {
	case OpTypeVector, OpTypeMatrix:
		n = uint64(t.words[1])
	case OpTypeArray:
		if length, ok := r.number(t.words[1], maxNested); ok {
			n = uint64(length)
		}
	case OpTypeStruct:
		n = uint64(len(t.words))
	default:
		return "the type of a composite is not a composite type"
	}
	if n != uint64(len(parts)) {
		return "a composite does not have as many constituents as its type"
	}
	for i, part := range parts {
		want := t.words[0]
		if t.op == OpTypeStruct {
			want = t.words[i]
		}
		if c.typed[part] != want {
			return "a constituent of a composite has the wrong type"
		}
	}
	return ""
}

// walk returns the type that indices select in a type, or an error text.
func (r *reader) walk(t id, indices []uint32) (id, string) {
	for _, index := range indices {
		switch in := r.values[t]; in.op {
		case OpTypeStruct:
			if r.values[index].op != OpConstant || r.length(index) >= uint64(len(in.words)) {
				return 0, "an access chain selects a structure member that does not exist"
			}
			t = in.words[r.length(index)]
		case OpTypeVector, OpTypeMatrix, OpTypeArray, OpTypeRuntimeArray:
			length := uint64(0)
			if in.op == OpTypeArray {
				length = r.length(in.words[1])
			} else if in.op != OpTypeRuntimeArray {
				length = uint64(in.words[1])
			}
			if r.values[index].op == OpConstant && length > 0 && r.length(index) >= length {
				return 0, "an index of an access chain is beyond the end of an array"
			}
			t = in.words[0]
		default:
			return 0, "an access chain has an index into a scalar"
		}
	}
	return t, ""
}
