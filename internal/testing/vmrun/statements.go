package vmrun

import (
	"slices"

	"tvmgo/blob/vmcode"
	"tvmgo/dlpack"
)

// block emits statements. Those in blocks of blocks are fewer.
func (b *body) block(n, depth int) {
	for range n {
		switch s := b.r.IntN(26); {
		case s == 0 && depth < 3:
			b.branch(depth)
		case s == 1 && depth < 2:
			b.loop(depth)
		default:
			b.statement(s)
		}
	}
}

func (b *body) statement(s int) {
	switch s {
	case 2, 3:
		b.set(intKind, "vmrun.add", b.operands(intKind, intKind)...)
	case 4:
		b.set(boolKind, "vmrun.less", b.operands(intKind, intKind)...)
	case 5:
		b.set(floatKind, "vmrun.addf", b.operands(floatKind, floatKind)...)
	case 6, 7:
		b.hold(b.allocate(b.tensorKind()))()
	case 8, 9:
		b.write()
	case 10:
		b.view()
	case 11:
		b.measure()
	case 12:
		b.matchShape()
	case 13:
		b.heapNumber()
	case 14, 15:
		b.tuples()
	case 16, 17:
		b.check()
	case 18:
		b.move()
	case 19, 20:
		kinds := slices.Repeat([]*kind{anyKind}, b.r.IntN(4))
		b.emit("vmrun.log", int(vmcode.Void), b.operands(kinds...)...)
	case 21, 22:
		b.callDefined()
	case 23, 24:
		b.closures()
	case 25:
		b.condition()
		if b.g.mistakes > 0 && b.r.IntN(8) == 0 {
			b.emit("vmrun.fail", int(vmcode.Void), b.operands(textKind)...)
		}
	}
}

// hold keeps a register from being written, until the returned function is called.
func (b *body) hold(r int) (release func()) {
	b.held[r]++
	return func() { b.held[r]-- }
}

func (b *body) tensorKind() *kind {
	return &kind{base: tensor, dtype: pickOne(b.r, dtypes), dims: randomDims(b.r), owned: true}
}

// allocate emits a storage, a tensor in it, and what fills the tensor. The shape may be computed at run time.
func (b *body) allocate(k *kind) int {
	made := *k
	made.owned = true
	dtype := b.g.constant(k.dtype)
	var dims vmcode.Operand
	switch known := &(kind{base: shape, small: true}); {
	case k.dims != nil:
		dims = b.g.constant(Shape(k.dims))
	case b.r.IntN(2) == 0:
		made.dims = randomDims(b.r)
		dims = b.g.constant(Shape(made.dims))
	default:
		dims = b.operands(known)[0]
		if dims.Kind == vmcode.InRegister {
			defer b.hold(int(dims.Value))()
		}
	}
	bytes, offset := vmcode.Operand{}, int64(0)
	if made.dims != nil && b.r.IntN(2) == 0 {
		offset = 64 * b.r.Int64N(3)
		bytes = b.g.constant(Shape{size(made.dims, k.dtype) + offset + b.r.Int64N(9)})
	} else {
		r := b.make(&kind{base: shape}, "vmrun.bytes", dims, dtype)
		defer b.hold(r)()
		bytes = inRegister(r)
	}
	storage := b.make(nil, "vm.builtin.alloc_storage", contextOperand, bytes, immediate(0), dtype,
		b.g.constant("global"))
	b.kinds[storage] = nil // it fits nothing but what takes every value
	release := b.hold(storage)
	args := []vmcode.Operand{inRegister(storage), immediate(offset), dims, dtype}
	if b.r.IntN(3) == 0 {
		args = append(args, b.g.constant("global"))
	}
	t := b.make(&made, "vm.builtin.alloc_tensor", args...)
	release()
	b.emit("vmrun.fill", int(vmcode.Void), inRegister(t), immediate(b.r.Int64N(4)))
	return t
}

// write emits a function that writes a tensor, called as such or by call_tir_dyn.
func (b *body) write() {
	to := &kind{base: tensor, dtype: pickOne(b.r, dtypes), owned: true}
	from := &kind{base: tensor, dtype: pickOne(b.r, dtypes)}
	switch b.r.IntN(3) {
	case 0:
		args := b.operands(from, to)
		b.emit("vmrun.mix", int(vmcode.Void), append(args, immediate(b.r.Int64N(9)))...)
	case 1:
		b.emit("vmrun.fill", int(vmcode.Void), b.operands(to, intKind)...)
	case 2:
		all := append([]vmcode.Operand{ofFunction(b.g.callee("vmrun.mix"))}, b.operands(from, to)...)
		b.emit("vm.builtin.call_tir_dyn", int(vmcode.Void), append(all, b.g.constant(Shape(randomDims(b.r))))...)
	}
}

