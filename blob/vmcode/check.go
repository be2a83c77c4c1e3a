package vmcode

import (
	"fmt"
	"slices"

	"tvmgo/dlpack"
)

// Limits of functions. A frame takes 16 bytes for each register, so that corrupt numbers must not be believed: each
// register of bytecode is an argument or occurs in an instruction; of compiled functions nothing is known.
const (
	maxArity     = 1 << 16
	maxRegisters = 1 << 20 // of a compiled function
)

// Check reports what would make a machine read or jump outside the executable or outside a frame, and what no producer
// writes: names that are empty or occur twice, instructions that belong to no function or to two. After Check, a
// machine can run the instructions without looking at these again. The error is a [CodeError] or a [ConstantError].
func (e *Executable) Check() error {
	if err := e.checkConstants(); err != nil {
		return err
	}
	if err := e.checkTable(); err != nil {
		return err
	}
	if err := e.checkExtents(); err != nil {
		return err
	}
	for i := range e.Functions {
		if err := e.Functions[i].checkFrame(e); err != nil {
			return err
		}
	}
	for i := range e.Functions {
		f := &e.Functions[i]
		if f.Kind != Bytecode {
			continue
		}
		for pc := f.Begin; pc < f.End; pc++ {
			if problem := e.problem(f, pc); problem != "" {
				return e.fail(pc, e.brief(&e.Code[pc]), "%s", problem)
			}
		}
	}
	return nil
}

func (e *Executable) checkConstants() error {
	for i := range e.Constants {
		c := &e.Constants[i]
		fail := func(format string, args ...any) error {
			return &ConstantError{Constant: i, Problem: fmt.Sprintf(format, args...)}
		}
		if c.Kind < TensorConstant || c.Kind > FloatConstant {
			return fail("unknown kind %d", int(c.Kind))
		}
		if c.Kind != TensorConstant {
			if c.Scope != "" {
				return fail("only tensors have a memory scope, not a %s", c.Kind)
			}
			continue
		}
		size, err := dlpack.SerializedDataSize(c.Tensor.Shape, c.Tensor.DType)
		if err != nil {
			return fail("%v", err)
		}
		if size != int64(len(c.Tensor.Data)) {
			return fail("shape %v of %s takes %d bytes, not %d", c.Tensor.Shape, c.Tensor.DType, size, len(c.Tensor.Data))
		}
	}
	return nil
}

func (f *Function) fail(format string, args ...any) error {
	return &CodeError{Function: f.Name, Instruction: -1, Problem: fmt.Sprintf(format, args...)}
}

func (e *Executable) checkTable() error {
	seen := make(map[string]int, len(e.Functions))
	for i := range e.Functions {
		f := &e.Functions[i]
		if f.Name == "" {
			return f.fail("number %d of the function table has no name", i)
		}
		if f.Kind < Packed || f.Kind > CompiledVM {
			return f.fail("unknown kind %d", f.Kind)
		}
		if other, taken := seen[f.Name]; taken {
			return f.fail("it is in the function table twice, as numbers %d and %d", other, i)
		}
		seen[f.Name] = i
	}
	return nil
}

// checkExtents checks that each instruction belongs to exactly one function.
func (e *Executable) checkExtents() error {
	var list []*Function
	for i := range e.Functions {
		f := &e.Functions[i]
		if f.Kind != Bytecode {
			continue
		}
		switch {
		case f.Begin < 0 || f.End > len(e.Code) || f.Begin > f.End:
			return f.fail("its instructions are numbers %d to %d of %d", f.Begin, f.End, len(e.Code))
		case f.Begin == f.End:
			return f.fail("it has no instruction")
		}
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b *Function) int { return a.Begin - b.Begin })
	end, before := 0, ""
	for _, f := range list {
		switch {
		case f.Begin < end:
			return f.fail("its instructions begin at number %d, but those of function %s end at number %d", f.Begin,
				quoted(before), end)
		case f.Begin > end:
			return e.fail(end, "", "it belongs to no function")
		}
		end, before = f.End, f.Name
	}
	if end < len(e.Code) {
		return e.fail(end, "", "it belongs to no function")
	}
	return nil
}

