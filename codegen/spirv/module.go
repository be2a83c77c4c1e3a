package spirv

import (
	"encoding/binary"
	"math"

	spv "tvmgo/internal/spirv"
)

// id names a type, a constant, a variable, a value or a block of a module.
type id = uint32

// module is a SPIR-V module under construction. Types, constants and capabilities are declared when they are first
// used, each once, in the order of their first use: the same kernel always gives the same bytes.
type module struct {
	bound        id
	capabilities []spv.Capability
	extensions   []string
	modes        []uint32 // OpEntryPoint and execution modes
	names        []uint32
	notes        []uint32 // OpModuleProcessed
	annotations  []uint32
	globals      []uint32 // types, constants and variables
	functions    []uint32
	memoryModel  uint32
	glsl         id // the instruction set GLSL.std.450; 0: not imported
	declared     map[declaration]id
	numbers      map[id]int64 // the values of constants that are integers, sign-extended
}

// declaration is the instruction that declares a type or a constant.
type declaration struct {
	op      uint16
	a, b, c uint32
}

func newModule() *module {
	return &module{memoryModel: memoryGLSL450, declared: map[declaration]id{}, numbers: map[id]int64{}}
}

func (m *module) newID() id {
	m.bound++
	return m.bound
}

// instruction appends an instruction to a section of the module.
func instruction(to *[]uint32, op uint16, words ...uint32) {
	*to = append(*to, uint32(len(words)+1)<<16|uint32(op))
	*to = append(*to, words...)
}

// text returns a string as words, with its terminating zero.
func text(s string) []uint32 {
	words := make([]uint32, len(s)/4+1)
	for i := range len(s) {
		words[i/4] |= uint32(s[i]) << (8 * (i % 4))
	}
	return words
}

// need declares that the module uses a capability.
func (m *module) need(c spv.Capability) {
	for _, have := range m.capabilities {
		if have == c {
			return
		}
	}
	m.capabilities = append(m.capabilities, c)
}

// extend declares an extension.
func (m *module) extend(name string) {
	for _, have := range m.extensions {
		if have == name {
			return
		}
	}
	m.extensions = append(m.extensions, name)
}

// name gives an id a name for debuggers and disassemblers.
func (m *module) name(of id, name string) {
	instruction(&m.names, spv.OpName, append([]uint32{of}, text(name)...)...)
}

func (m *module) decorate(of id, words ...uint32) {
	instruction(&m.annotations, spv.OpDecorate, append([]uint32{of}, words...)...)
}

// declare returns the id of a type with at most three operands.
func (m *module) declare(op uint16, words ...uint32) id {
	key := declaration{op: op}
	for i, to := range []*uint32{&key.a, &key.b, &key.c} {
		if i < len(words) {
			*to = words[i]
		}
	}
	if known, ok := m.declared[key]; ok {
		return known
	}
	n := m.newID()
	m.declared[key] = n
	instruction(&m.globals, op, append([]uint32{n}, words...)...)
	return n
}

func (m *module) void() id          { return m.declare(spv.OpTypeVoid) }
func (m *module) boolean() id       { return m.declare(spv.OpTypeBool) }
func (m *module) float(bits int) id { return m.declare(spv.OpTypeFloat, uint32(bits)) }
func (m *module) vector(t id, n int) id {
	return m.declare(spv.OpTypeVector, t, uint32(n))
}

// integer is the type of integers of a width. All are unsigned: instructions determine how they interpret the sign. The
// capability to compute with 8 or 16 bits is declared by writer.typeOf: memory needs others.
func (m *module) integer(bits int) id {
	if bits == 64 {
		m.need(spv.Int64)
	}
	return m.declare(spv.OpTypeInt, uint32(bits), 0)
}

func (m *module) pointer(class uint32, to id) id { return m.declare(spv.OpTypePointer, class, to) }

// array is the type of arrays of n elements, without a layout in memory that others see.
func (m *module) array(of id, n int64) id { return m.declare(spv.OpTypeArray, of, m.int(32, n)) }

