package spirv

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

// checked parses and checks a module.
func checked(code []byte) error {
	m, err := Parse(code)
	if err != nil {
		return err
	}
	return m.Check()
}

// Modules that run pass the check; truncated ones do not.
func TestCheck_Shaders(t *testing.T) {
	files := must.Get(filepath.Glob("../../runtime/vulkan/testdata/*.spv"))(t)
	require.NotEmpty(t, files)
	for _, file := range append(files, "../../examples/kernel/add.spv") {
		code := must.Get(os.ReadFile(file))(t)
		require.NoError(t, checked(code), file)
		if strings.HasSuffix(file, "two.spv") || strings.HasSuffix(file, "artifacts.spv") {
			continue // several functions: a truncated module may be complete
		}
		for n := range len(code) {
			if err := checked(code[:n]); err == nil { // the entry point may not be declared yet
				m, _ := Parse(code[:n])
				require.Empty(t, m.Names(Compute), "%s, the first %d bytes", file, n)
			}
		}
	}
	m, err := Parse(shader(t, "two")) // truncated before the second function
	require.NoError(t, err)
	end := headerWords
	for m.Words[end]&0xffff != OpFunctionEnd {
		end += int(m.Words[end] >> 16)
	}
	require.ErrorContains(t, checked(shader(t, "two")[:4*end+4]), "is used, but never defined")
}