// checkFrame checks the sizes of a function. Its instructions exist.
func (f *Function) checkFrame(e *Executable) error {
	switch {
	case f.Kind == Packed:
		return nil
	case f.Arity < 0 || f.Arity > maxArity:
		return f.fail("it has %d parameters: expected 0 to %d", f.Arity, maxArity)
	case len(f.Parameters) > f.Arity:
		return f.fail("it has %d names of parameters for %d parameters", len(f.Parameters), f.Arity)
	}
	least, most := f.Arity, f.Arity
	if f.Kind == CompiledVM {
		least, most = f.Arity+1, maxRegisters // it returns its result in the register after the arguments
	} else {
		for i := f.Begin; i < f.End; i++ {
			most += e.Code[i].size()
		}
	}
	if f.Registers < least || f.Registers > most {
		return f.fail("a frame of %d registers: its %d parameters and its instructions use %d to %d", f.Registers, f.Arity,
			least, most)
	}
	return nil
}

// problem says why instruction pc of f cannot be executed; "" if it can.
func (e *Executable) problem(f *Function, pc int) string {
	in := &e.Code[pc]
	if pc == f.End-1 && in.Op != Ret && in.Op != Goto {
		return "it is the function's last instruction, but does not leave the function: expected ret or goto"
	}
	switch in.Op {
	case Call:
		if p := in.Dst.problem(f, true); p != "" {
			return "its destination: " + p
		}
		return e.callProblem(f, in)
	case Ret:
		return in.Source.problem(f, true)
	case Goto:
		if in.Jump == 0 {
			return "it jumps to itself"
		}
	case If:
		if p := in.Source.problem(f, false); p != "" {
			return "its condition: " + p
		}
		if in.Jump < 2 {
			return fmt.Sprintf("it jumps by %d where the condition is false: expected at least 2", in.Jump)
		}
	default:
		return fmt.Sprintf("unknown operation %d", in.Op)
	}
	if in.Jump < f.Begin-pc || in.Jump >= f.End-pc {
		return fmt.Sprintf("it jumps by %d, out of the function, which has instructions 0 to %d", in.Jump,
			f.End-f.Begin-1)
	}
	return ""
}

// problem says why a function has no such register; "" if it does. The special registers count if special is true.
func (r Register) problem(f *Function, special bool) string {
	switch {
	case r == Void || r == Context:
		if special {
			return ""
		}
		return "a special register (" + r.String() + ") is no condition"
	case r < 0 || r >= Register(f.Registers):
		return fmt.Sprintf("there is no register %d: a frame has %d", r, f.Registers)
	}
	return ""
}

func (e *Executable) callProblem(f *Function, in *Instruction) string {
	if in.Callee < 0 || in.Callee >= len(e.Functions) {
		return fmt.Sprintf("it calls function %d of %d", in.Callee, len(e.Functions))
	}
	if g := &e.Functions[in.Callee]; g.Kind != Packed && len(in.Args) != g.Arity {
		return fmt.Sprintf("%d arguments for function %s, which has %d parameters", len(in.Args), quoted(g.Name), g.Arity)
	}
	for i, a := range in.Args {
		problem := ""
		switch a.Kind {
		case InRegister:
			problem = Register(a.Value).problem(f, true)
		case Immediate:
			if a.Value < minValue || a.Value > maxValue {
				problem = fmt.Sprintf("integer %d does not fit into 56 bits", a.Value)
			}
		case InConstant:
			if a.Value < 0 || a.Value >= int64(len(e.Constants)) {
				problem = fmt.Sprintf("there is no constant %d: the executable has %d", a.Value, len(e.Constants))
			}
		case OfFunction:
			if a.Value < 0 || a.Value >= int64(len(e.Functions)) {
				problem = fmt.Sprintf("there is no function %d: the executable has %d", a.Value, len(e.Functions))
			}
		default:
			problem = fmt.Sprintf("unknown kind %d of an operand", a.Kind)
		}
		if problem != "" {
			return fmt.Sprintf("argument %d: %s", i, problem)
		}
	}
	return ""
}
