package spirv

import (
	"fmt"

	spv "tvmgo/internal/spirv"
	"tvmgo/target"
	"tvmgo/tir"
)

// matrices returns an error if kernels of a target cannot execute an intrinsic of fragments, which are cooperative
// matrices of SPIR-V. Which shapes a device has is not part of a target: the device rejects others.
func matrices(t *target.Target, f *tir.FragmentCall) error {
	if t == nil {
		return nil
	}
	has, need := featuresOf(t), func(has bool, what, option string) error {
		if has {
			return nil
		}
		return lacks(what, option)
	}
	errs := []error{need(has.matrix, "a fragment", "supports_cooperative_matrix")}
	if has.version < spirv13 {
		errs = append(errs, fmt.Errorf("a fragment needs SPIR-V 1.3: set the option max_spirv_version of target vulkan to "+
			"0x10300"))
	}
	switch operand := f.Operand(); {
	case operand == tir.Float32 && f.Fragment.Buffer.StorageScope() != tir.ScopeFragmentAcc:
		errs = append(errs, fmt.Errorf("operands of type float32 (TensorFloat-32) are not part of Vulkan: use float16 or "+
			"bfloat16"))
	case operand.Bits == 8:
		errs = append(errs, need(has.int8, "a fragment of int8", "supports_int8"),
			need(has.storage8, "a fragment of int8", "supports_8bit_buffer"))
	case operand == tir.Float16:
		errs = append(errs, need(has.float16, "a fragment of float16", "supports_float16"),
			need(has.storage16, "a fragment of float16", "supports_16bit_buffer"))
	case operand == tir.BFloat16:
		errs = append(errs, need(has.bfloat16, "a fragment of bfloat16", "supports_bfloat16"),
			need(has.int16, "a fragment of bfloat16", "supports_int16"),
			need(has.storage16, "a fragment of bfloat16", "supports_16bit_buffer"))
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Uses of cooperative matrices, and the operands of a product whose components are signed.
const (
	useA, useB, useSums                        = 0, 1, 2
	signedA, signedB, signedSums, signedResult = 1, 2, 4, 8
)

// component is the type of a matrix's components.
func (w *writer) component(t tir.Type) id {
	if t != tir.BFloat16 {
		return w.typeOf(w.scalar(t))
	}
	const bfloat16Encoding = 0
	w.m.need(spv.BFloat16TypeKHR)
	w.m.need(spv.BFloat16CooperativeMatrixKHR)
	w.m.extend("SPV_KHR_bfloat16")
	const key = "bfloat16"
	if w.types[key] == 0 {
		w.types[key] = w.m.newID()
		instruction(&w.m.globals, spv.OpTypeFloat, w.types[key], 16, bfloat16Encoding)
	}
	return w.types[key]
}

// matrixType returns the type of the fragments of a buffer, and the number of their elements.
func (w *writer) matrixType(f *tir.FragmentCall, b *tir.Buffer) (t id, elements int) {
	w.m.need(spv.CooperativeMatrixKHR)
	w.m.extend("SPV_KHR_cooperative_matrix")
	scope := b.StorageScope()
	rows, columns := f.Size(scope)
	use := map[string]int64{tir.ScopeFragmentA: useA, tir.ScopeFragmentB: useB, tir.ScopeFragmentAcc: useSums}[scope]
	n := func(v int64) id { return w.m.int(32, v) }
	key := fmt.Sprintf("matrix of %s, %d, %d, %d", b.DType, rows, columns, use)
	if t = w.types[key]; t == 0 {
		c, subgroup, m, k, as := w.component(b.DType), n(spv.ScopeSubgroup), n(int64(rows)), n(int64(columns)), n(use)
		t = w.m.newID()
		instruction(&w.m.globals, spv.OpTypeCooperativeMatrixKHR, t, c, subgroup, m, k, as)
		w.types[key] = t
	}
	return t, rows * columns
}

// fragment returns a pointer to the fragment that an element begins, and its type. The memory of a buffer is declared
// when the first intrinsic tells the shape of its fragments.
func (w *writer) fragment(f *tir.FragmentCall, of *tir.BufferLoad) (pointer, t id) {
	m := w.at(of.Buffer)
	if m == nil || w.err != nil {
		return 0, 0
	}
	t, elements := w.matrixType(f, of.Buffer)
	if m.variable == 0 {
		m.number = t
		m.variable = w.variable(w.m.array(t, max(m.fragments/int64(elements), 1)), m.name)
	}
	if m.number != t {
		w.fail("buffer %s has fragments of two shapes: give each shape a buffer of its own", m.name)
		return 0, 0
	}
	u := scalar{class: integer, bits: 32, of: tir.UInt32}
	at := w.indices(of.Buffer, of.Indices, -1)
	if w.err != nil {
		return 0, 0
	}
	index := w.divide(tir.OpDiv, u, at[0], w.m.int(32, int64(elements)), true)
	return w.op(spv.OpAccessChain, w.m.pointer(spv.ClassFunction, t), m.variable, index), t
}

// matrixInMemory returns a pointer to the first element of a matrix in memory.
func (w *writer) matrixInMemory(of *tir.BufferLoad, writes bool) id {
	m := w.at(of.Buffer)
	if m == nil || w.err != nil {
		return 0
	}
	at := w.indices(of.Buffer, of.Indices, -1)
	if w.err != nil {
		return 0
	}
	if m.variable != 0 {
		return w.op(spv.OpAccessChain, w.m.pointer(m.class, w.typeOf(m.element)), m.variable, at[0])
	}
	v, element := w.storageType(w.scalar(of.Buffer.DType))
	if writes {
		m.written[v] = true
	}
	return w.pointerTo(m, v, element, at[0])
}

// nonPrivate are the memory operands of accesses to memory that threads share, in Vulkan's memory model.
const nonPrivate = 0x20

// usesMatrices reports whether a kernel has fragments. Cooperative matrices need Vulkan's memory model, in which only
// accesses that say so take part in synchronization.
func usesMatrices(f *tir.PrimFunc) bool {
	return tir.Contains(f.Body, func(node any) bool {
		c, ok := node.(*tir.Call)
		return ok && tir.IsFragmentCall(c)
	})
}

// read loads from memory, and write stores in it.
func (w *writer) read(m *memory, t, at id) id {
	if w.vulkanModel && m.class != spv.ClassFunction {
		return w.fresh(spv.OpLoad, t, at, nonPrivate)
	}
	return w.fresh(spv.OpLoad, t, at)
}

func (w *writer) write(m *memory, at, x id) {
	if w.vulkanModel && m.class != spv.ClassFunction {
		w.do(spv.OpStore, at, x, nonPrivate)
		return
	}
	w.do(spv.OpStore, at, x)
}

// deviceScope is the scope of atomic operations on memory of the device.
func (w *writer) deviceScope() id {
	if w.vulkanModel { // the scope of the device needs another capability there
		return w.m.int(32, spv.ScopeQueueFamily)
	}
	return w.m.int(32, spv.ScopeDevice)
}

// callFragment writes an intrinsic of fragments.
func (w *writer) callFragment(e *tir.Call) {
	f, err := tir.DescribeFragmentCall(e)
	if err != nil {
		w.fail("%w", err)
		return
	}
	at, t := w.fragment(f, f.Fragment)
	if w.err != nil {
		return
	}
	switch e.Name {
	case "fragment_fill":
		x := w.one(f.Value)
		if f.Value.DType() == tir.BFloat16 {
			x = w.op(spv.OpFConvert, w.component(tir.BFloat16), x)
		}
		w.do(spv.OpStore, at, w.op(spv.OpCompositeConstruct, t, x))
	case "fragment_load", "fragment_store":
		memory := w.matrixInMemory(f.Memory, e.Name == "fragment_store")
		layout := w.m.int(32, map[string]int64{tir.RowMajor: 0, tir.ColMajor: 1}[f.Layout])
		stride := w.index(f.Stride, -1)[0]
		if e.Name == "fragment_load" {
			w.do(spv.OpStore, at, w.fresh(spv.OpCooperativeMatrixLoadKHR, t, memory, layout, stride, nonPrivate))
			return
		}
		w.do(spv.OpCooperativeMatrixStoreKHR, memory, w.fresh(spv.OpLoad, t, at), layout, stride, nonPrivate)
	case "fragment_mma":
		a, ta := w.fragment(f, f.A)
		b, tb := w.fragment(f, f.B)
		if w.err != nil {
			return
		}
		args := values{w.fresh(spv.OpLoad, ta, a), w.fresh(spv.OpLoad, tb, b), w.fresh(spv.OpLoad, t, at)}
		switch f.A.Buffer.DType {
		case tir.Int8:
			args = append(args, signedA|signedB|signedSums|signedResult)
		case tir.UInt8:
			args = append(args, signedSums|signedResult)
		}
		w.do(spv.OpStore, at, w.fresh(spv.OpCooperativeMatrixMulAddKHR, t, args...))
	}
}
