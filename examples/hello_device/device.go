package main

import (
	"fmt"
	"sync"
	"syscall"
	"unsafe"

	"tvmgo/dlpack"
	"tvmgo/runtime"
)

const number dlpack.DeviceType = 24 // any free number n with kDLExtDev (12) < n < 36

// register makes the device available to Go, C and loaded modules.
func register() error {
	return runtime.RegisterDeviceAPI(runtime.DeviceSpec{Type: number, Name: "hello", New: newHello})
}

// hello is the device. Its memory consists of pages of the system, which Go's garbage collector neither moves nor
// frees.
type hello struct {
	mu     sync.Mutex
	spaces [2]map[unsafe.Pointer][]byte // by index, then by address
}

func newHello() (runtime.DeviceAPI, error) {
	return &hello{spaces: [2]map[unsafe.Pointer][]byte{{}, {}}}, nil
}

// SetDevice fails for an index that does not exist.
func (h *hello) SetDevice(id int) error {
	if id < 0 || id >= len(h.spaces) {
		return &runtime.Error{Kind: runtime.ErrDeviceUnavailable,
			Message: fmt.Sprintf("hello has no index %d: it has 0 and 1", id)}
	}
	return nil
}

// Attr returns nil without an error for an attribute that the device does not have.
func (h *hello) Attr(id int, kind runtime.AttrKind) (any, error) {
	err := h.SetDevice(id)
	switch {
	case kind == runtime.AttrExist && err != nil:
		return 0, nil
	case kind == runtime.AttrExist:
		return 1, nil
	case err == nil && kind == runtime.AttrDeviceName:
		return "Hello", nil
	}
	return nil, err
}

func (h *hello) AllocDataSpace(id int, nbytes, alignment uintptr, _ dlpack.DataType) (unsafe.Pointer, error) {
	if err := h.SetDevice(id); err != nil {
		return nil, err
	}
	const page = 4096
	if nbytes > 1<<34 || alignment > page {
		return nil, &runtime.Error{Kind: runtime.ErrOutOfMemory, Message: fmt.Sprintf("hello has no %d bytes aligned to %d",
			nbytes, alignment)}
	}
	b, err := syscall.Mmap(-1, 0, int(max(nbytes, 1)), syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		return nil, &runtime.Error{Kind: runtime.ErrOutOfMemory, Message: err.Error()}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	p := unsafe.Pointer(unsafe.SliceData(b))
	h.spaces[id][p] = b
	return p, nil
}

func (h *hello) FreeDataSpace(id int, p unsafe.Pointer) error {
	if err := h.SetDevice(id); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	b, ok := h.spaces[id][p]
	if !ok {
		return &runtime.Error{Kind: runtime.ErrInvalidArgument, Message: fmt.Sprintf("%p is not memory of hello:%d", p, id)}
	}
	delete(h.spaces[id], p)
	return syscall.Munmap(b)
}

// CopyDataFromTo copies before it returns, so StreamSync has nothing to wait for.
func (h *hello) CopyDataFromTo(from, to dlpack.Tensor, _ runtime.StreamHandle) error {
	n, err := from.Size()
	if err == nil {
		copy(bytes(to, n), bytes(from, n))
	}
	return err
}

func bytes(t dlpack.Tensor, n int64) []byte {
	at := t.Data + uintptr(t.ByteOffset)
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&at)), n)
}

func (h *hello) StreamSync(id int, _ runtime.StreamHandle) error { return h.SetDevice(id) }
