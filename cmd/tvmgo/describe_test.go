//go:build cgo

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/inspect"
	"tvmgo/internal/testing/cpptest"
	"tvmgo/internal/testing/must"
)

// kernels builds a library from functions in C.
func kernels(t *testing.T, body string) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "kernels.so")
	cmd := exec.Command(cc, "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-I../../include", "-x", "c", "-", "-o", path)
	cmd.Stdin = strings.NewReader(`
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tvm/ffi/c_api.h>
#include <unistd.h>
#define FUNCTION(name) int __tvm_ffi_##name(void* s, const TVMFFIAny* a, int32_t n, TVMFFIAny* r)
static int give(const char* text, TVMFFIAny* r) {
  return TVMFFIStringFromByteArray(&(TVMFFIByteArray){text, strlen(text)}, r);
}
#define TEXT(name, text) FUNCTION(name) { return give(text, r); }
#define KERNEL(name) FUNCTION(name) { return 0; }
TEXT(last, "a kernel") TEXT(_doc_last, "still answers")
` + body)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}

// described runs inspect --load, which must end with a status, and returns the report. The time limit is long enough
// for a slow machine unless args set another one.
func described(t *testing.T, want int, args ...string) (byName map[string]*inspect.Description, report inspect.Report,
	stderr string) {
	t.Helper()
	status, stdout, stderr := cli(append([]string{"inspect", "--load", "--json", "--timeout", "10m"}, args...)...)
	require.Equal(t, want, status, stderr)
	require.NoError(t, json.Unmarshal([]byte(stdout), &report))
	byName = map[string]*inspect.Description{}
	for _, f := range report.Functions {
		byName[f.Name] = f.Description
	}
	return byName, report, stderr
}

func TestInspectLoad_Cpp(t *testing.T) {
	file := cpptest.Library(t, t.TempDir(), "../../runtime/testdata/cpp/typed.cc")
	status, stdout, stderr := built(t, ".", "inspect", "--load", file)
	require.Zero(t, status, stderr)
	require.Contains(t, stdout, `
functions        add (safe_call, metadata, doc)
                   add(int, int) -> int
                   Adds two integers.

                   Parameters
                   ----------
                   a, b : int
                       "What" to add: naïve.
                 add_one (safe_call, metadata)
                   add_one(Tensor, Tensor) -> None
`)
	require.NotContains(t, stdout, "type_schema")
	require.NotContains(t, stdout, "--load")

	byName, report, _ := described(t, 0, file)
	require.True(t, report.Loaded)
	require.Equal(t, "lengths(Map[str, Array[Any]]) -> Map[str, int]", byName["lengths"].Signature)
	require.Empty(t, byName["lengths"].Doc)
	var metadata map[string]string
	require.NoError(t, json.Unmarshal(byName["add"].Metadata, &metadata))
	require.Contains(t, metadata["type_schema"], `"named_args"`)

	status, stdout, _ = cli("inspect", file)
	require.Zero(t, status)
	require.Contains(t, stdout, "add (safe_call, metadata, doc)\n                 add_one")
	require.True(t, strings.HasSuffix(stdout,
		"\nmetadata and docs are functions of the file: tvmgo inspect --load "+file+" runs them\n"), stdout)
}

// Without --load, no code of the file runs; nor does it with --load if no function has metadata.
func TestInspect_RunsNothing(t *testing.T) {
	trace := filepath.Join(t.TempDir(), "ran")
	constructor := `__attribute__((constructor)) static void run(void) { fclose(fopen(` + strconv.Quote(trace) +
		`, "w")); }`
	file := kernels(t, constructor)
	status, _, stderr := cli("inspect", file)
	require.Zero(t, status, stderr)
	status, _, stderr = cli("inspect", "--json", file)
	require.Zero(t, status, stderr)
	require.NoFileExists(t, trace)
	described(t, 0, file)
	require.FileExists(t, trace)

	_, report, _ := described(t, 0, filepath.Join(artifacts, "modern/addone_llvm.so"))
	require.False(t, report.Loaded)
}

