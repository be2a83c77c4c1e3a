package spirv

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/testseed"
)

// spirvDis returns the text of the tool spirv-dis, or the error that it prints.
func spirvDis(t testing.TB, code []byte, flags ...string) (string, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "m.spv")
	require.NoError(t, os.WriteFile(file, code, 0o600))
	out, err := exec.Command("spirv-dis", append(flags, "--no-color", file)...).Output()
	return string(out), err
}

func needDis(t testing.TB) {
	if _, err := exec.LookPath("spirv-dis"); err != nil {
		require.Empty(t, os.Getenv("CI"), err)
		t.Skip("the tool spirv-dis is missing: install the package spirv-tools")
	}
}

func TestDisassemble_LikeSpirvDis(t *testing.T) {
	needDis(t)
	files, err := filepath.Glob("../../runtime/vulkan/testdata/*.spv")
	require.NoError(t, err)
	more, err := filepath.Glob("../../examples/*/*.spv")
	require.NoError(t, err)
	require.Greater(t, len(files), 10)
	for _, file := range append(files, more...) {
		code, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, raw := range []bool{false, true} {
			got, err := Disassemble(code, TextOptions{RawIDs: raw})
			require.NoError(t, err, file)
			var flags []string
			if raw {
				flags = []string{"--raw-id"}
			}
			want, err := spirvDis(t, code, flags...)
			require.NoError(t, err)
			require.Equal(t, want, got, file)
		}
		swapped := make([]byte, len(code))
		for i := 0; i < len(code); i += 4 {
			binary.BigEndian.PutUint32(swapped[i:], binary.LittleEndian.Uint32(code[i:]))
		}
		got, err := Disassemble(swapped, TextOptions{})
		require.NoError(t, err)
		want, err := Disassemble(code, TextOptions{})
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.True(t, strings.HasPrefix(got, "; SPIR-V\n"))
	}
}

// mutants calls f with copies of the test modules in which one or two words are different, or that are cut off.
func mutants(t *testing.T, n int, f func(code []byte)) {
	files, err := filepath.Glob("../../runtime/vulkan/testdata/*.spv")
	require.NoError(t, err)
	random := testseed.Rand(t)
	for range n {
		code, err := os.ReadFile(files[random.IntN(len(files))])
		require.NoError(t, err)
		for range 1 + random.IntN(2) {
			at := headerWords + random.IntN(len(code)/4-headerWords)
			word := binary.LittleEndian.Uint32(code[4*at:])
			switch random.IntN(6) {
			case 0:
				word ^= 1 << random.IntN(32)
			case 1:
				word += uint32(random.IntN(3)) << 16
			case 2:
				word = uint32(random.IntN(80))
			case 3:
				word = word&0xffff0000 | uint32(random.IntN(450))
			case 4:
				word = random.Uint32()
			case 5:
				if random.IntN(4) == 0 {
					code = code[:4*at]
				}
			}
			if len(code) > 4*at {
				binary.LittleEndian.PutUint32(code[4*at:], word)
			}
			if len(code) < 4*(headerWords+1) {
				break
			}
		}
		f(code)
	}
}

// Disassemble and spirv-dis accept the same modules, apart from those with instructions that only one of them knows.
func TestDisassemble_MutantsLikeSpirvDis(t *testing.T) {
	needDis(t)
	accepted, rejected := 0, 0
	mutants(t, 400, func(code []byte) {
		got, err := Disassemble(code, TextOptions{})
		want, toolErr := spirvDis(t, code)
		if err != nil {
			require.Regexp(t, `damaged at word \d+ \(byte \d+\): |not SPIR-V`, err)
			require.Error(t, toolErr, "%v", err)
			rejected++
			return
		}
		var exit *exec.ExitError
		if errors.As(toolErr, &exit) {
			require.Contains(t, string(exit.Stderr), "Invalid ", got)
			return
		}
		accepted++
		require.Equal(t, vendors.Replace(want), vendors.Replace(got))
	})
	require.Greater(t, accepted, 50)
	require.Greater(t, rejected, 50)
}

