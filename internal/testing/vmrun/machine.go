// Package vmrun is an oracle for Relax virtual machines: a plain interpreter of [vmcode.Executable] on the host, and a
// generator of random programs.
//
// [Machine] follows the description of the instructions and builtins in docs/abi.md G.3 literally: a call is a Go call,
// a frame a slice of values, and no value is converted without need. [Random] makes programs that use every
// instruction, operand kind and builtin; [Program.Shrink] makes a failing program smaller, and [Program.Text] prints
// it. Tests run the same programs on a machine and here, and compare traces, results and whether the program fails.
package vmrun

import (
	"fmt"

	"tvmgo/blob/vmcode"
)

// Function is a packed function in Go.
type Function func(m *Machine, args []Value) (Value, error)

// Machine runs an executable. A machine is for one goroutine.
type Machine struct {
	Exec     *vmcode.Executable
	MaxDepth int      // bytecode functions that may be active at once
	MaxSteps int      // instructions that a machine executes in all; 0: no limit
	Trace    []string // what the program passed to the function vmrun.log

	functions map[string]Function
	constants []Value
	depth     int
	steps     int
	dropped   bool // the call that is being executed drops its result
	undefined string
	otherwise string
}

// Failure is the error of a program.
type Failure struct {
	Function    string // the bytecode function whose instruction failed
	Instruction int    // its index in Executable.Code
	Err         error
}

func (f *Failure) Error() string {
	return fmt.Sprintf("%s, instruction %d: %v", f.Function, f.Instruction, f.Err)
}

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// ErrDepth is the error of a recursion that is too deep, ErrSteps of a program that runs too long.
var (
	ErrDepth = fmt.Errorf("recursion is too deep")
	ErrSteps = fmt.Errorf("the program runs for too many instructions")
)

// New returns a machine with the builtins and the functions for tests, which [TestFunctions] describes. It fails if
// the executable names a packed function that is neither.
func New(exec *vmcode.Executable) (*Machine, error) {
	m := &Machine{Exec: exec, MaxDepth: 100, functions: map[string]Function{}}
	for name, f := range builtins {
		m.functions[name] = f
	}
	for name, f := range TestFunctions {
		m.functions[name] = f
	}
	for _, f := range exec.Functions {
		if f.Kind == vmcode.Packed && m.functions[f.Name] == nil {
			return nil, fmt.Errorf("no function %s", f.Name)
		}
	}
	for _, c := range exec.Constants {
		m.constants = append(m.constants, constant(c))
	}
	return m, nil
}

func constant(c vmcode.Constant) Value {
	switch c.Kind {
	case vmcode.TensorConstant:
		memory := &Memory{Bytes: append([]byte(nil), c.Tensor.Data...), Constant: true}
		return &Tensor{Memory: memory, Shape: c.Tensor.Shape, DType: c.Tensor.DType}
	case vmcode.DTypeConstant:
		return c.DType
	case vmcode.ShapeConstant:
		return Shape(c.Shape)
	case vmcode.StringConstant:
		return c.Text
	case vmcode.IntConstant:
		return c.Int
	default:
		return c.Float
	}
}

// leave records undefined behaviour and returns it as an error.
func (m *Machine) leave(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if m.undefined == "" {
		m.undefined = err.Error()
	}
	return err
}

// differs records behaviour that is not TVM's.
func (m *Machine) differs(here bool, what string) {
	if here && m.otherwise == "" {
		m.otherwise = what
	}
}

// Call runs a bytecode function.
func (m *Machine) Call(name string, args ...Value) (Value, error) {
	for i, f := range m.Exec.Functions {
		if f.Name == name && f.Kind == vmcode.Bytecode {
			return m.run(i, args)
		}
	}
	return nil, fmt.Errorf("no bytecode function %s", name)
}

