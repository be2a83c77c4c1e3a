//go:build cgo

package main

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/arguments"
	"tvmgo/internal/inspect"
	"tvmgo/internal/testing/machine"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

func init() {
	childCommands = []string{describeCommand, vectorCommand, runCommand, benchCommand, benchInTests}
}

// cases are the functions of the CPU artifacts and their files.
func cases() (list []struct{ file, function, like string }) {
	likes := map[string]string{"addone": "float32[1001]", "vadd": "float32[1001]", "matmul": "float32[64,64]",
		"softmax": "float32[8,1000]"}
	for _, file := range []string{"modern/addone_llvm.so", "modern/multi_llvm.so", "modern/multi_c.so",
		"classic/addone_llvm.so", "classic/multi_llvm.so"} {
		for _, function := range []string{"addone", "vadd", "matmul", "softmax"} {
			if function == "addone" || strings.Contains(file, "multi") {
				list = append(list, struct{ file, function, like string }{file, function, likes[function]})
			}
		}
	}
	return list
}

func inputsOf(t *testing.T, function string) (args []string) {
	t.Helper()
	paths := must.Get(filepath.Glob(filepath.Join(artifacts, function+"_in*.npy")))(t)
	require.NotEmpty(t, paths)
	for _, p := range paths {
		args = append(args, "--in", p)
	}
	return args
}

func floats(t *testing.T, path string) []float32 {
	t.Helper()
	a := must.Get(arguments.ReadNPY(path))(t)
	require.Equal(t, dlpack.Float32, a.DType)
	return asFloats(a.Data)
}

