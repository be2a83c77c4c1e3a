//go:build cgo

package main

import (
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

// words are the parts of command lines: commands, flags, and values that are valid for some of them and invalid for
// others.
var words = map[string][]string{
	"file": {"multi.so", "multi", "opencl.so", "half.so", "text.so", "text", "one.npy", "two.npy", "huge.npy", "k.c",
		"p.tir", "p.json", "empty", "none", "none.so", "new.so", "new.npy", ".",
		"folder", "/dev/null", "/dev/zero", "-", "", strings.Repeat("x", 300) + ".so", "\xff\xfe.so", "a\nb.so"},
	"function": {"vadd", "addone", "wsfunc", "nope", "", "\xff", "__tvm_main__", strings.Repeat("f", 100_000)},
	"--in": {"one.npy", "two.npy", "huge.npy", "i:3", "i:9223372036854775808", "f:1e999", "s:", "o:1", "o:2", "folder",
		"text"},
	"--out": {"new.npy", "newer.npy", "one.npy/x", "folder", "none/new.npy", "", "-", strings.Repeat("x", 300)},
	"--like": {"float32[1001]", "float32[99999999999999]", "float32[5000000000]", "int8[9223372036854775807,0]",
		"float64[2,3,4]", "bool[]", "float32[4294967296,4294967296]"},
	"value": {"i:3", "i:-9223372036854775808", "i:9223372036854775808", "i:0x", "f:0.5", "f:nan", "f:1e999", "s:text",
		"s:", "o:1", "o:0", "o:99999999999999999999", "x:y",
		"float32[1001]", "float32[99999999999999]", "float32[5000000000]", "float32[9223372036854775807]",
		"float32[4294967296,4294967296]", "int8[9223372036854775807,0]", "bool[]", "float32[",
		"float32[-1]", "flat32[1]", "float32x4[1]", "[1]", "float32[" + strings.Repeat("1,", 10_000) +
			"1]", "cpu", "cpu:0", "cpu:1", "cpu:99999999999", "opencl:0", "cuda", "metal", "gpuu:",
		"0", "1", "-1", "1000001", "99999999999999999999", "x", "0s", "1ns", "-1s", "30s", "1h1", "nan", "1e-5", "-inf",
		"f(handle)", "neg(inout float32[1])", "vadd(a: const float32[n], b: const float32[n], c: out float32[n], n: int32)",
		"f(", "f(float32[99999999999999999999])", "f(int32) launch x", ")",
		"c", "llvm", "cuda -arch=sm_90", "c -march=nope", "{", "{}", `{"kind": "c"}`, `{"kind": [[[]]]}`,
		"nvidia/nvidia-h100", "nope/", "tir", "ll", "one.npy=two.npy", "=", ",=,", "i:1=one.npy", "-DX=1", "m"},
}

// ofCommands has the flags of each command, so that more than the first check is reached.
var ofCommands = map[string][]string{}

func init() {
	words["command"] = []string{"run", "run", "run", "pack", "verify", "nope", "", "-", "--", "--version", "--help",
		"__complete", "__completeNoDesc"}
	words["flag"] = []string{"--what", "-x", "--=", "---", "-"}
	all := everyCommand()
	for _, path := range slices.Sorted(maps.Keys(all)) {
		words["command"] = append(words["command"], path)
		ofCommands[path] = flagsOf(all[path])
		words["flag"] = append(words["flag"], ofCommands[path]...)
	}
}

// commandLine makes a command line from numbers.
func commandLine(next func(n int) int) []string {
	one := func(kind string) string { return words[kind][next(len(words[kind]))] }
	command := one("command")
	args := strings.Fields(command)
	if command == "bench" {
		args = append(args, "--list") // measures nothing
	}
	if next(2) == 0 { // the form of most commands
		args = append(args, one("file"))
		if command == "run" || next(3) == 0 {
			args = append(args, one("function"))
		}
	}
	for range next(6) {
		kind := "value"
		switch own := ofCommands[command]; {
		case len(own) > 0 && next(4) > 0:
			flag := own[next(len(own))]
			if flag == "--like" && next(4) > 0 { // each is invalid without the other
				args = append(args, "--out", one("--out"))
			}
			args = append(args, flag)
			if len(words[flag]) > 0 && next(4) > 0 {
				args = append(args, one(flag))
				continue
			}
		case next(2) == 0:
			args = append(args, one("flag"))
		}
		if next(3) == 0 {
			kind = "file"
		}
		if value := one(kind); next(8) > 0 {
			args = append(args, value)
		} else if len(args) > 0 {
			args[len(args)-1] += "=" + value
		}
	}
	return args
}

// allowed reports whether no argument makes the command write elsewhere or take long.
func allowed(args []string) bool {
	return !slices.ContainsFunc(args, func(a string) bool {
		return strings.ContainsRune(a, 0) || strings.HasPrefix(a, "--flag") || strings.HasPrefix(a, "--compiler") ||
			strings.Contains(a, "..") || strings.HasPrefix(a, "/") && !strings.HasPrefix(a, "/dev/")
	})
}

// playground makes a folder with the files that the command lines name.
func playground(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	put := func(name string, data []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o666))
	}
	copied := func(from string, names ...string) []byte {
		data := must.Get(os.ReadFile(filepath.Join(artifacts, from)))(t)
		for _, name := range names {
			put(name, data)
		}
		return data
	}
	library := copied("modern/multi_c.so", "multi.so", "multi")
	copied("modern/gpu_opencl.so", "opencl.so")
	copied("vadd_in0.npy", "one.npy")
	copied("vadd_in1.npy", "two.npy")
	put("half.so", library[:len(library)/2])
	put("text.so", []byte("text\n"))
	put("text", []byte("text\n"))
	put("empty", nil)
	put("k.c", []byte(vaddSource))
	put("p.tir", []byte(addProgram))
	put("p.json", []byte(`{"tir": 1}`))
	header := "{'descr': '<f4', 'fortran_order': False, 'shape': (25000000000,), }\n"
	put("huge.npy", []byte("\x93NUMPY\x01\x00"+string([]byte{byte(len(header)), 0})+header))
	// if the file system supports holes
	_ = os.Truncate(filepath.Join(dir, "huge.npy"), int64(10+len(header))+100_000_000_000)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "folder"), 0o777))
	return dir
}

