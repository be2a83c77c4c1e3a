//go:build cuda

package cuda_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/fakecuda"
	"tvmgo/internal/testing/fakecuda/control"
	"tvmgo/runtime"
	"tvmgo/runtime/cuda"
)

var (
	first  = dlpack.Device{Type: dlpack.CUDA}
	second = dlpack.Device{Type: dlpack.CUDA, ID: 1}
)

// fakeLibrary is the file of the fake driver; "" if the tests use a real driver.
var fakeLibrary string

// noDriver is the reason why there is neither a real driver nor the fake driver.
var noDriver string

// leftBehind is set by tests after which some memory of the driver cannot be freed.
var leftBehind bool

// setup implements testing.TB for TestMain, so that functions for tests can fail there.
type setup struct {
	testing.TB
	texts []string
	dir   string // removed after the tests
}

var errSetup = errors.New("setup")

func (s *setup) Helper()                      {}
func (s *setup) Errorf(f string, args ...any) { s.texts = append(s.texts, fmt.Sprintf(f, args...)) }
func (s *setup) Fatalf(f string, args ...any) { s.Errorf(f, args...); panic(errSetup) }
func (s *setup) FailNow()                     { panic(errSetup) }
func (s *setup) Name() string                 { return "TestMain" }
func (s *setup) TempDir() string              { return s.dir }

// try runs a part of TestMain and returns the reason if it fails.
func try(dir string, f func(t testing.TB)) (why string) {
	s := &setup{dir: dir}
	defer func() {
		if v := recover(); v != nil && v != errSetup {
			panic(v)
		}
		why = strings.Join(s.texts, "\n")
	}()
	f(s)
	return ""
}

// hasCard reports whether this machine has an NVIDIA GPU and its driver.
func hasCard() bool {
	_, err := os.Stat("/dev/nvidiactl")
	return err == nil
}

// The tests use a real driver if there is one, or if TVMGO_CUDA_LIBRARY names one. Otherwise they use the fake driver
// with two devices, and fail if it reports misuse or leaks.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "cuda-tests")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if fakeLibrary = os.Getenv("FAKECUDA_LIBRARY"); fakeLibrary != "" { // a child process of a test
		os.Setenv("TVMGO_CUDA_LIBRARY", fakeLibrary)
	} else if os.Getenv("TVMGO_CUDA_LIBRARY") == "" && !hasCard() {
		noDriver = try(dir, func(t testing.TB) {
			fakeLibrary = fakecuda.Build(t)
			os.Setenv("TVMGO_CUDA_LIBRARY", fakeLibrary)
			os.Setenv("FAKECUDA_KERNELS", fakecuda.Kernels(t, "testdata/kernels.c"))
		})
	}
	if os.Getenv("TVMGO_CACHE_DIR") == "" {
		os.Setenv("TVMGO_CACHE_DIR", dir)
	}
	rc := m.Run()
	if fakeLibrary != "" {
		if why := try(dir, checkFake); why != "" {
			fmt.Fprintln(os.Stderr, why)
			rc = 1
		}
	}
	os.RemoveAll(dir)
	os.Exit(rc)
}

// checkFake reports misuse of the fake driver, and objects that were not freed. Each device's pool is never freed.
func checkFake(t testing.TB) {
	driver := control.Open(t, fakeLibrary)
	for _, text := range driver.Reports() {
		t.Errorf("misuse of the CUDA driver: %s", text)
	}
	if leftBehind || len(cuda.Loaded().Devices) == 0 {
		return
	}
	for i := range cuda.Loaded().Devices {
		if !runtime.DeviceExists(dlpack.Device{Type: dlpack.CUDA, ID: int32(i)}) {
			continue
		}
		for _, of := range []dlpack.DeviceType{dlpack.CUDA, dlpack.CUDAHost, dlpack.CUDAManaged} {
			if _, err := runtime.TrimWorkspaces(dlpack.Device{Type: of, ID: int32(i)}); err != nil {
				t.Errorf("trim %v:%d: %v", of, i, err)
			}
		}
		if _, err := cuda.Trim(i); err != nil {
			t.Errorf("trim cuda:%d: %v", i, err)
		}
	}
	pools := 0
	for _, text := range driver.Leaks(false) {
		if strings.HasPrefix(text, "pool ") && pools < len(cuda.Loaded().Devices) {
			pools++
			continue
		}
		t.Errorf("not freed in the CUDA driver: %s", text)
	}
}

// need skips a test without a device. On CI, that is a failure.
func need(t testing.TB) {
	t.Helper()
	if noDriver == "" && runtime.DeviceExists(first) {
		return
	}
	reason := noDriver
	for _, d := range runtime.Devices() {
		if reason == "" && d.Device.Type == dlpack.CUDA && d.Err != nil {
			reason = d.Err.Error()
		}
	}
	if os.Getenv("CI") != "" {
		t.Fatal(reason)
	}
	t.Skip(reason)
}

// needFake skips a test that controls the fake driver if the driver is a real one.
func needFake(t testing.TB) *control.Driver {
	t.Helper()
	if fakeLibrary == "" && noDriver == "" {
		t.Skip("the test needs the fake driver, but this one is real")
	}
	need(t)
	return control.Open(t, fakeLibrary)
}

// openFake is needFake for a test that starts before any device has been used.
func openFake(t testing.TB) *control.Driver {
	t.Helper()
	require.NotEmpty(t, fakeLibrary, noDriver)
	require.Empty(t, cuda.Loaded().Devices, "a device was started")
	return control.Open(t, fakeLibrary)
}

// present returns the devices on which tests run: one or two.
func present() []dlpack.Device {
	if !runtime.DeviceExists(second) {
		return []dlpack.Device{first}
	}
	return []dlpack.Device{first, second}
}

// needTwo is need for tests that use two devices.
func needTwo(t testing.TB) {
	t.Helper()
	need(t)
	if !runtime.DeviceExists(second) {
		if fakeLibrary != "" {
			t.Fatal("the fake driver has one device")
		}
		t.Skip("there is one CUDA device")
	}
}

// inChild reports whether this is a child process that child started.
func inChild() bool { return os.Getenv("CUDA_TEST_CHILD") != "" }

// child runs a test of this package in a new process with other settings of the driver. The test must pass there.
func child(t *testing.T, name string, env ...string) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.v", "-test.run", "^"+name+"$")
	cmd.Env = append(append(os.Environ(), "CUDA_TEST_CHILD=1"), env...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: "+name)
	return string(out)
}
