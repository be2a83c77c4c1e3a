package spirv_test

import (
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/codegen"
	"tvmgo/codegen/spirv"
	"tvmgo/internal/testing/gpuprograms"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/spirvtest"
	"tvmgo/internal/testing/tirrun"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/transform"
)

// shaders returns the kernels of a program, which it validates.
func shaders(t testing.TB, m *tir.IRModule, to *target.Target) []blob.Shader {
	t.Helper()
	built := must.Get(codegen.Build(m, to))(t)
	defer built.Close()
	imports := must.Get(built.Imports())(t)
	require.Len(t, imports, 1)
	defer imports[0].Close()
	spirvtest.ValidateModule(t, imports[0])
	return spirvtest.Shaders(t, imports[0]).Shaders
}

// The version follows the target, and equal programs give equal bytes.
func TestEmit_Versions(t *testing.T) {
	for _, version := range []int{0x10000, 0x10300, 0x10400, 0x10500, 0x10600} {
		to := device(t, fmt.Sprintf(`{"kind": "vulkan", "max_spirv_version": %d, %s}`, version, features))
		for _, typ := range []tir.Type{tir.Float32, tir.Int8, tir.Float16, tir.Int64} {
			first := shaders(t, gpuprograms.Tiles(t, 13, 11, 10, typ), to)
			require.Equal(t, []byte{3, 2, 0x23, 7, 0, byte(version >> 8), 1, 0}, first[0].Code[:8])
			require.Equal(t, first, shaders(t, gpuprograms.Tiles(t, 13, 11, 10, typ), to))
		}
	}
}

// A storage buffer that a kernel writes has another type than those that it only reads: NVIDIA's driver takes a
// decoration NonWritable for one of the type.
func TestEmit_TypesOfBuffers(t *testing.T) {
	kernels := shaders(t, gpuprograms.Tiles(t, 13, 11, 10, tir.Float32), device(t, "vulkan"))
	text := spirvtest.Disassemble(t, kernels[0].Code)
	types := map[string]string{}
	for _, variable := range []string{"A", "B", "C"} {
		pointer := regexp.MustCompile(`%` + variable + ` = OpVariable %_ptr_(?:StorageBuffer|Uniform)_(\S+)`)
		found := pointer.FindStringSubmatch(text)
		require.NotNil(t, found, variable)
		types[variable] = found[1]
	}
	require.NotEqual(t, types["A"], types["C"])
	require.NotEqual(t, types["B"], types["C"])
	for variable, read := range map[string]bool{"A": true, "B": true, "C": false} {
		require.Equal(t, read, strings.Contains(text, "OpMemberDecorate %"+types[variable]+" 0 NonWritable"), variable)
	}
}

// Numbers that push constants cannot hold come from a uniform buffer.
func TestEmit_ManyNumbers(t *testing.T) {
	program := func(n int) *tir.IRModule {
		params, sum := "", "0"
		for i := range n {
			params += fmt.Sprintf(", n%d: int32", i)
			sum += fmt.Sprintf(" + n%d", i)
		}
		return gpuprograms.Parsed(t, fmt.Sprintf(`
func f(a: handle%s) {
  buffer A: int32[4], param a
  thread i in range(4), thread "blockIdx.x" { A[i] = %s }
}
`, params, sum))
	}
	for n, flag := range map[int]uint32{16: 0, 17: blob.ShaderUniformScalars} {
		m := program(n)
		require.Equal(t, flag, shaders(t, m, vkTarget(t))[0].Flag)
		args := []any{must.Get(tirrun.New(tir.Int32, 4))(t)}
		for i := range n {
			args = append(args, i*i)
		}
		harness.Compare(t, m, "f", 0, args...)
	}
	_, err := codegen.Build(program(40), device(t, `{"kind": "vulkan", "max_uniform_buffer_range": 256}`))
	require.ErrorContains(t, err, "it takes 40 numbers, 320 bytes: max_push_constants_size of target vulkan allows 128, "+
		"and max_uniform_buffer_range 256")
}

