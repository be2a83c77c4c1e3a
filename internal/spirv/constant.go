package spirv

// maxNested is the maximum depth of the operations that compute a constant.
const maxNested = 16

// number returns the value of a 32-bit constant, with specialisation constants at their defaults. ok is false when the
// id is not a constant, or when an operation is not supported here.
func (r *reader) number(of id, nested int) (n uint32, ok bool) {
	c := r.values[of]
	switch c.op {
	case OpConstant, OpSpecConstant:
		return c.words[0], true
	case OpConstantNull:
		return 0, true
	case OpSpecConstantOp:
		if len(c.words) == 3 && nested > 0 {
			a, okA := r.number(c.words[1], nested-1)
			b, okB := r.number(c.words[2], nested-1)
			if okA && okB {
				return compute(c.words[0], a, b)
			}
		}
	}
	return 0, false
}

// compute returns the result of an arithmetic instruction.
func compute(op, a, b uint32) (n uint32, ok bool) {
	switch op {
	case 128:
		return a + b, true
	case 130:
		return a - b, true
	case 132:
		return a * b, true
	case 134:
		if b != 0 {
			return a / b, true
		}
	case 137:
		if b != 0 {
			return a % b, true
		}
	case 194:
		return a >> b, b < 32
	case 196:
		return a << b, b < 32
	case 197:
		return a | b, true
	case 198:
		return a ^ b, true
	case 199:
		return a & b, true
	}
	return 0, false
}
