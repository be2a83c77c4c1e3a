// Package guardpage gives tests tensors beside pages that must not be touched, so that a read or write outside of a
// tensor ends the process, and runs such tests in a child process, so that this is a failed test.
package guardpage

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"runtime/debug"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// Side is the side of a tensor at which a guard page begins with the next byte. The other side has a guard page too,
// but up to a page of memory is in between, because guards are whole pages; tests use both sides. Writes to that memory
// are noticed when the tensor is freed.
type Side int

// The sides.
const (
	Before Side = iota
	Behind
)

func (s Side) String() string { return [...]string{"before", "behind"}[s] }

// Sides are all sides.
var Sides = []Side{Before, Behind}

// pattern fills the memory between a tensor and the guard page at its other side.
const pattern = 0xA7

// memory is a mapping: a guard page, pages with data and pattern, and a guard page.
type memory struct {
	all, inner []byte
	from       int    // where data begins in inner
	data       []byte // in inner
}

func allocate(size int, side Side) (*memory, error) {
	page := os.Getpagesize()
	pages := (size + page - 1) / page * page
	all, err := syscall.Mmap(-1, 0, pages+2*page, syscall.PROT_NONE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes: %w", pages+2*page, err)
	}
	m := &memory{all: all, inner: all[page : page+pages]}
	if pages > 0 {
		if err := syscall.Mprotect(m.inner, syscall.PROT_READ|syscall.PROT_WRITE); err != nil {
			return nil, errors.Join(err, syscall.Munmap(all))
		}
	}
	for i := range m.inner {
		m.inner[i] = pattern
	}
	if side == Behind {
		m.from = pages - size
	}
	m.data = m.inner[m.from : m.from+size : m.from+size]
	return m, nil
}

// free unmaps the memory. Its error says that something was written beside the data.
func (m *memory) free() error {
	var err error
	for i, b := range m.inner {
		if (i < m.from || i >= m.from+len(m.data)) && b != pattern {
			err = fmt.Errorf("byte %d of the tensor was written; it has %d", i-m.from, len(m.data))
			break
		}
	}
	return errors.Join(err, syscall.Munmap(m.all))
}

// managed is a DLManagedTensor with the shape behind it. It is in memory that Go does not move.
type managed struct {
	data           uintptr
	device, id     int32
	ndim           int32
	code, bits     uint8
	lanes          uint16
	shape, strides uintptr
	offset         uint64
	context        uintptr
	deleter        uintptr
	sizes          [8]int64
}

// Tensor is a CPU tensor beside guard pages.
type Tensor struct {
	*runtime.Tensor
	data, header *memory
}

// New returns a tensor with these bytes.
func New(t dlpack.DataType, shape []int64, side Side, content []byte) (*Tensor, error) {
	if len(shape) > len(managed{}.sizes) {
		return nil, fmt.Errorf("%d dimensions: want at most %d", len(shape), len(managed{}.sizes))
	}
	data, err := allocate(len(content), side)
	if err != nil {
		return nil, err
	}
	header, err := allocate(int(unsafe.Sizeof(managed{})), Before)
	if err != nil {
		return nil, errors.Join(err, data.free())
	}
	copy(data.data, content)
	m := (*managed)(unsafe.Pointer(&header.data[0]))
	*m = managed{device: int32(dlpack.CPU), ndim: int32(len(shape))}
	m.code, m.bits, m.lanes = uint8(t.Code), t.Bits, t.Lanes
	if len(content) > 0 {
		m.data = uintptr(unsafe.Pointer(&data.data[0]))
	}
	copy(m.sizes[:], shape)
	m.shape = uintptr(unsafe.Pointer(&m.sizes[0]))
	x, err := runtime.FromDLPackLegacy(unsafe.Pointer(m))
	if err != nil {
		return nil, errors.Join(err, data.free(), header.free())
	}
	return &Tensor{x, data, header}, nil
}

// Bytes returns the content.
func (x *Tensor) Bytes() []byte { return x.data.data }

// Free frees the tensor. Its error says that something was written beside it.
func (x *Tensor) Free() error {
	x.Close()
	return errors.Join(x.data.free(), x.header.free())
}

// child is the environment variable of a child process: the file for the name of its present step.
const child = "TVMGO_TEST_GUARDED_STEP"

// Run runs a test's body in a child process, which a read or write of a guard page ends. The body announces each step;
// a fault fails the test with the name of its step. If the test is that child, Run runs the body.
func Run(t *testing.T, body func(step func(name string, args ...any))) {
	t.Helper()
	if err := run(t, body); err != nil {
		require.FailNow(t, err.Error())
	}
}

func run(t *testing.T, body func(step func(name string, args ...any))) error {
	if path := os.Getenv(child); path != "" {
		debug.SetTraceback("single")
		f := must.Open(os.OpenFile(path, os.O_WRONLY, 0))(t)
		body(func(name string, args ...any) {
			text := fmt.Sprintf("%-200s", fmt.Sprintf(name, args...))
			_ = must.Get(f.WriteAt([]byte(text[:200]), 0))(t)
		})
		return nil
	}
	path := filepath.Join(t.TempDir(), "step")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.count=1")
	cmd.Env = append(os.Environ(), child+"="+path)
	goruntime.LockOSThread() // the child ends with this thread: also if the test times out
	defer goruntime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.CombinedOutput()
	if err == nil && !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
		err = errors.New("the child process did not run the test")
	}
	if err == nil {
		t.Logf("in a child process:\n%s", out)
		return nil
	}
	step := bytes.TrimSpace(must.Get(os.ReadFile(path))(t))
	if faulted(err, out) {
		return fmt.Errorf("%s: memory outside of a tensor was read or written\n%s", step, out)
	}
	return fmt.Errorf("%s: %w\n%s", step, err, out)
}

// faulted reports whether a fault ended a process: by Go's handler, or, in a thread of C's own, by the signal.
func faulted(err error, out []byte) bool {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() &&
			(status.Signal() == syscall.SIGSEGV || status.Signal() == syscall.SIGBUS) {
			return true
		}
	}
	return bytes.Contains(out, []byte("SIGSEGV")) || bytes.Contains(out, []byte("SIGBUS"))
}
