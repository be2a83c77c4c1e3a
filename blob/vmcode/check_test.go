package vmcode_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/blob/vmcode"
	"tvmgo/internal/testing/must"
)

// Each corruption of a file has an error that names the place.
func TestParse_Corruptions(t *testing.T) {
	for _, c := range []struct {
		change func(*raw)
		want   string
	}{
		// counts
		{func(r *raw) { r.counts[0] = 1 << 40 }, "number of functions: the count is 1099511627780, but the remaining"},
		{func(r *raw) { r.counts[1] = 1 << 40 }, "number of memory scopes: the count is"},
		{func(r *raw) { r.counts[2] = 1 << 40 }, "number of constants: the count is"},
		{func(r *raw) { r.counts[3] = 1 << 40 }, "number of instructions: the count is"},
		{func(r *raw) { r.counts[4] = 1 << 40 }, "number of words: the count is"},
		{func(r *raw) { r.counts[4] = -1 }, "end of the executable: 8 bytes are left over"},
		{func(r *raw) { r.afterwards = []byte{1} }, "end of the executable: 1 bytes are left over"},
		{func(r *raw) { r.starts = append(r.starts, make([]int64, 20)...) },
			"instruction 28: there are 29 instructions in 40 words"},

		// functions
		{func(r *raw) { r.functions[0].kind = 3 },
			`function 0: "main" has kind 3: expected 0 (packed), 1 (bytecode) or 2 (compiled)`},
		{func(r *raw) { r.functions[1].name = "" }, "function \"\": number 1 of the function table has no name"},
		{func(r *raw) { r.functions[2].name = "main" },
			`function "main": it is in the function table twice, as numbers 0 and 2`},
		{func(r *raw) { r.functions[3].numbers[0] = -1 }, `function "first": its instructions are numbers -1 to 2 of 9`},
		{func(r *raw) { r.functions[0].numbers[1] = 10 }, `function "main": its instructions are numbers 2 to 10 of 9`},
		{func(r *raw) { r.functions[0].numbers[0] = 10 }, `function "main": its instructions are numbers 10 to 9 of 9`},
		{func(r *raw) { r.functions[3].numbers[1] = 0 }, `function "first": it has no instruction`},
		{func(r *raw) { r.functions[0].numbers[0] = 1 },
			`function "main": its instructions begin at number 1, but those of function "first" end at number 2`},
		{func(r *raw) { r.functions[0].numbers[0] = 3 }, `instruction 2: it belongs to no function`},
		{func(r *raw) { r.functions[0].numbers[1] = 8 }, `instruction 8: it belongs to no function`},
		{func(r *raw) { r.functions[0].numbers[2] = -1 }, `function "main": it has -1 parameters: expected 0 to 65536`},
		{func(r *raw) { r.functions[2].numbers[2] = 1 << 40 }, `function "compiled": it has 1099511627776 parameters`},
		{func(r *raw) { r.functions[0].numbers[2] = 1 }, `function "main": it has 2 names of parameters for 1 parameters`},
		{func(r *raw) { r.functions[0].numbers[3] = 1 },
			`function "main": a frame of 1 registers: its 2 parameters and its instructions use 2 to 35`},
		{func(r *raw) { r.functions[0].numbers[3] = 36 }, `function "main": a frame of 36 registers`},
		{func(r *raw) { r.functions[2].numbers[3] = 1 },
			`function "compiled": a frame of 1 registers: its 1 parameters and its instructions use 2 to 1048576`},
		{func(r *raw) { r.functions[2].numbers[3] = 1 << 32 }, `function "compiled": a frame of 4294967296 registers`},

		// memory scopes
		{func(r *raw) { r.scopes[0].constant = 6 }, "memory scopes: constant 6: there are 6 constants"},
		{func(r *raw) { r.scopes[0].constant = -1 }, "memory scopes: constant -1: there are 6 constants"},
		{func(r *raw) { r.scopes[0].constant = 3 }, "constant 3: only tensors have a memory scope, not a string"},
		{func(r *raw) { r.scopes[0].scope = "" }, "constant 0: the scope is empty"},
		{func(r *raw) { r.scopes = append(r.scopes, rawScope{0, "global"}) },
			`constant 0: two scopes, "global.texture" and "global"`},

		// constants
		{func(r *raw) { r.tags[3] = 64 }, "constant 3: 64 is no type of a constant in files of TVM v0.22 and newer"},
		{func(r *raw) { r.tags[0] = 72 }, "constant 0: 72 is no type of a constant in files of TVM v0.22 and newer"},

		// words
		{func(r *raw) { r.starts[0] = 1 }, "instruction 0: it begins at word 1, but the one before ends at word 0"},
		{func(r *raw) { r.starts[4] = 0 },
			`function "main", instruction 2: it begins at word 0, but the one before ends at word 15`},
		{func(r *raw) { r.words = append(r.words, 0) },
			`function "main", instruction 6: 1 words are left over after the last instruction`},
		{func(r *raw) { r.words = r.words[:len(r.words)-1] },
			`function "main", instruction 6 (ret): it takes 2 words, 1 are left`},
		{func(r *raw) { r.words = r.words[:len(r.words)-2] },
			`function "main", instruction 6: it lies beyond the end of the 38 words`},
		{func(r *raw) { r.words[5] = 5 }, `function "first", instruction 1: unknown operation 5: expected 1 (call), 2 (ret)`},
		{func(r *raw) { r.words[5] = 0 }, `function "first", instruction 1: unknown operation 0`},
		{func(r *raw) { r.words[3] = -1 },
			`function "first", instruction 0 (call vm.builtin.copy): it has -1 arguments, but only 36 words are left`},
		{func(r *raw) { r.words[3] = 37 }, `it has 37 arguments, but only 36 words are left`},
	} {
		r := parts()
		c.change(r)
		err := must.Fail(vmcode.Parse(r.bytes(), vmcode.Modern))
		require.ErrorContains(t, err, c.want)
		require.ErrorContains(t, err, "read Relax executable: ")
		require.ErrorContains(t, err, ": the file is damaged: copy it or compile the model again")
		require.ErrorIs(t, err, blob.ErrCorrupt)
	}
}

