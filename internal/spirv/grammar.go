package spirv

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// grammarText is the table of instructions and operands; its first lines describe the format.
//
//go:embed grammar.spec
var grammarText string

// grammar is the table, read.
type grammar struct {
	instructions map[uint32]*rule
	values       map[string]*values
	sets         map[string]map[uint32]*rule
	generators   map[uint32]string
}

// rule is the name of an instruction or of a value, and the operands that follow it.
type rule struct {
	name     string
	operands []pattern
}

// pattern is an operand: a kind of grammar.values, or letters; and 0, '?' for one that may be absent, or '*' for any
// number.
type pattern struct {
	kind  string
	count byte
}

// values are the values of a kind of operand, or the bits of a mask.
type values struct {
	mask bool
	rows map[uint32]*rule
}

// loadGrammar reads the table when a module is first disassembled.
var loadGrammar = sync.OnceValue(func() *grammar {
	g := &grammar{instructions: map[uint32]*rule{}, values: map[string]*values{}, sets: map[string]map[uint32]*rule{},
		generators: map[uint32]string{}}
	var add func(number uint32, row string)
	rules := func(in map[uint32]*rule) {
		add = func(number uint32, row string) { in[number] = parseRule(row) }
	}
	for line := range strings.Lines(grammarText) {
		line = strings.TrimSuffix(line, "\n")
		first, rest, _ := strings.Cut(line, " ")
		if number, err := strconv.ParseUint(first, 10, 32); err == nil {
			add(uint32(number), rest)
			continue
		}
		switch first {
		case "", "#":
		case "op":
			rules(g.instructions)
		case "kind", "mask":
			g.values[rest] = &values{mask: first == "mask", rows: map[uint32]*rule{}}
			rules(g.values[rest].rows)
		case "set":
			g.sets[rest] = map[uint32]*rule{}
			rules(g.sets[rest])
		case "generators":
			add = func(number uint32, row string) { g.generators[number] = row }
		default:
			panic(fmt.Sprintf("grammar.spec has the heading %q", line))
		}
	}
	return g
})

func parseRule(row string) *rule {
	name, rest, _ := strings.Cut(row, " ")
	r := &rule{name: name}
	for _, field := range strings.Fields(rest) {
		kind := strings.TrimRight(field, "?*")
		p := pattern{kind: kind}
		if kind != field {
			p.count = field[len(kind)]
		}
		r.operands = append(r.operands, p)
	}
	return r
}

// nonSemantic begins the names of the extended instruction sets whose instructions have ids alone.
const nonSemantic = "NonSemantic."

// set returns the instructions of an extended instruction set by the name of its import, and whether it is known. Of
// other sets without semantics, instructions have ids alone: the result is then nil.
func (g *grammar) set(name string) (map[uint32]*rule, bool) {
	if set, ok := g.sets[name]; ok {
		return set, true
	}
	for prefix, set := range g.sets { // NonSemantic.ClspvReflection.5
		if strings.HasSuffix(prefix, ".") && strings.HasPrefix(name, prefix) {
			return set, true
		}
	}
	return nil, strings.HasPrefix(name, nonSemantic)
}

// constantOps are the ranges of the instructions that OpSpecConstantOp may have.
var constantOps = [][2]uint32{{65, 67}, {70, 70}, {79, 79}, {81, 82}, {109, 117}, {120, 122}, {124, 124}, {126, 141},
	{164, 179}, {194, 200}, {4460, 4460}, {5362, 5362}}

func ofConstant(op uint32) bool {
	return slices.ContainsFunc(constantOps, func(r [2]uint32) bool { return r[0] <= op && op <= r[1] })
}
