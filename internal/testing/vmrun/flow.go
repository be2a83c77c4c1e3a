package vmrun

import (
	"slices"

	"tvmgo/blob/vmcode"
)

// condition emits a bool or int for a branch, and returns its register.
func (b *body) condition() int {
	switch b.r.IntN(4) {
	case 0:
		scalar := &kind{base: tensor, dtype: pickOne(b.r, dtypes[:7]), dims: []int64{}}
		return b.make(boolKind, "vm.builtin.read_if_cond", b.operands(scalar)...)
	case 1:
		if r, ok := b.find(intKind); ok {
			return r
		}
	case 2:
		if r, ok := b.find(boolKind); ok {
			return r
		}
	}
	return b.make(boolKind, "vmrun.less", b.operands(intKind, intKind)...)
}

// state is what a body knows at a point of the function.
type state struct {
	kinds []*kind
	cells []cell
}

func (b *body) state() state { return state{slices.Clone(b.kinds), slices.Clone(b.cells)} }

// join keeps what is known at the end of this path and of another one.
func (b *body) join(other state) {
	for r := range b.kinds {
		if r >= len(other.kinds) || b.kinds[r] != other.kinds[r] {
			b.kinds[r] = nil
		}
	}
	for c := range b.cells {
		b.cells[c].written = b.cells[c].written && other.cells[c].written
		b.cells[c].small = b.cells[c].small && other.cells[c].small
	}
}

// branch emits an if with two blocks, of which one may return.
func (b *body) branch(depth int) {
	condition := b.condition()
	at := len(b.code)
	b.code = append(b.code, vmcode.Instruction{Op: vmcode.If, Source: vmcode.Register(condition)})
	before := b.state()
	b.block(1+b.r.IntN(4), depth+1)
	returns := b.r.IntN(5) == 0
	end := -1
	if returns {
		b.ret()
	} else {
		end = len(b.code)
		b.code = append(b.code, vmcode.Instruction{Op: vmcode.Goto})
	}
	b.code[at].Jump = len(b.code) - at
	after := b.state()
	b.kinds = append(before.kinds, make([]*kind, len(b.kinds)-len(before.kinds))...)
	b.cells = before.cells
	b.block(b.r.IntN(4), depth+1)
	if !returns {
		b.code[end].Jump = len(b.code) - end
		b.join(after)
	}
}

// loop emits a loop with a counter. Registers that its block changes keep their kinds, or are unknown afterwards.
func (b *body) loop(depth int) {
	counter := b.make(intKind, "vm.builtin.copy", immediate(1+b.r.Int64N(4)))
	defer b.hold(counter)()
	// The block runs after itself, too: what it knows at its beginning must hold at its end.
	for r := range b.kinds {
		if b.held[r] == 0 && b.r.IntN(2) == 0 {
			b.kinds[r] = nil
		}
	}
	var release []func()
	for r, k := range b.kinds {
		if k != nil {
			release = append(release, b.hold(r))
		}
	}
	cells := slices.Clone(b.cells)
	for c := range b.cells { // a cell that the block writes may hold any number when it runs again
		b.cells[c].small = false
	}
	begin := len(b.code)
	b.block(1+b.r.IntN(5), depth+1)
	b.direct("vmrun.add", counter, inRegister(counter), immediate(-1))
	b.code = append(b.code, vmcode.Instruction{Op: vmcode.If, Source: vmcode.Register(counter), Jump: 2})
	b.code = append(b.code, vmcode.Instruction{Op: vmcode.Goto, Jump: begin - len(b.code)})
	for _, f := range release {
		f()
	}
	for c := range b.cells {
		b.cells[c].small = b.cells[c].small && cells[c].small
	}
}

// direct emits a call without mistakes.
func (b *body) direct(name string, dst int, args ...vmcode.Operand) {
	b.code = append(b.code, vmcode.Instruction{
		Op: vmcode.Call, Dst: vmcode.Register(dst), Callee: b.g.callee(name), Args: args})
}