// A valid module with one kernel passes the check; each of these changes makes it invalid.
func TestCheck_Damage(t *testing.T) {
	const void, fn, main, label, number, float, block, pointer, v, one, floats, way = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12
	right := [][]uint32{{OpCapability, 1}, {OpMemoryModel, 0, 1}, {OpEntryPoint, 5, main, 'f'}, {OpExecutionMode, main,
		ModeLocalSize, 1, 1, 1},
		{OpTypeVoid, void}, {OpTypeFunction, fn, void}, {OpTypeInt, number, 32, 0}, {OpTypeFloat, float, 32}, {OpTypeStruct,
			block, float},
		{OpTypePointer, pointer, ClassStorageBuffer, block}, {OpVariable, pointer, v, ClassStorageBuffer}, {OpConstant,
			number, one, 0},
		{OpTypePointer, floats, ClassStorageBuffer, float}, {OpFunction, void, main, 0, fn}, {OpLabel, label}, {OpAccessChain,
			floats, way, v, one},
		{OpLoad, float, 13, way}, {OpStore, way, 13}, {253}, {OpFunctionEnd}}
	require.NoError(t, checked(assemble(right...)))
	put := func(i int, now ...uint32) []byte {
		list := slices.Clone(right)
		list[i] = now
		return assemble(list...)
	}
	more := func(i int, now ...uint32) []byte { return assemble(slices.Insert(slices.Clone(right), i, now)...) }
	drop := func(i int) []byte { return assemble(slices.Delete(slices.Clone(right), i, i+1)...) }
	header := func(word int, v uint32) []byte {
		code := assemble(right...)
		binary.LittleEndian.PutUint32(code[4*word:], v)
		return code
	}
	for _, c := range []struct {
		code []byte
		want string
	}{
		{header(1, 0x00020000), "at byte 4: its version is 0x00020000, not 1.x"},
		{header(1, 0x01010000), "its version is 0x01010000"},
		{header(3, 0), "at byte 12: its bound of ids is 0"},
		{header(3, 0xffffffff), "its bound of ids is 4294967295, expected 1 to 4194303"},
		{header(3, 13), "an operand is id 13, expected 1 to 12"},
		{header(4, 1), "at byte 16: its schema is 1"},
		{drop(1), "the module has no memory model"},
		{drop(4), "id 1 is used before it is defined"},
		{drop(7), "id 6 is used before it is defined"},
		{drop(5), "id 2 is used, but never defined"},
		{drop(14), "instruction 65 is in a function, but outside of its blocks"},
		{drop(18), "function 3 ends inside of a block"},
		{drop(19), "the last function has no end"},
		{put(14, 0), "instruction 65 is in a function, but outside of its blocks"},
		{put(2, OpEntryPoint, 5, v, 'f'), `the entry point "f" is function 9, which is missing`},
		{put(4, OpTypeBool, void), `the entry point "f" is a function with parameters or a result`},
		{put(5, OpTypeFunction, fn, void, void), "the parameters of function 3 do not match its type"},
		{put(5, OpTypeStruct, fn, void), "function 3 has the type 2, which is not a function type"},
		{put(6, OpTypeInt, float, 32, 0), "id 6 is defined twice"},
		{put(6, OpTypeInt, 0, 32, 0), "an operand is id 0, expected 1 to"},
		{put(8, OpTypeStruct, block, void), "type 7 consists of types without data"},
		{put(9, OpTypePointer, pointer, ClassStorageBuffer, fn), "consists of types without data"},
		{put(8, OpTypeArray, block, block, one), "id 7 is used before it is defined"},
		{put(9, OpTypePointer, pointer, ClassStorageBuffer, float),
			"the type of a block variable is not a structure"},
		{put(10, OpVariable, pointer, v, ClassPushConstant),
			"the type of a variable is not a pointer with its storage class"},
		{put(10, OpVariable, block, v, ClassStorageBuffer), "the type of a variable is not a pointer"},
		{put(10, OpVariable, v, v, ClassStorageBuffer), "id 9 is used before it is defined"},
		{more(12, OpConstantNull, one, 14), "id 10 is used as a type, but it is not a type"},
		{put(11, OpConstant, number, one, 1), "an access chain selects a structure member that does not exist"},
		{put(12, OpTypePointer, floats, ClassWorkgroup, float), "or its result is not a pointer of the same storage class"},
		{put(15, OpAccessChain, pointer, way, v, one),
			"the result type of an access chain is not the type that its indices select"},
		{put(15, OpAccessChain, floats, way, v, one, one), "an access chain has an index into a scalar"},
		{put(16, OpLoad, number, 13, way), "the result type of a load is not the type that its pointer points to"},
		{put(17, OpStore, v, 13), "the value of a store does not have the type that its pointer points to"},
		{put(8, OpTypeStruct, block, block), "id 7 is used before it is defined"},
		{put(8, OpTypeVector, block, float, 2), "the type of a block variable"},
		{put(10, OpVariable, pointer, v, ClassStorageBuffer, number),
			"the initializer of a variable is not a constant of its type"},
		{more(12, OpConstantComposite, block, 14, one), "a constituent of a composite has the wrong type"},
		{more(12, OpConstantComposite, block, 14), "a composite does not have as many constituents as its type"},
		{more(12, OpConstantComposite, float, 14, one), "the type of a composite is not a composite type"},
		{more(16, OpFunctionCall, void, 14, way), "the result type or the number of arguments of a call"},
		{more(16, OpFunctionCall, void, 14, main, way), "the result type or the number of arguments of a call"},
		{more(17, OpCompositeConstruct, float, 14, 13), "the type of a composite is not a composite type"},
		{more(17, 133, number, 14, 13, 13), "the operands of instruction 133 do not match its result type"},
		{more(17, 129, float, 14, 13, one), "the operands of instruction 129 do not match"},
		{more(17, 128, number, 14, one, 13), "the operands of instruction 128 do not match"},
		{more(17, 169, number, 14, one, one, one), "the operands of instruction 169 do not match"},
		{more(17, 170, number, 14, one, one), "the operands of instruction 170 do not match"},
		{more(17, 111, float, 14, 13), "the operands of instruction 111 do not match"},
		{more(17, 234, number, 14, way, one, one, one), "the operands of instruction 234 do not match"},
		{put(15, OpAccessChain, floats, way, v, v), "an index of an access chain is not an integer"},
		{put(17, OpStore, way, 14), "id 14 is used, but never defined"},
	} {
		require.ErrorContains(t, checked(c.code), c.want)
	}
}

