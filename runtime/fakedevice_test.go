package runtime_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/runtime"
)

// fake is a device written in Go with every optional part: two indices, memory mapped from the system, and streams that
// run in the background, so that a missing wait is detected.
type fake struct {
	mu      sync.Mutex
	spaces  map[uintptr]fakeSpace
	pinned  map[uintptr][]byte
	streams map[runtime.StreamHandle]*fakeStream
	next    runtime.StreamHandle
	stats   runtime.MemoryStats
	idle    map[runtime.StreamHandle][]fakeSpace // returned on a stream

	// What the runtime has passed to the device.
	current    map[int]runtime.StreamHandle
	device     int
	setStreams int
	timers     atomic.Int64 // open
	events     atomic.Int64
	workspaces atomic.Int64
	scope      string
	graphs     atomic.Int64
	reused     atomic.Int64 // number of times that memory returned on a stream was reused
	toDevice   atomic.Int64 // number of times that it was freed by FreeDataSpace

	priorities map[runtime.StreamHandle]int

	// fail is called before each operation; if it returns an error, the operation fails.
	fail atomic.Pointer[func(op string) error]
}

type fakeSpace struct {
	id        int
	bytes     []byte
	nbytes    uintptr // the requested size; 0 allocates one byte
	workspace bool
	ordered   bool // by AllocOnStream
}

const (
	fakeType  dlpack.DeviceType = 20
	fakeCount                   = 2
)

var theFake = newFake()

var registerFake = sync.OnceValue(func() error {
	return runtime.RegisterDeviceAPI(runtime.DeviceSpec{Type: fakeType, Name: "fakedev", Aliases: []string{"fk"},
		New: func() (runtime.DeviceAPI, error) { return theFake, nil }})
})

// fakeDevice returns index 0 of the device.
func fakeDevice(t testing.TB) dlpack.Device {
	t.Helper()
	require.NoError(t, registerFake())
	return dlpack.Device{Type: fakeType}
}

// failWith lets operations fail for the rest of the test.
func (f *fake) failWith(t testing.TB, hook func(op string) error) {
	f.fail.Store(&hook)
	t.Cleanup(func() { f.fail.Store(nil) })
}

func newFake() *fake {
	f := &fake{spaces: map[uintptr]fakeSpace{}, pinned: map[uintptr][]byte{},
		streams: map[runtime.StreamHandle]*fakeStream{}, next: 0x1000, current: map[int]runtime.StreamHandle{},
		idle: map[runtime.StreamHandle][]fakeSpace{}, priorities: map[runtime.StreamHandle]int{}}
	f.streams[0] = newFakeStream()
	return f
}

func (f *fake) check(op string, id int) error {
	if id < 0 || id >= fakeCount {
		return &runtime.Error{Op: op, Kind: runtime.ErrDeviceUnavailable,
			Message: fmt.Sprintf("fakedev has no index %d: it has %d devices", id, fakeCount)}
	}
	if hook := f.fail.Load(); hook != nil {
		return (*hook)(op)
	}
	return nil
}

// ---- the mandatory part ----

func (f *fake) SetDevice(id int) error {
	if err := f.check("set", id); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.device = id
	return nil
}

func (f *fake) Attr(id int, kind runtime.AttrKind) (any, error) {
	if err := f.check("attr", id); err != nil && kind != runtime.AttrExist {
		return nil, err
	}
	switch kind {
	case runtime.AttrExist:
		return cond(id >= 0 && id < fakeCount, 1, 0), nil
	case runtime.AttrDeviceName:
		return fmt.Sprintf("Fake %d", id), nil
	case runtime.AttrWarpSize:
		return int64(32), nil
	case runtime.AttrGcnArch:
		return nil, fmt.Errorf("no such luck")
	}
	return nil, nil
}

func cond(yes bool, a, b int) int {
	if yes {
		return a
	}
	return b
}

func mapMemory(n uintptr) ([]byte, error) {
	if n > 1<<32 {
		return nil, &runtime.Error{Kind: runtime.ErrOutOfMemory, Message: fmt.Sprintf("fakedev has no %d bytes", n)}
	}
	return syscall.Mmap(-1, 0, int(max(n, 1)), syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_PRIVATE|syscall.MAP_ANON)
}

func (f *fake) AllocDataSpace(id int, nbytes, alignment uintptr, hint dlpack.DataType) (unsafe.Pointer, error) {
	if err := f.check("alloc", id); err != nil {
		return nil, err
	}
	if alignment > 4096 || alignment&(alignment-1) != 0 {
		return nil, fmt.Errorf("alignment %d", alignment)
	}
	return f.space(id, nbytes, false)
}

func (f *fake) space(id int, nbytes uintptr, workspace bool) (unsafe.Pointer, error) {
	b, err := mapMemory(nbytes)
	if err != nil {
		return nil, err
	}
	p := unsafe.Pointer(unsafe.SliceData(b))
	f.mu.Lock()
	defer f.mu.Unlock()
	f.spaces[uintptr(p)] = fakeSpace{id, b, nbytes, workspace, false}
	f.stats.Data += int64(nbytes)
	f.stats.DataPeak = max(f.stats.DataPeak, f.stats.Data)
	f.stats.DataCount++
	return p, nil
}

func (f *fake) FreeDataSpace(id int, p unsafe.Pointer) error {
	if err := f.check("free", id); err != nil {
		return err
	}
	return f.release(p, false)
}

