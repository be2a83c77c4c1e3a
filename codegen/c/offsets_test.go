package c_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen/c"
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/transform"
)

// A tensor that begins inside of its buffer reaches a kernel as a tensor, in runtimes that say that they take such, and as nothing in others. Functions that
// do more with the handle refuse it anywhere.
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
	const other = " bytes into the device's memory, expected 0: this runtime gives kernels on opencl:3 whole buffers only: copy them, or load the file with tvmgo's runtime, asked"
	want := []string{
		"8 0 0: a handle",
		"8 0 128: a handle",
		"8 256 0: " + begin + "256" + other,
		"8 256 128: a tensor, asked",
		"8 64 128: " + begin + "64 bytes into the device's memory, expected a multiple of 128 on opencl:3: copy them",
		"8 64 64: a tensor", // what was found is remembered
		"8 64 -7: ValueError: no such device",
		"0 4 0: ",
	}
	gpu, err := target.New("opencl")
	require.NoError(t, err)
	for _, classic := range []bool{false, true} {
		for _, handle := range []bool{false, true} {
			m, err := tir.Parse(source)
			require.NoError(t, err)
			split, err := transform.SplitHostDevice(m, gpu)
			require.NoError(t, err)
			host := &tir.IRModule{}
			for _, f := range split.Funcs {
				if transform.IsKernel(f) {
					continue
				}
				if handle { // another function is given the buffer's handle, which knows of no offset
					f.Body = tir.Sequence(&tir.Evaluate{Value: tir.NewCall(tir.CallPacked, tir.Void, "other", f.Buffers[f.Params[0]].Data)}, f.Body)
				}
				host.Funcs = append(host.Funcs, f)
			}
			dir := t.TempDir()
			code, program := filepath.Join(dir, "f.c"), filepath.Join(dir, "offsets")
			require.NoError(t, os.WriteFile(code, []byte(emit(t, c.Emitter{Classic: classic}, host)), 0o666))
			args := []string{"-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-I../../include",
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
					expected = strings.Split(got[i], ": ")[0] + ": " + begin + strings.TrimSuffix(at, ":") + " bytes into the device's memory, expected 0: copy them"
				}
				require.Equal(t, expected, got[i], "classic=%v handle=%v", classic, handle)
			}
		}
	}
}