// view emits a reshape, or a builtin that may return its argument.
func (b *body) view() {
	k := &kind{base: tensor, dtype: pickOne(b.r, dtypes)}
	r, ok := b.find(k)
	if !ok {
		return
	}
	k, t := b.kinds[r], inRegister(r)
	switch b.r.IntN(4) {
	case 0:
		b.set(&kind{base: tensor, dtype: k.dtype, owned: k.owned, dims: k.dims}, "vm.builtin.ensure_zero_offset", t)
	case 1:
		b.set(k, "vm.builtin.to_device", t, immediate(1), immediate(0))
	default:
		if k.dims == nil {
			return
		}
		n := int64(1)
		for _, d := range k.dims {
			n *= d
		}
		dims := pickOne(b.r, [][]int64{{n}, {1, n}, {n, 1, 1}})
		b.set(&kind{base: tensor, dtype: k.dtype, owned: k.owned, dims: dims}, "vm.builtin.reshape", t,
			b.g.constant(Shape(dims)))
	}
}

// measure emits what makes a number or a shape of a tensor.
func (b *body) measure() {
	k := &kind{base: tensor, dtype: pickOne(b.r, dtypes)}
	switch b.r.IntN(4) {
	case 0:
		b.set(intKind, "vmrun.sum", b.operands(k)...)
	case 1:
		k = &kind{base: tensor, dtype: pickOne(b.r, []dlpack.DataType{dlpack.Int64, dlpack.Int32, dlpack.Int16}),
			dims: []int64{b.r.Int64N(4)}}
		b.set(&kind{base: shape}, "vm.builtin.tensor_to_shape", b.operands(k)...)
	default:
		args := b.operands(k)
		known := &kind{base: shape, small: true}
		if r := args[0]; r.Kind == vmcode.InRegister && b.kinds[r.Value] != nil {
			known.dims = b.kinds[r.Value].dims
		}
		b.set(known, "vm.builtin.shape_of", args...)
	}
}

// message returns what a check puts before its error.
func (b *body) message() vmcode.Operand {
	if b.r.IntN(3) == 0 {
		return voidOperand
	}
	return b.g.constant("a check of the program")
}

// matchShape emits a match of a tensor or shape with known dimensions.
func (b *body) matchShape() {
	var source vmcode.Operand
	var dims []int64
	for r, k := range b.kinds {
		if k != nil && k.dims != nil && b.r.IntN(3) > 0 && (k.base == tensor || k.base == shape) {
			source, dims = inRegister(r), k.dims
		}
	}
	if dims == nil {
		dims = randomDims(b.r)
		source = b.g.constant(Shape(dims))
	}
	heap := voidOperand
	args := []vmcode.Operand{source, heap, immediate(int64(len(dims)))}
	for _, d := range dims {
		code, operand := int64(ignore), int64(0)
		switch c := b.r.IntN(len(b.cells) + 1); {
		case c == len(b.cells) || b.r.IntN(4) == 0:
			if b.r.IntN(2) == 0 {
				code, operand = equalsImmediate, d
			}
		case b.cells[c].written && b.mistake():
			args[1], code, operand = inRegister(b.heap), equalsHeap, int64(c)
		default:
			args[1], code, operand = inRegister(b.heap), storeToHeap, int64(c)
			b.cells[c] = cell{written: true, small: true}
		}
		args = append(args, immediate(code), immediate(operand))
		if code == storeToHeap && b.r.IntN(3) == 0 { // what is stored equals itself
			n := immediate(1)
			if len(dims) == 1 {
				again := []vmcode.Operand{source, args[1], n, immediate(equalsHeap), immediate(operand)}
				b.emit("vm.builtin.match_shape", int(vmcode.Void), append(args, b.message())...)
				args = again
			}
		}
	}
	b.emit("vm.builtin.match_shape", int(vmcode.Void), append(args, b.message())...)
}

