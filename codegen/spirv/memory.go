package spirv

import (
	"fmt"
	"slices"

	spv "tvmgo/internal/spirv"
	"tvmgo/tir"
	"tvmgo/tir/transform"
)

// memory is the memory of a buffer: a storage buffer, or a variable of the block or the thread.
type memory struct {
	name      string
	class     uint32
	element   scalar      // of a variable: how it holds its elements
	variable  id          // of a variable; 0: it is not declared yet
	number    uint32      // of a storage buffer, its binding; of fragments, their type
	fragments int64       // the elements of all fragments
	views     map[view]id // of a storage buffer: its variables
	blocks    map[view]id // their types
	order     []view      // in the order of their declaration
	written   map[view]bool
}

// view is a type in which a storage buffer is accessed.
type view struct {
	bits  int // of a number
	float bool
	lanes int
}

// element is an element of a buffer in memory.
type element struct {
	memory *memory
	of     scalar // the type of the value
}

// parameters declares the buffers and the numbers that the kernel takes. uniform says that the numbers are in a
// uniform buffer.
func (w *writer) parameters() (uniform bool) {
	var numbers []*tir.Var
	buffers := uint32(0)
	for _, p := range w.f.Params {
		b := w.f.Buffers[p]
		if b == nil {
			numbers = append(numbers, p)
			continue
		}
		m := &memory{name: b.Name, class: spv.ClassStorageBuffer, number: buffers, views: map[view]id{},
			blocks: map[view]id{}, written: map[view]bool{}}
		buffers++
		w.memory[p], w.memory[b.Data] = m, m
	}
	if len(numbers) == 0 {
		return false
	}
	const slot = 8 // the bytes of each number
	size := slot * int64(len(numbers))
	if uniform = size > w.has.pushConstants; uniform && size > w.has.uniformRange {
		w.fail("it takes %d numbers, %d bytes: max_push_constants_size of target vulkan allows %d, and "+
			"max_uniform_buffer_range %d: pass fewer numbers, or a tensor of them", len(numbers), size, w.has.pushConstants,
			w.has.uniformRange)
		return uniform
	}
	types := make([]id, len(numbers))
	for i, p := range numbers {
		types[i] = w.typeOf(w.scalar(p.Type))
	}
	block := w.m.newID()
	instruction(&w.m.globals, spv.OpTypeStruct, append([]uint32{block}, types...)...)
	w.m.name(block, "numbers")
	w.m.decorate(block, spv.DecorationBlock)
	for i, p := range numbers {
		instruction(&w.m.names, spv.OpMemberName, append([]uint32{block, uint32(i)}, text(p.Name)...)...)
		instruction(&w.m.annotations, spv.OpMemberDecorate, block, uint32(i), spv.DecorationOffset, uint32(slot*i))
	}
	class := uint32(spv.ClassPushConstant)
	if uniform {
		class = spv.ClassUniform
	}
	v := w.global(class, block, "arguments")
	if uniform {
		w.m.decorate(v, spv.DecorationDescriptorSet, 0)
		w.m.decorate(v, spv.DecorationBinding, buffers)
	}
	for i, p := range numbers {
		at := w.op(spv.OpAccessChain, w.m.pointer(class, types[i]), v, w.m.int(32, int64(i)))
		x := w.op(spv.OpLoad, types[i], at) // its value does not change
		w.m.name(x, p.Name)
		w.vars[p] = binding{values{x}, -1}
	}
	return uniform
}

// view returns the variable of a storage buffer for elements of a type.
func (w *writer) view(m *memory, v view, of id) id {
	if known, ok := m.views[v]; ok {
		return known
	}
	bytes := uint32(v.bits / 8 * v.lanes)
	if v.lanes > 1 {
		of = w.m.vector(of, v.lanes)
	}
	list := w.bufferType(of, bytes)
	name := m.name
	if v.lanes > 1 {
		name = fmt.Sprintf("%s_x%d", m.name, v.lanes)
	}
	id := w.global(w.bufferClass(), list, name)
	w.m.decorate(id, spv.DecorationDescriptorSet, 0)
	w.m.decorate(id, spv.DecorationBinding, m.number)
	m.views[v], m.blocks[v] = id, list
	m.order = append(m.order, v)
	return id
}

