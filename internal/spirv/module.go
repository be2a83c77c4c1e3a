package spirv

import (
	"encoding/binary"
	"slices"
)

// Model is what an entry point is for.
type Model uint32

// Compute is the model of entry points that Vulkan dispatches.
const Compute Model = 5

// Module is what a module declares.
type Module struct {
	Major, Minor int
	Words        []uint32 // the whole module, in this machine's byte order
	Capabilities []Capability
	Extensions   []string

	r *reader
}

// EntryPoint is a function that can be called from outside, with what it and the functions it calls use.
type EntryPoint struct {
	Name          string
	Model         Model
	LocalSize     [3]uint32 // invocations of a block in x, y and z; zeroes when nothing says it
	Adjustable    bool      // LocalSize are the defaults of specialisation constants
	Computed      bool      // from them something is computed that is not followed here: LocalSize is not known
	SizeByID      bool      // it is given by the execution mode LocalSizeId
	Bindings      []Binding // by set, then by number
	Scalars       []Scalar  // the numbers in the block that scalars come in: that of push constants, or a uniform buffer
	PushConstants uint32    // bytes up to the end of the block's last member
	SharedBytes   uint64    // of shared memory
	FloatModes    []FloatMode
	FloatAtomics  []FloatAtomic // by capability
}

// Scalar is a number in a block of them.
type Scalar struct {
	Offset uint64 // bytes
	Bits   uint32
	Float  bool
}

// BindingKind is what a descriptor is.
type BindingKind int

// Kinds of descriptors.
const (
	StorageBuffer BindingKind = iota
	UniformBuffer
	OtherDescriptor // an image, a sampler or what else
)

func (k BindingKind) String() string {
	return [...]string{"storage buffer", "uniform buffer", "descriptor that is no buffer"}[k]
}

// Binding is a descriptor.
type Binding struct {
	Set, Number uint32
	Kind        BindingKind
	Count       uint32 // of descriptors: more than one for an array, 0 for one without end
	ReadOnly    bool   // a buffer that the module never writes
	Bytes       uint64 // of a uniform buffer: up to the end of its last member
}

// Bytes are the words as files have them, the low byte first.
func (m *Module) Bytes() []byte {
	b := make([]byte, 0, 4*len(m.Words))
	for _, w := range m.Words {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

// EntryPoint finds an entry point of a model.
func (m *Module) EntryPoint(name string, model Model) (*EntryPoint, bool) {
	for i := range m.r.entries {
		if e := &m.r.entries[i]; e.name == name && e.model == model {
			return m.r.entryPoint(e), true
		}
	}
	return nil, false
}

// Names lists the entry points of a model in the order of their names.
func (m *Module) Names(model Model) []string {
	var names []string
	for _, e := range m.r.entries {
		if e.model == model {
			names = append(names, e.name)
		}
	}
	slices.Sort(names)
	return names
}

// DeclaresScalars reports whether there is a block of push constants or a uniform buffer, also one that no code reads.
func (m *Module) DeclaresScalars() bool {
	for of, v := range m.r.vars {
		var kind id
		if pointer := m.r.values[v.pointer]; pointer.op == opTypePointer {
			kind = pointer.words[1]
		}
		if v.class == classPushConstant || v.class == classUniform && m.r.binding(of, v.class, kind).Kind == UniformBuffer {
			return true
		}
	}
	return false
}

// ScalarsInUniform says that scalar arguments come from a uniform buffer, not as push constants.
func (e *EntryPoint) ScalarsInUniform() bool {
	return e.PushConstants == 0 && slices.ContainsFunc(e.Bindings, func(b Binding) bool { return b.Kind == UniformBuffer })
}

// Needs reports whether a capability is declared.
func (m *Module) Needs(c Capability) bool { return slices.Contains(m.Capabilities, c) }