func TestDisassemble_Numbers(t *testing.T) {
	for _, c := range []struct {
		of    numberType
		words []uint32
		want  string
	}{
		{numberType{width: 32, signed: true}, []uint32{0xffffffff}, "-1"},
		{numberType{width: 8, signed: true}, []uint32{0xffffff80}, "-128"},
		{numberType{width: 64}, []uint32{1, 0x80000000}, "9223372036854775809"},
		{numberType{width: 64, signed: true}, []uint32{0, 0x80000000}, "-9223372036854775808"},
		{numberType{width: 128}, []uint32{0, 0, 0, 1}, ""},
		{single32, []uint32{math.Float32bits(0.1)}, "0.100000001"},
		{single32, []uint32{math.Float32bits(1e10)}, "1e+10"},
		{single32, []uint32{math.Float32bits(1.5e-7)}, "1.50000005e-07"},
		{single32, []uint32{math.Float32bits(16777216)}, "16777216"},
		{single32, []uint32{0x80000000}, "-0"},
		{single32, []uint32{0x7f800000}, "0x1p+128"},
		{single32, []uint32{0xffc00001}, "-0x1.800002p+128"},
		{single32, []uint32{1}, "0x1p-149"},
		{single32, []uint32{0x00600000}, "0x1.8p-127"},
		{numberType{width: 64, float: true, encoding: -1}, []uint32{0x9999999a, 0x3fb99999}, "0.10000000000000001"},
		{numberType{width: 16, float: true, encoding: -1}, []uint32{0x3c00}, "0x1p+0"},
		{numberType{width: 16, float: true, encoding: -1}, []uint32{0x0001}, "0x1p-24"},
		{numberType{width: 16, float: true, encoding: -1}, []uint32{0x8000}, "-0x0p+0"},
		{numberType{width: 16, float: true, encoding: 0}, []uint32{0x3f81}, "0x1.02p+0"},
		{numberType{width: 8, float: true, encoding: 4214}, []uint32{0x3c}, "0x1.8p+0"},
	} {
		require.Equal(t, c.want, c.of.text(c.words), "%+v %x", c.of, c.words)
	}
}

var single32 = numberType{width: 32, float: true, encoding: -1}

