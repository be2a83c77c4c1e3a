package vmcode

import (
	"fmt"
	"strconv"
	"strings"
)

// Python prints the functions as the Python program that builds them with TVM's ExecBuilder, as the function as_python
// of Apache TVM's executables does. The executable must pass [Executable.Check].
//
// Constants are referred to by their numbers, and functions that are not bytecode are left out. Like in
// [Executable.Text], long names are cut in instructions.
func (e *Executable) Python() string {
	var b strings.Builder
	b.WriteString("ib = rx.Builder()\n")
	for i := range e.Functions {
		f := &e.Functions[i]
		if f.Kind != Bytecode {
			continue
		}
		fmt.Fprintf(&b, "with ib.function(%s, num_inputs=%d):\n", strconv.Quote(f.Name), f.Arity)
		for pc := f.Begin; pc < f.End; pc++ {
			b.WriteString("    ib.emit_")
			e.writePython(&b, &e.Code[pc])
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func (e *Executable) writePython(b *strings.Builder, in *Instruction) {
	switch in.Op {
	case Call:
		args := make([]string, len(in.Args))
		for i, a := range in.Args {
			args[i] = e.operandPython(a)
		}
		fmt.Fprintf(b, "call(%s, args=[%s]", e.namePython(int64(in.Callee)), strings.Join(args, ", "))
		if in.Dst != Void {
			b.WriteString(", dst=" + in.Dst.python())
		}
		b.WriteByte(')')
	case Ret:
		fmt.Fprintf(b, "ret(%s)", in.Source.python())
	case Goto:
		fmt.Fprintf(b, "goto(%d)", in.Jump)
	case If:
		fmt.Fprintf(b, "if(%s, %d)", in.Source.python(), in.Jump)
	}
}

func (e *Executable) operandPython(a Operand) string {
	switch a.Kind {
	case Immediate:
		return fmt.Sprintf("ib.imm(%d)", a.Value)
	case InConstant:
		return fmt.Sprintf("ib.c(%d)", a.Value)
	case OfFunction:
		return "ib.f(" + e.namePython(a.Value) + ")"
	}
	return Register(a.Value).python()
}

func (e *Executable) namePython(function int64) string {
	name := e.Functions[function].Name
	if len(name) > longest {
		name = name[:longest] + "…"
	}
	return strconv.Quote(name)
}

func (r Register) python() string {
	if r == Context {
		return "ib.r(vm)"
	}
	return fmt.Sprintf("ib.r(%d)", int64(r))
}
