package vmcode

import (
	"tvmgo/dlpack"
)

// Names of the builtins that place tensors in memory.
const (
	allocStorage = "vm.builtin.alloc_storage" // (context, shape, device, dtype, scope)
	allocTensor  = "vm.builtin.alloc_tensor"  // (storage, offset, shape, dtype)
)

// Storage is memory that a function allocates for tensors.
type Storage struct {
	Instruction int      // that allocates it, counted from the function's first one
	Register    Register // of the storage
	Bytes       int64    // -1 if the size depends on the arguments' shapes
	Device      int64    // index of the model's devices; -1 is the host
	Scope       string   // memory scope; "" if it is not a constant
	Tensors     int      // instructions that place a tensor in it
}

// Storages returns the memory plan of a function as far as its instructions tell: each instruction that allocates a
// storage. A function that is not bytecode has none. The executable must pass [Executable.Check].
func (e *Executable) Storages(f *Function) []Storage {
	if f.Kind != Bytecode {
		return nil
	}
	var list []Storage
	in := map[Register]int{} // the storage that each register has; code runs forward, except in loops made by hand
	for pc := f.Begin; pc < f.End; pc++ {
		at := &e.Code[pc]
		if at.Op != Call {
			continue
		}
		switch name := e.Functions[at.Callee].Name; {
		case name == allocStorage && len(at.Args) >= 4:
			in[at.Dst] = len(list)
			s := e.storage(at)
			s.Instruction = pc - f.Begin
			list = append(list, s)
			continue
		case name == allocTensor && len(at.Args) > 0 && at.Args[0].Kind == InRegister:
			if s, ok := in[Register(at.Args[0].Value)]; ok {
				list[s].Tensors++
			}
		}
		delete(in, at.Dst)
	}
	return list
}

// storage reads the operands of a call of alloc_storage.
func (e *Executable) storage(at *Instruction) Storage {
	s := Storage{Register: at.Dst, Bytes: -1, Device: -1}
	if at.Args[2].Kind == Immediate {
		s.Device = at.Args[2].Value
	}
	shape, dtype := e.constant(at.Args[1]), e.constant(at.Args[3])
	if shape.Kind == ShapeConstant && dtype.Kind == DTypeConstant {
		if n, err := dlpack.DataSize(shape.Shape, dtype.DType); err == nil {
			s.Bytes = n
		}
	}
	if len(at.Args) > 4 {
		s.Scope = e.constant(at.Args[4]).Text
	}
	return s
}

// constant returns the constant that an operand is; the zero value of an unknown kind for others.
func (e *Executable) constant(a Operand) Constant {
	if a.Kind != InConstant {
		return Constant{Kind: -1}
	}
	return e.Constants[a.Value]
}
