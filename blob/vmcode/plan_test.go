package vmcode_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob/vmcode"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
)

func TestStorages_OfAModel(t *testing.T) {
	payload, layout := artifact(t)
	e := must.Get(vmcode.ParsePayload(payload, layout))(t)
	var instructions, tensors []int
	var bytes []int64
	for _, s := range e.Storages(&e.Functions[0]) {
		instructions, tensors, bytes = append(instructions, s.Instruction), append(tensors, s.Tensors), append(bytes, s.Bytes)
		require.Equal(t, int64(0), s.Device)
		require.Equal(t, "global", s.Scope)
	}
	require.Equal(t, []int{4, 8, 14, 29, 37, 44}, instructions)
	require.Equal(t, []int{2, 2, 1, 1, 1, 1}, tensors)
	require.Equal(t, []int64{2048, -1, -1, -1, -1, -1}, bytes)
	require.Empty(t, e.Storages(&e.Functions[1]))
}

// A tensor belongs to the storage that its register has at that instruction.
func TestStorages_ReusedRegister(t *testing.T) {
	constant := func(i int64) vmcode.Operand { return vmcode.Operand{Kind: vmcode.InConstant, Value: i} }
	integer := func(i int64) vmcode.Operand { return vmcode.Operand{Kind: vmcode.Immediate, Value: i} }
	storage := func(dst vmcode.Register, args ...vmcode.Operand) vmcode.Instruction {
		vm := vmcode.Operand{Kind: vmcode.InRegister, Value: int64(vmcode.Context)}
		return vmcode.Instruction{Op: vmcode.Call, Dst: dst, Callee: 1, Args: append([]vmcode.Operand{vm}, args...)}
	}
	tensor := func(register int64) vmcode.Instruction {
		return vmcode.Instruction{Op: vmcode.Call, Dst: 2, Callee: 2, Args: []vmcode.Operand{{Value: register}}}
	}
	e := &vmcode.Executable{
		Functions: []vmcode.Function{{Kind: vmcode.Bytecode, Name: "f", End: 10, Registers: 3},
			{Name: "vm.builtin.alloc_storage"}, {Name: "vm.builtin.alloc_tensor"}, {Name: "vm.builtin.null_value"}},
		Constants: []vmcode.Constant{{Kind: vmcode.ShapeConstant, Shape: []int64{3, 5}},
			{Kind: vmcode.DTypeConstant, DType: dlpack.Float32}, {Kind: vmcode.StringConstant, Text: "global.texture"},
			{Kind: vmcode.ShapeConstant, Shape: []int64{1 << 62, 8}}},
		Code: []vmcode.Instruction{
			storage(0, constant(0), integer(1), constant(1), constant(2)),
			tensor(0), tensor(0),
			storage(1, constant(0), integer(-1), constant(1)), // as older versions, without a scope
			tensor(0),
			storage(0, constant(3), integer(0), constant(1), constant(1)), // too large, and no text as a scope
			tensor(0),
			{Op: vmcode.Call, Dst: 0, Callee: 3},
			tensor(0), // of nothing
			{Op: vmcode.Ret},
		},
	}
	require.NoError(t, e.Check())
	require.Equal(t, []vmcode.Storage{
		{Instruction: 0, Register: 0, Bytes: 60, Device: 1, Scope: "global.texture", Tensors: 3},
		{Instruction: 3, Register: 1, Bytes: 60, Device: -1},
		{Instruction: 5, Register: 0, Bytes: -1, Device: 0, Tensors: 1},
	}, e.Storages(&e.Functions[0]))
	e.Code[0].Args = e.Code[0].Args[:3] // too few
	require.Len(t, e.Storages(&e.Functions[0]), 2)
}
