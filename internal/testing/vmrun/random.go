package vmrun

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"tvmgo/blob"
	"tvmgo/blob/vmcode"
	"tvmgo/dlpack"
)

// Random returns a random program that ends. It is a list of functions that call earlier ones, among them recursive
// ones, and main. Most programs succeed; in others operands are mistaken, and they may fail, or do what TVM does not
// define. Each is a valid executable.
func Random(r *rand.Rand) *Program {
	for {
		p := generate(r)
		if !errors.Is(p.Run().Err, ErrSteps) {
			return p
		}
	}
}

// signature is a bytecode function that others may call.
type signature struct {
	index  int
	params []*kind
	result *kind
}

// generator makes one program.
type generator struct {
	r        *rand.Rand
	exec     *vmcode.Executable
	names    map[string]int
	defined  []*signature
	mistakes int // one in so many operands is a wrong one; 0: none
}

func generate(r *rand.Rand) *Program {
	g := &generator{r: r, exec: &vmcode.Executable{}, names: map[string]int{}}
	if r.IntN(2) == 0 {
		g.mistakes = 20 + r.IntN(200)
	}
	for i := range 1 + r.IntN(4) {
		s := &signature{result: randomKind(r, 0)}
		for range r.IntN(4) {
			s.params = append(s.params, randomKind(r, 1))
		}
		name := fmt.Sprint("f", i)
		if r.IntN(4) == 0 {
			s.params = append([]*kind{intKind}, s.params...)
			name = fmt.Sprint("recursive", i)
		}
		g.function(name, s, len(name) > 3)
	}
	s := &signature{result: anyKind}
	for range r.IntN(4) {
		s.params = append(s.params, randomKind(r, 0))
	}
	g.function("main", s, false)
	setRegisters(g.exec)
	p := &Program{Exec: g.exec}
	for _, k := range s.params {
		p.Args = append(p.Args, randomValue(r, k))
	}
	return p
}

// callee returns the index of a packed function.
func (g *generator) callee(name string) int {
	i, ok := g.names[name]
	if !ok {
		i = len(g.exec.Functions)
		g.names[name] = i
		g.exec.Functions = append(g.exec.Functions, vmcode.Function{Kind: vmcode.Packed, Name: name})
	}
	return i
}

// function generates a bytecode function. The first parameter of a recursive one is how often it may call itself.
func (g *generator) function(name string, s *signature, recursive bool) {
	s.index = len(g.exec.Functions)
	g.exec.Functions = append(g.exec.Functions, vmcode.Function{Kind: vmcode.Bytecode, Name: name})
	b := &body{g: g, r: g.r, s: s, held: map[int]int{}, kinds: append([]*kind(nil), s.params...)}
	for range 3 + g.r.IntN(10) {
		b.kinds = append(b.kinds, nil)
	}
	endless := recursive && g.mistakes > 0 && g.r.IntN(10) == 0
	if !endless && g.r.IntN(2) == 0 {
		b.heap = len(b.kinds)
		b.kinds = append(b.kinds, &kind{base: heap})
		b.held[b.heap]++
		b.cells = make([]cell, 1+g.r.IntN(4))
		b.emit("vm.builtin.alloc_shape_heap", b.heap, contextOperand, immediate(int64(len(b.cells))))
	}
	if recursive {
		b.recursion(endless)
	}
	b.block(2+g.r.IntN(14), 0)
	b.ret()
	f := &g.exec.Functions[s.index]
	f.Begin, f.End = len(g.exec.Code), len(g.exec.Code)+len(b.code)
	f.Arity = len(s.params)
	if g.r.IntN(2) == 0 {
		for i := range s.params {
			f.Parameters = append(f.Parameters, fmt.Sprint("p", i))
		}
	}
	g.exec.Code = append(g.exec.Code, b.code...)
	g.defined = append(g.defined, s)
}

// constant returns an operand for a new constant.
func (g *generator) constant(v Value) vmcode.Operand {
	c := vmcode.Constant{}
	switch v := v.(type) {
	case int64:
		c.Kind, c.Int = vmcode.IntConstant, v
	case float64:
		c.Kind, c.Float = vmcode.FloatConstant, v
	case string:
		c.Kind, c.Text = vmcode.StringConstant, v
	case dlpack.DataType:
		c.Kind, c.DType = vmcode.DTypeConstant, v
	case Shape:
		c.Kind, c.Shape = vmcode.ShapeConstant, v
	case *Tensor:
		c.Kind, c.Tensor = vmcode.TensorConstant, blob.Tensor{DType: v.DType, Shape: v.Shape, Data: v.Data()}
	}
	g.exec.Constants = append(g.exec.Constants, c)
	return vmcode.Operand{Kind: vmcode.InConstant, Value: int64(len(g.exec.Constants) - 1)}
}

// cell is what is known of a cell of the shape heap.
type cell struct{ written, small bool }

// body is a function that is being generated. A register that is held is not written.
type body struct {
	g     *generator
	r     *rand.Rand
	s     *signature
	code  []vmcode.Instruction
	kinds []*kind // of what the registers hold now
	held  map[int]int
	heap  int // the register of the shape heap
	cells []cell
}

var (
	voidOperand    = inRegister(int(vmcode.Void))
	contextOperand = inRegister(int(vmcode.Context))
)

func immediate(n int64) vmcode.Operand { return vmcode.Operand{Kind: vmcode.Immediate, Value: n} }