// bufferType returns a new type of storage buffers, with elements of a type of so many bytes. Each variable has its
// own, and the members of the type are decorated: NVIDIA's driver 580 takes a decoration NonWritable of a variable for
// one of its type, and then a thread may read an old value of what it wrote itself to another variable of that type.
func (w *writer) bufferType(of id, bytes uint32) id {
	key := fmt.Sprintf("array %d", of)
	array, ok := w.types[key]
	if !ok {
		array = w.m.newID()
		instruction(&w.m.globals, spv.OpTypeRuntimeArray, array, of)
		w.m.decorate(array, spv.DecorationArrayStride, bytes)
		w.types[key] = array
	}
	block := w.m.newID()
	instruction(&w.m.globals, spv.OpTypeStruct, block, array)
	if w.has.bufferClass {
		w.m.decorate(block, spv.DecorationBlock)
	} else {
		w.m.decorate(block, spv.DecorationBufferBlock)
	}
	instruction(&w.m.annotations, spv.OpMemberDecorate, block, 0, spv.DecorationOffset, 0)
	return block
}

// bufferClass is the storage class of storage buffers.
func (w *writer) bufferClass() uint32 {
	if w.has.bufferClass {
		if w.has.version < spirv13 {
			w.m.extend("SPV_KHR_storage_buffer_storage_class")
		}
		return spv.ClassStorageBuffer
	}
	return spv.ClassUniform
}

// allocate declares the memory of a buffer that the kernel allocates.
func (w *writer) allocate(b *tir.Buffer) {
	s := w.scalar(b.DType)
	count := int64(1)
	for i, e := range b.Shape {
		n, constant := e.(*tir.IntImm)
		if !constant {
			w.fail("the size of buffer %s in scope %q is not constant: it is part of a kernel: compute tiles of a constant "+
				"size", b.Name, b.StorageScope())
			return
		}
		if b.Strides != nil && i == 0 {
			if stride, ok := b.Strides[0].(*tir.IntImm); ok {
				count = max(n.Value*stride.Value, 1)
				break
			}
		}
		count *= max(n.Value, 1)
	}
	if count >= 1<<30 {
		w.fail("buffer %s in scope %q has %d elements: compute smaller tiles", b.Name, b.StorageScope(), count)
		return
	}
	m := &memory{name: b.Name, element: s, class: spv.ClassFunction}
	switch b.StorageScope() {
	case tir.ScopeFragmentA, tir.ScopeFragmentB, tir.ScopeFragmentAcc:
		m.fragments = count
	case "local":
		m.variable = w.variable(w.m.array(w.typeOf(s), count), b.Name)
	case "shared":
		m.class, m.element = spv.ClassWorkgroup, w.held(s)
		m.variable = w.global(spv.ClassWorkgroup, w.m.array(w.typeOf(m.element), count), b.Name)
		w.shared += count * int64(m.element.bits) / 8
	default:
		w.fail("buffer %s in scope %q: kernels for Vulkan allocate memory in the scopes local and shared", b.Name,
			b.StorageScope())
	}
	w.memory[b.Data] = m
}

// held returns how shared memory holds elements: types of at most 16 bits as their bits, so that buffers of equal width
// can share it, in integers of that width if the target has them, and of 32 bits otherwise.
func (w *writer) held(s scalar) scalar {
	switch {
	case s.of.Bits == 8:
		return w.scalar(tir.UInt8)
	case s.of.Bits == 16:
		return w.scalar(tir.UInt16)
	}
	return s
}

// at returns the memory of a buffer.
func (w *writer) at(b *tir.Buffer) *memory {
	m := w.memory[b.Data]
	if m == nil {
		w.fail("buffer %s has no memory here: it is neither a parameter's, nor allocated around this", b.Name)
	}
	if b.DType.Lanes != 1 {
		w.fail("buffer %s has elements of type %s: give it another dimension instead of lanes", b.Name, b.DType)
	}
	return m
}

// load returns elements of a buffer.
func (w *writer) load(e *tir.BufferLoad, only int) values {
	m := w.at(e.Buffer)
	if w.err != nil {
		return nil
	}
	s := w.scalar(e.Buffer.DType)
	if n := w.contiguous(m, e.Buffer, e.Indices); n > 0 && only < 0 {
		return w.loadVector(m, e, s, n)
	}
	var out values
	for _, index := range w.indices(e.Buffer, e.Indices, only) {
		out = append(out, w.loadOne(m, s, index))
	}
	return out
}