// run executes a bytecode function.
func (m *Machine) run(index int, args []Value) (Value, error) {
	f := m.Exec.Functions[index]
	if len(args) != f.Arity {
		return nil, fmt.Errorf("%s has %d parameters, not %d", f.Name, f.Arity, len(args))
	}
	if m.depth == m.MaxDepth {
		return nil, ErrDepth
	}
	m.differs(m.dropped, "TVM cannot drop the result of a bytecode function")
	m.depth++
	defer func() { m.depth-- }()

	registers := make([]Value, f.Registers)
	copy(registers, args)
	for pc := f.Begin; ; {
		if m.steps++; m.MaxSteps > 0 && m.steps > m.MaxSteps {
			return nil, ErrSteps
		}
		in := m.Exec.Code[pc]
		switch in.Op {
		case vmcode.Call:
			result, err := m.call(in, registers)
			if _, located := err.(*Failure); err != nil && !located {
				err = &Failure{f.Name, pc, err}
			}
			if err != nil {
				return nil, err
			}
			if in.Dst < vmcode.Void {
				registers[in.Dst] = result
			}
			pc++
		case vmcode.Ret:
			return read(registers, in.Source), nil
		case vmcode.Goto:
			pc += in.Jump
		case vmcode.If:
			condition, err := asInt(read(registers, in.Source))
			if err != nil {
				return nil, &Failure{f.Name, pc, err}
			}
			if condition != 0 {
				pc++
			} else {
				pc += in.Jump
			}
		}
	}
}

// call executes a Call instruction and returns the result of the function.
func (m *Machine) call(in vmcode.Instruction, registers []Value) (Value, error) {
	args := make([]Value, len(in.Args))
	for i, operand := range in.Args {
		switch operand.Kind {
		case vmcode.InRegister:
			args[i] = read(registers, vmcode.Register(operand.Value))
		case vmcode.Immediate:
			args[i] = operand.Value
		case vmcode.InConstant:
			args[i] = m.constants[operand.Value]
		case vmcode.OfFunction:
			args[i] = m.function(int(operand.Value))
		}
	}
	defer func(outer bool) { m.dropped = outer }(m.dropped)
	m.dropped = in.Dst >= vmcode.Void
	switch callee := m.Exec.Functions[in.Callee]; callee.Kind {
	case vmcode.Bytecode:
		return m.run(in.Callee, args)
	case vmcode.Packed:
		return m.functions[callee.Name](m, args)
	default:
		return nil, fmt.Errorf("%s is compiled, and this machine runs no machine code", callee.Name)
	}
}

// read returns the value of a register.
func read(registers []Value, r vmcode.Register) Value {
	switch r {
	case vmcode.Void:
		return nil
	case vmcode.Context:
		return Context{}
	}
	return registers[r]
}

// function returns a function of the executable as a value.
func (m *Machine) function(index int) Value {
	if f := m.Exec.Functions[index]; f.Kind == vmcode.Packed {
		return &PackedFunction{f.Name}
	}
	return &Closure{Function: index}
}

// Invoke calls a closure or a packed function.
func (m *Machine) Invoke(f Value, args []Value) (Value, error) {
	switch f := f.(type) {
	case *PackedFunction:
		return m.functions[f.Name](m, args)
	case *Closure:
		all := append(append([]Value(nil), args...), f.Bound...) // bound arguments are the last ones
		switch {
		case f.Of != nil:
			return m.Invoke(f.Of, all)
		case f.Packed != nil:
			return m.Invoke(f.Packed, all)
		}
		return m.run(f.Function, all)
	}
	return nil, fmt.Errorf("%s is no closure and no function", Format(f))
}

// asInt converts as tvm-ffi converts an argument to int: of ints and bools.
func asInt(v Value) (int64, error) {
	switch v := v.(type) {
	case int64:
		return v, nil
	case bool:
		if v {
			return 1, nil
		}
		return 0, nil
	}
	return 0, fmt.Errorf("%s is no integer", Format(v))
}
