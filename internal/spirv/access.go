package spirv

const (
	opLoad                = 61
	opStore               = 62
	opAccessChain         = 65
	opInBoundsAccessChain = 66
)

// access is an instruction that has to do with memory: a variable, a way to a part of one, a load, a store.
type access struct {
	op    uint16
	words []uint32
	at    int
}

// memoryTypes says which type or access is not what memory can be.
func (c *checker) memoryTypes(r *reader) error {
	for of, t := range r.values {
		if !c.holdsData(r, t) {
			return c.wrong("type %d consists of what is no data", of)
		}
	}
	for _, a := range c.accesses {
		if cause := c.access(r, a); cause != "" {
			return c.wrongAt(a.at, "%s", cause)
		}
	}
	return nil
}

// holdsData says whether what a type is made of can lie in memory. Others than types do.
func (c *checker) holdsData(r *reader, t value) bool {
	var parts []uint32
	switch t.op {
	case opTypeVector:
		op := r.values[t.words[0]].op
		return op == opTypeBool || op == opTypeInt || op == opTypeFloat
	case opTypeMatrix:
		return r.values[t.words[0]].op == opTypeVector
	case opTypeArray, opTypeRuntimeArray:
		parts = t.words[:1]
	case opTypePointer:
		parts = t.words[1:]
	case opTypeStruct:
		parts = t.words
	}
	for _, part := range parts {
		if op := c.defined[part]; op <= opTypeVoid || op >= opTypeFunction {
			return false
		}
	}
	return true
}

// access says what is wrong with one; "" when nothing is.
func (c *checker) access(r *reader, a access) string {
	pointer := func(of id) value { return r.values[c.typed[of]] }
	w := a.words
	switch a.op {
	case opVariable:
		t := r.values[w[0]]
		if t.op != opTypePointer || t.words[0] != w[2] {
			return "a variable whose type is no pointer to memory of its kind"
		}
		block := r.values[t.words[1]]
		if block.op == opTypeArray || block.op == opTypeRuntimeArray { // of descriptors
			block = r.values[block.words[0]]
		}
		if isBlock := w[2] == classPushConstant || w[2] == classUniform || w[2] == classStorageBuffer; isBlock && block.op != opTypeStruct {
			return "a variable for a block of data whose type is no structure"
		}
	case opLoad:
		if t := pointer(w[2]); t.op != opTypePointer || t.words[1] != w[0] {
			return "a load from a pointer to another type"
		}
	case opStore:
		if t := pointer(w[0]); t.op != opTypePointer || t.words[1] != c.typed[w[1]] {
			return "a store to a pointer to another type"
		}
	default:
		from, to := pointer(w[2]), r.values[w[0]]
		if from.op != opTypePointer || to.op != opTypePointer || from.words[0] != to.words[0] {
			return "a way into a variable that is not from one pointer to another"
		}
		part, cause := r.walk(from.words[1], w[3:])
		if cause == "" && part != to.words[1] {
			cause = "a way into a variable that ends at another type"
		}
		return cause
	}
	return ""
}

// walk follows indices into a type.
func (r *reader) walk(t id, indices []uint32) (id, string) {
	for _, index := range indices {
		switch in := r.values[t]; in.op {
		case opTypeStruct:
			if r.values[index].op != opConstant || r.length(index) >= uint64(len(in.words)) {
				return 0, "a way into a structure to a member that is not there"
			}
			t = in.words[r.length(index)]
		case opTypeVector, opTypeMatrix, opTypeArray, opTypeRuntimeArray:
			t = in.words[0]
		default:
			return 0, "a way into what has no parts"
		}
	}
	return t, ""
}
