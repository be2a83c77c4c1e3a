package spirv

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"

	"tvmgo/internal/sorting"
)

const headerWords = 5

type id = uint32

// decorations are the decorations of an id or of a structure member; the value is the last word of each.
type decorations map[uint32]uint32

// value is a type or a constant: its instruction and its operands without the result id.
type value struct {
	op    uint16
	words []uint32
	size  uint64 // the size of a type
}

type variable struct{ pointer, class uint32 }

// function has the ids that a function's body uses.
type function struct {
	calls, names map[id]bool
	atomics      []floatAtomic
}

type entry struct {
	model    Model
	function id
	name     string
}

// blockSize is the local size from a function's execution mode: three literals, or the ids of three constants.
type blockSize struct {
	words     []uint32
	constants bool
}

type member struct {
	structure id
	index     uint32
}

type reader struct {
	m         *Module
	entries   []entry
	sizes     map[id]blockSize
	values    map[id]value
	vars      map[id]variable
	decorated map[id]decorations
	members   map[member]decorations
	functions map[id]*function

	floatModes map[id][]FloatMode // the modes of each entry point's function
	pointers   map[id]id          // the types of pointers that functions compute
	current    *function          // the function whose body is read; nil outside of functions
	at         int                // the word offset of the current instruction
}

// Parse reads a module in either byte order. The error names the offset of the first invalid instruction.
func Parse(code []byte) (*Module, error) {
	words, err := toWords(code)
	if err != nil {
		return nil, err
	}
	r := &reader{m: &Module{Words: words, Major: int(words[1] >> 16 & 0xff), Minor: int(words[1] >> 8 & 0xff)},
		sizes: map[id]blockSize{}, values: map[id]value{}, vars: map[id]variable{}, decorated: map[id]decorations{},
		members: map[member]decorations{}, functions: map[id]*function{},
		floatModes: map[id][]FloatMode{}, pointers: map[id]id{}}
	for r.at = headerWords; r.at < len(words); {
		length := int(words[r.at] >> 16)
		if length == 0 || length > len(words)-r.at {
			return nil, r.damaged("an instruction has %d words, but %d are left", length, len(words)-r.at)
		}
		if err := r.instruction(uint16(words[r.at]), words[r.at+1:r.at+length]); err != nil {
			return nil, err
		}
		r.at += length
	}
	if r.current != nil {
		return nil, r.damaged("the last function has no end")
	}
	r.m.r = r
	return r.m, nil
}

func toWords(code []byte) ([]uint32, error) {
	if len(code) < headerWords*4 || len(code)%4 != 0 {
		return nil, fmt.Errorf("the code is not SPIR-V: its size is %d bytes, expected a multiple of 4 that is at least 20",
			len(code))
	}
	var order binary.ByteOrder = binary.LittleEndian
	switch first := order.Uint32(code); {
	case binary.BigEndian.Uint32(code) == Magic:
		order = binary.BigEndian
	case first != Magic:
		return nil, fmt.Errorf("the code is not SPIR-V: it begins with %#08x, not %#08x", first, Magic)
	}
	words := make([]uint32, len(code)/4)
	for i := range words {
		words[i] = order.Uint32(code[4*i:])
	}
	return words, nil
}

func (r *reader) damaged(format string, args ...any) error {
	return fmt.Errorf("the SPIR-V is damaged at byte %d: %s", 4*r.at, fmt.Sprintf(format, args...))
}

// minOperands is the minimum number of operands of an instruction.
var minOperands = map[uint16]int{OpExtension: 1, OpEntryPoint: 3, OpExecutionMode: 2, OpCapability: 1, OpTypeBool: 1,
	OpTypeInt: 3, OpTypeFloat: 2, OpModuleProcessed: 1,
	OpTypeVector: 3, OpTypeMatrix: 3, OpTypeArray: 3, OpTypeRuntimeArray: 2, OpTypeStruct: 1, OpTypePointer: 3,
	OpConstant:          3,
	OpConstantComposite: 2, OpConstantNull: 2, OpSpecConstant: 3, OpSpecConstantComposite: 2, OpSpecConstantOp: 3,
	OpFunction: 4, OpFunctionCall: 3, OpVariable: 3,
	OpDecorate: 2, OpMemberDecorate: 3, OpGroupDecorate: 1, OpExecutionModeID: 2}