// requireOrderly checks the end of a command line.
func requireOrderly(t *testing.T, args []string, status int, stdout, stderr string) {
	t.Helper()
	what := strings.Join(args, " ")
	what = what[:min(len(what), 1000)]
	require.Contains(t, []int{0, 1, 2}, status, "%s: %s", what, stderr)
	for _, trace := range []string{"goroutine ", "panic: ", "runtime error", "fatal error", "/usr/local/go/",
		"[recovered]", "internal error"} {
		require.NotContains(t, stderr, trace, what)
	}
	usage := strings.Contains(stderr, "\nusage: tvmgo")
	require.Equal(t, status == 2, usage, "%s: status %d: %s", what, status, stderr)
	if status != 0 && !strings.Contains(stderr, "tvmgo: ") { // but for diff, which has shown it
		require.Contains(t, args, "diff", "%s: %s%s", what, stdout, stderr)
	}
}

// Every command line ends with status 0, 1 or 2 and a line with the reason, within a limit of memory.
func TestArguments(t *testing.T) {
	path := must.Get(buildOnce())(t)
	dir, temp := playground(t), t.TempDir()
	n := 250
	if testing.Short() {
		n = 50
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range n {
		args := commandLine(r.IntN)
		if !allowed(args) {
			continue
		}
		cmd := exec.Command("sh", append([]string{"-c", `ulimit -v 12000000; exec "$@"`, "sh", path}, args...)...)
		var out, errs strings.Builder
		cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.Env = dir, &out, &errs, append(os.Environ(), "TMPDIR="+temp, "GOMEMLIMIT=4GiB")
		_ = cmd.Run()
		requireOrderly(t, args, cmd.ProcessState.ExitCode(), out.String(), errs.String())
	}
	require.Empty(t, left(t, temp))
}

// FuzzArguments is TestArguments with numbers from a fuzzer. It runs in this process, except for commands that start
// others.
func FuzzArguments(f *testing.F) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, seed))
		data := make([]byte, 64)
		for i := range data {
			data[i] = byte(r.UintN(256))
		}
		f.Add(data)
	}
	dir := playground(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		t.Chdir(dir)
		args := commandLine(func(n int) int {
			if len(data) == 0 {
				return 0
			}
			v := int(data[0])
			data = data[1:]
			return v * n / 256
		})
		if !allowed(args) {
			return
		}
		status, stdout, stderr := cli(args...)
		requireOrderly(t, args, status, stdout, stderr)
	})
}