func asFloats(data []byte) []float32 {
	values := make([]float32, len(data)/4)
	for i := range values {
		values[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return values
}

func requireClose(t *testing.T, want, got []float32, what string) {
	t.Helper()
	require.Len(t, got, len(want), what)
	for i := range want {
		if math.Abs(float64(want[i]-got[i])) > 1e-5*(1+math.Abs(float64(want[i]))) {
			t.Fatalf("%s: element %d is %v, not %v", what, i, got[i], want[i])
		}
	}
}

func TestRun_Artifacts(t *testing.T) {
	machine.Need(t, multiC)
	dir := t.TempDir()
	for _, c := range cases() {
		out := filepath.Join(dir, "out.npy")
		args := append([]string{"run", filepath.Join(artifacts, c.file), c.function, "--out", out, "--like", c.like},
			inputsOf(t, c.function)...)
		want := floats(t, filepath.Join(artifacts, c.function+"_out.npy"))

		status, stdout, stderr := cli(args...)
		require.Zero(t, status, stderr)
		require.Empty(t, stderr)
		require.Contains(t, stdout, "wrote "+out+": "+c.like)
		requireClose(t, want, floats(t, out), c.file+" "+c.function)

		require.NoError(t, os.Remove(out))
		status, _, stderr = built(t, ".", args...)
		require.Zero(t, status, stderr)
		requireClose(t, want, floats(t, out), c.file+" "+c.function)
	}
}

// The user sees the module's own error about its arguments, and no file is written.
func TestRun_ModuleRefusesArguments(t *testing.T) {
	machine.Need(t, multiC)
	dir := t.TempDir()
	out := filepath.Join(dir, "out.npy")
	for _, c := range cases() {
		dims := strings.TrimPrefix(c.like, "float32")
		for _, bad := range []struct{ like, modern, classic string }{
			{"float64" + dims, "dtype", "dtype"},
			{"float32[2,2,2]", "ndim", "ndim"},
		} {
			status, stdout, stderr := cli(append([]string{"run", filepath.Join(artifacts, c.file), c.function, "--out", out,
				"--like", bad.like}, inputsOf(t, c.function)...)...)
			require.Equal(t, 1, status)
			require.Empty(t, stdout)
			require.Contains(t, stderr, bad.modern, "%s %s", c.file, c.function)
			require.NoFileExists(t, out)
		}
		status, _, stderr := cli("run", filepath.Join(artifacts, c.file), c.function)
		require.Equal(t, 1, status)
		require.Contains(t, stderr, c.function+" of ")
	}
}

// An output is at the position of o:1. As the first argument of addone, which only reads it, it keeps its initial
// zeros.
func TestRun_PlaceOfAnOutput(t *testing.T) {
	machine.Need(t, multiC)
	lib, in := filepath.Join(artifacts, "modern/multi_c.so"), filepath.Join(artifacts, "addone_in0.npy")
	out := filepath.Join(t.TempDir(), strings.Repeat("o", 251)+".npy") // as long as a name can be
	for _, c := range []struct {
		args []string
		want float32
	}{{[]string{"--in", "o:1", "--in", in}, 0}, {[]string{"--in", in, "--in", "o:1"},
		floats(t, filepath.Join(artifacts, "addone_out.npy"))[5]}} {
		status, _, stderr := cli(append([]string{"run", lib, "addone", "--out", out, "--like", "float32[1001]"},
			c.args...)...)
		require.Zero(t, status, stderr)
		require.Equal(t, c.want, floats(t, out)[5])
	}
}

func TestRun_Repeat(t *testing.T) {
	machine.Need(t, multiC)
	dir := t.TempDir()
	status, stdout, stderr := cli(append([]string{"run", filepath.Join(artifacts, "modern/multi_c.so"), "vadd", "--repeat",
		"20",
		"--out", filepath.Join(dir, "c.npy"), "--like", "float32[1001]"}, inputsOf(t, "vadd")...)...)
	require.Zero(t, status, stderr)
	require.Regexp(t, `time of a call: median [0-9.]+ .s, min .*, mean .*, p90 .*, p99 .*, max`, stdout)
	require.Contains(t, stdout, "20 samples of ")
}

func TestRun_BadInput(t *testing.T) {
	machine.Need(t, multiC)
	dir := t.TempDir()
	lib, in := filepath.Join(artifacts, "modern/multi_llvm.so"), filepath.Join(artifacts, "vadd_in0.npy")
	text := filepath.Join(dir, "text.npy")
	require.NoError(t, os.WriteFile(text, []byte("hello, I am no array"), 0o644))
	vadd := func(args ...string) []string { return append([]string{"run", lib, "vadd"}, args...) }
	for _, c := range []struct {
		args []string
		want string
	}{
		{vadd("--in", "none.npy"),
			"read none.npy: no such file: check the path (other arguments are written i:3, f:0.5, s:text, o:1)"},
		{vadd("--in", dir), "not a regular file"},
		{vadd("--in", text), "not a .npy file: save it with numpy.save"},
		{vadd("--in", "i:three"), `--in i:three: "three" is not an integer`},
		{vadd("--in", "i:9223372036854775808"), "not an integer of 64 bits"},
		{vadd("--in", "f:x"), "not a number"},
		{vadd("--in", "o:0"), "--in o:0: write o:1 for the first --out"},
		{vadd("--in", "o:x"), "--in o:x: write o:1"},
		{vadd("--in", "o:1"), "--in o:1: there are 0 --out"},
		{vadd("--out", "c.npy"), "1 --out and 0 --like: each output needs both"},
		{vadd("--like", "float32[8]"), "0 --out and 1 --like"},
		{vadd("--out", "c.npy", "--like", "float32"), "write a type and a shape, for example float32[8,8]"},
		{vadd("--out", "c.npy", "--like", "[8]"), "write a type and a shape"},
		{vadd("--out", "c.npy", "--like", "flaot32[8]"), "--like flaot32[8]: "},
		{vadd("--out", "c.npy", "--like", "bfloat16[8]"), "a .npy file cannot hold bfloat16"},
		{vadd("--out", "c.npy", "--like", "float32x4[8]"), "a .npy file cannot hold float32x4"},
		{vadd("--out", "c.npy", "--like", "float32[8,]"), "is not a dimension"},
		{vadd("--out", "c.npy", "--like", "float32[-1]"), "is not a dimension"},
		{vadd("--out", "c.npy", "--like", "float32[8] "), "write a type and a shape"},
		{vadd("--out", "c.npy", "--like", "float32[4294967296,4294967296]"), "--like float32[4294967296,4294967296]: "},
		{vadd("--device", "gpuu"), "--device gpuu: "},
		{vadd("--device", "cpu:1"), "--device cpu:1: there is no such device here; there is: cpu:0"},
		{vadd("--device", "metal"), "--device metal: "},
		{vadd("--repeat", "-1"), "--repeat -1: give a number up to 1000000"},
		{vadd("--out", dir, "--like", "float32[8]"), "it is a directory: name a file in it"},
		{vadd("--out", os.DevNull, "--like", "float32[8]"), "not a regular file"},
		{vadd("--out", filepath.Join(dir, "no", "c.npy"), "--like", "float32[8]"), "there is no such folder: create it"},
		{vadd("--out", filepath.Join(text, "c.npy"), "--like", "float32[8]"), "not a directory"},
		{vadd("--out", filepath.Join(dir, "c.npy"), "--like", "float32[8]", "--out", filepath.Join(dir, ".", "c.npy"),
			"--like", "float32[8]"), "it is named twice"},
		{[]string{"run", lib, "vad", "--in", in},
			`has no function "vad"; did you mean "vadd"?; it has: addone, matmul, softmax, vadd, wsfunc`},
		{[]string{"run", lib, "expf"}, `has no function "expf"`},
		{[]string{"run", filepath.Join(dir, "none.so"), "f"}, "no such file"},
		{[]string{"run", text, "f"}, "no"},
	} {
		status, stdout, stderr := cli(c.args...)
		require.Equal(t, 1+strings.Count(stderr, "\nusage: tvmgo run"), status, "%v", c.args)
		require.Empty(t, stdout)
		require.Contains(t, stderr, c.want, "%v", c.args)
		require.True(t, strings.HasPrefix(stderr, "tvmgo: "))
	}
	require.Len(t, must.Get(os.ReadDir(dir))(t), 1, "only the file that the test made")
}

func TestDevices(t *testing.T) {
	status, stdout, stderr := built(t, ".", "devices")
	require.Zero(t, status, stderr)
	require.Regexp(t, `(?m)^cpu:0 +present$`, stdout)
	require.LessOrEqual(t, strings.Count(stdout, "CUDA is not"), 1, stdout)
	if strings.Contains(stdout, "\ncuda         absent: ") {
		require.Contains(t, stdout, "\ncuda_host    absent, as cuda\n")
		require.Contains(t, stdout, "\ncuda_managed absent, as cuda\n")
	}

	status, stdout, stderr = cli("devices", "--json")
	require.Zero(t, status, stderr)
	var report struct{ Devices []deviceRow }
	require.NoError(t, json.Unmarshal([]byte(stdout), &report))
	require.Equal(t, "cpu:0", report.Devices[0].Device)
	require.True(t, report.Devices[0].Present)
	require.Positive(t, report.Devices[0].Threads)
	for _, row := range report.Devices {
		if row.Present {
			require.Len(t, row.Attributes, int(runtime.AttrImagePitchAlignment)+1,
				"%s: all attributes, null if the device does not have one", row.Device)
			require.Equal(t, float64(1), row.Attributes["exist"])
		}
	}
}

func TestSnakeCase(t *testing.T) {
	for name, want := range map[string]string{
		"Exist": "exist", "MaxThreadsPerBlock": "max_threads_per_block", "APIVersion": "api_version",
		"L2CacheSizeBytes": "l2_cache_size_bytes",
	} {
		require.Equal(t, want, snakeCase(name))
	}
}

// inspect reads from the file the same functions that the runtime finds in it.
func TestInspect_AgreesWithTheRuntime(t *testing.T) {
	machine.Need(t, multiC)
	seen := map[string]bool{}
	for _, c := range cases() {
		if seen[c.file] {
			continue
		}
		seen[c.file] = true
		path := filepath.Join(artifacts, c.file)
		report := must.Get(inspect.File(path))(t)
		m := must.Get(runtime.Load(t.Context(), path))(t)
		var names []string
		for _, f := range report.Functions {
			names = append(names, f.Name)
		}
		require.ElementsMatch(t, m.Functions(), names, c.file)
		require.NoError(t, m.Close())
	}
}
