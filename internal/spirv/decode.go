package spirv

import (
	"fmt"
	"slices"
	"strings"
)

// instruction is a decoded instruction.
type instruction struct {
	op       uint32
	rule     *rule
	at       int // the offset of its first word
	result   id  // 0 without a result
	resType  id  // the id of the result's type; 0 without one
	operands []operand
}

// operand is a decoded operand.
type operand struct {
	kind   string // one letter of grammar.spec, or a kind of values
	words  []uint32
	rule   *rule      // of an x or an o operand; nil for an unknown extended instruction
	number numberType // of a v operand
}

// numberType is a numeric type: an integer, or a float of an encoding (grammar.spec: FPEncoding; -1 for IEEE 754).
type numberType struct {
	width    uint32
	float    bool
	signed   bool
	encoding int64
}

// decoder divides the words of a module into instructions and operands.
type decoder struct {
	*grammar
	words []uint32
	at    int // the offset of the current instruction's first word

	defined map[id]bool
	types   map[id]id         // the type of each value
	numbers map[id]numberType // the numeric types
	imports map[id]string     // the extended instruction sets
}

// decode calls yield with each instruction of a module. It returns the first error; errors name the word and the byte
// of an instruction.
func decode(words []uint32, yield func(*instruction)) error {
	d := &decoder{grammar: loadGrammar(), words: words, defined: map[id]bool{}, types: map[id]id{},
		numbers: map[id]numberType{}, imports: map[id]string{}}
	for d.at = headerWords; d.at < len(words); {
		length := int(words[d.at] >> 16)
		if length == 0 || length > len(words)-d.at {
			return d.wrong("an instruction has %d words, but %d are left", length, len(words)-d.at)
		}
		i, err := d.instruction(words[d.at : d.at+length])
		if err != nil {
			return err
		}
		if err := d.record(i); err != nil {
			return err
		}
		yield(i)
		d.at += length
	}
	return nil
}

func (d *decoder) wrong(format string, args ...any) error {
	return fmt.Errorf("the SPIR-V is damaged at word %d (byte %d): %s", d.at, 4*d.at, fmt.Sprintf(format, args...))
}

// instruction decodes the words of an instruction.
func (d *decoder) instruction(w []uint32) (*instruction, error) {
	i := &instruction{op: w[0] & 0xffff, at: d.at}
	if i.rule = d.instructions[i.op]; i.rule == nil {
		return nil, d.wrong("instruction %d is unknown", i.op)
	}
	pending := reversed(i.rule.operands)
	for w = w[1:]; ; {
		if len(w) == 0 {
			if slices.ContainsFunc(pending, func(p pattern) bool { return p.count == 0 }) {
				return nil, d.wrong("Op%s needs more operands than its %d words hold", i.rule.name, d.words[d.at]>>16)
			}
			return i, nil
		}
		if len(pending) == 0 {
			return nil, d.wrong("Op%s has %d words after its operands", i.rule.name, len(w))
		}
		next := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if next.count == '*' {
			pending = append(pending, next)
		}
		if d.values[next.kind] == nil && len(next.kind) > 1 { // one operand for each letter
			for k := len(next.kind) - 1; k >= 0; k-- {
				pending = append(pending, pattern{kind: next.kind[k : k+1]})
			}
			continue
		}
		o, follow, err := d.operand(i, next.kind, w)
		if err != nil {
			return nil, err
		}
		if next.kind == "x" { // the set's operands replace the ids of OpExtInst
			pending = nil
		}
		pending = append(pending, follow...)
		i.operands = append(i.operands, o)
		w = w[len(o.words):]
	}
}

// reversed returns the operands with the first at the end, as pending operands are kept.
func reversed(p []pattern) []pattern {
	all := slices.Clone(p)
	slices.Reverse(all)
	return all
}

// operand decodes the operand that begins at w[0]. It also returns the operands that follow it, in reverse.
func (d *decoder) operand(i *instruction, kind string, w []uint32) (o operand, follow []pattern, err error) {
	o = operand{kind: kind, words: w[:1]}
	if of := d.values[kind]; of != nil {
		follow, err = d.value(i, kind, of, w[0])
		return o, follow, err
	}
	switch kind {
	case "t", "r", "i":
		if w[0] == 0 {
			return o, nil, d.wrong("Op%s has the id 0", i.rule.name)
		}
		if kind == "t" {
			i.resType = w[0]
		}
		if kind == "r" {
			if d.defined[w[0]] {
				return o, nil, d.wrong("id %d is defined twice", w[0])
			}
			i.result = w[0]
		}
	case "n":
	case "f":
		o.number = numberType{width: 32, float: true, encoding: -1}
	case "s":
		_, rest, ok := literalText(w)
		if !ok {
			return o, nil, d.wrong("a string of Op%s has no terminating zero", i.rule.name)
		}
		o.words = w[:len(w)-len(rest)]
	case "v":
		if o.number, err = d.literalType(i); err != nil {
			return o, nil, err
		}
		n := max(1, (int64(o.number.width)+31)/32)
		if n > int64(len(w)) {
			return o, nil, d.wrong("a number of Op%s has %d words, expected %d", i.rule.name, len(w), n)
		}
		o.words = w[:n]
	case "x":
		return d.extended(i, o)
	case "o":
		if !ofConstant(w[0]) || d.instructions[w[0]] == nil {
			return o, nil, d.wrong("OpSpecConstantOp cannot have the instruction %d", w[0])
		}
		o.rule = d.instructions[w[0]]
		return o, reversed(o.rule.operands[2:]), nil
	default:
		panic(fmt.Sprintf("grammar.spec has the operand %q", kind))
	}
	return o, nil, nil
}

