package vmrun

import (
	"fmt"
	"strings"

	"tvmgo/blob/vmcode"
)

// Program is an executable with arguments for its function main.
type Program struct {
	Exec *vmcode.Executable
	Args []Value
}

// Outcome is what running a program shows.
type Outcome struct {
	Trace  []string // what it passed to vmrun.log
	Result string   // Format of its result, if it has not failed
	Err    error

	Undefined string // what it did that is neither defined nor checked by TVM, whose machine may crash there; or ""
	Otherwise string // what it did that TVM does otherwise, or ""
}

// Run runs a program on a new [Machine].
func (p *Program) Run() Outcome {
	m, err := New(p.Exec)
	if err != nil {
		return Outcome{Err: err}
	}
	m.MaxSteps = 4000
	result, err := m.Call("main", cloneAll(p.Args)...)
	out := Outcome{Trace: m.Trace, Err: err}
	if err == nil {
		out.Result = m.show(result)
	}
	out.Undefined, out.Otherwise = m.undefined, m.otherwise
	return out
}

// Difference compares the outcomes of a program on this machine and another one: in what they differ, "" for nothing.
// Of errors only the fact counts.
func (o Outcome) Difference(other Outcome) string {
	for i := range min(len(o.Trace), len(other.Trace)) {
		if o.Trace[i] != other.Trace[i] {
			return fmt.Sprintf("line %d of the trace: %s, and not %s", i, other.Trace[i], o.Trace[i])
		}
	}
	switch {
	case len(o.Trace) != len(other.Trace):
		return fmt.Sprintf("%d lines of trace, and not %d; error: %v, and not %v",
			len(other.Trace), len(o.Trace), other.Err, o.Err)
	case (o.Err == nil) != (other.Err == nil):
		return fmt.Sprintf("error: %v, and not %v", other.Err, o.Err)
	case o.Result != other.Result:
		return fmt.Sprintf("result: %s, and not %s", other.Result, o.Result)
	}
	return ""
}

// cloneAll returns copies of arguments, because programs write into them.
func cloneAll(values []Value) []Value {
	out := make([]Value, len(values))
	for i, v := range values {
		switch v := v.(type) {
		case *Tensor:
			out[i] = &Tensor{&Memory{Bytes: append([]byte(nil), v.Memory.Bytes...)}, v.Offset, v.Shape, v.DType}
		case *Tuple:
			out[i] = &Tuple{cloneAll(v.Items)}
		default:
			out[i] = v
		}
	}
	return out
}

// Text prints a program for people: arguments, the instructions of each function with their indices, and the constants
// that they use. Instructions that only continue at the next one are left out: [Program.Shrink] makes them.
func (p *Program) Text() string {
	var b strings.Builder
	for i, a := range p.Args {
		fmt.Fprintf(&b, "argument %d: %s\n", i, Format(a))
	}
	used := map[vmcode.Operand]bool{}
	for _, f := range p.Exec.Functions {
		if f.Kind != vmcode.Bytecode {
			continue
		}
		fmt.Fprintf(&b, "%s(%d parameters, %d registers):\n", f.Name, f.Arity, f.Registers)
		for pc := f.Begin; pc < f.End; pc++ {
			in := p.Exec.Code[pc]
			if in.Op == vmcode.Goto && in.Jump == 1 {
				continue
			}
			for _, a := range in.Args {
				used[a] = true
			}
			fmt.Fprintf(&b, "%5d  %s\n", pc, p.Exec.InstructionText(&in))
		}
	}
	for i, c := range p.Exec.Constants {
		if used[vmcode.Operand{Kind: vmcode.InConstant, Value: int64(i)}] {
			fmt.Fprintf(&b, "c[%d] = %s\n", i, Format(constant(c)))
		}
	}
	return b.String()
}

// Shrink returns a smaller program for which fails still reports true: it replaces instructions with jumps to the next
// one, from long runs of them to single ones, until nothing more can be replaced. fails must not keep its argument.
func (p *Program) Shrink(fails func(*Program) bool) *Program {
	code := append([]vmcode.Instruction(nil), p.Exec.Code...)
	try := func(from, to int) bool {
		next, changed := append([]vmcode.Instruction(nil), code...), false
		for i := from; i < to; i++ {
			if p.last(i) || next[i].Op == vmcode.Goto && next[i].Jump == 1 {
				continue
			}
			next[i], changed = vmcode.Instruction{Op: vmcode.Goto, Jump: 1}, true
		}
		if !changed || !fails(p.with(next)) {
			return false
		}
		code = next
		return true
	}
	for progress := true; progress; {
		progress = false
		for n := len(code); n > 0; n /= 2 {
			for i := 0; i < len(code); i += n {
				progress = try(i, min(i+n, len(code))) || progress
			}
		}
	}
	return p.with(code)
}

// last reports whether an instruction is the last one of its function, which must not continue at the next one.
func (p *Program) last(pc int) bool {
	for _, f := range p.Exec.Functions {
		if f.Kind == vmcode.Bytecode && f.End == pc+1 {
			return true
		}
	}
	return false
}

func (p *Program) with(code []vmcode.Instruction) *Program {
	exec := *p.Exec
	exec.Code = append([]vmcode.Instruction(nil), code...)
	exec.Functions = append([]vmcode.Function(nil), exec.Functions...)
	setRegisters(&exec)
	return &Program{&exec, p.Args}
}

// setRegisters numbers the registers of each bytecode function without gaps. It changes functions and instructions, but
// not the operands that they share with other programs.
func setRegisters(exec *vmcode.Executable) {
	for i := range exec.Functions {
		f := &exec.Functions[i]
		numbers := map[vmcode.Register]vmcode.Register{vmcode.Void: vmcode.Void, vmcode.Context: vmcode.Context}
		f.Registers = 0
		number := func(r vmcode.Register) vmcode.Register {
			if _, ok := numbers[r]; !ok {
				numbers[r] = vmcode.Register(f.Registers)
				f.Registers++
			}
			return numbers[r]
		}
		for r := range f.Arity {
			number(vmcode.Register(r))
		}
		for pc := f.Begin; pc < f.End; pc++ {
			in := &exec.Code[pc]
			in.Args = append([]vmcode.Operand(nil), in.Args...)
			for j, a := range in.Args {
				if a.Kind == vmcode.InRegister {
					in.Args[j].Value = int64(number(vmcode.Register(a.Value)))
				}
			}
			switch in.Op {
			case vmcode.Call:
				in.Dst = number(in.Dst)
			case vmcode.Ret, vmcode.If:
				in.Source = number(in.Source)
			}
		}
	}
}
