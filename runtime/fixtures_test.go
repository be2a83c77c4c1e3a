package runtime_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/leaks"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

const artifacts = "../testdata/artifacts/"

// work is the directory in which the tests of this process build libraries. Child processes share it.
var work = os.Getenv(workVariable)

const workVariable = "TVMGO_RUNTIME_TEST_WORK"

func TestMain(m *testing.M) {
	if work != "" {
		os.Exit(m.Run())
	}
	runtime.SetWorkspaceIdleTime(0) // tests count what is idle
	dir, err := os.MkdirTemp("", "tvmgo-runtime-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	work = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

var ctx = context.Background()

// ---- libraries ----

// buildC compiles a C source, text or the path of a file, to a shared library. Equal calls share one file.
func buildC(t testing.TB, source string, flags ...string) string {
	t.Helper()
	text := []byte(source)
	if strings.HasSuffix(source, ".c") {
		text = readFile(t, source)
	}
	sum := sha256.Sum256(append(text, strings.Join(flags, "\x00")...))
	path := filepath.Join(work, hex.EncodeToString(sum[:8])+".so")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	cc := compiler(t)
	args := append([]string{"-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-I../include", "-x", "c", "-", "-o",
		path + ".new"}, flags...)
	cmd := exec.Command(cc, args...)
	cmd.Stdin = bytes.NewReader(text)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NoError(t, os.Rename(path+".new", path))
	return path
}

const blobRoom = 1 << 16

// withBlob returns a library of the probe functions with a blob.
func withBlob(t testing.TB, source string, blob []byte) []byte {
	t.Helper()
	require.LessOrEqual(t, len(blob), blobRoom)
	lib := must.Get(os.ReadFile(buildC(t, source, fmt.Sprintf("-DBLOB_ROOM=%d", blobRoom))))(t)
	mark := []byte("blob of the test\x00")
	at := bytes.Index(lib, mark)
	require.GreaterOrEqual(t, at, 0)
	require.Equal(t, at, bytes.LastIndex(lib, mark))
	copy(lib[at:at+blobRoom], make([]byte, blobRoom))
	copy(lib[at:], blob)
	return lib
}

const (
	probeSource   = "testdata/probe.c"
	classicSource = "testdata/probe_classic.c"
)

func loadBytes(t testing.TB, lib []byte, opts ...runtime.LoadOption) *runtime.Module {
	t.Helper()
	return must.Open(runtime.LoadBytes(ctx, lib, opts...))(t)
}

func probe(t testing.TB) *runtime.Module { t.Helper(); return modules.Load(t, buildC(t, probeSource)) }

func function(t testing.TB, m *runtime.Module, name string) *runtime.Function {
	t.Helper()
	return must.Open(m.Function(name))(t)
}

func goFunction(t testing.TB, f runtime.PackedFunc) *runtime.Function {
	t.Helper()
	return must.Open(runtime.NewFunction(f))(t)
}

func global(t testing.TB, name string) *runtime.Function {
	t.Helper()
	return must.Open(runtime.Global(name))(t)
}

// call calls a function that must succeed.
func call(t testing.TB, f *runtime.Function, args ...any) any {
	t.Helper()
	return must.Get(f.Call(args...))(t)
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	return must.Get(os.ReadFile(path))(t)
}

func writeFile(t testing.TB, path string, data []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, data, 0o644))
}

// ---- tensors ----

func tensor[T dlpack.Scalar](t testing.TB, data []T, shape ...int64) *runtime.Tensor {
	t.Helper()
	return must.Open(runtime.FromSlice(data, shape...))(t)
}

func empty(t testing.TB, dtype dlpack.DataType, shape []int64, dev dlpack.Device) *runtime.Tensor {
	t.Helper()
	return must.Open(runtime.NewTensor(dtype, shape, dev))(t)
}

func slice[T dlpack.Scalar](t testing.TB, x *runtime.Tensor) []T {
	t.Helper()
	return must.Get(runtime.ToSlice[T](x))(t)
}

func requireClose(t testing.TB, want, got []float32) {
	t.Helper()
	require.Len(t, got, len(want))
	for i := range want {
		if math.Abs(float64(want[i]-got[i])) > 1e-4*max(1, math.Abs(float64(want[i]))) {
			require.Equal(t, want[i], got[i], "element %d", i)
		}
	}
}

// ---- errors ----

// requireError checks the kind of an error of this package, and that its text contains all of the given texts.
func requireError(t testing.TB, err, kind error, says ...string) *runtime.Error {
	t.Helper()
	require.Error(t, err)
	var e *runtime.Error
	require.ErrorAs(t, err, &e, "%v", err)
	require.ErrorIs(t, err, kind, "%v", err)
	for _, s := range says {
		require.Contains(t, err.Error(), s)
	}
	return e
}

// ---- leaks ----

// stays lists the counts that must be unchanged after a test. Idle workspaces belong to threads.
func stays() runtime.LiveCounts {
	n := runtime.Live()
	n.WorkspaceCached = 0
	return n
}

// waitLimit and waitStep bound the waits for other goroutines.
const (
	waitLimit = 2 * time.Minute
	waitStep  = time.Millisecond
)

// noLeaks fails the test if an object that it made is alive after its end. Call it first in a test, so that its check
// runs last.
func noLeaks(t testing.TB) {
	t.Helper()
	fakeDevice(t) // stays as long as the process
	leaks.Check(t, stays)
}

// compiler returns the C compiler. Without one the test is skipped, or on CI fails. Tests call it before they make
// objects.
func compiler(t testing.TB) string {
	t.Helper()
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	if _, err := exec.LookPath(cc); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("no C compiler: %v", err)
		}
		t.Skipf("no C compiler: %v", err)
	}
	return cc
}
