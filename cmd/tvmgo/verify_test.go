//go:build cgo

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/export/pack"
	"tvmgo/internal/arguments"
	"tvmgo/internal/testing/must"
)

// badKernels are kernels of which one works, one crashes, one ends the process, and one does not end.
const badKernels = `#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
void good(float* a) { a[0] = 2; }
void crashes(float* a) { *(volatile int*)8 = (int)a[0]; }
void aborts(float* a) { (void)a; abort(); }
void quits(float* a) { (void)a; _exit(0); }
void endless(float* a) { for (volatile int i = 0;; i++) a[0] = (float)i; }
void prints(float* a) { a[0] = 2; puts("noise"); fputs("more\n", stderr); }
void big(double* a, uint64_t n) { a[0] = n == UINT64_MAX ? 2 : n == UINT64_C(1) << 63 ? 3 : 0; }
`

// packBad packs some of them, each with a test vector.
func packBad(t *testing.T, functions ...string) string {
	t.Helper()
	dir := kernelFile(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bad.c"), []byte(badKernels), 0o666))
	args := []string{"pack", filepath.Join(dir, "bad.c"), "-o", filepath.Join(dir, "bad.so")}
	for _, f := range functions {
		args = append(args, "--func", f+"(inout float32[1])", "--test",
			f+":"+filepath.Join(dir, "one.npy")+"="+filepath.Join(dir, "two.npy"))
	}
	status, _, stderr := cli(args...)
	require.Zero(t, status, stderr)
	return filepath.Join(dir, "bad.so")
}

// A failure of one test vector is reported for it alone, and the others run.
func TestVerify_Crashes(t *testing.T) {
	file := packBad(t, "crashes", "good", "aborts", "quits", "prints")
	status, stdout, stderr := cli("verify", file, "--timeout", "10m")
	require.Equal(t, 1, status)
	require.Equal(t, "tvmgo: verify "+file+": 3 of 5 test vectors failed\n", stderr)
	require.Equal(t, `crashes, test vector 0 on cpu:0: failed: its code ended the process: SIGSEGV: segmentation violation
good, test vector 0 on cpu:0: as expected
aborts, test vector 0 on cpu:0: failed: its code ended the process: SIGABRT: abort
quits, test vector 0 on cpu:0: failed: its code ended the process: exit status 0
prints, test vector 0 on cpu:0: as expected
`, stdout)
	status, stdout, _ = cli("verify", file, "--timeout", "10m", "--json")
	require.Equal(t, 1, status)
	var report pack.Report
	require.NoError(t, json.Unmarshal([]byte(stdout), &report))
	require.Equal(t, 3, report.Failed())
	require.Contains(t, report.Vectors[0].Error, "SIGSEGV")
}

// A kernel that does not end fails after the time limit. On a slow machine the others may reach the limit, too.
func TestVerify_Endless(t *testing.T) {
	status, stdout, _ := cli("verify", packBad(t, "endless"), "--timeout", "20s")
	require.Equal(t, 1, status)
	require.Equal(t, "endless, test vector 0 on cpu:0: failed: no answer within 20s: set a longer time with --timeout\n",
		stdout)
}

// If the file crashes while it is loaded, or while its test vectors are listed, the error is also one line.
func TestVerify_FileCrashes(t *testing.T) {
	for body, want := range map[string]string{
		`__attribute__((constructor)) static void run(void) { raise(SIGSEGV); }`: "SIGSEGV: segmentation violation",
		`FUNCTION(_tvmgo_vectors) { abort(); }`:                                  "SIGABRT: abort",
	} {
		file := kernels(t, body)
		status, stdout, stderr := cli("verify", file, "--timeout", "10m")
		require.Equal(t, 1, status)
		require.Empty(t, stdout)
		require.Equal(t, "tvmgo: verify "+file+": its code ended the process: "+want+"\n", stderr)
	}
}

// Unsigned 64-bit integers are passed up to their maximum.
func TestVerify_LargeIntegers(t *testing.T) {
	dir := kernelFile(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(at("bad.c"), []byte(badKernels), 0o666))
	for name, data := range map[string][]byte{"two64.npy": {6: 0, 7: 0x40}, "three64.npy": {6: 8, 7: 0x40}} {
		like := must.Get(arguments.ParseLike("float64[1]"))(t)
		like.Data = data
		f := must.Get(os.Create(at(name)))(t)
		require.NoError(t, write(f, like))
		require.NoError(t, f.Close())
	}
	args := []string{"pack", at("bad.c"), "--func", "big(out float64[1], uint64)", "-o", at("big.so")}
	status, _, stderr := cli(append(args, "--test", "i:18446744073709551615="+at("two64.npy"), "--test",
		"i:0x8000000000000000="+at("three64.npy"))...)
	require.Zero(t, status, stderr)
	status, stdout, stderr := cli("verify", at("big.so"), "--timeout", "10m")
	require.Zero(t, status, stderr)
	require.Equal(t, 2, strings.Count(stdout, "as expected"), stdout)
	for _, bad := range []string{"i:18446744073709551616", "i:-1"} {
		status, _, stderr = cli(append(args, "--test", bad+"="+at("two64.npy"))...)
		require.NotZero(t, status, bad)
		require.Contains(t, stderr, bad[2:])
	}
	args[3] = "big(out float64[1], int64)"
	status, _, stderr = cli(append(args, "--test", "i:9223372036854775808="+at("two64.npy"))...)
	require.Equal(t, 1, status)
	require.Contains(t, stderr,
		"9223372036854775808 is out of range: it goes from -9223372036854775808 to 9223372036854775807")
}