// An error of one function is a problem that names it; the other functions are shown.
func TestInspectLoad_BadFunctions(t *testing.T) {
	big := strconv.Itoa(200 << 20)
	for _, c := range []struct{ name, body, want string }{
		{"crashes", `KERNEL(f) FUNCTION(_metadata_f) { return *(volatile int*)8; }`,
			"metadata of f: its code ended the process: SIGSEGV: segmentation violation"},
		{"aborts", `KERNEL(f) FUNCTION(_doc_f) { fputs("this is why\n", stderr); abort(); }`,
			"documentation of f: its code ended the process: this is why: SIGABRT: abort"},
		{"is killed", `KERNEL(f) FUNCTION(_doc_f) { kill(getpid(), SIGKILL); return 0; }`,
			"documentation of f: its code ended the process: signal: killed"},
		{"exits", `KERNEL(f) FUNCTION(_doc_f) { _exit(3); }`,
			"documentation of f: its code ended the process: exit status 3"},
		{"exits well", `KERNEL(f) FUNCTION(_doc_f) { _exit(0); }`,
			"documentation of f: its code ended the process: exit status 0"},
		{"fails", `KERNEL(f) FUNCTION(_metadata_f) { TVMFFIErrorSetRaisedFromCStr("ValueError", "no idea"); return -1; }`,
			"metadata of f: get metadata: no idea"},
		{"fails in silence", `KERNEL(f) FUNCTION(_metadata_f) { return 9; }`, "returned 9 without setting an error"},
		{"gives a number", `KERNEL(f) FUNCTION(_doc_f) { r->type_index = kTVMFFIInt; return 0; }`,
			"returned int instead of a text"},
		{"no JSON", `KERNEL(f) TEXT(_metadata_f, "type: int\n")`,
			`metadata of f: get metadata: that of function "f": not a JSON object`},
		{"no schema", `KERNEL(f) TEXT(_metadata_f, "{\"type_schema\": \"int\"}")`,
			`type_schema: the text is not a JSON object`},
		{"is huge", `KERNEL(f) FUNCTION(_doc_f) { size_t size = ` + big + `; char* p = malloc(size); memset(p, 'x', size);
			int rc = TVMFFIStringFromByteArray(&(TVMFFIByteArray){p, size}, r); free(p); return rc; }`,
			"documentation of f: it is " + big + " bytes long, and at most 1048576 are shown"},
		{"closes everything", `KERNEL(f) FUNCTION(_doc_f) { for (int i = 3; i < 64; i++) close(i); return give("", r); }`,
			"documentation of f: its code ended the process: "},
		{"writes on our line", `KERNEL(f) FUNCTION(_doc_f) { return write(3, "{\"question\": 77}\n", 17) < 0 || give("", ` +
			`r); }`,
			"documentation of f: its code ended the process: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			byName, report, stderr := described(t, 1, kernels(t, c.body))
			require.Len(t, report.Problems, 1)
			require.Contains(t, report.Problems[0], c.want)
			require.Contains(t, stderr, "1 problems, the first: ")
			require.Equal(t, "still answers", byName["last"].Doc)
			require.Nil(t, byName["f"])
		})
	}
}

func TestInspectLoad_FilesThatDoNotLoad(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"crash", `__attribute__((constructor)) static void run(void) { raise(SIGSEGV); }`,
			"loading it: its code ended the process: SIGSEGV"},
		{"exit", `__attribute__((constructor)) static void run(void) { _exit(5); }`,
			"loading it: its code ended the process: exit status 5"},
		{"missing symbol", `void nobody_has_this(void); KERNEL(f) TEXT(_doc_g, "x") FUNCTION(h) { nobody_has_this(); ` +
			`return 0; }`,
			`it needs "nobody_has_this", which no loaded library defines`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, report, _ := described(t, 1, kernels(t, c.body))
			require.Len(t, report.Problems, 1)
			require.Contains(t, report.Problems[0], c.want)
			require.Contains(t, report.Problems[0], "loading it: ")
		})
	}
}

