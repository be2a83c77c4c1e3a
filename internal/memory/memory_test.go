//go:build linux

package memory

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	testmachine "tvmgo/internal/testing/machine"
)

func TestCheck(t *testing.T) {
	require.NoError(t, Check(0))
	require.NoError(t, Check(1<<20))
	err := Check(math.MaxInt64)
	require.ErrorContains(t, err, "9223372036854775807 bytes (8.0 EiB) are needed, but this process can allocate only ")
	_, err = Make(math.MaxInt64)
	require.Error(t, err)
	b, err := Make(3 << 20)
	require.NoError(t, err)
	require.Len(t, b, 3<<20)
	b[len(b)-1] = 1
	Free(b)
}

func TestText(t *testing.T) {
	for n, want := range map[int64]string{0: "0 bytes", 1023: "1023 bytes", 1024: "1.0 KiB", 20_000_000_000: "18.6 GiB"} {
		require.Equal(t, want, Text(n))
	}
}

// Available obeys a resource limit of the process.
func TestAvailable_Limits(t *testing.T) {
	if os.Getenv("TVMGO_TEST_LIMIT") != "" {
		l := syscall.Rlimit{Cur: 4 << 30, Max: 4 << 30}
		require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_AS, &l))
		os.Stdout.WriteString("have " + strconv.FormatInt(Available(), 10) + "\n")
		return
	}
	testmachine.NeedNative(t, "qemu-user does not limit the address space")
	cmd := exec.Command(os.Args[0], "-test.run=^TestAvailable_Limits$")
	cmd.Env = append(os.Environ(), "TVMGO_TEST_LIMIT=1")
	out, err := cmd.Output()
	require.NoError(t, err)
	text, _, _ := strings.Cut(strings.TrimPrefix(string(out), "have "), "\n")
	n, err := strconv.ParseInt(text, 10, 64)
	require.NoError(t, err)
	require.Less(t, n, int64(4<<30))
}

// A control group's free memory is its limit minus its usage; inactive file cache does not count as used.
func TestLeft(t *testing.T) {
	dir := t.TempDir()
	require.EqualValues(t, math.MaxInt64, left(dir, "memory.max", "memory.current", "inactive_file "))
	for name, text := range map[string]string{"memory.max": "1000\n", "memory.current": "700\n",
		"memory.stat": "anon 600\ninactive_file 100\nactive_file 0\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	require.EqualValues(t, 400, left(dir, "memory.max", "memory.current", "inactive_file "))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "memory.max"), []byte("max\n"), 0o600))
	require.EqualValues(t, math.MaxInt64, left(dir, "memory.max", "memory.current", "inactive_file "))
}