func (r *reader) instruction(op uint16, w []uint32) error {
	if len(w) < minOperands[op] {
		return r.damaged("instruction %d has %d operands, expected at least %d", op, len(w), minOperands[op])
	}
	switch op {
	case OpCapability:
		if c := Capability(w[0]); !r.m.Needs(c) {
			r.m.Capabilities = append(r.m.Capabilities, c)
		}
	case OpExtension:
		name, _, err := r.text(w)
		r.m.Extensions = append(r.m.Extensions, name)
		return err
	case OpModuleProcessed:
		note, _, err := r.text(w)
		r.m.Notes = append(r.m.Notes, note)
		return err
	case OpEntryPoint:
		name, _, err := r.text(w[2:])
		r.entries = append(r.entries, entry{model: Model(w[0]), function: w[1], name: name})
		return err
	case OpExecutionMode, OpExecutionModeID:
		return r.mode(op, w)
	case OpTypeBool, OpTypeInt, OpTypeFloat, OpTypeVector, OpTypeMatrix, OpTypeArray, OpTypeRuntimeArray, OpTypeStruct,
		OpTypePointer:
		t := value{op: op, words: w[1:]}
		t.size = r.sizeOf(w[0], t)
		r.values[w[0]] = t
	case OpConstant, OpSpecConstant, OpConstantComposite, OpSpecConstantComposite, OpConstantNull, OpSpecConstantOp:
		r.values[w[1]] = value{op: op, words: w[2:]}
	case OpDecorate:
		decorate(r.decorated, w[0], w[1:])
	case OpMemberDecorate:
		decorate(r.members, member{w[0], w[1]}, w[2:])
	case OpGroupDecorate:
		for _, target := range w[1:] {
			for k, v := range r.decorated[w[0]] {
				decorate(r.decorated, target, []uint32{k, v})
			}
		}
	case OpVariable:
		if r.current == nil {
			r.vars[w[1]] = variable{w[0], w[2]}
		}
	case OpFunction:
		if r.current != nil {
			return r.damaged("a function begins inside of a function")
		}
		r.current = &function{calls: map[id]bool{}, names: map[id]bool{}}
		r.functions[w[1]] = r.current
	case OpFunctionEnd:
		r.current = nil
	default:
		r.body(op, w)
	}
	if op == OpFunctionCall {
		r.body(op, w)
	}
	return nil
}

// knownDecorations are the decorations that Parse keeps.
var knownDecorations = []uint32{DecorationBufferBlock, DecorationArrayStride, DecorationMatrixStride, DecorationBuiltIn,
	DecorationNonWritable,
	DecorationBinding, DecorationDescriptorSet, DecorationOffset}

func decorate[K comparable](all map[K]decorations, of K, w []uint32) {
	if !slices.Contains(knownDecorations, w[0]) {
		return
	}
	d := all[of]
	if d == nil {
		d = decorations{}
		all[of] = d
	}
	d[w[0]] = w[len(w)-1]
}

// text reads a zero-terminated string. It returns the string and the words after it.
func (r *reader) text(w []uint32) (string, []uint32, error) {
	text, rest, ok := literalText(w)
	if !ok {
		return "", nil, r.damaged("a string has no terminating zero")
	}
	return text, rest, nil
}

// mode reads an execution mode: the local size, or a mode of floating-point arithmetic.
func (r *reader) mode(op uint16, w []uint32) error {
	if op == OpExecutionMode {
		if err := r.floatMode(w); err != nil {
			return err
		}
	}
	if !(op == OpExecutionMode && w[1] == ModeLocalSize || op == OpExecutionModeID && w[1] == ModeLocalSizeID) {
		return nil
	}
	if len(w) < 5 {
		return r.damaged("a local size has %d values, not 3", len(w)-2)
	}
	r.sizes[w[0]] = blockSize{w[2:5], op == OpExecutionModeID}
	return nil
}

// literals has, for instructions in function bodies, the index of the first operand that is a literal and not an id.
var literals = map[uint16]int{8: 1, 12: 3, 61: 3, 62: 2, 63: 2, 79: 4, 81: 3, 82: 4, 68: 3, 246: 2, 247: 1, 250: 3,
	251: 2}

// body records the ids that an instruction in a function body uses.
func (r *reader) body(op uint16, w []uint32) {
	if r.current == nil {
		return
	}
	end := len(w)
	if n, ok := literals[op]; ok {
		end = min(end, n)
	}
	for _, word := range w[:end] {
		r.current.names[word] = true
	}
	if op == OpExtInst && len(w) > 4 {
		for _, word := range w[4:] {
			r.current.names[word] = true
		}
	}
	if op == OpFunctionCall {
		r.current.calls[w[2]] = true
	}
	r.floatAtomic(op, w)
}

