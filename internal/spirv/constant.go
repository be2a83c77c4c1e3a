package spirv

// mostNested is how deep the constants may lie that another is computed from.
const mostNested = 16

// number is the value of a constant of 32 bits, with specialisation constants at their defaults; not ok when it is
// none, or is computed in a way that is not followed here.
func (r *reader) number(of id, nested int) (n uint32, ok bool) {
	c := r.values[of]
	switch c.op {
	case opConstant, opSpecConstant:
		return c.words[0], true
	case opConstantNull:
		return 0, true
	case opSpecConstantOp:
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

// compute is what an instruction makes of two numbers.
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
