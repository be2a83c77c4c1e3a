package devicetest_test

import (
	"fmt"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"tvmgo/dlpack"
	"tvmgo/runtime"
)

// lazy is a device written in Go with every optional part and two indices. Its streams do nothing before
// somebody waits for them: what a caller did not wait for is really not done, every time. It refuses misuse:
// memory that is not its own, or of the other index, or beyond its end.
//
// mutant names one thing that it does wrong; the tests of the suite use that.
type lazy struct {
	mutant string

	mu      sync.Mutex
	spaces  map[uintptr]*lazySpace
	dead    []*lazySpace // freed while work was queued
	pinned  map[uintptr][]byte
	streams map[lazyKey]*lazyStream
	next    runtime.StreamHandle
	stats   [lazyCount]runtime.MemoryStats
	idle    []*lazySpace // workspaces that were given back
	ordered []*lazySpace // memory of streams that was given back
	staging []byte

	src, dst []byte // of the copy that is being made

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
	at     uintptr // what was handed out
	size   uintptr
	stream runtime.StreamHandle // of a workspace, or that it was given back on
	lent   bool                 // as a workspace
}

type lazyKey struct {
	id int
	h  runtime.StreamHandle
}

// lazyStream holds work that waits; done counts what was done of queued.
type lazyStream struct {
	work         []func()
	queued, done int
	running      bool

	recording bool
	recorded  []func()
}