func (w *writer) loadOne(m *memory, s scalar, index id) id {
	if m.variable != 0 {
		t := w.typeOf(m.element)
		at := w.op(spv.OpAccessChain, w.m.pointer(m.class, t), m.variable, index)
		return w.taken(m, s, w.read(m, t, at))
	}
	v, of := w.storageType(s)
	if s.of.Bits < 32 && w.inWords(s) {
		return w.loadPart(m, s, v, of, index)
	}
	at := w.pointerTo(m, v, of, index)
	return w.loaded(s, v, w.read(m, of, at))
}

// pointerTo returns a pointer to an element of a storage buffer.
func (w *writer) pointerTo(m *memory, v view, of, index id) id {
	variable := w.view(m, v, of)
	if v.lanes > 1 {
		of = w.m.vector(of, v.lanes)
	}
	return w.op(spv.OpAccessChain, w.m.pointer(w.bufferClass(), of), variable, w.m.int(32, 0), index)
}

// taken converts an element of a variable to a type.
func (w *writer) taken(m *memory, to scalar, x id) id {
	switch {
	case !w.sameWidth(m, to) || to.of == m.element.of:
		return x
	case to.class == boolean:
		return w.compare(spv.OpINotEqual, x, w.number(m.element, 0))
	}
	return w.reinterpret(to, m.element, x)
}

// given converts a value to an element of a variable.
func (w *writer) given(m *memory, from scalar, x id) id {
	switch {
	case !w.sameWidth(m, from) || from.of == m.element.of:
		return x
	case from.class == boolean:
		return w.cast(m.element, from, x)
	}
	return w.reinterpret(m.element, from, x)
}

// sameWidth reports whether a type has as many bits as the elements of a variable, and fails otherwise.
func (w *writer) sameWidth(m *memory, s scalar) bool {
	boolean := func(s scalar) bool { return s.class == boolean }
	if s.of.Bits == m.element.of.Bits && (m.class == spv.ClassWorkgroup || boolean(s) == boolean(m.element)) {
		return true
	}
	w.fail("memory of buffer %s, of type %s, is accessed as type %s: storage in a kernel keeps the width of its type",
		m.name, m.element.of, s.of)
	return false
}

// store writes elements of a buffer.
func (w *writer) store(s *tir.BufferStore) {
	b, t := s.Buffer, s.Value.DType()
	lanes := 1
	if len(s.Indices) > 0 {
		lanes = int(s.Indices[len(s.Indices)-1].DType().Lanes)
	}
	if tir.Element(t) != tir.Element(b.DType) || int(t.Lanes) != lanes {
		w.fail("a value of type %s is stored in buffer %s of type %s at %d indices: cast it, or broadcast it", t, b.Name,
			b.DType, lanes)
		return
	}
	m := w.at(b)
	x := w.value(s.Value, -1)
	if w.err != nil {
		return
	}
	of := w.scalar(t)
	if n := w.contiguous(m, b, s.Indices); n > 0 {
		w.storeVector(m, s, of, x, n)
		return
	}
	for l, index := range w.indices(b, s.Indices, -1) {
		w.storeOne(m, of, index, x[l])
	}
}

func (w *writer) storeOne(m *memory, s scalar, index, x id) {
	if m.variable != 0 {
		x = w.given(m, s, x)
		at := w.op(spv.OpAccessChain, w.m.pointer(m.class, w.typeOf(m.element)), m.variable, index)
		w.write(m, at, x)
		return
	}
	v, of := w.storageType(s)
	if s.of.Bits < 32 && w.inWords(s) {
		w.storePart(m, s, v, of, index, x)
		return
	}
	w.write(m, w.pointerTo(m, v, of, index), w.stored(s, v, x))
	m.written[v] = true
}

// decorateBuffers declares which storage buffers are only read, and which may share memory.
func (w *writer) decorateBuffers() {
	var buffers []*memory
	for _, p := range w.f.Params {
		if m := w.memory[p]; m != nil {
			buffers = append(buffers, m)
		}
	}
	apart, _ := w.f.Attrs[transform.AttrNoAlias].(bool)
	writes := slices.ContainsFunc(buffers, func(m *memory) bool { return len(m.written) > 0 })
	for _, m := range buffers {
		for _, v := range m.order {
			if len(m.written) == 0 {
				instruction(&w.m.annotations, spv.OpMemberDecorate, m.blocks[v], 0, spv.DecorationNonWritable)
			}
			if len(m.written) > 0 && len(m.order) > 1 || writes && !apart && len(buffers) > 1 {
				w.m.decorate(m.views[v], spv.DecorationAliased)
			}
		}
	}
}