// A file that never answers is killed together with the processes that it started, also while it is loaded.
func TestInspectLoad_Hangs(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	for _, c := range []struct{ name, body, want string }{
		{"metadata", `KERNEL(f) FUNCTION(_metadata_f) { for (;;) pause(); } KERNEL(g) TEXT(_doc_g, "first") KERNEL(a) ` +
			`TEXT(_doc_a, "before")`,
			"metadata of f: no answer within LIMIT: set a longer time with --timeout; 2 more texts were not requested"},
		{"load", `__attribute__((constructor)) static void run(void) { for (;;) pause(); }`,
			"loading it: no answer within LIMIT"},
		{"a child of its own", `KERNEL(f) FUNCTION(_metadata_f) { pid_t p = fork(); if (p != 0) { FILE* o = fopen(` +
			strconv.Quote(pidFile) +
			`, "w"); fprintf(o, "%d", p); fclose(o); } for (;;) pause(); }`, "metadata of f: no answer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := kernels(t, c.body)
			var byName map[string]*inspect.Description
			for limit := 100 * time.Millisecond; ; limit *= 2 {
				var report inspect.Report
				start := time.Now()
				byName, report, _ = described(t, 1, file, "--timeout", limit.String())
				require.Less(t, time.Since(start), limit+5*time.Minute, "the endless pause was interrupted")
				require.Len(t, report.Problems, 1)
				want := strings.ReplaceAll(c.want, "LIMIT", limit.String())
				early := strings.Contains(report.Problems[0], "no answer within") && !strings.Contains(report.Problems[0], want)
				if c.name == "a child of its own" {
					pid, _ := os.ReadFile(pidFile)
					early = early || len(pid) == 0
				}
				if !early || limit > 2*time.Minute { // otherwise the machine was too slow to reach this point
					require.Contains(t, report.Problems[0], want)
					break
				}
			}
			if c.name == "metadata" {
				require.Equal(t, "before", byName["a"].Doc)
				require.Nil(t, byName["g"])
			}
		})
	}
	pid := must.Get(os.ReadFile(pidFile))(t)
	require.Eventually(t, func() bool { // its entry may wait for its new parent
		stat, err := os.ReadFile(filepath.Join("/proc", string(pid), "stat"))
		return err != nil || strings.Contains(string(stat), ") Z ")
	}, 5*time.Minute, time.Millisecond)
	status, _, stderr := cli("inspect", "x.so", "--timeout", "0s")
	require.Equal(t, 2, status)
	require.Contains(t, stderr, "--timeout 0s: give a time above zero")
}

// What the file's code prints is not mixed with the report, and its descriptions are safe on a terminal.
func TestInspectLoad_Output(t *testing.T) {
	file := kernels(t, `KERNEL(f) TEXT(_doc_f, "one\x1b[31m\n\ttwo\n") FUNCTION(_metadata_f) {
		puts("noise"); fflush(stdout);
		return give("{\"author\": \"me\", \"b\": [1,\n2], \"type_schema\": {\"type\": \"ffi.Function\", "
			"\"args\": [{\"type\": \"evil\\u001b\"}]}}", r); }`)
	status, stdout, stderr := built(t, filepath.Dir(file), "inspect", "--load", filepath.Base(file))
	require.Zero(t, status, stderr)
	require.Empty(t, stderr)
	require.NotContains(t, stdout, "noise")
	require.NotContains(t, stdout, "\x1b")
	require.Contains(t, stdout, `
functions        f (safe_call, metadata, doc)
                   "f() -> evil\x1b"
                   author: "me"
                   b: [1,2]
                   one\x1b[31m
                       two
`)
}

// The child's command is not meant for users.
func TestDescribeCommand_Alone(t *testing.T) {
	status, stdout, stderr := built(t, ".", describeCommand)
	require.Equal(t, 1, status)
	require.Contains(t, stderr, "it is started by inspect --load alone")
	_, stdout, _ = cli("--help")
	require.NotContains(t, stdout, describeCommand)
}

// Typed C++ functions run from the command line, and their errors are reported.
func TestRun_Cpp(t *testing.T) {
	dir := t.TempDir()
	file := cpptest.Library(t, dir, "../../runtime/testdata/cpp/typed.cc", "-L"+filepath.Join(cpptest.Wheel(t), "lib"),
		"-ltvm_ffi")
	for _, c := range []struct {
		args   string
		status int
		want   string
	}{
		{"add --in i:2 --in i:3", 0, "result: 5"},
		{"greet --in s:Go", 0, `result: "hello, Go"`},
		{"scale --in f:0.5 --in i:4", 0, "result: 2"},
		{"nothing", 0, "nothing of "},
		{"adder --in i:4", 0, "result: *runtime.Function"},
		{"add --in i:2", 1, "Expected 2 but got 1 arguments"},
		{"throw_value --in i:-1", 1, "x is -1: it must not be negative"},
		{"add_one --in s:x --in s:y", 1, "Expected `DLTensor*`"},
	} {
		status, stdout, stderr := built(t, dir, append([]string{"run", file}, strings.Fields(c.args)...)...)
		require.Equal(t, c.status, status, "%s: %s", c.args, stderr)
		require.Contains(t, stdout+stderr, c.want)
	}
	in, out := filepath.Join(artifacts, "addone_in0.npy"), filepath.Join(dir, "y.npy")
	status, stdout, stderr := cli("run", file, "add_one", "--in", in, "--out", out, "--like", "float32[1001]", "--repeat",
		"2")
	require.Zero(t, status, stderr)
	require.Contains(t, stdout, "time of a call")
	requireClose(t, floats(t, filepath.Join(artifacts, "addone_out.npy")), floats(t, out), "add_one")
}