// int is a constant integer. Words of fewer than 32 bits are sign-extended, as the specification wants it of signed
// types, and zero-extended for the unsigned types of this package.
func (m *module) int(bits int, v int64) id {
	t := m.integer(bits)
	low, high := uint32(v), uint32(uint64(v)>>32)
	if bits < 32 {
		low &= 1<<bits - 1
	}
	if bits < 64 {
		high = 0
	}
	return m.constant(t, bits, low, high, v<<(64-bits)>>(64-bits))
}

func (m *module) constant(t id, bits int, low, high uint32, number int64) id {
	key := declaration{spv.OpConstant, t, low, high}
	if known, ok := m.declared[key]; ok {
		return known
	}
	n := m.newID()
	m.declared[key] = n
	if bits == 64 {
		instruction(&m.globals, spv.OpConstant, t, n, low, high)
	} else {
		instruction(&m.globals, spv.OpConstant, t, n, low)
	}
	m.numbers[n] = number
	return n
}

// real is a constant float of 16, 32 or 64 bits, from its bits.
func (m *module) real(bits int, code uint64) id {
	t := m.float(bits)
	key := declaration{spv.OpConstant, t, uint32(code), uint32(code >> 32)}
	if known, ok := m.declared[key]; ok {
		return known
	}
	n := m.newID()
	m.declared[key] = n
	if bits == 64 {
		instruction(&m.globals, spv.OpConstant, t, n, uint32(code), uint32(code>>32))
	} else {
		instruction(&m.globals, spv.OpConstant, t, n, uint32(code))
	}
	return n
}

// f32 and f64 are constants.
func (m *module) f32(v float32) id { return m.real(32, uint64(math.Float32bits(v))) }
func (m *module) f64(v float64) id { return m.real(64, math.Float64bits(v)) }

func (m *module) truth(v bool) id {
	op := uint16(spv.OpConstantFalse)
	if v {
		op = spv.OpConstantTrue
	}
	t := m.boolean()
	key := declaration{op: op}
	if known, ok := m.declared[key]; ok {
		return known
	}
	n := m.newID()
	m.declared[key] = n
	instruction(&m.globals, op, t, n)
	return n
}

// functionType is the type of functions of a helper.
func (m *module) functionType(result id, params ...id) id {
	key := declaration{op: spv.OpTypeFunction, a: result}
	switch len(params) {
	case 0:
	case 1:
		key.b = params[0]
	case 2:
		key.b, key.c = params[0], params[1]
	default:
		n := m.newID()
		instruction(&m.globals, spv.OpTypeFunction, append([]uint32{n, result}, params...)...)
		return n
	}
	if known, ok := m.declared[key]; ok {
		return known
	}
	n := m.newID()
	m.declared[key] = n
	instruction(&m.globals, spv.OpTypeFunction, append([]uint32{n, result}, params...)...)
	return n
}

// extended is the id of the instruction set GLSL.std.450.
func (m *module) extended() id {
	if m.glsl == 0 {
		m.glsl = m.newID()
	}
	return m.glsl
}

// generator is the number of unregistered tools in a module's header.
const generator = 0

const (
	addressingLogical = 0
	memoryGLSL450     = 1
	memoryVulkan      = 3
)

// bytes returns the module for a version such as 0x10300.
func (m *module) bytes(version uint32) []byte {
	words := []uint32{spv.Magic, version, generator, m.bound + 1, 0}
	for _, c := range m.capabilities {
		instruction(&words, spv.OpCapability, uint32(c))
	}
	for _, name := range m.extensions {
		instruction(&words, spv.OpExtension, text(name)...)
	}
	if m.glsl != 0 {
		instruction(&words, spv.OpExtInstImport, append([]uint32{m.glsl}, text("GLSL.std.450")...)...)
	}
	instruction(&words, spv.OpMemoryModel, addressingLogical, m.memoryModel)
	for _, section := range [][]uint32{m.modes, m.names, m.notes, m.annotations, m.globals, m.functions} {
		words = append(words, section...)
	}
	out := make([]byte, 0, 4*len(words))
	for _, w := range words {
		out = binary.LittleEndian.AppendUint32(out, w)
	}
	return out
}
