package spirv

// kind is the type of a scalar, or the element type and the number of elements of a vector.
type kind struct {
	op    uint16 // OpTypeBool, OpTypeInt or OpTypeFloat; 0 for other types
	bits  uint32
	parts uint32
}

// kindOf returns the kind of a type; the zero kind for types other than scalars and vectors.
func (r *reader) kindOf(t id) kind {
	v, parts := r.values[t], uint32(1)
	if v.op == OpTypeVector {
		v, parts = r.values[v.words[0]], v.words[1]
	}
	switch v.op {
	case OpTypeBool:
		return kind{OpTypeBool, 0, parts}
	case OpTypeInt, OpTypeFloat:
		return kind{v.op, v.words[0], parts}
	}
	return kind{}
}

// rules have a letter for an instruction's result and for each operand: i for integers and f for floats with as many
// elements as the result; b for booleans; t for booleans, either one or as many as the result has; = for the type of
// the result; ~ for integers with the bits and the elements of the result; p for a pointer to the type of the result;
// . for anything. I and F are i and f, and all operands with a capital letter have the same kind.
var rules = map[uint16]string{109: "if", 110: "if", 111: "fi", 112: "fi", 113: "ii", 114: "ii", 115: "ff", 126: "i~",
	127: "f=",
	128: "i~~", 129: "f==", 130: "i~~", 131: "f==", 132: "i~~", 133: "f==", 134: "i~~", 135: "i~~", 136: "f==", 137: "i~~",
	138: "i~~", 139: "i~~",
	140: "f==", 141: "f==", 164: "b==", 165: "b==", 166: "b==", 167: "b==", 168: "b=", 169: ".t==", 170: "bII", 171: "bII",
	172: "bII", 173: "bII",
	174: "bII", 175: "bII", 176: "bII", 177: "bII", 178: "bII", 179: "bII", 180: "bFF", 181: "bFF", 182: "bFF", 183: "bFF",
	184: "bFF", 185: "bFF",
	186: "bFF", 187: "bFF", 188: "bFF", 189: "bFF", 190: "bFF", 191: "bFF", 194: "i~i", 195: "i~i", 196: "i~i", 197: "i~~",
	198: "i~~", 199: "i~~",
	200: "i~", 227: ".p", 229: ".p..=", 232: "ip..", 233: "ip..", 234: "ip..=", 235: "ip..=", 236: "ip..=", 237: "ip..=",
	238: "ip..=", 239: "ip..=",
	240: "ip..=", 241: "ip..=", 242: "ip..="}

// arithmetic returns an error for the first instruction whose types do not follow its rule.
func (c *checker) arithmetic(r *reader) error {
	for _, a := range c.ruled {
		rule, result := rules[a.op], r.kindOf(a.words[0])
		if len(a.words)-1 < len(rule) || !c.isOf(r, rule[0], result, a.words[0], result, a.words[0]) {
			return c.wrongAt(a.at, "the operands of instruction %d do not match its result type", a.op)
		}
		var alike kind
		for i := 1; i < len(rule); i++ {
			t := c.typed[a.words[i+1]]
			k := r.kindOf(t)
			fits := c.isOf(r, rule[i], k, t, result, a.words[0])
			if rule[i] == 'I' || rule[i] == 'F' {
				fits = fits && (i == 1 || k == alike)
				alike = k
			}
			if !fits {
				return c.wrongAt(a.at, "the operands of instruction %d do not match its result type", a.op)
			}
		}
	}
	return nil
}

// isOf reports whether a type t of kind k satisfies a letter of a rule. result and of are the kind and the type of the
// instruction's result.
func (c *checker) isOf(r *reader, letter byte, k kind, t id, result kind, of id) bool {
	switch letter {
	case 'i', 'I':
		return k.op == OpTypeInt && k.parts == result.parts
	case 'f', 'F':
		return k.op == OpTypeFloat && k.parts == result.parts
	case 'b':
		return k.op == OpTypeBool
	case 't':
		return k.op == OpTypeBool && (k.parts == 1 || k.parts == result.parts)
	case '=':
		return t == of
	case '~':
		return k.op == OpTypeInt && k.parts == result.parts && k.bits == result.bits
	case 'p':
		pointer := r.values[t]
		return pointer.op == OpTypePointer && pointer.words[1] == of
	}
	return true
}