func newLazy(mutant string) *lazy {
	d := &lazy{mutant: mutant, spaces: map[uintptr]*lazySpace{}, pinned: map[uintptr][]byte{},
		streams: map[lazyKey]*lazyStream{},
		next:    0x1000, active: map[int]int{}, current: map[[2]int]runtime.StreamHandle{}}
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

// run does what was queued up to a mark.
func (d *lazy) run(s *lazyStream, upTo int) {
	if s.running { // a stream that waits for itself
		return
	}
	s.running = true
	if d.is("last work first") {
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
	return nil, failed(runtime.ErrInvalidArgument, "stream %#x is none of lazy:%d", uintptr(h), id)
}

// ---- the mandatory part ----

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
	case kind == runtime.AttrWarpSize && d.is("a number is a text"):
		return "32", nil
	case kind == runtime.AttrWarpSize:
		return int64(32), nil
	case kind == runtime.AttrMaxThreadDimensions && d.is("a text is a number"):
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

func mapped(n uintptr) ([]byte, error) {
	if n > lazyTotal {
		return nil, failed(runtime.ErrOutOfMemory, "no %d bytes", n)
	}
	return syscall.Mmap(-1, 0, int(max(n, 1)), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
}

func (d *lazy) AllocDataSpace(id int, nbytes, alignment uintptr, hint dlpack.DataType) (unsafe.Pointer, error) {
	if err := d.enter(id); err != nil {
		return nil, err
	}
	defer d.mu.Unlock()
	switch {
	case d.is("no memory at all"), d.is("no memory of 0 bytes") && nbytes == 0:
		return nil, failed(runtime.ErrFailed, "no")
	case d.is("out of memory is any error") && nbytes > lazyTotal:
		return nil, failed(runtime.ErrFailed, "no")
	case d.is("memory is handed out twice") && id == 0, d.is("the second device has the first one's memory") && id == 1:
		for _, s := range d.spaces {
			if s.size == nbytes && s.id == 0 {
				d.stats[id].Data += int64(nbytes)
				d.stats[id].DataCount++
				return pointer(s.at), nil
			}
		}
	}
	return d.alloc(id, nbytes, alignment)
}

func pointer(at uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&at)) }

func (d *lazy) alloc(id int, nbytes, alignment uintptr) (unsafe.Pointer, error) {
	if alignment > 4096 && !d.is("every alignment is fine") {
		return nil, failed(runtime.ErrInvalidArgument, "lazy has no alignment %d: at most 4096", alignment)
	}
	b, err := mapped(nbytes + 4096)
	if err != nil {
		return nil, err
	}
	s := &lazySpace{id: id, mapped: b, size: nbytes, at: uintptr(unsafe.Pointer(unsafe.SliceData(b)))}
	switch {
	case d.is("memory is not aligned"):
		s.at += 4
	case d.is("memory is aligned to 64 bytes only"):
		s.at += 64
	}
	d.spaces[s.at] = s
	if d.is("the second device is booked on the first") {
		id = 0
	}
	d.stats[id].Data += int64(nbytes)
	d.stats[id].DataPeak = max(d.stats[id].DataPeak, d.stats[id].Data)
	d.stats[id].DataCount++
	return pointer(s.at), nil
}

func (d *lazy) FreeDataSpace(id int, p unsafe.Pointer) error {
	if err := d.enter(id); err != nil {
		return err
	}
	defer d.mu.Unlock()
	return d.free(id, uintptr(p))
}

func (d *lazy) free(id int, p uintptr) error {
	s := d.spaces[p]
	if s == nil || s.id != id || (s.lent && !d.is("a workspace is data space")) {
		return failed(runtime.ErrInvalidArgument, "%#x is none of lazy's", p)
	}
	if d.is("memory is never freed") {
		return nil
	}
	if d.is("the second device is booked on the first") {
		id = 0
	}
	d.stats[id].DataCount--
	if !d.is("freed memory stays on the books") {
		d.stats[id].Data -= int64(s.size)
	}
	delete(d.spaces, p)
	if d.is("memory is freed before its work is done") {
		clear(s.mapped)
	}
	d.dead = append(d.dead, s)
	d.run(&lazyStream{}, 0)
	return nil
}

// bytesOf is the memory of a copy's side, which must be the device's own, or the host's.
func (d *lazy) bytesOf(t dlpack.Tensor, offset bool) ([]byte, error) {
	n, err := t.Size()
	if err != nil {
		return nil, err
	}
	at := t.Data
	if offset {
		at += uintptr(t.ByteOffset)
	}
	if t.Device.Type == lazyType {
		s := d.spaces[t.Data]
		if s == nil || (s.id != int(t.Device.ID) && !d.is("the second device has the first one's memory")) {
			return nil, failed(runtime.ErrInvalidArgument, "%#x is no memory of %v", t.Data, t.Device)
		}
		if offset && !d.is("copies beyond the memory are fine") && (t.ByteOffset > uint64(s.size) ||
			uint64(n) > uint64(s.size)-t.ByteOffset) {
			return nil, failed(runtime.ErrInvalidArgument, "%d bytes at %d are beyond %d", n, t.ByteOffset, s.size)
		}
	}
	if d.is("copies take 4 bytes too many") && n > 4 && t.ByteOffset > 0 {
		n += 4
	}
	return unsafe.Slice((*byte)(pointer(at)), n), nil
}

func (d *lazy) isPinned(at uintptr) bool {
	for p, b := range d.pinned {
		if at >= p && at < p+uintptr(len(b)) {
			return true
		}
	}
	return false
}

func (d *lazy) CopyDataFromTo(from, to dlpack.Tensor, h runtime.StreamHandle) error {
	dev := from.Device
	if dev.Type != lazyType {
		dev = to.Device
	}
	if err := d.enter(int(dev.ID)); err != nil {
		return err
	}
	defer d.mu.Unlock()
	s, err := d.stream(int(dev.ID), h)
	if err != nil && to.Device.Type == lazyType { // between indices, the stream may be the other's
		s, err = d.stream(int(to.Device.ID), h)
	}
	if d.is("a copy between devices is not on its stream") && from.Device.Type == to.Device.Type &&
		from.Device != to.Device {
		s, err = d.stream(int(to.Device.ID), 0)
	}
	if err != nil {
		return err
	}
	src, err := d.bytesOf(from, !d.is("copies ignore the source's offset"))
	if err != nil {
		return err
	}
	dst, err := d.bytesOf(to, !d.is("copies ignore the destination's offset"))
	if err != nil {
		return err
	}
	if d.is("copies of two threads get mixed up") {
		d.src, d.dst = src, dst
		d.mu.Unlock()
		time.Sleep(100 * time.Microsecond)
		d.mu.Lock()
		src, dst = d.src, d.dst
	}
	pinned := d.isPinned(from.Data)
	if from.Device.Type == dlpack.CPU && !pinned && !d.is("the host's memory is read late") {
		if d.is("all copies from the host are staged in one place") {
			d.staging = append(d.staging[:0], src...)
			src = d.staging
		} else {
			src = append([]byte{}, src...)
		}
	}
	if pinned && d.is("page-locked memory is forgotten") || from.Device.Type == to.Device.Type &&
		d.is("copies inside the device are forgotten") {
		return nil
	}
	if from.Device.ID != to.Device.ID && from.Device.Type == to.Device.Type {
		for id := range lazyCount { // both default streams are behind it
			d.finish(d.streams[lazyKey{id, 0}])
		}
	}
	if s.recording {
		if err := d.recordCopy(from, to); err != nil {
			return err
		}
		if d.is("recorded copies are done at once") {
			copy(dst, src)
		}
	}
	s.queue(func() { copy(dst, src) })
	if to.Device.Type == dlpack.CPU && !d.isPinned(to.Data) && !d.is("copies to the host are not waited for") {
		d.finish(s)
	}
	return nil
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
	case !d.is("waiting waits for nothing"):
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
	if !d.is("a closed stream forgets its work") {
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

// ---- events and timers ----

type lazyEvent struct {
	d      *lazy
	id     int
	stream *lazyStream
	mark   int
}

func (d *lazy) CreateEvent(id int) (runtime.DeviceEvent, error) {
	if err := d.enter(id); err != nil {
		return nil, err
	}
	d.mu.Unlock()
	return &lazyEvent{d: d, id: id}, nil
}

func (e *lazyEvent) Record(h runtime.StreamHandle) error {
	e.d.mu.Lock()
	defer e.d.mu.Unlock()
	s, err := e.d.stream(e.id, h)
	if err == nil && s.recording {
		return failed(runtime.ErrInvalidArgument, "a mark in a recording is never reached")
	}
	if err == nil {
		e.stream, e.mark = s, s.queued
	}
	return err
}

func (e *lazyEvent) Wait(h runtime.StreamHandle) error {
	e.d.mu.Lock()
	defer e.d.mu.Unlock()
	s, err := e.d.stream(e.id, h)
	if err == nil && e.stream != nil {
		from, mark := e.stream, e.mark
		s.queue(func() { e.d.run(from, mark) })
	}
	return err
}

func (e *lazyEvent) Sync() error {
	e.d.mu.Lock()
	defer e.d.mu.Unlock()
	if e.stream != nil {
		e.d.run(e.stream, e.mark)
	}
	return nil
}

func (e *lazyEvent) Query() (bool, error) {
	e.d.mu.Lock()
	defer e.d.mu.Unlock()
	return e.stream == nil || e.stream.done >= e.mark || e.d.is("events are reached at once"), nil
}

func (e *lazyEvent) Close() error { return nil }

type lazyTimer struct {
	d           *lazy
	id          int
	start, stop time.Time
	last        *lazyStream
	mark        int
}

func (d *lazy) CreateTimer(id int) (runtime.DeviceTimer, error) {
	if err := d.enter(id); err != nil {
		return nil, err
	}
	d.mu.Unlock()
	return &lazyTimer{d: d, id: id}, nil
}

func (t *lazyTimer) Start(h runtime.StreamHandle) error {
	t.d.mu.Lock()
	defer t.d.mu.Unlock()
	s, err := t.d.stream(t.id, h)
	if err == nil {
		t.last = nil
		s.queue(func() { t.start = time.Now() })
	}
	return err
}

func (t *lazyTimer) Stop(h runtime.StreamHandle) error {
	t.d.mu.Lock()
	defer t.d.mu.Unlock()
	s, err := t.d.stream(t.id, h)
	if err == nil {
		s.queue(func() { t.stop = time.Now() })
		t.last, t.mark = s, s.queued
	}
	return err
}

func (t *lazyTimer) ElapsedNanos() (int64, error) {
	t.d.mu.Lock()
	defer t.d.mu.Unlock()
	if t.last == nil && !t.d.is("a timer that was not stopped is read") {
		return 0, failed(runtime.ErrInvalidArgument, "the timer was not stopped")
	}
	if t.last != nil {
		t.d.run(t.last, t.mark)
	}
	ns := t.stop.Sub(t.start).Nanoseconds()
	switch {
	case t.d.is("timers give 0"):
		return 0, nil
	case t.d.is("timers count picoseconds"):
		return ns * 1000, nil
	}
	return ns, nil
}

func (t *lazyTimer) Close() error { return nil }

// ---- workspaces, scopes, page-locked memory, books ----

func (d *lazy) AllocWorkspace(id int, nbytes uintptr, hint dlpack.DataType, h runtime.StreamHandle) (unsafe.Pointer,
	error) {
	if err := d.enter(id); err != nil {
		return nil, err
	}
	defer d.mu.Unlock()
	for i, s := range d.idle {
		if s.id == id && s.size == nbytes && (s.stream == h || d.is("workspaces are shared across streams")) &&
			!d.is("workspaces never serve again") {
			d.idle = append(d.idle[:i:i], d.idle[i+1:]...)
			d.spaces[s.at], s.stream, s.lent = s, h, true
			d.stats[id].WorkspaceInUse += int64(s.size)
			return pointer(s.at), nil
		}
	}
	p, err := d.alloc(id, nbytes, 64)
	if err != nil {
		return nil, err
	}
	d.stats[id].Data -= int64(nbytes)
	d.stats[id].DataCount--
	d.stats[id].Workspace += int64(nbytes)
	d.stats[id].WorkspaceInUse += int64(nbytes)
	d.spaces[uintptr(p)].stream, d.spaces[uintptr(p)].lent = h, true
	return p, nil
}

func (d *lazy) FreeWorkspace(id int, p unsafe.Pointer) error {
	if err := d.enter(id); err != nil {
		return err
	}
	defer d.mu.Unlock()
	s := d.spaces[uintptr(p)]
	if s == nil || (!s.lent && !d.is("data space is a workspace")) {
		return failed(runtime.ErrInvalidArgument, "%p is no workspace of lazy's", p)
	}
	delete(d.spaces, s.at)
	if !d.is("workspaces stay on the books") {
		d.stats[id].WorkspaceInUse -= int64(s.size)
	}
	d.idle = append(d.idle, s)
	return nil
}

func (d *lazy) AllocDataSpaceWithScope(id int, shape []int64, dtype dlpack.DataType, scope string) (unsafe.Pointer,
	error) {
	if scope != "global.texture" && !d.is("every scope is fine") {
		return nil, failed(runtime.ErrNotSupported, "lazy has no scope %q: it has global.texture", scope)
	}
	n, err := dlpack.DataSize(shape, dtype)
	if err != nil {
		return nil, err
	}
	if d.is("a scope has too little memory") {
		n /= 2
	}
	return d.AllocDataSpace(id, uintptr(n), 64, dtype)
}

func (d *lazy) PinnedAlloc(id int, nbytes uintptr) (unsafe.Pointer, error) {
	if err := d.enter(id); err != nil {
		return nil, err
	}
	defer d.mu.Unlock()
	if d.is("page-locked memory is one place") {
		for at := range d.pinned {
			return pointer(at), nil
		}
	}
	b, err := mapped(nbytes)
	if err != nil {
		return nil, err
	}
	d.stats[id].Pinned += int64(nbytes)
	p := unsafe.Pointer(unsafe.SliceData(b))
	d.pinned[uintptr(p)] = b
	return p, nil
}

func (d *lazy) PinnedFree(id int, p unsafe.Pointer) error {
	if err := d.enter(id); err != nil {
		return err
	}
	defer d.mu.Unlock()
	b := d.pinned[uintptr(p)]
	if b == nil {
		return failed(runtime.ErrInvalidArgument, "%p is no page-locked memory of lazy's", p)
	}
	delete(d.pinned, uintptr(p))
	d.stats[id].Pinned -= int64(len(b))
	return syscall.Munmap(b)
}

func (d *lazy) MemoryStats(id int) (runtime.MemoryStats, error) {
	if err := d.enter(id); err != nil {
		return runtime.MemoryStats{}, err
	}
	defer d.mu.Unlock()
	s := d.stats[id]
	s.Total, s.Free = lazyTotal, lazyTotal-s.Data
	if d.is("more is free than there is") {
		s.Free = 2 * lazyTotal
	}
	return s, nil
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
			return nil, failed(runtime.ErrInvalidArgument, "%s: the argument is no array", name)
		case *m.closed && m.d.is("functions die with their module"):
			return nil, failed(runtime.ErrFailed, "the module is gone")
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

// launch queues the kernel on the active device and its current stream.
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

// Every optional part is there.
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

// pooled is the same device without workspaces of its own, so that the runtime keeps a pool for it, and without
// memory in the order of streams.
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

// bare is the same with the mandatory part alone: what it queues it waits for, since nobody has streams to
// wait on.
type bare struct{ runtime.DeviceAPI }