// entryPoint returns the interface of an entry point.
func (r *reader) entryPoint(e *entry) *EntryPoint {
	p := &EntryPoint{Name: e.name, Model: e.model}
	r.localSize(e, p)
	used, functions := r.used(e.function)
	r.floats(e, functions, p)
	for _, v := range slices.Sorted(maps.Keys(r.vars)) {
		if used[v] {
			r.use(v, p)
		}
	}
	sorting.By(p.Bindings, func(a, b Binding) int {
		return cmp.Or(cmp.Compare(a.Set, b.Set), cmp.Compare(a.Number, b.Number))
	})
	return p
}

// used returns the ids that a function and its callees use, and these functions.
func (r *reader) used(f id) (names map[id]bool, functions []*function) {
	all, seen, todo := map[id]bool{}, map[id]bool{f: true}, []id{f}
	for len(todo) > 0 {
		body := r.functions[todo[0]]
		todo = todo[1:]
		if body == nil {
			continue
		}
		functions = append(functions, body)
		maps.Copy(all, body.names)
		for callee := range body.calls {
			if !seen[callee] {
				seen[callee] = true
				todo = append(todo, callee)
			}
		}
	}
	return all, functions
}

// localSize sets the local size: the constant with the decoration BuiltIn WorkgroupSize if there is one, else the local
// size from the entry point's execution mode.
func (r *reader) localSize(e *entry, p *EntryPoint) {
	size := r.sizes[e.function]
	p.SizeByID = size.constants
	for _, of := range slices.Sorted(maps.Keys(r.decorated)) {
		built, ok := r.decorated[of][DecorationBuiltIn]
		c := r.values[of]
		if ok && built == BuiltInWorkgroupSize && (c.op == OpConstantComposite || c.op == OpSpecConstantComposite) &&
			len(c.words) == 3 {
			size = blockSize{c.words, true}
		}
	}
	if !size.constants {
		copy(p.LocalSize[:], size.words)
		return
	}
	for i, c := range size.words {
		n, ok := r.number(c, maxNested)
		if !ok {
			p.LocalSize = [3]uint32{}
			p.Adjustable, p.Computed = true, true
			return
		}
		p.LocalSize[i] = n
		p.Adjustable = p.Adjustable || r.values[c].op == OpSpecConstant || r.values[c].op == OpSpecConstantOp
	}
}

// use adds a variable to the interface of an entry point.
func (r *reader) use(of id, p *EntryPoint) {
	v, left := r.vars[of], maxParts
	pointer := r.values[v.pointer]
	var kind id
	if pointer.op == OpTypePointer {
		kind = pointer.words[1]
	}
	switch v.class {
	case ClassPushConstant:
		p.PushConstants = uint32(min(max(uint64(p.PushConstants), r.values[kind].size), math.MaxUint32))
		p.Scalars = r.scalars(p.Scalars, kind, 0, &left)
	case ClassWorkgroup:
		p.SharedBytes = add(p.SharedBytes, r.values[kind].size)
	case ClassUniform, ClassStorageBuffer, ClassUniformConstant:
		b := r.binding(of, v.class, kind)
		p.Bindings = append(p.Bindings, b)
		if b.Kind == UniformBuffer {
			p.Scalars = r.scalars(p.Scalars, kind, 0, &left)
		}
	}
}

func (r *reader) binding(of id, class uint32, kind id) Binding {
	d := r.decorated[of]
	b := Binding{Set: d[DecorationDescriptorSet], Number: d[DecorationBinding], Count: 1}
	switch t := r.values[kind]; t.op {
	case OpTypeArray:
		b.Count = uint32(min(r.length(t.words[1]), math.MaxUint32))
		kind = t.words[0]
	case OpTypeRuntimeArray:
		b.Count = 0
		kind = t.words[0]
	}
	_, old := r.decorated[kind][DecorationBufferBlock]
	switch {
	case class == ClassStorageBuffer || class == ClassUniform && old:
		b.ReadOnly = r.neverWritten(of, kind)
	case class == ClassUniform:
		b.Kind = UniformBuffer
		b.ReadOnly = true
		b.Bytes = r.values[kind].size
	default:
		b.Kind = OtherDescriptor
	}
	return b
}

// neverWritten reports whether a variable, or all members of its block, have the decoration NonWritable.
func (r *reader) neverWritten(of, block id) bool {
	if _, ok := r.decorated[of][DecorationNonWritable]; ok {
		return true
	}
	t := r.values[block]
	for i := range t.words {
		if _, ok := r.members[member{block, uint32(i)}][DecorationNonWritable]; !ok {
			return false
		}
	}
	return t.op == OpTypeStruct && len(t.words) > 0
}
