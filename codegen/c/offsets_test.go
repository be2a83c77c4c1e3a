//go:build cgo

package c_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen/c"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/text"
	"tvmgo/tir/transform"
)

// A tensor that begins inside its buffer is passed to a kernel as a tensor, if the runtime's modules accept parts of
// buffers; otherwise the call is an error. Functions that use the handle in another way reject it in every runtime.
func TestOffsets(t *testing.T) {
	const source = `
func f(a: handle) {
  var n: int64
  buffer A: float32[n], param a
  thread i in range(n), thread "blockIdx.x" {
    A[i] = A[i] + 1.0
  }
}
`
	const begin = "ValueError: f: argument 0 (A): the elements begin "
	const other = " bytes into the device's memory, expected 0: this runtime gives kernels on opencl:3 whole buffers " +
		"only: copy them, or load the file with tvmgo's runtime, asked"
	want := []string{
		"8 0 0: a handle",
		"8 0 128: a handle",
		"8 256 0: " + begin + "256" + other,
		"8 256 128: a tensor, asked",
		"8 64 128: " + begin + "64 bytes into the device's memory, expected a multiple of 128 on opencl:3: copy them",
		"8 64 64: a tensor", // the result is cached
		"8 64 -7: ValueError: no such device",
		"0 4 0: ",
	}
	gpu := must.Get(target.New("opencl"))(t)
	for _, classic := range []bool{false, true} {
		for _, handle := range []bool{false, true} {
			m := must.Get(text.Parse(source))(t)
			split := must.Get(transform.SplitHostDevice(m, gpu))(t)
			host := &tir.IRModule{}
			for _, f := range split.Funcs {
				if transform.IsKernel(f) {
					continue
				}
				if handle { // another function gets the buffer's handle, which has no offset
					f.Body = tir.Sequence(&tir.Evaluate{Value: tir.NewCall(tir.CallPacked, tir.Void, "other",
						f.Buffers[f.Params[0]].Data)}, f.Body)
				}
				host.Funcs = append(host.Funcs, f)
			}
			dir := t.TempDir()
			code, program := filepath.Join(dir, "f.c"), filepath.Join(dir, "offsets")
			require.NoError(t, os.WriteFile(code, []byte(emit(t, c.Emitter{Classic: classic}, host)), 0o666))
			args := []string{"-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined",
				"-fno-sanitize-recover=all", "-I../../include",
				"testdata/offsets.c", code, "-o", program}
			if classic {
				args = append(args, "-DCLASSIC")
			}
			out, err := exec.Command("gcc", args...).CombinedOutput()
			require.NoError(t, err, "%s", out)
			out, err = exec.Command(program).CombinedOutput()
			require.NoError(t, err, "%s", out)
			got := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
			require.Len(t, got, len(want))
			for i := range want {
				expected := want[i]
				if classic {
					expected = strings.Replace(expected, "ValueError: no", "no", 1)
				}
				if handle && i > 1 && i < len(want)-1 {
					at := strings.Split(got[i], " ")[1]
					expected = strings.Split(got[i], ": ")[0] + ": " + begin + strings.TrimSuffix(at, ":") +
						" bytes into the device's memory, expected 0: copy them"
				}
				require.Equal(t, expected, got[i], "classic=%v handle=%v", classic, handle)
			}
		}
	}
}

// The offset of a tensor counts elements. In some types several elements share a byte.
func TestRun_OffsetsInElements(t *testing.T) {
	source := ""
	types := map[string]int64{"int4": 24, "uint4": 24, "int8": 12, "float16": 6, "float32": 3, "float64": 1}
	for typ := range types {
		source += fmt.Sprintf(`func f_%[1]s(a: handle, b: handle) {
  var o: int64
  buffer A: %[1]s[8], param a, offset o
  buffer B: int64[1], param b
  B[0] = o
  if A[0] == A[1] { B[0] = o }
}
`, typ)
	}
	program := must.Get(text.Parse(source))(t)
	program = must.Get(transform.LegalizeTypes(program, nil))(t)
	for _, classic := range []bool{false, true} {
		m := loaded(t, c.Emitter{Classic: classic}, program)
		for typ, want := range types {
			dtype := must.Get(dlpack.ParseDataType(typ))(t)
			memory := modules.Empty(t, dlpack.UInt8, 128)
			part, err := memory.View(dtype, []int64{8}, nil, 12)
			if typ == "float64" {
				part, err = memory.View(dtype, []int64{8}, nil, 8)
			}
			require.NoError(t, err, typ)
			out := modules.Empty(t, dlpack.Int64, 1)
			_, err = modules.Call(t, m, "f_"+typ, part, out)
			require.NoError(t, err, typ)
			require.Equal(t, []int64{want}, modules.Slice[int64](t, out), typ)
			require.NoError(t, part.Close())
		}
	}
}