func (f *fake) release(p unsafe.Pointer, workspace bool) error {
	f.finish()
	f.mu.Lock()
	defer f.mu.Unlock()
	s, ok := f.spaces[uintptr(p)]
	if !ok || s.workspace != workspace {
		return fmt.Errorf("%p is none of fakedev's", p)
	}
	if s.ordered {
		f.toDevice.Add(1)
	}
	delete(f.spaces, uintptr(p))
	f.stats.Data -= int64(s.nbytes)
	f.stats.DataCount--
	return syscall.Munmap(s.bytes)
}

// finish waits for all streams.
func (f *fake) finish() {
	f.mu.Lock()
	var all []*fakeStream
	for _, s := range f.streams {
		all = append(all, s)
	}
	f.mu.Unlock()
	for _, s := range all {
		s.wait()
	}
}

func (f *fake) stream(h runtime.StreamHandle) (*fakeStream, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.streams[h]; s != nil {
		return s, nil
	}
	return nil, fmt.Errorf("stream %#x is none of fakedev's", uintptr(h))
}

// bytesOf returns the memory of a tensor.
func bytesOf(t dlpack.Tensor) []byte {
	n, err := t.Size()
	if err != nil {
		panic(err)
	}
	at := t.Data + uintptr(t.ByteOffset)
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&at)), n)
}

func (f *fake) CopyDataFromTo(from, to dlpack.Tensor, stream runtime.StreamHandle) error {
	if err := f.check("copy", 0); err != nil {
		return err
	}
	s, err := f.stream(stream)
	if err != nil {
		return err
	}
	src, dst := bytesOf(from), bytesOf(to)
	if s.records() && (from.Device.Type == dlpack.CPU && !f.isPinned(from.Data) || to.Device.Type == dlpack.CPU &&
		!f.isPinned(to.Data)) {
		return &runtime.Error{Kind: runtime.ErrNotSupported,
			Message: "fakedev records no copies with ordinary memory of the host"}
	}
	if from.Device.Type == dlpack.CPU && !f.isPinned(from.Data) {
		src = append([]byte{}, src...) // host memory may be freed when this returns
	}
	s.queue(func() { copy(dst, src) })
	if to.Device.Type == dlpack.CPU && !s.records() {
		s.wait()
	}
	return nil
}

func (f *fake) StreamSync(id int, stream runtime.StreamHandle) error {
	if err := f.check("sync", id); err != nil {
		return err
	}
	s, err := f.stream(stream)
	if err != nil {
		return err
	}
	s.wait()
	return nil
}

// ---- workspaces, scopes, pinned memory, statistics ----

func (f *fake) AllocWorkspace(id int, nbytes uintptr, hint dlpack.DataType, s runtime.StreamHandle) (unsafe.Pointer,
	error) {
	if err := f.check("alloc workspace", id); err != nil {
		return nil, err
	}
	p, err := f.space(id, nbytes, true)
	if err == nil {
		f.workspaces.Add(1)
	}
	return p, err
}

func (f *fake) FreeWorkspace(id int, p unsafe.Pointer) error {
	err := f.release(p, true)
	if err == nil {
		f.workspaces.Add(-1)
	}
	return err
}

func (f *fake) AllocDataSpaceWithScope(id int, shape []int64, dtype dlpack.DataType, scope string) (unsafe.Pointer,
	error) {
	if err := f.check("alloc scope", id); err != nil {
		return nil, err
	}
	if scope != "global.texture" {
		return nil, &runtime.Error{Kind: runtime.ErrNotSupported,
			Message: fmt.Sprintf("fakedev has no scope %q: it has global.texture", scope)}
	}
	n, err := dlpack.DataSize(shape, dtype)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	f.scope = fmt.Sprint(scope, shape, dtype)
	f.mu.Unlock()
	return f.space(id, uintptr(n), false)
}

func (f *fake) PinnedAlloc(id int, nbytes uintptr) (unsafe.Pointer, error) {
	if err := f.check("pin", id); err != nil {
		return nil, err
	}
	b, err := mapMemory(nbytes)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stats.Pinned += int64(nbytes)
	p := unsafe.Pointer(unsafe.SliceData(b))
	f.pinned[uintptr(p)] = b
	return p, nil
}

func (f *fake) PinnedFree(id int, p unsafe.Pointer) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	b := f.pinned[uintptr(p)]
	delete(f.pinned, uintptr(p))
	f.stats.Pinned -= int64(len(b))
	return syscall.Munmap(b)
}

func (f *fake) MemoryStats(id int) (runtime.MemoryStats, error) {
	if err := f.check("statistics", id); err != nil {
		return runtime.MemoryStats{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.stats
	s.Total, s.Free = 1<<32, 1<<32-s.Data
	return s, nil
}

func (f *fake) TargetProperty(id int, name string) (any, error) {
	if name == "max_num_threads" {
		return 256, nil
	}
	return nil, nil
}

func (t *fakeTimer) Close() error { t.f.timers.Add(-1); return nil }

func (e *fakeEvent) Close() error { e.f.events.Add(-1); return nil }

// The device has every optional part.
var (
	_ runtime.DeviceAPI        = (*fake)(nil)
	_ runtime.StreamAPI        = (*fake)(nil)
	_ runtime.WorkspaceAPI     = (*fake)(nil)
	_ runtime.ScopedAllocator  = (*fake)(nil)
	_ runtime.TimerAPI         = (*fake)(nil)
	_ runtime.EventAPI         = (*fake)(nil)
	_ runtime.PinnedAllocator  = (*fake)(nil)
	_ runtime.MemoryReporter   = (*fake)(nil)
	_ runtime.TargetProperties = (*fake)(nil)
	_ runtime.StreamAllocator  = (*fake)(nil)
	_ runtime.GraphCapturer    = (*fake)(nil)
)