func inRegister(r int) vmcode.Operand { return vmcode.Operand{Value: int64(r)} }

func ofFunction(i int) vmcode.Operand {
	return vmcode.Operand{Kind: vmcode.OfFunction, Value: int64(i)}
}

// emit appends a call of a packed function.
func (b *body) emit(name string, dst int, args ...vmcode.Operand) {
	b.call(b.g.callee(name), dst, args...)
}

// call appends a call. Now and then an operand is replaced, dropped or added.
func (b *body) call(callee, dst int, args ...vmcode.Operand) {
	for i := range args {
		if b.mistake() {
			args[i] = b.wrong()
		}
	}
	if b.g.exec.Functions[callee].Kind == vmcode.Packed && b.mistake() {
		if args = append(args, b.wrong()); b.r.IntN(2) == 0 {
			args = args[:b.r.IntN(len(args))]
		}
	}
	b.code = append(b.code,
		vmcode.Instruction{Op: vmcode.Call, Dst: vmcode.Register(dst), Callee: callee, Args: args})
}

func (b *body) mistake() bool { return b.g.mistakes > 0 && b.r.IntN(b.g.mistakes) == 0 }

// wrong returns an operand of any kind.
func (b *body) wrong() vmcode.Operand {
	switch b.r.IntN(6) {
	case 0:
		return immediate(randomInt(b.r))
	case 1:
		return pickOne(b.r, []vmcode.Operand{voidOperand, contextOperand})
	case 2:
		return ofFunction(b.r.IntN(len(b.g.exec.Functions)))
	case 3:
		if n := len(b.g.exec.Constants); n > 0 {
			return vmcode.Operand{Kind: vmcode.InConstant, Value: int64(b.r.IntN(n))}
		}
	}
	return inRegister(b.r.IntN(len(b.kinds)))
}

// destination returns a register that may be written.
func (b *body) destination() int {
	for range 20 {
		if r := b.r.IntN(len(b.kinds)); b.held[r] == 0 {
			return r
		}
	}
	b.kinds = append(b.kinds, nil)
	return len(b.kinds) - 1
}

// set emits a call whose result has a kind, sometimes without keeping it. The destination is one of the operands, too.
func (b *body) set(k *kind, name string, args ...vmcode.Operand) {
	if b.r.IntN(20) == 0 {
		b.emit(name, int(pickOne(b.r, []vmcode.Register{vmcode.Void, vmcode.Void, vmcode.Context})), args...)
		return
	}
	b.make(k, name, args...)
}

// make emits a call whose result has a kind, and returns its register.
func (b *body) make(k *kind, name string, args ...vmcode.Operand) int {
	dst := b.destination()
	b.emit(name, dst, args...)
	b.kinds[dst] = k
	return dst
}

// operands returns an operand for each kind. Making one leaves the others alone.
func (b *body) operands(kinds ...*kind) []vmcode.Operand {
	out := make([]vmcode.Operand, len(kinds))
	for i, k := range kinds {
		out[i] = b.operand(k)
		if out[i].Kind == vmcode.InRegister && out[i].Value < int64(len(b.kinds)) {
			b.held[int(out[i].Value)]++
			defer func() { b.held[int(out[i].Value)]-- }()
		}
	}
	return out
}

// operand returns an operand of a kind: a register, if one fits, or an immediate or constant, or a new value.
func (b *body) operand(k *kind) vmcode.Operand {
	if r, ok := b.find(k); ok && b.r.IntN(5) > 0 {
		return inRegister(r)
	}
	switch {
	case k.base == integer && b.r.IntN(4) > 0:
		return immediate(randomInt(b.r))
	case k.base == anything && b.r.IntN(3) == 0:
		return pickOne(b.r, []vmcode.Operand{voidOperand, immediate(3), contextOperand,
			ofFunction(b.r.IntN(len(b.g.exec.Functions)))})
	case k.base == tensor && !k.owned && b.r.IntN(2) == 0:
		// TVM writes constants without elements, but does not read them.
		if v := randomValue(b.r, k).(*Tensor); len(v.Data()) > 0 {
			return b.g.constant(v)
		}
	case k.base != anything && k.base != boolean && k.base != tensor && k.base != tuple && k.base != closure:
		return b.g.constant(randomValue(b.r, k))
	}
	return inRegister(b.construct(k))
}

// find returns a register that holds a value of a kind.
func (b *body) find(k *kind) (int, bool) {
	start := b.r.IntN(len(b.kinds))
	for i := range b.kinds {
		if r := (start + i) % len(b.kinds); b.kinds[r].fits(k) {
			return r, true
		}
	}
	return 0, false
}

// construct emits what makes a value of a kind, and returns its register.
func (b *body) construct(k *kind) int {
	switch k.base {
	case anything:
		k = pickOne(b.r, []*kind{intKind, floatKind, textKind, typeKind, boolKind, {base: shape, small: true}})
		return b.construct(k)
	case boolean:
		return b.make(k, "vmrun.less", immediate(randomInt(b.r)), immediate(randomInt(b.r)))
	case tensor:
		return b.allocate(k)
	case tuple:
		return b.make(k, "vm.builtin.make_tuple", b.operands(k.items...)...)
	case closure:
		return b.bind(k)
	}
	return b.make(k, "vm.builtin.copy", b.g.constant(randomValue(b.r, k)))
}
