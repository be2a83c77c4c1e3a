package spirv

import (
	"encoding/binary"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// assembler writes modules from the table of instructions.
type assembler struct {
	g     *grammar
	words []uint32
	next  id // ids that are not defined yet
}

// The ids of newAssembler.
const (
	intID, uintID, longID, floatID, selectorID = 1, 2, 3, 4, 5
	firstSet                                   = 6
)

// newAssembler returns a module that defines numeric types, a selector of a switch, and imports of all extended sets.
func newAssembler() *assembler {
	a := &assembler{g: loadGrammar()}
	a.words = []uint32{Magic, 0x10600, 7 << 16, 1000, 0}
	a.add(OpTypeInt, intID, 32, 1)
	a.add(OpTypeInt, uintID, 32, 0)
	a.add(OpTypeInt, longID, 64, 1)
	a.add(OpTypeFloat, floatID, 32)
	a.add(OpConstant, longID, selectorID, 0xffffffff, 0x7fffffff)
	for i, name := range a.sets() {
		a.add(OpExtInstImport, append([]uint32{firstSet + uint32(i)}, stringWords(name)...)...)
	}
	a.next = firstSet + uint32(len(a.g.sets))
	return a
}

func (a *assembler) sets() []string { return slices.Sorted(maps.Keys(a.g.sets)) }

func (a *assembler) add(op uint32, operands ...uint32) {
	a.words = append(a.words, uint32(len(operands)+1)<<16|op)
	a.words = append(a.words, operands...)
}

func (a *assembler) bytes() []byte {
	var b []byte
	for _, w := range a.words {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

func stringWords(s string) (words []uint32) {
	b := append([]byte(s), make([]byte, 4-len(s)%4)...)
	for i := 0; i < len(b); i += 4 {
		words = append(words, binary.LittleEndian.Uint32(b[i:]))
	}
	return words
}

// operands returns words for operands; full includes those that may be absent, and two of those that may be repeated.
func (a *assembler) operands(op uint32, all []pattern, full bool) (words []uint32) {
	for _, p := range all {
		n := 1
		switch {
		case p.count != 0 && !full:
			n = 0
		case p.count == '*':
			n = 2
		}
		for range n {
			words = append(words, a.one(op, p.kind, full)...)
		}
	}
	return words
}

func (a *assembler) one(op uint32, kind string, full bool) (words []uint32) {
	if of := a.g.values[kind]; of != nil {
		first := slices.Sorted(maps.Keys(of.rows))[0]
		return append([]uint32{first}, a.operands(op, of.rows[first].operands, full)...)
	}
	for _, letter := range kind {
		switch letter {
		case 't':
			words = append(words, intID)
		case 'r':
			words = append(words, a.next)
			a.next++
		case 'i':
			words = append(words, selectorID)
		case 'n':
			words = append(words, 7)
		case 'f':
			words = append(words, 0x3fc00000)
		case 's':
			words = append(words, stringWords(`a "text"\`)...)
		case 'v':
			words = append(words, 0xfffffffe)
			if op == 251 {
				words = append(words, 1)
			}
		default:
			panic(kind)
		}
	}
	return words
}

// sample is an instruction that a test assembles.
type sample struct {
	name string
	add  func(a *assembler)
}

// samples has each instruction with the fewest operands and with all, each value of each kind of operand, each extended
// instruction, and each instruction of OpSpecConstantOp.
func samples() (all []sample) {
	add := func(name string, f func(a *assembler)) { all = append(all, sample{name, f}) }
	g, seen := loadGrammar(), map[string]bool{}
	for _, op := range slices.Sorted(maps.Keys(g.instructions)) {
		r := g.instructions[op]
		if special := []uint32{OpExtInstImport, OpSpecConstantOp, OpExtInst, 4433}; slices.Contains(special, op) {
			continue
		}
		for _, full := range []bool{false, true} {
			add(fmt.Sprintf("Op%s %v", r.name, full), func(a *assembler) { a.add(op, a.operands(op, r.operands, full)...) })
			if ofConstant(op) {
				add(fmt.Sprintf("constant Op%s %v", r.name, full), func(a *assembler) {
					a.next++
					a.add(OpSpecConstantOp, append([]uint32{intID, a.next - 1, op}, a.operands(op, r.operands[2:], full)...)...)
				})
			}
		}
		for at, p := range r.operands {
			if seen[p.kind] {
				continue
			}
			seen[p.kind] = true
			for _, v := range valuesOf(g, p.kind) {
				add(fmt.Sprintf("Op%s %s %d", r.name, p.kind, v), func(a *assembler) { a.value(op, at, v) })
			}
		}
	}
	for i, name := range newAssembler().sets() {
		for _, number := range slices.Sorted(maps.Keys(g.sets[name])) {
			r := g.sets[name][number]
			for _, full := range []bool{false, true} {
				add(fmt.Sprintf("%s %s %v", name, r.name, full), func(a *assembler) {
					words := []uint32{intID, a.next, firstSet + uint32(i), number}
					a.next++
					a.add(OpExtInst, append(words, a.operands(OpExtInst, r.operands, full)...)...)
				})
			}
		}
	}
	return all
}

// valuesOf returns the values of a kind of operand, and two combinations of bits.
func valuesOf(g *grammar, kind string) []uint32 {
	of := g.values[kind]
	if of == nil {
		return nil
	}
	all := slices.Sorted(maps.Keys(of.rows))
	if of.mask && len(all) > 3 {
		all = append(all, all[1]|all[2], all[1]|all[2]|all[3])
	}
	return all
}

// value adds an instruction whose operand with the index at has the value v.
func (a *assembler) value(op uint32, at int, v uint32) {
	r := a.g.instructions[op]
	of := a.g.values[r.operands[at].kind]
	words := append(a.operands(op, r.operands[:at], true), v)
	for bit := uint32(1); bit != 0 && of.mask; bit <<= 1 {
		if v&bit != 0 {
			words = append(words, a.operands(op, of.rows[bit].operands, true)...)
		}
	}
	if !of.mask {
		words = append(words, a.operands(op, of.rows[v].operands, true)...)
	}
	a.add(op, append(words, a.operands(op, r.operands[at+1:], false)...)...)
}

var (
	// vendors are the endings of names that the grammar has changed from one to another.
	vendors = strings.NewReplacer("ALTERA", "", "INTEL", "", "KHR", "", "NV", "", "EXT", "")
	// numbered matches what the tool writes for instructions of sets without semantics that are newer than it.
	numbered = regexp.MustCompile(`(OpExtInst %int %(8|9|10|11|12)) \w+`)
	// renamed are the samples that have changed since the oldest tool.
	renamed = []string{"OpAsmTargetINTEL false", "OpAsmTargetINTEL true", "OpCapability Capability 6089"}
)

// like compares samples, all in one module, with spirv-dis. It returns how many of them the tool knows.
func like(t *testing.T, all []sample) (known int) {
	a := newAssembler()
	var names []string
	for _, s := range all {
		s.add(a)
		names = append(names, s.name)
	}
	got, err := Disassemble(a.bytes(), TextOptions{})
	require.NoError(t, err, names)
	want, err := spirvDis(t, a.bytes())
	switch {
	case err != nil && len(all) == 1:
		return 0 // newer than the tool
	case err != nil:
		return like(t, all[:len(all)/2]) + like(t, all[len(all)/2:])
	}
	plain := func(text string) string { return vendors.Replace(numbered.ReplaceAllString(text, "$1")) }
	if plain(got) != plain(want) {
		require.Equal(t, want, got, names)
	}
	return len(all)
}

// TestDisassemble_EveryInstruction compares all instructions, values and extended instructions that the installed
// spirv-dis knows.
func TestDisassemble_EveryInstruction(t *testing.T) {
	needDis(t)
	all := slices.DeleteFunc(samples(), func(s sample) bool { return slices.Contains(renamed, s.name) })
	require.Greater(t, len(all), 3000)
	known := 0
	for part := range slices.Chunk(all, 64) {
		known += like(t, part)
	}
	require.Greater(t, known, len(all)*2/3)
	t.Logf("spirv-dis knows %d of %d", known, len(all))
}

// The instructions of SPV_KHR_cooperative_matrix and SPV_KHR_bfloat16 are newer than some versions of the tool.
func TestDisassemble_NewerInstructions(t *testing.T) {
	a := newAssembler()
	a.add(OpTypeFloat, 100, 16, 0)
	a.add(OpConstant, 100, 101, 0x3fc0)
	a.add(4456, 102, 100, selectorID, selectorID, selectorID, selectorID)
	a.add(4459, 102, 103, 104, 105, 106, 0x11)
	text, err := Disassemble(a.bytes(), TextOptions{})
	require.NoError(t, err)
	require.Contains(t, text, `   %bfloat16 = OpTypeFloat 16 BFloat16KHR
%bfloat16_0x1_8p_0 = OpConstant %bfloat16 0x1.8p+0
        %102 = OpTypeCooperativeMatrixKHR %bfloat16 %long_9223372036854775807`)
	require.Contains(t, text, "        %103 = OpCooperativeMatrixMulAddKHR %102 %104 %105 %106 "+
		"MatrixASignedComponentsKHR|SaturatingAccumulationKHR\n")
}