// heapNumber emits what moves numbers from and to the heap.
func (b *body) heapNumber() {
	var written []int64
	small := true
	for c, known := range b.cells {
		if known.written {
			written = append(written, int64(c))
		}
	}
	if len(b.cells) > 0 && (len(written) == 0 || b.r.IntN(3) == 0) {
		c := b.r.IntN(len(b.cells))
		args := append(b.operands(intKind), inRegister(b.heap), immediate(storeToHeap), immediate(int64(c)), b.message())
		b.emit("vm.builtin.match_prim_value", int(vmcode.Void), args...)
		b.cells[c] = cell{written: true}
		return
	}
	if len(written) > 0 && b.r.IntN(2) == 0 {
		b.set(intKind, "vm.builtin.make_prim_value", inRegister(b.heap), immediate(loadFromHeap),
			immediate(pickOne(b.r, written)))
		return
	}
	heap, n := voidOperand, b.r.IntN(4)
	args := []vmcode.Operand{heap, immediate(int64(n))}
	for range n {
		if len(written) > 0 && b.r.IntN(3) > 0 {
			c := pickOne(b.r, written)
			small = small && b.cells[c].small
			args[0] = inRegister(b.heap)
			args = append(args, immediate(loadFromHeap), immediate(c))
		} else {
			args = append(args, immediate(useImmediate), immediate(b.r.Int64N(4)))
		}
	}
	b.set(&kind{base: shape, small: small}, "vm.builtin.make_shape", args...)
}

// tuples emits a tuple builtin.
func (b *body) tuples() {
	for r, k := range b.kinds {
		if k == nil || k.base != tuple || len(k.items) == 0 || b.r.IntN(3) == 0 {
			continue
		}
		i := b.r.IntN(len(k.items))
		// Other registers may hold the same tuple: only items of which nothing is known may become None.
		if k.items[i] == anyKind && b.r.IntN(2) == 0 {
			b.emit("vm.builtin.tuple_reset_item", int(vmcode.Void), inRegister(r), immediate(int64(i)))
		} else {
			b.set(k.items[i], "vm.builtin.tuple_getitem", inRegister(r), immediate(int64(i)))
		}
		return
	}
	k := &kind{base: tuple}
	args := b.operands(slices.Repeat([]*kind{anyKind}, b.r.IntN(5))...)
	for _, a := range args {
		item := anyKind
		if a.Kind == vmcode.InRegister && a.Value < int64(len(b.kinds)) && b.r.IntN(2) == 0 && b.kinds[a.Value] != nil {
			item = b.kinds[a.Value]
		}
		k.items = append(k.items, item)
	}
	b.set(k, "vm.builtin.make_tuple", args...)
}

// check emits a check that holds.
func (b *body) check() {
	var known []int
	for r, k := range b.kinds {
		if k != nil && k.base != heap {
			known = append(known, r)
		}
	}
	if len(known) == 0 {
		return
	}
	r := pickOne(b.r, known)
	k, v := b.kinds[r], inRegister(r)
	rank := immediate(-1)
	if k.dims != nil && b.r.IntN(2) == 0 {
		rank = immediate(int64(len(k.dims)))
	}
	none := int(vmcode.Void)
	switch k.base {
	case integer, boolean:
		t := pickOne(b.r, []dlpack.DataType{dlpack.Int64, dlpack.Int32, dlpack.UInt8, dlpack.Bool, dlpack.Float32})
		b.emit("vm.builtin.check_prim_value_info", none, v, b.g.constant(t), b.message())
	case float:
		t := pickOne(b.r, []dlpack.DataType{dlpack.Float16, dlpack.Float32, dlpack.Float64})
		b.emit("vm.builtin.check_prim_value_info", none, v, b.g.constant(t), b.message())
	case text:
		b.emit("vm.builtin.check_string_info", none, v, b.message())
	case shape:
		b.emit("vm.builtin.check_shape_info", none, v, rank, b.message())
	case tensor:
		if b.r.IntN(2) == 0 {
			b.emit("vm.builtin.check_tensor_info", none, v, rank, b.g.constant(k.dtype), b.message())
		} else {
			b.emit("vm.builtin.check_tensor_info", none, v, rank, b.message())
		}
	case tuple:
		b.emit("vm.builtin.check_tuple_info", none, v, immediate(int64(len(k.items))), b.message())
	case closure:
		b.emit("vm.builtin.check_func_info", none, v, b.message())
	}
}

// move emits what returns one of its arguments, or None.
func (b *body) move() {
	switch b.r.IntN(4) {
	case 0:
		b.set(anyKind, "vm.builtin.null_value")
	case 1:
		n := b.g.constant(b.r.Int64N(5))
		b.set(anyKind, "vmrun.pick", append([]vmcode.Operand{n}, b.operands(anyKind, anyKind, anyKind)...)...)
	default:
		args := b.operands(anyKind)
		k := anyKind
		if a := args[0]; a.Kind == vmcode.InRegister && a.Value < int64(len(b.kinds)) && b.kinds[a.Value] != nil {
			k = b.kinds[a.Value]
		}
		b.set(k, "vm.builtin.copy", args...)
	}
}
