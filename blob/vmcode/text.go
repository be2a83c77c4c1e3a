package vmcode

import (
	"fmt"
	"strconv"
	"strings"
)

// Text prints the functions with their instructions as the function as_text of Apache TVM's executables does. The
// executable must pass [Executable.Check].
//
// Each instruction of a function is a line: what it calls, its arguments (registers %0, integers i16, constants c[2],
// functions f[name]), and its destination. Offsets of goto and If are relative to their line. Unlike in TVM, names that
// are not printable are quoted, and long ones are cut in instructions, so that the text is not much longer than the
// file.
func (e *Executable) Text() string {
	var b strings.Builder
	for i := range e.Functions {
		f := &e.Functions[i]
		switch f.Kind {
		case Packed:
			fmt.Fprintf(&b, "@%s packed_func;\n\n", shown(f.Name))
		case CompiledVM:
			fmt.Fprintf(&b, "@%s num_inputs=%d vm_tir_func;\n\n", shown(f.Name), f.Arity)
		default:
			fmt.Fprintf(&b, "@%s:\n", shown(f.Name))
			for pc := f.Begin; pc < f.End; pc++ {
				b.WriteString("  ")
				e.writeInstruction(&b, &e.Code[pc])
				b.WriteByte('\n')
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// InstructionText returns the line of an instruction in [Executable.Text].
func (e *Executable) InstructionText(in *Instruction) string {
	var b strings.Builder
	e.writeInstruction(&b, in)
	return b.String()
}

func (e *Executable) writeInstruction(b *strings.Builder, in *Instruction) {
	switch in.Op {
	case Call:
		args := make([]string, len(in.Args))
		for i, a := range in.Args {
			args[i] = e.operandText(a)
		}
		fmt.Fprintf(b, "%-6s%-16s in: %-12s dst: %s", in.Op, e.functionText(int64(in.Callee)), strings.Join(args, ", "),
			in.Dst)
	case Ret:
		fmt.Fprintf(b, "%-6s%s", in.Op, in.Source)
	case Goto:
		fmt.Fprintf(b, "%-6s%d", in.Op, in.Jump)
	case If:
		fmt.Fprintf(b, "%-6s%s, %d", "If", in.Source, in.Jump)
	default:
		fmt.Fprintf(b, "%s", in.Op)
	}
}

func (e *Executable) operandText(a Operand) string {
	switch a.Kind {
	case InRegister:
		return Register(a.Value).String()
	case Immediate:
		return "i" + strconv.FormatInt(a.Value, 10)
	case InConstant:
		return "c[" + strconv.FormatInt(a.Value, 10) + "]"
	case OfFunction:
		return "f[" + e.functionText(a.Value) + "]"
	}
	return fmt.Sprintf("operand(%d, %d)", a.Kind, a.Value)
}

func (e *Executable) functionText(i int64) string {
	if i < 0 || i >= int64(len(e.Functions)) {
		return fmt.Sprintf("function(%d)", i)
	}
	if name := e.Functions[i].Name; len(name) > longest {
		return shown(name[:longest] + "…")
	}
	return shown(e.Functions[i].Name)
}

// longest is the length in bytes to which names in instructions are cut.
const longest = 256

// brief is the operation of an instruction and the function that it calls, for errors.
func (e *Executable) brief(in *Instruction) string {
	if in.Op == Call && in.Callee >= 0 && in.Callee < len(e.Functions) {
		return "call " + e.functionText(int64(in.Callee))
	}
	return in.Op.String()
}

// String returns the register as [Executable.Text] shows it.
func (r Register) String() string {
	switch r {
	case Void:
		return "%void"
	case Context:
		return "%vm"
	}
	return "%" + strconv.FormatInt(int64(r), 10)
}

// String returns the name of the operation.
func (o Op) String() string {
	switch o {
	case Call:
		return "call"
	case Ret:
		return "ret"
	case Goto:
		return "goto"
	case If:
		return "if"
	}
	return fmt.Sprintf("operation(%d)", int64(o))
}

// String returns the name of the kind.
func (k ConstantKind) String() string {
	switch k {
	case TensorConstant:
		return "tensor"
	case DTypeConstant:
		return "dtype"
	case ShapeConstant:
		return "shape"
	case StringConstant:
		return "string"
	case IntConstant:
		return "int"
	case FloatConstant:
		return "float"
	}
	return fmt.Sprintf("constant(%d)", int(k))
}

// shown returns a name, quoted if it is not printable.
func shown(name string) string {
	for _, c := range name {
		if c == 0xfffd || !strconv.IsPrint(c) {
			return strconv.Quote(name)
		}
	}
	return name
}

// Stats lists the constants and the names of the functions as the function stats of Apache TVM's executables does. TVM
// loses the end of an empty shape, and fails for a float; here they are shapetuple[] and the number.
func (e *Executable) Stats() string {
	constants := make([]string, len(e.Constants))
	for i := range e.Constants {
		constants[i] = e.Constants[i].summary()
	}
	names := make([]string, len(e.Functions))
	for i := range e.Functions {
		names[i] = shown(e.Functions[i].Name)
	}
	return fmt.Sprintf("Relax VM executable statistics:\n  Constant pool (# %d): [%s]\n  Globals (#%d): [%s]\n",
		len(constants), strings.Join(constants, ", "), len(names), strings.Join(names, ", "))
}

// summary is the constant in [Executable.Stats].
func (c *Constant) summary() string {
	switch c.Kind {
	case TensorConstant:
		if len(c.Tensor.Shape) == 0 {
			return "scalar"
		}
		return dims(c.Tensor.Shape)
	case DTypeConstant:
		return c.DType.String()
	case ShapeConstant:
		return "shapetuple" + dims(c.Shape)
	case StringConstant:
		return `"` + c.Text + `"`
	case IntConstant:
		return strconv.FormatInt(c.Int, 10)
	case FloatConstant:
		return strconv.FormatFloat(c.Float, 'g', -1, 64)
	}
	return c.Kind.String()
}

func dims(shape []int64) string {
	list := make([]string, len(shape))
	for i, d := range shape {
		list[i] = strconv.FormatInt(d, 10)
	}
	return "[" + strings.Join(list, ", ") + "]"
}
