package devicetest_test

import (
	"syscall"
	"time"
	"unsafe"

	"tvmgo/dlpack"
	"tvmgo/runtime"
)

func mapped(n uintptr) ([]byte, error) {
	if n > lazyTotal {
		return nil, failed(runtime.ErrOutOfMemory, "no memory for %d bytes", n)
	}
	return syscall.Mmap(-1, 0, int(max(n, 1)), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
}

func (d *lazy) AllocDataSpace(id int, nbytes, alignment uintptr, hint dlpack.DataType) (unsafe.Pointer, error) {
	if err := d.enter(id); err != nil {
		return nil, err
	}
	defer d.mu.Unlock()
	switch {
	case d.is("every allocation fails"), d.is("no memory of 0 bytes") && nbytes == 0:
		return nil, failed(runtime.ErrFailed, "no")
	case d.is("out of memory is another error") && nbytes > lazyTotal:
		return nil, failed(runtime.ErrFailed, "no")
	case d.is("memory is allocated twice") && id == 0, d.is("the second device has the first one's memory") && id == 1:
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
	if alignment > 4096 && !d.is("every alignment is accepted") {
		return nil, failed(runtime.ErrInvalidArgument, "lazy does not support the alignment %d: at most 4096", alignment)
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
	if d.is("memory of the second device counts for the first") {
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
	if s == nil || s.id != id || (s.lent && !d.is("a workspace can be freed as data space")) {
		return failed(runtime.ErrInvalidArgument, "%#x is not memory of lazy", p)
	}
	if d.is("memory is never freed") {
		return nil
	}
	if d.is("memory of the second device counts for the first") {
		id = 0
	}
	d.stats[id].DataCount--
	if !d.is("freed memory still counts") {
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

// bytesOf returns the memory of a copy's source or destination, which must be memory of the device or the host.
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
			return nil, failed(runtime.ErrInvalidArgument, "%#x is not memory of %v", t.Data, t.Device)
		}
		if offset && !d.is("copies beyond the memory are accepted") && (t.ByteOffset > uint64(s.size) ||
			uint64(n) > uint64(s.size)-t.ByteOffset) {
			return nil, failed(runtime.ErrInvalidArgument, "%d bytes at offset %d exceed %d bytes", n, t.ByteOffset, s.size)
		}
	}
	if d.is("copies take 4 bytes too many") && n > 4 && t.ByteOffset > 0 {
		n += 4
	}
	return unsafe.Slice((*byte)(pointer(at)), n), nil
}

func (d *lazy) isPinned(at uintptr) bool {
	for p, m := range d.pinned {
		if at >= p && at < p+uintptr(len(m.bytes)) {
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
	if err != nil && to.Device.Type == lazyType { // between two devices, the stream may belong to the destination
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
	if d.is("copies of two threads are exchanged") {
		d.src, d.dst = src, dst
		d.mu.Unlock()
		time.Sleep(100 * time.Microsecond)
		d.mu.Lock()
		src, dst = d.src, d.dst
	}
	pinned := d.isPinned(from.Data)
	if from.Device.Type == dlpack.CPU && !pinned && !d.is("host memory is read after the call") {
		if d.is("all copies from the host share staging memory") {
			d.staging = append(d.staging[:0], src...)
			src = d.staging
		} else {
			src = append([]byte{}, src...)
		}
	}
	if pinned && d.is("copies with page-locked memory are dropped") || from.Device.Type == to.Device.Type &&
		d.is("copies within the device are dropped") {
		return nil
	}
	if from.Device.ID != to.Device.ID && from.Device.Type == to.Device.Type {
		for id := range lazyCount { // the copy is ordered after the work of both default streams
			d.finish(d.streams[lazyKey{id, 0}])
		}
	}
	if s.recording {
		if err := d.recordCopy(from, to); err != nil {
			return err
		}
		if d.is("captured copies run at once") {
			copy(dst, src)
		}
	}
	s.queue(func() { copy(dst, src) })
	if to.Device.Type == dlpack.CPU && !d.isPinned(to.Data) && !d.is("copies to the host are not waited for") {
		d.finish(s)
	}
	return nil
}

func (d *lazy) AllocWorkspace(id int, nbytes uintptr, hint dlpack.DataType, h runtime.StreamHandle) (unsafe.Pointer,
	error) {
	if err := d.enter(id); err != nil {
		return nil, err
	}
	defer d.mu.Unlock()
	for i, s := range d.idle {
		if s.id == id && s.size == nbytes && (s.stream == h || d.is("workspaces are shared across streams")) &&
			!d.is("workspaces are never reused") {
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
	if s == nil || (!s.lent && !d.is("data space can be freed as a workspace")) {
		return failed(runtime.ErrInvalidArgument, "%p is not a workspace of lazy", p)
	}
	delete(d.spaces, s.at)
	if !d.is("freed workspaces still count as in use") {
		d.stats[id].WorkspaceInUse -= int64(s.size)
	}
	d.idle = append(d.idle, s)
	return nil
}

func (d *lazy) AllocDataSpaceWithScope(id int, shape []int64, dtype dlpack.DataType, scope string) (unsafe.Pointer,
	error) {
	if scope != "global.texture" && !d.is("every scope is accepted") {
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
	if d.is("all page-locked memory is the same") {
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
	d.pinned[uintptr(p)] = lazyPinned{id, b}
	return p, nil
}

func (d *lazy) PinnedFree(id int, p unsafe.Pointer) error {
	if err := d.enter(id); err != nil {
		return err
	}
	defer d.mu.Unlock()
	m := d.pinned[uintptr(p)]
	if m.bytes == nil || m.id != id && !d.is("page-locked memory of another device can be freed") {
		return failed(runtime.ErrInvalidArgument, "%p is not page-locked memory of lazy:%d", p, id)
	}
	delete(d.pinned, uintptr(p))
	d.stats[m.id].Pinned -= int64(len(m.bytes))
	return syscall.Munmap(m.bytes)
}

func (d *lazy) MemoryStats(id int) (runtime.MemoryStats, error) {
	if err := d.enter(id); err != nil {
		return runtime.MemoryStats{}, err
	}
	defer d.mu.Unlock()
	s := d.stats[id]
	s.Total, s.Free = lazyTotal, lazyTotal-s.Data
	if d.is("free memory exceeds total memory") {
		s.Free = 2 * lazyTotal
	}
	return s, nil
}