// recursion emits the beginning of a recursive function: if its first parameter is between 1 and 6, it calls itself
// with one less, and perhaps does so twice. An endless one does so always, and needs little memory for a frame.
func (b *body) recursion(endless bool) {
	release := b.hold(0)
	defer release()
	scratch := len(b.kinds)
	b.kinds = append(b.kinds, nil)
	var exits []int
	if !endless {
		for _, test := range [][]vmcode.Operand{{immediate(0), inRegister(0)}, {inRegister(0), immediate(7)}} {
			b.direct("vmrun.less", scratch, test...)
			exits = append(exits, len(b.code))
			b.code = append(b.code, vmcode.Instruction{Op: vmcode.If, Source: vmcode.Register(scratch)})
		}
	}
	b.kinds[scratch] = nil
	before := b.state()
	for range 1 + b.r.IntN(2) {
		b.direct("vmrun.add", scratch, inRegister(0), immediate(-1))
		b.kinds[scratch] = intKind
		hold := b.hold(scratch)
		args := slices.Repeat([]vmcode.Operand{voidOperand}, len(b.s.params)-1)
		if !endless {
			args = b.operands(b.s.params[1:]...)
		}
		args = append([]vmcode.Operand{inRegister(scratch)}, args...)
		hold()
		dst := b.destination()
		b.code = append(b.code, vmcode.Instruction{
			Op: vmcode.Call, Dst: vmcode.Register(dst), Callee: b.s.index, Args: args})
		b.kinds[dst] = b.s.result
	}
	for _, at := range exits {
		b.code[at].Jump = len(b.code) - at
	}
	b.join(before)
}

// ret emits what returns a value of the function's result.
func (b *body) ret() {
	if b.s.result.base == anything && b.r.IntN(10) == 0 {
		b.code = append(b.code, vmcode.Instruction{Op: vmcode.Ret, Source: vmcode.Void})
		return
	}
	r, ok := b.find(b.s.result)
	if !ok || b.r.IntN(4) == 0 {
		r = b.construct(b.s.result)
	}
	b.code = append(b.code, vmcode.Instruction{Op: vmcode.Ret, Source: vmcode.Register(r)})
}

// callDefined emits a call of an earlier function.
func (b *body) callDefined() {
	if len(b.g.defined) == 0 {
		return
	}
	s := pickOne(b.r, b.g.defined)
	args := b.operands(s.params...)
	if b.r.IntN(10) == 0 {
		b.call(s.index, int(vmcode.Void), args...)
		return
	}
	dst := b.destination()
	b.call(s.index, dst, args...)
	b.kinds[dst] = s.result
}

// closures emits a closure of an earlier function, or a call of a closure.
func (b *body) closures() {
	if len(b.g.defined) == 0 {
		return
	}
	for r, k := range b.kinds {
		if k == nil || k.base != closure || b.r.IntN(3) == 0 {
			continue
		}
		defer b.hold(r)()
		if n := len(k.params); n > 0 && b.r.IntN(4) == 0 { // bind more
			args := append([]vmcode.Operand{inRegister(r)}, b.operands(k.params[n-1])...)
			b.set(&kind{base: closure, params: k.params[:n-1], result: k.result}, "vm.builtin.make_closure", args...)
			return
		}
		name := pickOne(b.r, []string{"vm.builtin.invoke_closure", "vmrun.invoke"})
		args := append([]vmcode.Operand{contextOperand, inRegister(r)}, b.operands(k.params...)...)
		b.set(k.result, name, args...)
		return
	}
	s := pickOne(b.r, b.g.defined)
	n := b.r.IntN(len(s.params) + 1)
	b.bind(&kind{base: closure, params: s.params[:n], result: s.result})
}

// bind emits a closure of a kind: a function with these first parameters, whose other parameters are bound.
func (b *body) bind(k *kind) int {
	for _, i := range b.r.Perm(len(b.g.defined)) {
		s := b.g.defined[i]
		if n := len(k.params); n <= len(s.params) {
			whole := &kind{base: closure, params: s.params[:n], result: s.result}
			if whole.fits(k) {
				args := append([]vmcode.Operand{ofFunction(s.index)}, b.operands(s.params[n:]...)...)
				return b.make(whole, "vm.builtin.make_closure", args...)
			}
		}
	}
	panic("vmrun: a closure of which no function is defined")
}