// Each wrong instruction or constant has an error that names the function, the instruction and what it calls.
func TestCheck_Instructions(t *testing.T) {
	in := func(op vmcode.Op, change func(*vmcode.Instruction)) func(*vmcode.Executable) {
		index := map[vmcode.Op]int{vmcode.Call: 3, vmcode.Ret: 8, vmcode.Goto: 4, vmcode.If: 2}[op]
		return func(e *vmcode.Executable) { change(&e.Code[index]) }
	}
	arg := func(kind vmcode.OperandKind, value int64) func(*vmcode.Executable) {
		return func(e *vmcode.Executable) { e.Code[5].Args[1] = vmcode.Operand{Kind: kind, Value: value} }
	}
	const call = `function "main", instruction 3 (call vm.builtin.copy): argument 1: `
	for _, c := range []struct {
		change func(*vmcode.Executable)
		want   string
	}{
		{in(vmcode.Call, func(i *vmcode.Instruction) { i.Dst = 4 }),
			`function "main", instruction 1 (call first): its destination: there is no register 4: a frame has 4`},
		{in(vmcode.Call, func(i *vmcode.Instruction) { i.Dst = -1 }), "there is no register -1: a frame has 4"},
		{in(vmcode.Call, func(i *vmcode.Instruction) { i.Dst = 1<<54 + 2 }), "there is no register 18014398509481986"},
		{in(vmcode.Call, func(i *vmcode.Instruction) { i.Callee = 4 }),
			`function "main", instruction 1 (call): it calls function 4 of 4`},
		{in(vmcode.Call, func(i *vmcode.Instruction) { i.Callee = -1 }), "it calls function -1 of 4"},
		{in(vmcode.Call, func(i *vmcode.Instruction) { i.Args = nil }),
			`function "main", instruction 1 (call first): 0 arguments for function "first", which has 1 parameters`},
		{in(vmcode.Call, func(i *vmcode.Instruction) { i.Callee = 0 }),
			`1 arguments for function "main", which has 2 parameters`},
		{func(e *vmcode.Executable) { e.Code[6].Args = append(e.Code[6].Args, e.Code[6].Args...) },
			`function "main", instruction 4 (call compiled): 2 arguments for function "compiled", which has 1 parameters`},
		{arg(vmcode.InRegister, 4), call + "there is no register 4: a frame has 4"},
		{arg(vmcode.InRegister, -1), call + "there is no register -1: a frame has 4"},
		{arg(vmcode.InConstant, 6), call + "there is no constant 6: the executable has 6"},
		{arg(vmcode.InConstant, -1), call + "there is no constant -1: the executable has 6"},
		{arg(vmcode.OfFunction, 4), call + "there is no function 4: the executable has 4"},
		{arg(vmcode.OfFunction, -1), call + "there is no function -1: the executable has 4"},
		{arg(vmcode.Immediate, 1<<55), call + "integer 36028797018963968 does not fit into 56 bits"},
		{arg(vmcode.Immediate, -1<<55-1), call + "integer -36028797018963969 does not fit into 56 bits"},
		{arg(4, 0), call + "unknown kind 4 of an operand"},
		{in(vmcode.Ret, func(i *vmcode.Instruction) { i.Source = 4 }), "instruction 6 (ret): there is no register 4"},
		{in(vmcode.If, func(i *vmcode.Instruction) { i.Source = 4 }),
			"instruction 0 (if): its condition: there is no register 4: a frame has 4"},
		{in(vmcode.If, func(i *vmcode.Instruction) { i.Source = vmcode.Void }), "a special register (%void) is no condition"},
		{in(vmcode.If, func(i *vmcode.Instruction) { i.Source = vmcode.Context }), "a special register (%vm) is no"},
		{in(vmcode.If, func(i *vmcode.Instruction) { i.Jump = 1 }),
			"it jumps by 1 where the condition is false: expected at least 2"},
		{in(vmcode.If, func(i *vmcode.Instruction) { i.Jump = 7 }),
			"it jumps by 7, out of the function, which has instructions 0 to 6"},
		{in(vmcode.If, func(i *vmcode.Instruction) { i.Jump = 1<<63 - 1 }), "it jumps by 9223372036854775807, out of"},
		{in(vmcode.Goto, func(i *vmcode.Instruction) { i.Jump = 0 }), "instruction 2 (goto): it jumps to itself"},
		{in(vmcode.Goto, func(i *vmcode.Instruction) { i.Jump = -3 }), "it jumps by -3, out of the function"},
		{in(vmcode.Goto, func(i *vmcode.Instruction) { i.Jump = 5 }), "it jumps by 5, out of the function"},
		{in(vmcode.Goto, func(i *vmcode.Instruction) { i.Jump = -1 << 63 }), "it jumps by -9223372036854775808, out of"},
		{in(vmcode.Ret, func(i *vmcode.Instruction) { i.Op = vmcode.Call; i.Callee = 1 }),
			`instruction 6 (call vm.builtin.copy): it is the function's last instruction, but does not leave the function`},
		{in(vmcode.Ret, func(i *vmcode.Instruction) { i.Op = vmcode.If; i.Jump = -2 }),
			"instruction 6 (if): it is the function's last instruction"},
		{in(vmcode.Goto, func(i *vmcode.Instruction) { i.Op = 9 }),
			"instruction 2 (operation(9)): unknown operation 9"},

		{func(e *vmcode.Executable) { e.Functions[1].Kind = 7 }, `function "vm.builtin.copy": unknown kind 7`},
		{func(e *vmcode.Executable) { e.Constants[1].Kind = 6 }, "constant 1: unknown kind 6"},
		{func(e *vmcode.Executable) { e.Constants[1].Kind = -1 }, "constant 1: unknown kind -1"},
		{func(e *vmcode.Executable) { e.Constants[1].Scope = "global" }, "constant 1: only tensors have a memory scope"},
		{func(e *vmcode.Executable) { e.Constants[0].Tensor.Shape[0] = 3 },
			"constant 0: shape [3 2] of float32 takes 24 bytes, not 8"},
		{func(e *vmcode.Executable) { e.Constants[0].Tensor.Shape[0] = -3 }, "constant 0: "},
	} {
		e := program()
		require.NoError(t, e.Check())
		c.change(e)
		require.ErrorContains(t, e.Check(), c.want)
		require.ErrorIs(t, e.Check(), blob.ErrCorrupt)
	}
	for _, jump := range []int{-2, 4} { // to the first and the last instruction
		e := program()
		e.Code[4].Jump = jump
		require.NoError(t, e.Check())
	}
}

// Checking takes time in proportion to the size, also if all instructions were in all functions.
func TestCheck_OverlapIsFoundFirst(t *testing.T) {
	e := program()
	for i := range 100_000 {
		e.Functions = append(e.Functions, vmcode.Function{Kind: vmcode.Bytecode, Name: fmt.Sprint(i), Begin: 0, End: 9,
			Registers: 4})
	}
	require.ErrorContains(t, e.Check(), "its instructions begin at number 0, but those of function")
}