// What a target lacks is an error that names the option.
func TestBuild_Lacks(t *testing.T) {
	for typ, option := range map[tir.Type]string{tir.Int64: "supports_int64", tir.Float64: "supports_float64"} {
		_, err := codegen.Build(gpuprograms.VAdd(t, typ, 64), device(t, "vulkan"))
		assert.ErrorContains(t, err, "needs the option "+option+" of target vulkan", "%s", typ)
		assert.ErrorIs(t, err, runtime.ErrInvalidArgument)
	}
	m := gpuprograms.Parsed(t, `
func f(a: handle, n: int32) {
  buffer A: float32[1000], param a
  thread i in range(n), thread "threadIdx.x" { A[i] = 1.0 }
}
`)
	_, err := codegen.Build(m, vkTarget(t))
	require.ErrorContains(t, err, "its extent is not constant: Vulkan compiles the size of a block into the kernel")
}

// smallTypes have at most 16 bits.
var smallTypes = []tir.Type{tir.Bool, tir.Int8, tir.UInt8, tir.Int16, tir.UInt16, tir.Float16, tir.BFloat16}

// Types that a target cannot compute with are computed by wider ones. Elements of buffers that a target cannot access
// are parts of words.
func TestRun_WiderArithmetic(t *testing.T) {
	for _, options := range []string{`"supports_8bit_buffer": true, "supports_16bit_buffer": true, `, "",
		`"supports_float16": true, `, `"supports_int8": true, "supports_int16": true, `} {
		to := device(t, `{"kind": "vulkan", `+options+`"host": "c"}`)
		source := ""
		for n, typ := range smallTypes {
			sum := "A[i] + B[i]"
			if typ == tir.Bool {
				sum = "A[i] || B[i]"
			}
			// the second kernel writes each third element, so that its threads share words with what remains
			source += fmt.Sprintf(`
func f%d(a: handle, b: handle, c: handle) {
  buffer A: %[2]s[63], param a
  buffer B: %[2]s[63], param b
  buffer C: %[2]s[63], param c
  thread i in range(63), thread "threadIdx.x" { C[i] = %[3]s }
}
func g%[1]d(a: handle, b: handle, c: handle) {
  buffer A: %[2]s[63], param a
  buffer B: %[2]s[63], param b
  buffer C: %[2]s[63], param c
  thread i in range(21), thread "blockIdx.x" { C[i * 3 + 1] = select(i < 7, B[62 - i], A[i]) }
}
`, n, typ, sum)
		}
		m := gpuprograms.Parsed(t, source)
		for _, s := range shaders(t, m, to) {
			text := spirvtest.Disassemble(t, s.Code)
			for option, capability := range map[string]string{"int8": "Int", "buffer": "StorageBuffer", "float16": "Float16"} {
				if !strings.Contains(options, option) {
					require.NotContains(t, text, "OpCapability "+capability)
				}
			}
		}
		lib := harness.LibraryFor(t, m, to)
		for n, typ := range smallTypes {
			r := gpuprograms.Random()
			a, b := gpuprograms.Array(t, r, typ, 63), gpuprograms.Array(t, r, typ, 63)
			for _, name := range []string{"f", "g"} {
				out := gpuprograms.Array(t, r, typ, 63)
				harness.CompareIn(t, lib, m, fmt.Sprint(name, n), 0, a, b, out)
			}
		}
	}
}

// Generating kernels needs no device.
func TestImports_NoDevice(t *testing.T) {
	out := must.Get(exec.Command("go", "list", "-deps", "tvmgo/codegen/spirv").Output())(t)
	require.NotContains(t, string(out), "tvmgo/runtime/vulkan\n")
}

// Emission alone, after the passes.
func BenchmarkBuild(b *testing.B) {
	to := vkTarget(b)
	passes := transform.ForDevice(spirv.Language)
	all := must.Get(passes.Run(gpuprograms.Tiles(b, 512, 512, 512, tir.Float32), to))(b)
	kernels := &tir.IRModule{}
	for _, f := range all.Funcs {
		if transform.IsKernel(f) {
			kernels.Funcs = append(kernels.Funcs, f)
		}
	}
	for b.Loop() {
		must.Get(spirv.Build(kernels, to))(b).Close()
	}
}
