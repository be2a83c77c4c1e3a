// Package vmcode reads and writes the bytecode of TVM's Relax virtual machine: the payload of module kinds
// relax.VMExecutable and relax.Executable (docs/abi.md G.3).
//
// [Parse] decodes a payload into an [Executable] and checks everything that a machine relies on; constants are views of
// the input. [Executable.Encode] writes it, and [Executable.Text] prints it for people. Like package blob, this package
// needs no runtime.
package vmcode

import (
	"tvmgo/blob"
	"tvmgo/dlpack"
)

// Executable is a program of the virtual machine.
type Executable struct {
	Form      Form // of the file that it was read from
	Functions []Function
	Constants []Constant
	Code      []Instruction // of all functions

	// scoped are the constants with memory scopes in the order of the file, which TVM takes from a hash table, so that
	// Encode writes the same bytes. It may be incomplete.
	scoped []int
}

// FunctionKind says who runs a function.
type FunctionKind int32

// The kinds of functions, with their numbers in files.
const (
	Packed     FunctionKind = 0 // a packed function: of a module that the executable imports, or a global one
	Bytecode   FunctionKind = 1 // instructions of this executable
	CompiledVM FunctionKind = 2 // a function of an imported library, which works on the registers of its frame
)

// Function is an entry of the function table.
type Function struct {
	Kind       FunctionKind
	Name       string
	Begin, End int      // of Bytecode: its instructions Code[Begin:End]
	Arity      int      // of Bytecode and CompiledVM: the first registers are the arguments
	Registers  int      // of Bytecode and CompiledVM: the size of a frame, at least Arity
	Parameters []string // names of the arguments; may be shorter than Arity
}

// Op is the operation of an instruction, with its number in files.
type Op int64

// The operations.
const (
	Call Op = 1 // Dst = Functions[Callee](Args...)
	Ret  Op = 2 // return Source
	Goto Op = 3 // continue at the instruction Jump further on
	If   Op = 4 // if the integer in Source is 0: continue at the instruction Jump further on
)

// Register is the number of a register of a frame, or one of the special registers.
type Register int64

// The special registers.
const (
	Void    Register = 1 << 54   // as a destination: drop the result; as an operand: None
	Context Register = 1<<54 + 1 // the machine itself, as an opaque pointer
)

// Instruction is a decoded instruction.
type Instruction struct {
	Op     Op
	Dst    Register  // of Call
	Callee int       // of Call: index of Executable.Functions
	Args   []Operand // of Call
	Source Register  // of Ret and If
	Jump   int       // of Goto and If: relative to this instruction; of Goto not 0, of If at least 2
}

// OperandKind is the kind of an operand of a call, with its number in files.
type OperandKind int64

// The kinds of operands.
const (
	InRegister OperandKind = 0 // Value is a Register
	Immediate  OperandKind = 1 // Value is an integer of 56 bits
	InConstant OperandKind = 2 // Value is an index of Executable.Constants
	OfFunction OperandKind = 3 // Value is an index of Executable.Functions
)

// Operand is an argument of a call.
type Operand struct {
	Kind  OperandKind
	Value int64
}

// ConstantKind is the type of a constant. Files have different numbers for it: see [Numbering].
type ConstantKind int

// The types of constants.
const (
	TensorConstant ConstantKind = iota
	DTypeConstant
	ShapeConstant
	StringConstant
	IntConstant
	FloatConstant
)

// Constant is an entry of the constant table: the field of its kind is set.
type Constant struct {
	Kind   ConstantKind
	Tensor blob.Tensor // Data is a view of the input of Parse, without any alignment
	Scope  string      // of a tensor: the memory scope that it is uploaded to, "" for global memory
	DType  dlpack.DataType
	Shape  []int64
	Text   string
	Int    int64
	Float  float64
}

// Numbering is the set of numbers that files have for types of constants.
type Numbering int

// The numberings of TVM's versions.
const (
	Modern    Numbering = iota // from v0.22 on: type indices of tvm-ffi
	Version21                  // v0.21
	Classic                    // up to v0.20

	// Automatic lets Parse find the numbering of an executable outside a library: only one gives constants that end
	// where the code begins.
	Automatic Numbering = -1
)

// Form says how a file contains an executable.
type Form struct {
	Version   int // 1, or from TVM v0.24 on 2, which has memory scopes
	Numbering Numbering
}

// FormOf returns the form in which the newest version of TVM with a layout of blobs writes executables.
func FormOf(layout blob.Layout) Form {
	switch layout {
	case blob.Legacy:
		return Form{Version: 1, Numbering: Classic}
	case blob.LegacyFFI:
		return Form{Version: 1, Numbering: Version21}
	}
	return Form{Version: 2, Numbering: Modern}
}
