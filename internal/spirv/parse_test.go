package spirv

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// shader reads a module that the tests of runtime/vulkan run.
func shader(t testing.TB, name string) []byte {
	t.Helper()
	code, err := os.ReadFile(filepath.Join("..", "..", "runtime", "vulkan", "testdata", name+".spv"))
	require.NoError(t, err)
	return code
}

func TestParse(t *testing.T) {
	in := func(n uint32) Binding { return Binding{Number: n, Count: 1, ReadOnly: true} }
	out := func(n uint32) Binding { return Binding{Number: n, Count: 1} }
	const floatExtensions = "SPV_KHR_storage_buffer_storage_class SPV_KHR_float_controls " +
		"SPV_EXT_shader_atomic_float_add SPV_EXT_shader_atomic_float_min_max"
	floatCapabilities := []Capability{Shader, SignedZeroInfNanPreserve, RoundingModeRTE, AtomicFloat32AddEXT,
		AtomicFloat32MinMaxEXT}
	for _, c := range []struct {
		file, extensions string
		capabilities     []Capability
		want             EntryPoint
	}{
		{"add", "SPV_KHR_storage_buffer_storage_class", []Capability{Shader},
			EntryPoint{Name: "add", LocalSize: [3]uint32{64, 1, 1}, Bindings: []Binding{in(0), in(1), out(2)},
				PushConstants: 4}},
		{"reduce", "SPV_KHR_storage_buffer_storage_class", []Capability{Shader},
			EntryPoint{Name: "reduce", LocalSize: [3]uint32{256, 1, 1}, Bindings: []Binding{in(0), out(1)}, SharedBytes: 1024}},
		{"subgroup", "", []Capability{Shader, GroupNonUniform, GroupNonUniformArithmetic},
			EntryPoint{Name: "reduce_subgroup", LocalSize: [3]uint32{64, 1, 1}, Bindings: []Binding{in(0), out(1)},
				SharedBytes: 256}},
		{"stencil", "SPV_KHR_storage_buffer_storage_class", []Capability{Shader},
			EntryPoint{Name: "stencil", LocalSize: [3]uint32{8, 8, 1}, Bindings: []Binding{in(0), out(1)}, PushConstants: 20}},
		{"scalars", "SPV_KHR_storage_buffer_storage_class", []Capability{Shader}, EntryPoint{Name: "scalars",
			LocalSize: [3]uint32{4, 1, 1},
			Bindings:  []Binding{out(0), {Number: 1, Kind: UniformBuffer, Count: 1, ReadOnly: true, Bytes: 156}}}},
		{"pushed", "SPV_KHR_storage_buffer_storage_class", []Capability{Shader},
			EntryPoint{Name: "scalars", LocalSize: [3]uint32{4, 1, 1}, Bindings: []Binding{out(0)}, PushConstants: 156}},
		{"half", "SPV_KHR_16bit_storage SPV_KHR_storage_buffer_storage_class", []Capability{Shader, StorageBuffer16BitAccess},
			EntryPoint{Name: "half_scale", LocalSize: [3]uint32{16, 1, 1}, Bindings: []Binding{out(0)}, PushConstants: 4}},
		{"types", "SPV_KHR_storage_buffer_storage_class", []Capability{Shader, Int64, Float64},
			EntryPoint{Name: "types", LocalSize: [3]uint32{1, 1, 1}, Bindings: []Binding{out(0)}, PushConstants: 36}},
		{"floats", floatExtensions, floatCapabilities, EntryPoint{Name: "scaled", LocalSize: [3]uint32{64, 1, 1},
			Bindings:   []Binding{out(0), out(1)},
			FloatModes: []FloatMode{{SignedZeroInfNanPreserve, 32}, {RoundingModeRTE, 32}}}},
		{"floats", floatExtensions, floatCapabilities, EntryPoint{Name: "gathered", LocalSize: [3]uint32{64, 1, 1},
			Bindings: []Binding{out(0), out(1)}, SharedBytes: 4,
			FloatAtomics: []FloatAtomic{{Of: AtomicFloat32MinMaxEXT, Buffer: true}, {Of: AtomicFloat32AddEXT, Buffer: true},
				{Of: AtomicFloat32AddEXT, Shared: true}}}},
		{"two", "", []Capability{Shader}, EntryPoint{Name: "step", LocalSize: [3]uint32{64, 1, 1}, Adjustable: true,
			Bindings: []Binding{out(0)}, PushConstants: 12}},
		{"two", "", []Capability{Shader}, EntryPoint{Name: "swap", LocalSize: [3]uint32{64, 1, 1}, Adjustable: true,
			Bindings: []Binding{out(0), out(1)}}},
	} {
		code := shader(t, c.file)
		m, err := Parse(code)
		require.NoError(t, err)
		c.want.Model = Compute
		got, ok := m.EntryPoint(c.want.Name, Compute)
		require.True(t, ok)
		got.Scalars = nil
		require.Equal(t, &c.want, got, c.file)
		require.Equal(t, c.capabilities, m.Capabilities, c.file)
		require.Equal(t, c.extensions, strings.Join(m.Extensions, " "), c.file)
		wantMinor := 0
		if c.file == "subgroup" {
			wantMinor = 3
		}
		require.Equal(t, []int{1, wantMinor}, []int{m.Major, m.Minor})
		_, ok = m.EntryPoint(c.want.Name, 0)
		require.False(t, ok, "the module has no vertex shader")
		_, ok = m.EntryPoint("nothing", Compute)
		require.False(t, ok)
	}
	m, err := Parse(shader(t, "two"))
	require.NoError(t, err)
	require.Equal(t, []string{"step", "swap"}, m.Names(Compute))
	swap, _ := m.EntryPoint("swap", Compute)
	require.Len(t, swap.Bindings, 2)
	require.Equal(t, StorageBuffer, swap.Bindings[1].Kind)
}

