package spirv

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Model is the execution model of an entry point.
type Model uint32

// Compute is the model GLCompute, of entry points that Vulkan dispatches.
const Compute Model = 5

// Module is a module that was parsed.
type Module struct {
	Major, Minor int
	Words        []uint32 // the complete module in this machine's byte order
	Capabilities []Capability
	Extensions   []string
	Notes        []string // of OpModuleProcessed

	r *reader
}

// EntryPoint is an entry point, with everything that its function and the functions it calls use.
type EntryPoint struct {
	Name          string
	Model         Model
	LocalSize     [3]uint32 // the size of a work-group in x, y and z; zeros when the module does not set it
	Adjustable    bool      // LocalSize has the defaults of specialisation constants
	Computed      bool      // LocalSize is unknown: it is computed by an operation that is not supported here
	SizeByID      bool      // the execution mode LocalSizeId sets the size
	Bindings      []Binding // sorted by set, then by number
	Scalars       []Scalar  // the members of the block with scalar arguments: push constants or a uniform buffer
	PushConstants uint32    // the size of the push constants, up to the end of the last member
	SharedBytes   uint64    // the size of shared memory
	FloatModes    []FloatMode
	FloatAtomics  []FloatAtomic // sorted by capability
}

// Scalar is a scalar in a block of push constants or a uniform buffer.
type Scalar struct {
	Offset uint64 // bytes
	Bits   uint32
	Float  bool
}

// BindingKind is the kind of a descriptor.
type BindingKind int

// The kinds of descriptors.
const (
	StorageBuffer BindingKind = iota
	UniformBuffer
	OtherDescriptor // an image, a sampler or another kind
)

func (k BindingKind) String() string {
	return [...]string{"storage buffer", "uniform buffer", "descriptor that is not a buffer"}[k]
}

// Binding is a descriptor binding.
type Binding struct {
	Set, Number uint32
	Kind        BindingKind
	Count       uint32 // the number of descriptors: more than one for an array, 0 for a runtime array
	ReadOnly    bool   // the module never writes the buffer
	Bytes       uint64 // the size of a uniform buffer, up to the end of its last member
}

// Bytes returns the module in little-endian byte order, as in files.
func (m *Module) Bytes() []byte {
	b := make([]byte, 0, 4*len(m.Words))
	for _, w := range m.Words {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

// subgroupNote begins the note of a module whose kernel needs subgroups of a number of threads.
const subgroupNote = "tvmgo.subgroup_size="

// SubgroupNote returns the note by which a module says that its kernel needs subgroups of a number of threads: SPIR-V
// for Vulkan has no other place for it.
func SubgroupNote(threads int64) string { return fmt.Sprint(subgroupNote, threads) }

// SubgroupSize returns the number of threads of which the kernel needs subgroups; 0 if the module does not say one.
func (m *Module) SubgroupSize() uint32 {
	for _, note := range m.Notes {
		if text, ok := strings.CutPrefix(note, subgroupNote); ok {
			if n, err := strconv.ParseUint(text, 10, 16); err == nil {
				return uint32(n)
			}
		}
	}
	return 0
}

// EntryPoint returns the entry point with a name and a model.
func (m *Module) EntryPoint(name string, model Model) (*EntryPoint, bool) {
	for i := range m.r.entries {
		if e := &m.r.entries[i]; e.name == name && e.model == model {
			return m.r.entryPoint(e), true
		}
	}
	return nil, false
}

// Names returns the sorted names of the entry points with a model.
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

// DeclaresScalars reports whether there is a block of push constants or a uniform buffer, even if no code reads it.
func (m *Module) DeclaresScalars() bool {
	for of, v := range m.r.vars {
		var kind id
		if pointer := m.r.values[v.pointer]; pointer.op == OpTypePointer {
			kind = pointer.words[1]
		}
		if v.class == ClassPushConstant || v.class == ClassUniform && m.r.binding(of, v.class, kind).Kind == UniformBuffer {
			return true
		}
	}
	return false
}

// ScalarsInUniform reports whether scalar arguments are in a uniform buffer, not in push constants.
func (e *EntryPoint) ScalarsInUniform() bool {
	return e.PushConstants == 0 && slices.ContainsFunc(e.Bindings, func(b Binding) bool { return b.Kind == UniformBuffer })
}

// Needs reports whether a capability is declared.
func (m *Module) Needs(c Capability) bool { return slices.Contains(m.Capabilities, c) }
