package export_test

import (
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/export"
	"tvmgo/runtime"
)

const benchPayload = 64 << 20

func benchTree(b *testing.B) *runtime.Module {
	content := make([]byte, benchPayload)
	rand.New(rand.NewSource(1)).Read(content)
	m := importing(b, constant(b, "f", 1), newData(b, content))
	debug.FreeOSMemory()
	return m
}

// BenchmarkLibrary exports a library with 64 MiB of imports. For comparison, it also measures the work that every
// exporter must do, compiling the sources and linking ("assemble and link" is the part that grows with the payload),
// and an export without the checks that run code. extra-bytes/payload is the growth of the process during the export,
// in payloads.
func BenchmarkLibrary(b *testing.B) {
	m := benchTree(b)
	dir := b.TempDir()
	kept := filepath.Join(b.TempDir(), "kept")
	require.NoError(b, export.Library(ctx, m, filepath.Join(dir, "kept.so"), export.KeepFiles(kept)))
	b.Run("export", func(b *testing.B) { benchExport(b, m, dir) })
	b.Run("export/static check", func(b *testing.B) { benchExport(b, m, dir, export.StaticCheck()) })
	b.Run("compile, assemble and link", func(b *testing.B) {
		for b.Loop() {
			benchRun(b, kept, "cc", "-c", "-O2", "-fPIC", "-Iinclude", "lib0.c", "-o", "lib0.o")
			benchRun(b, kept, "cc", "-c", "devc.s", "-o", "devc.o")
			benchRun(b, kept, "cc", "-shared", "-Wl,--build-id=none", "-o", filepath.Join(dir, "linked.so"), "lib0.o", "devc.o")
		}
	})
	b.Run("link", func(b *testing.B) {
		for b.Loop() {
			benchRun(b, kept, "cc", "-shared", "-Wl,--build-id=none", "-o", filepath.Join(dir, "linked.so"), "lib0.o", "devc.o")
		}
	})
}

func benchExport(b *testing.B, m *runtime.Module, dir string, options ...export.Option) {
	resetPeak(b)
	before := peak(b)
	for b.Loop() {
		require.NoError(b, export.Library(ctx, m, filepath.Join(dir, "deploy.so"), options...))
	}
	b.ReportMetric(float64(peak(b)-before)/benchPayload, "extra-bytes/payload")
}

func benchRun(b *testing.B, dir string, command ...string) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(b, err, "%s", out)
}

// resetPeak resets the kernel's record of this process's peak size.
func resetPeak(b testing.TB) {
	b.Helper()
	require.NoError(b, os.WriteFile("/proc/self/clear_refs", []byte("5"), 0))
}

// peak returns the largest resident size of this process since then, in bytes.
func peak(b testing.TB) int64 {
	b.Helper()
	for line := range strings.Lines(string(readFile(b, "/proc/self/status"))) {
		if fields := strings.Fields(line); fields[0] == "VmHWM:" {
			n, err := strconv.ParseInt(fields[1], 10, 64)
			require.NoError(b, err)
			return n << 10
		}
	}
	b.Fatal("no VmHWM")
	return 0
}

// The payload is neither copied nor held in more than small pieces.
func TestLibrary_MemoryStaysSmall(t *testing.T) {
	content := make([]byte, benchPayload)
	rand.New(rand.NewSource(1)).Read(content)
	m := importing(t, constant(t, "f", 1), newData(t, content))
	debug.FreeOSMemory()
	path := filepath.Join(t.TempDir(), "deploy.so")
	resetPeak(t)
	before := peak(t)
	require.NoError(t, export.Library(ctx, m, path))
	require.Less(t, peak(t)-before, int64(benchPayload/5))
}
