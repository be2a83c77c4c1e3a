package spirv

import (
	spv "tvmgo/internal/spirv"
	"tvmgo/tir"
	"tvmgo/tir/transform"
)

// call returns the lanes of a call.
func (w *writer) call(e *tir.Call, only int) values {
	if e.Kind != tir.CallIntrinsic {
		w.fail("the call of %s: kernels for Vulkan call no functions", e.Name)
		return nil
	}
	switch e.Name {
	case "if_then_else":
		if len(e.Args) == 3 {
			return w.choose(e.Type, e.Args[0], e.Args[1], e.Args[2], only)
		}
	case transform.ReportIndex:
		return values{w.report(e)}
	case "reinterpret":
		return w.reinterpretCall(e, only)
	case "likely":
		return w.value(e.Args[0], only)
	case "warp_shuffle", "warp_shuffle_xor", "warp_shuffle_down":
		return values{w.shuffleThreads(e)}
	}
	in, known := tir.LookupIntrinsic(e.Name)
	if !known || in.Args >= 0 && len(e.Args) != in.Args || !in.Pure || in.Args < 1 {
		w.fail("intrinsic %s cannot be written in SPIR-V", e.Name)
		return nil
	}
	s := w.scalar(e.Args[0].DType())
	return w.zip(only, e, func(x values) id { return w.intrinsic(e, s, x) }, e.Args...)
}

// intrinsic returns one lane of an intrinsic on numbers.
func (w *writer) intrinsic(e *tir.Call, s scalar, x values) id {
	switch e.Name {
	case "isnan", "isinf", "isfinite":
		return w.classify(e.Name, s, x[0])
	}
	if s.class == floating {
		return w.mathCall(e.Name, s, x)
	}
	t := w.typeOf(s)
	switch e.Name {
	case "bitwise_and":
		return w.op(spv.OpBitwiseAnd, t, x[0], x[1])
	case "bitwise_or":
		return w.op(spv.OpBitwiseOr, t, x[0], x[1])
	case "bitwise_xor":
		return w.op(spv.OpBitwiseXor, t, x[0], x[1])
	case "bitwise_not":
		return w.fit(s, w.op(spv.OpNot, t, x[0]))
	case "shift_left", "shift_right":
		return w.shift(e.Name == "shift_left", s, x[0], x[1])
	case "popcount":
		return w.popcount(s, x[0])
	case "clz":
		return w.leadingZeros(s, x[0])
	case "abs":
		if !s.signed {
			return x[0]
		}
		negative := w.compare(spv.OpSLessThan, x[0], w.number(s, 0))
		return w.op(spv.OpSelect, t, negative, w.fit(s, w.op(spv.OpSNegate, t, x[0])), x[0])
	}
	w.fail("intrinsic %s of type %s cannot be written in SPIR-V", e.Name, e.Type)
	return 0
}

// reinterpretCall reads the bits of all lanes, the first in the lowest bits, as those of another type.
func (w *writer) reinterpretCall(e *tir.Call, only int) values {
	to, from := e.Type, e.Args[0].DType()
	if to.Bits != from.Bits || to.Lanes != from.Lanes {
		w.fail("reinterpret of %s as %s: want as many lanes of as many bits", from, to)
		return nil
	}
	a, b := w.scalar(to), w.scalar(from)
	return w.zip(only, e, func(x values) id { return w.reinterpret(a, b, x[0]) }, e.Args[0])
}

// barrier waits for the threads of a block or a warp, and makes their writes to shared memory visible.
func (w *writer) barrier(e *tir.Call) {
	scope := uint32(0)
	if len(e.Args) > 0 {
		if s, ok := e.Args[0].(*tir.StringImm); ok {
			scope = map[string]uint32{"shared": spv.ScopeWorkgroup, "warp": spv.ScopeSubgroup}[s.Value]
		}
	}
	if scope == 0 {
		w.fail("intrinsic storage_sync: its scope is not one of \"shared\" and \"warp\"")
		return
	}
	at := w.m.int(32, int64(scope))
	semantics := int64(spv.SemanticsAcquireRelease | spv.SemanticsWorkgroupMemory)
	if w.vulkanModel {
		semantics |= spv.SemanticsMakeAvailable | spv.SemanticsMakeVisible
	}
	w.do(spv.OpControlBarrier, at, at, w.m.int(32, semantics))
}

// report stores an index outside of its dimension in the record that is passed to the kernel, if that is empty: 32-bit
// words, of which the first is the number of the access, and the third to sixth are the index and the size. It returns
// false.
func (w *writer) report(e *tir.Call) id {
	var m *memory
	if len(e.Args) == 4 {
		if a, ok := e.Args[0].(*tir.Call); ok && a.Name == "address_of" && len(a.Args) == 1 {
			if l, ok := a.Args[0].(*tir.BufferLoad); ok {
				m = w.at(l.Buffer)
			}
		}
	}
	if m == nil || m.variable != 0 {
		w.fail("report_index takes the address of a record, a number, an index and a size")
		return 0
	}
	number := w.one(e.Args[1])
	var parts values
	for _, a := range e.Args[2:] {
		low, high := w.long(a)
		parts = append(parts, low, high)
	}
	if w.err != nil {
		return 0
	}
	u := w.m.integer(32)
	v := view{bits: 32, lanes: 1}
	word := func(i int) id { return w.pointerTo(m, v, u, w.m.int(32, int64(i))) }
	m.written[v] = true
	none := w.m.int(32, 0)
	scope := w.deviceScope()
	before := w.fresh(spv.OpAtomicCompareExchange, u, word(0), scope, none, none, number, none)
	w.selection(w.compare(spv.OpIEqual, before, none), nil, func() values {
		for i, x := range parts {
			w.write(m, word(2+i), x)
		}
		return nil
	}, nil)
	return w.m.truth(false)
}

// long returns the two halves of an integer of 64 bits, which the target may lack: an int32 is then extended.
func (w *writer) long(e tir.Expr) (low, high id) {
	from := e
	if c, ok := e.(*tir.Cast); ok {
		from = c.Value
	}
	switch t := from.DType(); {
	case t == tir.Int32 && from != e:
		x := w.one(from)
		return x, w.op(spv.OpShiftRightArithmetic, w.m.integer(32), x, w.m.int(32, 31))
	}
	if n, ok := e.(*tir.IntImm); ok {
		return w.m.int(32, int64(int32(n.Value))), w.m.int(32, n.Value>>32)
	}
	x := w.one(e)
	if w.err != nil {
		return 0, 0
	}
	return w.halves(x)
}