// Numbers of random bits, in all types, are those of spirv-dis.
func TestDisassemble_NumbersLikeSpirvDis(t *testing.T) {
	needDis(t)
	random := testseed.Rand(t)
	a := newAssembler()
	types := [][2]uint32{{16, OpTypeFloat}, {32, OpTypeFloat}, {64, OpTypeFloat}, {8, OpTypeInt}, {16, OpTypeInt}}
	for i, c := range types {
		if c[1] == OpTypeFloat && c[0] != 32 {
			a.add(OpTypeFloat, 900+uint32(i), c[0])
		} else if c[1] == OpTypeInt {
			a.add(OpTypeInt, 900+uint32(i), c[0], 1)
		}
	}
	for range 300 {
		bits := random.Uint32()
		a.add(OpConstant, 900, a.next, bits>>16)
		a.add(OpConstant, floatID, a.next+1, bits)
		a.add(OpConstant, floatID, a.next+2, bits&0x807fffff)
		a.add(OpConstant, 902, a.next+3, random.Uint32(), bits)
		a.add(OpConstant, 903, a.next+4, uint32(int32(int8(bits))))
		a.add(OpConstant, 904, a.next+5, uint32(int32(int16(bits))))
		a.add(OpConstant, floatID, a.next+6, math.Float32bits(float32(int32(bits>>8))/1000))
		a.next += 7
		if a.next > 890 && a.next < 920 {
			a.next = 920
		}
	}
	got, err := Disassemble(a.bytes(), TextOptions{})
	require.NoError(t, err)
	want, err := spirvDis(t, a.bytes())
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// Names that are in use get numbers, names that are too long become the id's number.
func TestDisassemble_Names(t *testing.T) {
	a := newAssembler()
	a.words = a.words[:headerWords]
	for of, name := range []string{"", "x", "x", "x_0", "a b", "", "int", strings.Repeat("y", maxName+1)} {
		a.add(OpName, append([]uint32{uint32(100 + of)}, stringWords(name)...)...)
	}
	a.add(OpTypeInt, 1, 32, 1)
	text, err := Disassemble(a.bytes(), TextOptions{})
	require.NoError(t, err)
	var names []string
	for _, line := range strings.Split(text, "\n")[5:] {
		if fields := strings.Fields(line); len(fields) > 1 {
			names = append(names, strings.TrimPrefix(fields[min(1, len(fields)-2)], "%"))
		}
	}
	require.Equal(t, []string{"_", "x", "x_0", "x_0_0", "a_b", "__0", "int", "107", "="}, names)
	require.Contains(t, text, "%int_0 = OpTypeInt 32 1")
	for of := uint32(200); of < 300; of++ { // arrays of arrays, whose names would double in length
		a.add(OpTypeArray, of, of-1, of-1)
	}
	text, err = Disassemble(a.bytes(), TextOptions{})
	require.NoError(t, err)
	require.Less(t, len(text), 1<<20)
}

func TestDisassemble_Damaged(t *testing.T) {
	for want, words := range map[string][]uint32{
		"at word 5 (byte 20): an instruction has 0 words, but 1 are left":                   {0},
		"at word 6 (byte 24): an instruction has 3 words, but 1 are left":                   {1 << 16, 3 << 16},
		"at word 5 (byte 20): instruction 6999 is unknown":                                  {1<<16 | 6999},
		"at word 5 (byte 20): OpCapability needs more operands than its 1 words hold":       {1<<16 | 17},
		"at word 5 (byte 20): OpCapability has the Capability 99999, which is unknown":      {2<<16 | 17, 99999},
		"at word 5 (byte 20): OpCapability has 1 words after its operands":                  {3<<16 | 17, 1, 1},
		"at word 5 (byte 20): OpTypeVoid has the id 0":                                      {2<<16 | 19, 0},
		"at word 7 (byte 28): id 1 is defined twice":                                        {2<<16 | 19, 1, 2<<16 | 19, 1},
		"at word 5 (byte 20): a string of OpName has no terminating zero":                   {3<<16 | 5, 1, 0x61616161},
		"at word 5 (byte 20): the type of a number of OpConstant, id 1, is not numeric":     {4<<16 | 43, 1, 2, 3},
		"at word 5 (byte 20): the selector of OpSwitch, id 1, has no type":                  {5<<16 | 251, 1, 2, 3, 4},
		"at word 5 (byte 20): OpExtInst names the instruction set 3, which is not imported": {5<<16 | 12, 1, 2, 3, 4},
		"at word 5 (byte 20): OpSpecConstantOp cannot have the instruction 1":               {4<<16 | 52, 1, 2, 1},
		"at word 5 (byte 20): the extended instruction set \"a\" is unknown":                {3<<16 | 11, 1, 'a'},
		"at word 5 (byte 20): OpLoad has the MemoryAccess 0x400000, whose bit 0x400000 is unknown": {5<<16 | 61, 1, 2, 3,
			1 << 22},
	} {
		a := &assembler{words: append([]uint32{Magic, 0x10600, 0, 10, 0}, words...)}
		_, err := Disassemble(a.bytes(), TextOptions{})
		require.EqualError(t, err, "the SPIR-V is damaged "+want)
	}
	_, err := Disassemble([]byte("text"), TextOptions{})
	require.ErrorContains(t, err, "not SPIR-V")
}

func FuzzDisassemble(f *testing.F) {
	f.Add(shader(f, "add"))
	f.Add(shader(f, "subgroup"))
	f.Fuzz(func(t *testing.T, code []byte) {
		text, err := Disassemble(code, TextOptions{})
		again, _ := Disassemble(code, TextOptions{})
		require.Equal(t, text, again)
		require.True(t, err == nil || text == "")
	})
}
