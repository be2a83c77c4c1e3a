//go:build cgo

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/machine"
	"tvmgo/internal/testing/must"
)

// An output that does not fit into memory is an error that names its shape and size, before anything is allocated.
func TestRun_TooLarge(t *testing.T) {
	machine.Need(t, multiC)
	path := must.Get(buildOnce())(t)
	lib, out := filepath.Join(artifacts, "modern/multi_c.so"), filepath.Join(t.TempDir(), "out.npy")
	for _, c := range []struct{ limit, like, bytes string }{
		{"", "float32[99999999999999]", "399999999999996 bytes (363.8 TiB)"},
		{"", "float64[2,144115188075855871]", "2305843009213693936 bytes (2.0 EiB)"},
		{"ulimit -v 16000000;", "float32[5000000000]", "20000000000 bytes (18.6 GiB)"},
		{"ulimit -v 4000000;", "float32[1100000000]", "4400000000 bytes (4.1 GiB)"},
	} {
		cmd := exec.Command("sh", "-c", c.limit+` exec "$@"`, "sh", path, "run", lib, "vadd", "--out", out, "--like", c.like)
		said, err := cmd.CombinedOutput()
		require.Error(t, err)
		require.Equal(t, 1, cmd.ProcessState.ExitCode(), "%s", said)
		require.True(t, strings.HasPrefix(string(said),
			"tvmgo: --like "+c.like+": "+c.bytes+" are needed, but this process can allocate only "), "%s", said)
		require.True(t, strings.HasSuffix(string(said), ": use a smaller shape\n"), "%s", said)
		require.NoFileExists(t, out)
	}
	// an .npy file that consists of a hole
	holes := npyFile(t, []int64{1_000_000_000_000}, nil)
	info := must.Get(os.Stat(holes))(t)
	if err := os.Truncate(holes, info.Size()+4_000_000_000_000); err != nil {
		t.Skipf("no such large files here: %v", err)
	}
	status, _, stderr := cli("run", lib, "vadd", "--in", holes)
	require.Equal(t, 1, status)
	require.Contains(t, stderr, "float32[1000000000000]: 4000000000000 bytes (3.6 TiB) are needed")
}

// If a function crashes or ends the process, the error is one line. What it printed before is shown.
func TestRun_Crashes(t *testing.T) {
	file := kernels(t, `KERNEL(good)
		FUNCTION(crashes) { fputs("before\n", stderr); return *(volatile int*)8; }
		FUNCTION(aborts) { abort(); }
		FUNCTION(lacks) {
		#ifdef __x86_64__
		  __asm__("ud2");
		#else
		  __asm__("udf #0");
		#endif
		  return 0;
		}
		FUNCTION(quits) { _exit(7); }
		FUNCTION(killed) { kill(getpid(), SIGKILL); return 0; }
		FUNCTION(talks) { puts("to stdout"); fflush(stdout); fputs("fatal error: not really\nno end", stderr); return 0; }`)
	dir := filepath.Dir(file)
	for function, want := range map[string]struct {
		status         int
		stdout, stderr string
	}{
		"good": {0, "good of kernels.so ran on cpu:0\n", ""},
		"crashes": {1, "", "before\ntvmgo: crashes of kernels.so: its code ended the process: SIGSEGV: segmentation " +
			"violation\n"},
		"lacks": {1, "", "tvmgo: lacks of kernels.so: its code ended the process: SIGILL: illegal instruction: it was " +
			"built for a CPU with more instructions than this one has, or trapped\n"},
		"aborts": {1, "", "tvmgo: aborts of kernels.so: its code ended the process: SIGABRT: abort\n"},
		"quits":  {1, "", "tvmgo: quits of kernels.so: its code ended the process: exit status 7\n"},
		"killed": {1, "", "tvmgo: killed of kernels.so: its code ended the process: signal: killed\n"},
		"talks":  {0, "to stdout\ntalks of kernels.so ran on cpu:0\n", "fatal error: not really\nno end"},
	} {
		status, stdout, stderr := built(t, dir, "run", "kernels.so", function)
		require.Equal(t, want.status, status, "%s: %s", function, stderr)
		require.Equal(t, want.stdout, stdout, function)
		require.Equal(t, want.stderr, stderr, function)
	}
}
