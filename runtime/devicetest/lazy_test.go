package devicetest_test

import (
	"fmt"
	"sync"
	"syscall"
	"unsafe"

	"tvmgo/dlpack"
	"tvmgo/runtime"
)

// lazy is a device written in Go, with every optional interface and two indices. Its streams run work only when a
// caller waits for it, so that a missing wait always has an effect. It returns errors for misuse: memory that it did
// not allocate, memory of the other index, and accesses beyond an allocation.
//
// mutant is the name of a mistake that the device makes, for tests of the suite.
type lazy struct {
	mutant string

	mu      sync.Mutex
	spaces  map[uintptr]*lazySpace
	dead    []*lazySpace // freed while work was enqueued
	pinned  map[uintptr]lazyPinned
	streams map[lazyKey]*lazyStream
	next    runtime.StreamHandle
	stats   [lazyCount]runtime.MemoryStats
	idle    []*lazySpace // freed workspaces
	ordered []*lazySpace // freed memory of streams
	staging []byte

	src, dst []byte // source and destination of the current copy

	active  map[int]int // by thread
	current map[[2]int]runtime.StreamHandle
}

const (
	lazyType  dlpack.DeviceType = 20
	lazyCount                   = 2
	lazyTotal                   = 1 << 30
)

type lazySpace struct {
	id     int
	mapped []byte
	at     uintptr // the address that callers get
	size   uintptr
	stream runtime.StreamHandle // the stream of a workspace, or the stream on which memory was freed
	lent   bool                 // it is a workspace
}

type lazyPinned struct {
	id    int
	bytes []byte
}

type lazyKey struct {
	id int
	h  runtime.StreamHandle
}

// lazyStream has enqueued work. queued counts all work so far, done the work that has run.
type lazyStream struct {
	work         []func()
	queued, done int
	running      bool

	recording bool
	recorded  []func()
}

func newLazy(mutant string) *lazy {
	d := &lazy{mutant: mutant, spaces: map[uintptr]*lazySpace{}, pinned: map[uintptr]lazyPinned{},
		streams: map[lazyKey]*lazyStream{}, next: 0x1000, active: map[int]int{},
		current: map[[2]int]runtime.StreamHandle{}}
	for id := range lazyCount {
		d.streams[lazyKey{id, 0}] = &lazyStream{}
	}
	return d
}

func (d *lazy) is(mutant string) bool { return d.mutant == mutant }

