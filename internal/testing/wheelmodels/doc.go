// Package wheelmodels has whole models that Apache TVM compiles, with inputs and what TVM's own virtual machine
// computes for them, for tests of everything that reads or runs Relax executables.
//
// [Need] compiles them with the Python wheels of package wheel, which takes about half a minute of one core, and stores
// them in build/.cache/wheelmodels for all packages and later runs; a change of the scripts or of the wheels' versions
// compiles them again. The scripts are in python/: each program is compiled in several ways (target, bytecode or
// compiled functions, memory planning).
//
// A model can need packed functions that are not part of it: [Globals] describes them.
package wheelmodels

import (
	"tvmgo/dlpack"
)

// Model is a compiled model.
type Model struct {
	Name    string // Program and Way
	Program string // what was compiled, such as "convnet"
	// Way says how: "llvm", "llvm_unplanned", "llvm_compiled", "c" for the CPU; "opencl" or "cuda" for these devices,
	// with the results of the same program on the CPU; or "builder": bytecode written by hand.
	Way  string
	Path string // of the shared library

	// Devices are the devices of the executable's list, such as "cpu" or "opencl". The host comes last.
	Devices []string

	// Builtins are the functions vm.builtin.* that the model calls, and Globals the other packed functions that are
	// neither in the library nor in the executable.
	Builtins, Globals []string

	// Instructions are those of "call", "ret", "goto", "if" that the bytecode has, and Operands the kinds of operands of
	// its calls: "register", "context", "void", "immediate", "constant", "function".
	Instructions, Operands []string

	Functions []Function
	Cases     []Case
	Error     string // not empty: TVM's machine cannot be initialized with the model; it has no cases
}

// Function is a function of a model.
type Function struct {
	Name       string
	Parameters []string // names; of bytecode written by hand "" for some
	Arity      int
}

// Case is a call and its result.
type Case struct {
	Function string
	Inputs   []Value
	Output   Value
	After    map[int]Value // the inputs that the call changes, with their new values
	Error    string        // not empty: the call fails with this error; there is no Output
}

// Value is an argument or a result: the first of its fields that is set, or None.
type Value struct {
	Tensor *Tensor
	Tuple  []Value // not nil: a tuple, which may be empty
	Shape  []int64 // not nil: a shape, which may be empty
	Int    *int64
	Float  *float64
	Bool   *bool
	String *string
	DType  *dlpack.DataType
	Object string // the type of another object, such as a closure
}

// Tensor is an array in memory.
type Tensor struct {
	DType dlpack.DataType
	Shape []int64
	Data  []byte // in row-major order
}

// Globals says what the packed functions do that models need:
//
//	wheelmodels.twice     (x: tensor of float32) → a new tensor 2x
//	wheelmodels.add       (x, y, out: tensors of float32) stores x+y in out
//	wheelmodels.describe  (string, data type, shape, int, float) → the arguments as a string
//	wheelmodels.plus      (a, b: integers) → a+b
//	wheelmodels.less      (a, b: integers) → 1 if a < b, otherwise 0
//	wheelmodels.apply     (f, arguments…) → f(arguments…)
//	wheelmodels.count     (arguments…) → their number
//
// The string of describe is like "text float16x4 [3, 4] 3 0.5". Nobody registers wheelmodels.missing.
var Globals = []string{
	"wheelmodels.add", "wheelmodels.apply", "wheelmodels.count", "wheelmodels.describe", "wheelmodels.less",
	"wheelmodels.missing", "wheelmodels.plus", "wheelmodels.twice",
}
