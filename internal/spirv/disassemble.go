package spirv

import (
	"fmt"
	"strconv"
	"strings"
)

// TextOptions are the options of Disassemble.
type TextOptions struct {
	// RawIDs writes ids as numbers (%7). Otherwise ids have the names of OpName, or names that are made from types,
	// constants and built-in variables (%float_1).
	RawIDs bool
}

const textIndent = 15 // the column of the instructions

// Disassemble returns a module, in either byte order, as text in the form of the tool spirv-dis. It accepts all
// instructions of SPIR-V 1.6 and of its published extensions; ids can be undefined and types can be wrong. The error
// of a module that is damaged, or that has an unknown instruction or operand, names the word and the byte of the
// instruction.
func Disassemble(code []byte, o TextOptions) (string, error) {
	words, err := toWords(code)
	if err != nil {
		return "", err
	}
	var all []*instruction
	if err := decode(words, func(i *instruction) { all = append(all, i) }); err != nil {
		return "", err
	}
	p := &textWriter{grammar: loadGrammar()}
	if !o.RawIDs {
		p.names = friendlyNames(all, p.grammar)
	}
	p.header(words)
	for _, i := range all {
		p.instruction(i)
	}
	return p.String(), nil
}

type textWriter struct {
	strings.Builder
	*grammar
	names map[id]string // nil for raw ids
}

func (p *textWriter) header(words []uint32) {
	tool, known := p.generators[words[2]>>16]
	if !known {
		tool = fmt.Sprintf("Unknown(%d)", words[2]>>16)
	}
	fmt.Fprintf(p, "; SPIR-V\n; Version: %d.%d\n; Generator: %s; %d\n; Bound: %d\n; Schema: %d\n",
		words[1]>>16&0xff, words[1]>>8&0xff, tool, words[2]&0xffff, words[3], words[4])
}

func (p *textWriter) instruction(i *instruction) {
	indent := textIndent
	if i.result != 0 {
		name := p.name(i.result)
		indent -= len(name) + len("% = ")
		p.WriteString(strings.Repeat(" ", max(0, indent)) + "%" + name + " = ")
	} else {
		p.WriteString(strings.Repeat(" ", indent))
	}
	p.WriteString("Op" + i.rule.name)
	for _, o := range i.operands {
		if o.kind != "r" {
			p.WriteByte(' ')
			p.operand(o)
		}
	}
	p.WriteByte('\n')
}

func (p *textWriter) name(of id) string {
	if name, ok := p.names[of]; ok {
		return name
	}
	return strconv.Itoa(int(of))
}

func (p *textWriter) operand(o operand) {
	switch o.kind {
	case "t", "i":
		p.WriteString("%" + p.name(o.words[0]))
	case "n":
		p.WriteString(strconv.FormatUint(uint64(o.words[0]), 10))
	case "s":
		p.WriteString(`"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(textOf(o)) + `"`)
	case "v", "f":
		p.WriteString(o.number.text(o.words))
	case "x", "o":
		if o.rule == nil {
			p.WriteString(strconv.FormatUint(uint64(o.words[0]), 10))
			return
		}
		p.WriteString(o.rule.name)
	default:
		p.WriteString(p.values[o.kind].text(o.words[0]))
	}
}

// text returns the name of a value, or the names of the bits of a mask.
func (v *values) text(n uint32) string {
	if r := v.rows[n]; r != nil && (!v.mask || n == 0) {
		return r.name
	}
	var bits []string
	for bit := uint32(1); v.mask && bit != 0; bit <<= 1 {
		if n&bit != 0 && v.rows[bit] != nil {
			bits = append(bits, v.rows[bit].name)
		}
	}
	return strings.Join(bits, "|")
}
