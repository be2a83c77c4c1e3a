package pack_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/export/pack"
	"tvmgo/internal/testing/golden"
	"tvmgo/internal/testing/must"
)

// sources returns the generated host source, and the sources of the kernels in C.
func sources(t *testing.T, k pack.Kernels) []string {
	t.Helper()
	m := must.Get(pack.Module(k))(t)
	defer m.Close()
	code := must.Get(m.GetSource("c"))(t)
	list := []string{code}
	deps := must.Get(m.Imports())(t)
	for _, d := range deps {
		if d.Kind() == "c" {
			code := must.Get(d.GetSource("c"))(t)
			list = append(list, code)
		}
		d.Close()
	}
	return list
}

func everything(t *testing.T) pack.Kernels {
	files := append([]string{write(t, "args.c", argumentsSource)}, "testdata/k.c")
	k := kernelsOf(files, addSignature, scaleSignature, "all(handle, a: float32[n, 2], b: int16[_, m, m], int8, uint16, "+
		"n: int32, uint64, flag: bool, "+
		"f: float32, float64)", "none()", "two(a: aligned float32[n, m], b: strided float64[m])")
	k.Functions[0].Doc = "Adds.\nWhat??! \"quoted\" \\ ü"
	k.Functions[0].Vectors = addVectors()
	return k
}

func compile(t *testing.T, command string, source, output string, args ...string) {
	t.Helper()
	args = append([]string{"-c", "-fPIC", "-I../../include", source, "-o", output}, args...)
	out, err := exec.Command(command, args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Empty(t, string(out))
}

func TestSource_CompilesWithoutWarnings(t *testing.T) {
	dir := t.TempDir()
	onlyDevices := kernelsOf(variants(t), strings.Replace(addSignature, "threadIdx.x=64", "threadIdx.x, shared=n*4", 1))
	onlyDevices.Inputs = onlyDevices.Inputs[1:3]
	for name, k := range map[string]pack.Kernels{"all": everything(t), "variants": kernelsOf(variants(t), addSignature),
		"devices": onlyDevices} {
		for i, code := range sources(t, k) {
			path := filepath.Join(dir, name+string(rune('0'+i))+".c")
			require.NoError(t, os.WriteFile(path, []byte(code), 0o666))
			for _, compiler := range []string{"gcc", "clang"} {
				if _, err := exec.LookPath(compiler); err != nil {
					require.Empty(t, os.Getenv("CI"), err)
					t.Logf("no %s", compiler)
					continue
				}
				for _, flags := range [][]string{{"-O2", "-std=gnu99"}, {"-O0", "-std=gnu17"}} {
					compile(t, compiler, path, path+".o", append(flags, "-Wall", "-Wextra", "-Werror")...)
				}
			}
		}
	}
}

func TestSource_UnderSanitizers(t *testing.T) {
	dir := t.TempDir()
	k := kernelsOf(variants(t)[:2], addSignature)
	args := []string{"-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-I../../include",
		"testdata/sanitized.c", "-o", filepath.Join(dir, "run")}
	for i, code := range sources(t, k) {
		path := filepath.Join(dir, string(rune('a'+i))+".c")
		require.NoError(t, os.WriteFile(path, []byte(code), 0o666))
		args = append(args, path)
	}
	out, err := exec.Command("gcc", args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = exec.Command(filepath.Join(dir, "run")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, "ok\n", string(out))
}

// Compares the functions of a generated source with a golden file. The functions that they call are in the golden file
// of package codegen/c.
func TestSource_Golden(t *testing.T) {
	k := kernelsOf(variants(t), addSignature+", shared=4*n")
	k.Inputs = k.Inputs[:3]
	k.Functions[0].Doc = "Adds two vectors."
	k.Builder = "tvmgo"
	code := sources(t, k)[0]
	_, functions, found := strings.Cut(code, "/* ---- Functions ---- */\n")
	require.True(t, found)
	golden.Text(t, "testdata/host.golden.c", functions)
}