// A module in the other byte order is read like the module itself.
func TestParse_OtherByteOrder(t *testing.T) {
	code := shader(t, "stencil")
	swapped := slices.Clone(code)
	for at := 0; at < len(swapped); at += 4 {
		slices.Reverse(swapped[at : at+4])
	}
	m, err := Parse(code)
	require.NoError(t, err)
	other, err := Parse(swapped)
	require.NoError(t, err)
	require.Equal(t, m.Words, other.Words)
	require.Equal(t, code, other.Bytes())
	require.Equal(t, uint32(0x07230203), m.Words[0])
	a, _ := m.EntryPoint("stencil", Compute)
	b, _ := other.EntryPoint("stencil", Compute)
	require.Equal(t, a, b)
}

// assemble makes a module from instructions; each is a list of an opcode and its operands.
func assemble(instructions ...[]uint32) []byte {
	words := []uint32{Magic, 0x00010600, 0, 100, 0}
	for _, w := range instructions {
		words = append(words, uint32(len(w))<<16|w[0])
		words = append(words, w[1:]...)
	}
	var b []byte
	for _, w := range words {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

// The widths and the memory of atomic operations on floats are found, also in functions that the entry point calls.
func TestParse_FloatAtomics(t *testing.T) {
	const main, called, uncalled, float, shared, buffer, image = 1, 2, 3, 10, 20, 21, 22
	function := func(f uint32, body ...[]uint32) [][]uint32 {
		return append(append([][]uint32{{OpFunction, 5, f, 0, 6}}, body...), []uint32{OpFunctionEnd})
	}
	atomic := func(op, bits, pointer uint32) []uint32 { return []uint32{op, float + bits, 99, pointer, 0, 0, 0} }
	code := [][]uint32{{OpEntryPoint, 5, main, 'f'}, {OpExecutionMode, main, ModeDenormPreserve, 16}, {OpExecutionMode,
		main, ModeRoundingModeRTZ, 64},
		{OpExecutionMode, called, ModeRoundingModeRTZ, 32},
		{OpTypeFloat, float + 16, 16}, {OpTypeFloat, float + 32, 32}, {OpTypeFloat, float + 64, 64}, {OpTypeFloat, float + 8,
			8},
		{OpTypePointer, shared, ClassWorkgroup, float + 16}, {OpTypePointer, buffer, ClassUniform, float + 32},
		{OpTypePointer, image, 11, float + 32},
		{OpVariable, shared, 30, ClassWorkgroup}}
	code = append(code, function(main, []uint32{OpFunctionCall, 5, 98, called}, atomic(OpAtomicFAdd, 16, 30),
		[]uint32{OpAccessChain, buffer, 31, 30},
		atomic(OpAtomicFMin, 64, 31), atomic(OpAtomicFMax, 64, 31))...)
	code = append(code, function(called, atomic(OpAtomicFAdd, 32, 32), []uint32{OpFunctionParameter, image, 33},
		atomic(OpAtomicFMax, 8, 33))...)
	code = append(code, function(uncalled, atomic(OpAtomicFAdd, 64, 30))...)
	m, err := Parse(assemble(code...))
	require.NoError(t, err)
	e, ok := m.EntryPoint("f", Compute)
	require.True(t, ok)
	require.Equal(t, []FloatMode{{DenormPreserve, 16}, {RoundingModeRTZ, 64}}, e.FloatModes)
	require.Equal(t, []FloatAtomic{{}, {Of: AtomicFloat64MinMaxEXT, Buffer: true}, {Of: AtomicFloat32AddEXT},
		{Of: AtomicFloat16AddEXT, Shared: true}}, e.FloatAtomics)
	_, err = Parse(assemble([]uint32{OpExecutionMode, main, ModeDenormPreserve}))
	require.ErrorContains(t, err, "an execution mode of floats has no width")
}

func TestParse_LocalSizeByConstants(t *testing.T) {
	const uint32T, main = 1, 9
	point := []uint32{OpEntryPoint, 5, main, 'f'}
	num := func(op, of, v uint32) []uint32 { return []uint32{op, uint32T, of, v} }
	size := []uint32{OpExecutionModeID, main, ModeLocalSizeID, 2, 3, 4}
	parsed := func(code []byte) *EntryPoint {
		m, err := Parse(code)
		require.NoError(t, err)
		e, ok := m.EntryPoint("f", Compute)
		require.True(t, ok)
		return e
	}
	e := parsed(assemble(point, size, num(OpConstant, 2, 32), num(OpConstant, 3, 2), num(OpConstant, 4, 1)))
	require.Equal(t, [3]uint32{32, 2, 1}, e.LocalSize)
	require.False(t, e.Adjustable)
	e = parsed(assemble(point, size, num(OpConstant, 2, 32), num(OpSpecConstant, 3, 2), num(OpConstant, 4, 1)))
	require.Equal(t, [3]uint32{32, 2, 1}, e.LocalSize)
	require.True(t, e.Adjustable)
	e = parsed(assemble(point, size, num(OpConstant, 2, 32)))
	require.Equal(t, [3]uint32{}, e.LocalSize, "a constant is undefined")
	require.True(t, e.Adjustable)
	e = parsed(assemble(point))
	require.Equal(t, EntryPoint{Name: "f", Model: Compute}, *e)
}

// Nested types whose size doubles with each level are read quickly, and their sizes do not overflow.
func TestParse_HugeTypes(t *testing.T) {
	list := [][]uint32{{OpEntryPoint, 5, 200, 'f'}, {OpTypeInt, 1, 32, 0}, {OpConstant, 1, 2, 0xffffffff}}
	for i := uint32(10); i < 110; i++ {
		of := i - 1
		if i == 10 {
			of = 1
		}
		list = append(list, []uint32{OpTypeStruct, i, of, of})
	}
	list = append(list, []uint32{OpTypeArray, 110, 109, 2}, []uint32{OpTypePointer, 111, ClassPushConstant, 110},
		[]uint32{OpVariable, 111, 112, ClassPushConstant},
		[]uint32{OpTypePointer, 113, ClassWorkgroup, 110}, []uint32{OpVariable, 113, 114, ClassWorkgroup},
		[]uint32{OpFunction, 1, 200, 0, 1}, []uint32{61, 1, 201, 112}, []uint32{61, 1, 202, 114}, []uint32{OpFunctionEnd})
	m, err := Parse(assemble(list...))
	require.NoError(t, err)
	e, _ := m.EntryPoint("f", Compute)
	require.Equal(t, uint32(0xffffffff), e.PushConstants)
	require.Equal(t, uint64(unlimited), e.SharedBytes)
}

func TestParse_Damaged(t *testing.T) {
	good := shader(t, "add")
	for want, code := range map[string][]byte{
		"the code is not SPIR-V: its size is 0 bytes":              nil,
		"the code is not SPIR-V: its size is 19 bytes":             good[:19],
		"the code is not SPIR-V: its size is 1038 bytes":           good[:1038],
		"begins with 0x464c457f, not 0x07230203":                   append([]byte("\x7fELF"), good[4:]...),
		"at byte 1036: an instruction has 0 words, but 1 are left": append(slices.Clone(good[:1036]), 0, 0, 0, 0),
		"at byte 1032: an instruction has 255 words":               append(slices.Clone(good[:1032]), 1, 0, 255, 0),
		"the last function has no end":                             good[:len(good)-4],
		"a string has no terminating zero":                         assemble([]uint32{OpEntryPoint, 5, 1, 0x61616161}),
		"instruction 17 has 0 operands, expected at least 1":       assemble([]uint32{OpCapability}),
		"a local size has 1 values, not 3": assemble([]uint32{OpExecutionMode, 1, ModeLocalSize,
			1}),
		"at byte 40: a function begins inside of a function": assemble([]uint32{OpFunction, 1, 2, 0, 3},
			[]uint32{OpFunction, 1, 2, 0, 3}),
	} {
		_, err := Parse(code)
		require.ErrorContains(t, err, want)
	}
}

// Parse does not panic when any byte of a module is changed, or when the module is truncated.
func TestParse_EveryByte(t *testing.T) {
	for _, name := range []string{"add", "subgroup", "two", "scalars"} {
		good := shader(t, name)
		for i := range good {
			bad := slices.Clone(good)
			for _, change := range []byte{1, 0x80, 0xff} {
				bad[i] = good[i] ^ change
				read(bad)
			}
			read(good[:i])
		}
	}
}

func read(code []byte) {
	m, err := Parse(code)
	if err != nil {
		return
	}
	for _, name := range m.Names(Compute) {
		m.EntryPoint(name, Compute)
	}
	for _, c := range m.Capabilities {
		_ = c.String()
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"add", "reduce", "subgroup", "stencil", "scalars", "half", "types", "two"} {
		f.Add(shader(f, name))
	}
	f.Fuzz(func(t *testing.T, code []byte) {
		m, err := Parse(code)
		if err == nil && len(m.Words)*4 != len(code) {
			t.Fatalf("%d bytes became %d words", len(code), len(m.Words))
		}
		read(code)
		if err == nil {
			_ = m.Check()
		}
	})
}

func TestCapability_String(t *testing.T) {
	require.Equal(t, "Float64", Float64.String())
	require.Equal(t, "9999", Capability(9999).String())
	require.True(t, GroupNonUniformArithmetic.Subgroup())
	require.False(t, Float64.Subgroup())
}