// value checks a value or a mask, and returns the operands that follow it, in reverse.
func (d *decoder) value(i *instruction, kind string, of *values, v uint32) (follow []pattern, err error) {
	if !of.mask || v == 0 {
		r := of.rows[v]
		if r == nil && !of.mask {
			return nil, d.wrong("Op%s has the %s %d, which is unknown", i.rule.name, kind, v)
		}
		if r != nil {
			follow = reversed(r.operands)
		}
		return follow, nil
	}
	for bit := uint32(1) << 31; bit != 0; bit >>= 1 {
		if v&bit == 0 {
			continue
		}
		r := of.rows[bit]
		if r == nil {
			return nil, d.wrong("Op%s has the %s %#x, whose bit %#x is unknown", i.rule.name, kind, v, bit)
		}
		follow = append(follow, reversed(r.operands)...)
	}
	return follow, nil
}

// literalType returns the type of the numbers of a constant or a switch.
func (d *decoder) literalType(i *instruction) (numberType, error) {
	of := i.resType
	if of == 0 { // OpSwitch
		selector := i.operands[0].words[0]
		if of = d.types[selector]; of == 0 {
			return numberType{}, d.wrong("the selector of Op%s, id %d, has no type", i.rule.name, selector)
		}
		if n, ok := d.numbers[of]; ok && n.float {
			return n, d.wrong("the selector of Op%s, id %d, is no integer", i.rule.name, selector)
		}
	}
	n, ok := d.numbers[of]
	if !ok {
		return n, d.wrong("the type of a number of Op%s, id %d, is not numeric", i.rule.name, of)
	}
	return n, nil
}

// extended decodes the number of an extended instruction, after the id of its set.
func (d *decoder) extended(i *instruction, o operand) (operand, []pattern, error) {
	of := i.operands[len(i.operands)-1].words[0]
	name, ok := d.imports[of]
	if !ok {
		return o, nil, d.wrong("Op%s names the instruction set %d, which is not imported", i.rule.name, of)
	}
	set, _ := d.set(name)
	if set == nil {
		return o, []pattern{{"i", '*'}}, nil
	}
	switch o.rule = set[o.words[0]]; {
	case o.rule == nil && strings.HasPrefix(name, nonSemantic): // of a newer version of the set
		return o, []pattern{{"i", '*'}}, nil
	case o.rule == nil:
		return o, nil, d.wrong("the instruction set %s has no instruction %d", name, o.words[0])
	}
	return o, reversed(o.rule.operands), nil
}

// record keeps what later instructions refer to.
func (d *decoder) record(i *instruction) error {
	if i.result == 0 {
		return nil
	}
	d.defined[i.result] = true
	if i.resType != 0 {
		d.types[i.result] = i.resType
	}
	switch i.op {
	case OpExtInstImport:
		name := textOf(i.operands[1])
		if _, known := d.set(name); !known {
			return d.wrong("the extended instruction set %q is unknown", name)
		}
		d.imports[i.result] = name
	case OpTypeInt:
		d.numbers[i.result] = numberType{width: i.operands[1].words[0], signed: i.operands[2].words[0] != 0}
	case OpTypeFloat:
		n := numberType{width: i.operands[1].words[0], float: true, encoding: -1}
		if len(i.operands) > 2 {
			n.encoding = int64(i.operands[2].words[0])
		}
		d.numbers[i.result] = n
	}
	return nil
}

// literalText reads a zero-terminated string. It returns the string and the words after it.
func literalText(w []uint32) (text string, rest []uint32, ok bool) {
	var b strings.Builder
	for i, word := range w {
		for range 4 {
			if byte(word) == 0 {
				return b.String(), w[i+1:], true
			}
			b.WriteByte(byte(word))
			word >>= 8
		}
	}
	return "", nil, false
}

func textOf(o operand) string {
	text, _, _ := literalText(o.words)
	return text
}