func failed(kind error, format string, args ...any) error {
	return &runtime.Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

func (d *lazy) enter(id int) error {
	if id == -1 && d.is("index -1 is the first device") {
		d.mu.Lock()
		return nil
	}
	if id < 0 || id >= lazyCount {
		return failed(runtime.ErrDeviceUnavailable, "lazy has no index %d: it has %d devices", id, lazyCount)
	}
	d.mu.Lock()
	return nil
}

func (s *lazyStream) queue(f func()) {
	if s.recording {
		s.recorded = append(s.recorded, f)
		return
	}
	s.work = append(s.work, f)
	s.queued++
}

// run runs a stream's work until upTo items are done.
func (d *lazy) run(s *lazyStream, upTo int) {
	if s.running { // the stream waits for itself
		return
	}
	s.running = true
	if d.is("work runs in reverse order") {
		for i, j := 0, len(s.work)-1; i < j; i, j = i+1, j-1 {
			s.work[i], s.work[j] = s.work[j], s.work[i]
		}
	}
	for s.done < upTo {
		f := s.work[0]
		s.work = s.work[1:]
		s.done++
		f()
	}
	s.running = false
	for _, s := range d.streams {
		if len(s.work) > 0 {
			return
		}
	}
	for _, space := range d.dead {
		syscall.Munmap(space.mapped)
	}
	d.dead = nil
}

func (d *lazy) finish(s *lazyStream) { d.run(s, s.queued) }

func (d *lazy) stream(id int, h runtime.StreamHandle) (*lazyStream, error) {
	if s := d.streams[lazyKey{id, h}]; s != nil {
		return s, nil
	}
	return nil, failed(runtime.ErrInvalidArgument, "stream %#x does not belong to lazy:%d", uintptr(h), id)
}

// ---- the mandatory interface; memory and copies are in lazymemory_test.go ----

func (d *lazy) SetDevice(id int) error {
	if err := d.enter(id); err != nil {
		return err
	}
	defer d.mu.Unlock()
	if d.is("the second device cannot be made active") && id == 1 {
		return failed(runtime.ErrFailed, "no")
	}
	if !d.is("device 0 is always active") {
		d.active[syscall.Gettid()] = id
	}
	return nil
}

func (d *lazy) Attr(id int, kind runtime.AttrKind) (any, error) {
	switch {
	case kind == runtime.AttrExist:
		return int64(b2i(id >= 0 && id < lazyCount || d.is("every index exists"))), nil
	case id < 0 || id >= lazyCount:
		return nil, failed(runtime.ErrDeviceUnavailable, "lazy has no index %d", id)
	case kind == runtime.AttrDeviceName:
		return "Lazy", nil
	case kind == runtime.AttrWarpSize && d.is("an integer attribute is a string"):
		return "32", nil
	case kind == runtime.AttrWarpSize:
		return int64(32), nil
	case kind == runtime.AttrMaxThreadDimensions && d.is("a string attribute is an integer"):
		return int64(1024), nil
	case kind > runtime.AttrImagePitchAlignment && d.is("unknown attributes fail"):
		return nil, failed(runtime.ErrInvalidArgument, "attribute %d", kind)
	}
	return nil, nil
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (d *lazy) StreamSync(id int, h runtime.StreamHandle) error {
	if err := d.enter(id); err != nil {
		return err
	}
	defer d.mu.Unlock()
	s, err := d.stream(id, h)
	switch {
	case err != nil:
		return err
	case d.is("waiting fails") && h != 0:
		return failed(runtime.ErrFailed, "no")
	case !d.is("a wait returns at once"):
		d.finish(s)
	}
	return nil
}

// ---- streams ----

func (d *lazy) CreateStream(id int) (runtime.StreamHandle, error) {
	if err := d.enter(id); err != nil {
		return 0, err
	}
	defer d.mu.Unlock()
	if !d.is("all streams have one handle") || d.next == 0x1000 {
		d.next += 16
	}
	d.streams[lazyKey{id, d.next}] = &lazyStream{}
	return d.next, nil
}

func (d *lazy) FreeStream(id int, h runtime.StreamHandle) error {
	if err := d.enter(id); err != nil {
		return err
	}
	defer d.mu.Unlock()
	s, err := d.stream(id, h)
	if err != nil {
		return err
	}
	if !d.is("closing a stream drops its work") {
		d.finish(s)
	}
	delete(d.streams, lazyKey{id, h})
	if d.is("closing one stream closes all") {
		for k := range d.streams {
			if k.h != 0 {
				delete(d.streams, k)
			}
		}
	}
	return nil
}

func (d *lazy) SetStream(id int, h runtime.StreamHandle) error {
	if err := d.enter(id); err != nil {
		return err
	}
	defer d.mu.Unlock()
	if !d.is("the current stream is ignored") {
		d.current[[2]int{syscall.Gettid(), id}] = h
	}
	return nil
}

func (d *lazy) SyncStreamFromTo(id int, src, dst runtime.StreamHandle) error {
	if err := d.enter(id); err != nil {
		return err
	}
	defer d.mu.Unlock()
	from, err := d.stream(id, src)
	if err != nil {
		return err
	}
	to, err := d.stream(id, dst)
	if err != nil {
		return err
	}
	mark := from.queued
	if d.is("one stream does not wait for another") {
		return nil
	}
	to.queue(func() { d.run(from, mark) })
	return nil
}

// ---- a module with a kernel ----

type lazyModule struct {
	runtime.ModuleBase
	d      *lazy
	closed *bool
}

func (d *lazy) module() (*runtime.Module, error) {
	return runtime.NewModule("lazy", runtime.Runnable, lazyModule{d: d, closed: new(bool)})
}

func (m lazyModule) Close() error {
	*m.closed = true
	return nil
}

func (m lazyModule) Function(name string) (*runtime.Function, error) {
	return runtime.NewFunction(func(args ...any) (any, error) {
		x, ok := args[0].(*runtime.Tensor)
		switch {
		case !ok:
			return nil, failed(runtime.ErrInvalidArgument, "%s: the argument must be an array", name)
		case *m.closed && m.d.is("functions fail after their module is closed"):
			return nil, failed(runtime.ErrFailed, "the module is closed")
		}
		set, err := runtime.Global("__tvm_set_device")
		if err != nil {
			return nil, err
		}
		defer set.Close()
		if _, err := set.Call(int(x.Device().Type), int(x.Device().ID)); err != nil {
			return nil, err
		}
		return nil, m.d.launch(x)
	})
}

// launch enqueues the kernel on the active device and its current stream.
func (d *lazy) launch(x *runtime.Tensor) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	id := d.active[syscall.Gettid()]
	if x.Device().ID != int32(id) {
		return failed(runtime.ErrInvalidArgument, "a kernel on lazy:%d cannot use memory of %v", id, x.Device())
	}
	s, err := d.stream(id, d.current[[2]int{syscall.Gettid(), id}])
	if err != nil {
		return err
	}
	data := unsafe.Slice((*float32)(pointer(x.Data())), x.Len())
	s.queue(func() {
		for i := range data {
			data[i]++
		}
	})
	return nil
}

// lazy implements every optional interface.
var (
	_ runtime.StreamAPI       = (*lazy)(nil)
	_ runtime.WorkspaceAPI    = (*lazy)(nil)
	_ runtime.ScopedAllocator = (*lazy)(nil)
	_ runtime.TimerAPI        = (*lazy)(nil)
	_ runtime.EventAPI        = (*lazy)(nil)
	_ runtime.PinnedAllocator = (*lazy)(nil)
	_ runtime.MemoryReporter  = (*lazy)(nil)
	_ runtime.StreamAllocator = (*lazy)(nil)
	_ runtime.GraphCapturer   = (*lazy)(nil)
)

// pooled is the same device without its own workspaces, so that the runtime has a pool for it, and without memory of
// streams.
type pooled struct {
	runtime.DeviceAPI
	runtime.StreamAPI
	runtime.ScopedAllocator
	runtime.TimerAPI
	runtime.EventAPI
	runtime.PinnedAllocator
	runtime.MemoryReporter
	runtime.GraphCapturer
}

func newPooled(d *lazy) pooled { return pooled{d, d, d, d, d, d, d, d} }

// bare is the same device with the mandatory interface only.
type bare struct{ runtime.DeviceAPI }