// The scalars of a block are found in its structures, vectors and arrays, up to a maximum number of parts.
func TestParse_Scalars(t *testing.T) {
	const main, number, float, pair, inner, block, pointer, v, two, list, huge = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
	m, err := Parse(assemble([]uint32{OpEntryPoint, 5, main, 'f'}, []uint32{OpMemberDecorate, inner, 0, DecorationOffset,
		4}, []uint32{OpMemberDecorate, inner, 1, DecorationOffset, 8},
		[]uint32{OpMemberDecorate, block, 0, DecorationOffset, 16}, []uint32{OpMemberDecorate, block, 1, DecorationOffset,
			40}, []uint32{OpMemberDecorate, block, 2, DecorationOffset, 64},
		[]uint32{OpDecorate, list, DecorationArrayStride, 8}, []uint32{OpDecorate, huge, DecorationArrayStride, 0},
		[]uint32{OpTypeInt, number, 32, 0},
		[]uint32{OpTypeFloat, float, 64}, []uint32{OpTypeVector, pair, number, 2}, []uint32{OpConstant, number, two, 2},
		[]uint32{OpConstant, number, 12, 1<<32 - 1},
		[]uint32{OpTypeArray, list, number, two}, []uint32{OpTypeArray, huge, number, 12}, []uint32{OpTypeStruct, inner,
			number, float},
		[]uint32{OpTypeStruct, block, inner, pair, list, huge}, []uint32{OpTypePointer, pointer, ClassPushConstant, block},
		[]uint32{OpVariable, pointer, v, ClassPushConstant},
		[]uint32{OpFunction, 1, main, 0, 1}, []uint32{OpLoad, block, 20, v}, []uint32{OpFunctionEnd}))
	require.NoError(t, err)
	e, _ := m.EntryPoint("f", Compute)
	require.Equal(t, []Scalar{{20, 32, false}, {24, 64, true}, {40, 32, false}, {44, 32, false}, {64, 32, false},
		{72, 32, false}}, e.Scalars, "the last has no offset")

	m, err = Parse(assemble([]uint32{OpEntryPoint, 5, main, 'f'}, []uint32{OpMemberDecorate, block, 0, DecorationOffset,
		0}, []uint32{OpDecorate, huge, DecorationArrayStride, 0},
		[]uint32{OpDecorate, list, DecorationArrayStride, 0}, []uint32{OpTypeInt, number, 32, 0}, []uint32{OpConstant, number,
			12, 1<<32 - 1}, []uint32{OpTypeArray, huge, number, 12},
		[]uint32{OpTypeArray, list, huge, 12}, []uint32{OpTypeStruct, block, list}, []uint32{OpTypePointer, pointer,
			ClassPushConstant, block},
		[]uint32{OpVariable, pointer, v, ClassPushConstant}, []uint32{OpFunction, 1, main, 0, 1}, []uint32{OpLoad, block, 20,
			v}, []uint32{OpFunctionEnd}))
	require.NoError(t, err)
	e, _ = m.EntryPoint("f", Compute)
	require.Len(t, e.Scalars, maxParts-2, "the rows of the array are parts, too")
}

// An unknown instruction may define any id.
func TestCheck_StrangeInstructions(t *testing.T) {
	list := [][]uint32{{OpMemoryModel, 0, 1}, {OpEntryPoint, 5, 3, 'f'}, {OpTypeVoid, 1}, {OpTypeFunction, 2, 1},
		{7000, 1, 20}, {5, 20, 'x'},
		{OpFunction, 1, 3, 0, 2}, {OpLabel, 4}, {253}, {OpFunctionEnd}}
	require.NoError(t, checked(assemble(list...)))
	list[4] = []uint32{OpNop}
	require.ErrorContains(t, checked(assemble(list...)), "id 20 is used, but never defined")
}

// The local size may be computed from specialisation constants.
func TestParse_LocalSizeComputed(t *testing.T) {
	size := func(op uint32, a, b uint32) *EntryPoint {
		m, err := Parse(assemble([]uint32{OpEntryPoint, 5, 9, 'f'}, []uint32{OpExecutionModeID, 9, ModeLocalSizeID, 4, 5, 3},
			[]uint32{OpSpecConstant, 1, 2, a},
			[]uint32{OpConstant, 1, 3, b}, []uint32{OpSpecConstantOp, 1, 4, op, 2, 3}, []uint32{OpSpecConstantOp, 1, 5, 128, 4,
				3}))
		require.NoError(t, err)
		e, ok := m.EntryPoint("f", Compute)
		require.True(t, ok)
		require.True(t, e.Adjustable)
		return e
	}
	for _, c := range []struct{ op, a, b, want uint32 }{{128, 5, 3, 8}, {130, 5, 3, 2}, {132, 5, 3, 15}, {134, 17, 3, 5},
		{137, 17, 3, 2},
		{194, 17, 3, 2}, {196, 2, 3, 16}, {197, 4, 3, 7}, {198, 5, 3, 6}, {199, 5, 3, 1}} {
		e := size(c.op, c.a, c.b)
		require.Equal(t, [3]uint32{c.want, c.want + c.b, c.b}, e.LocalSize, "%d", c.op)
		require.False(t, e.Computed)
	}
	for _, c := range [][3]uint32{{134, 1, 0}, {137, 1, 0}, {194, 1, 32}, {196, 1, 32}, {200, 1, 1}} {
		e := size(c[0], c[1], c[2])
		require.Equal(t, [3]uint32{}, e.LocalSize)
		require.True(t, e.Computed)
	}
}
