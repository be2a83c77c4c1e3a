package devicetest

import (
	"fmt"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/runtime"
)

// memoryKind is a kind of memory that a copy of the device can have as its source or destination.
type memoryKind struct {
	name  string
	alloc func(n int64) (*runtime.Tensor, error)
	own   bool // memory of the device under test
}

func (s *suite) memoryKinds() []memoryKind {
	in := func(dev dlpack.Device) func(int64) (*runtime.Tensor, error) {
		return func(n int64) (*runtime.Tensor, error) { return runtime.NewTensor(dlpack.UInt8, []int64{n}, dev) }
	}
	all := []memoryKind{
		{"data space", in(s.dev), true},
		{"workspace", func(n int64) (*runtime.Tensor, error) {
			return runtime.NewWorkspace(dlpack.UInt8, []int64{n}, s.dev, nil)
		}, true},
		{"the host", in(runtime.CPU), false},
		{"page-locked memory", func(n int64) (*runtime.Tensor, error) {
			return runtime.NewPinnedTensor(dlpack.UInt8, []int64{n}, s.dev)
		}, false},
	}
	if s.hasSecond() {
		all = append(all, memoryKind{"the second device", in(s.opts.Second), false})
	}
	return all
}

func bytePattern(n int, seed byte) []byte {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(i*7) ^ seed
	}
	return data
}

// copyDirections copies between views, from and to every kind of memory.
func (s *suite) copyDirections(t *testing.T) {
	const n = 256
	for _, from := range s.memoryKinds() {
		for _, to := range s.memoryKinds() {
			if !from.own && !to.own {
				continue
			}
			src, err := from.alloc(n)
			if isUnsupported(err) {
				continue
			}
			require.NoError(t, err, from.name)
			dst, err := to.alloc(n)
			if isUnsupported(err) {
				require.NoError(t, src.Close())
				continue
			}
			require.NoError(t, err, to.name)
			for _, c := range []struct{ at, into, n int64 }{{0, 0, n}, {0, 0, 100}, {3, 0, 50}, {0, 5, 50}, {9, 20, 40},
				{17, 128, 128}, {255, 0, 1}} {
				what := fmt.Sprintf("%d bytes from byte %d of %s to byte %d of %s", c.n, c.at, from.name, c.into, to.name)
				a, b := bytePattern(n, 0x55), bytePattern(n, 0xaa)
				require.NoError(t, src.CopyFromBytes(a), what)
				require.NoError(t, dst.CopyFromBytes(b), what)
				s.copyPart(t, src, dst, c.at, c.into, c.n)
				got := make([]byte, n)
				require.NoError(t, dst.CopyToBytes(got), what)
				copy(b[c.into:c.into+c.n], a[c.at:])
				require.Equal(t, b, got, what)
				require.NoError(t, src.CopyToBytes(got), what)
				require.Equal(t, a, got, "the source after %s", what)
			}
			require.NoError(t, src.Close())
			require.NoError(t, dst.Close())
		}
	}
}

// copyPart copies between views and waits.
func (s *suite) copyPart(t *testing.T, src, dst *runtime.Tensor, at, into, n int64) {
	t.Helper()
	from, err := src.View(dlpack.UInt8, []int64{n}, nil, at)
	require.NoError(t, err)
	to, err := dst.View(dlpack.UInt8, []int64{n}, nil, into)
	require.NoError(t, err)
	require.NoError(t, to.CopyFromTensor(from, nil))
	require.NoError(t, runtime.SyncDevice(t.Context(), s.dev))
	if s.hasSecond() {
		require.NoError(t, runtime.SyncDevice(t.Context(), s.opts.Second))
	}
	require.NoError(t, from.Close())
	require.NoError(t, to.Close())
}

// hostMemory is ordinary host memory that can be unmapped, with a tensor that uses it.
type hostMemory struct {
	bytes, header []byte
	tensor        *runtime.Tensor
}

func mapHost(t *testing.T, n int64) *hostMemory {
	t.Helper()
	mapped := func(n int64) []byte {
		b, err := syscall.Mmap(-1, 0, int(n), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
		require.NoError(t, err)
		return b
	}
	m := &hostMemory{bytes: mapped(n), header: mapped(4096)}
	// A DLManagedTensor without a deleter, followed by its shape.
	dl := (*struct {
		data             unsafe.Pointer
		deviceType       int32
		deviceID         int32
		ndim             int32
		code, bits       uint8
		lanes            uint16
		shape            *int64
		strides          *int64
		byteOffset       uint64
		context, deleter uintptr
		dims             [1]int64
	})(unsafe.Pointer(unsafe.SliceData(m.header)))
	dl.data = unsafe.Pointer(unsafe.SliceData(m.bytes))
	dl.deviceType, dl.ndim, dl.bits, dl.code, dl.lanes = int32(dlpack.CPU), 1, 8, dlpack.UInt8.Code, 1
	dl.dims[0], dl.shape = n, &dl.dims[0]
	x, err := runtime.FromDLPackLegacy(unsafe.Pointer(dl))
	require.NoError(t, err)
	m.tensor = x
	return m
}

// unmap releases the memory, so that every later access crashes.
func (m *hostMemory) unmap(t *testing.T) {
	t.Helper()
	require.NoError(t, syscall.Munmap(m.bytes))
	require.NoError(t, m.tensor.Close())
	require.NoError(t, syscall.Munmap(m.header))
}

// hostMemoryFreedEarly changes and unmaps host memory as soon as a copy from or to it returns.
func (s *suite) hostMemoryFreedEarly(t *testing.T) {
	n := s.opts.Large
	q := s.stream(t)
	x, err := runtime.NewTensor(dlpack.UInt8, []int64{n}, s.dev)
	require.NoError(t, err)
	for round, on := range []*runtime.Stream{nil, q, nil, q} {
		data := bytePattern(int(n), byte(round))
		m := mapHost(t, n)
		copy(m.bytes, data)
		require.NoError(t, x.CopyFromTensor(m.tensor, on))
		copy(m.bytes, bytePattern(int(n), 0xff))
		m.unmap(t)
		m = mapHost(t, n)
		require.NoError(t, m.tensor.CopyFromTensor(x, on))
		require.True(t, string(data) == string(m.bytes),
			"round %d: a copy to the host is complete when the call returns", round)
		m.unmap(t)
		require.NoError(t, s.sync(t, on))
	}
	// Two copies in flight at once.
	y, err := runtime.NewTensor(dlpack.UInt8, []int64{n}, s.dev)
	require.NoError(t, err)
	for _, second := range []*runtime.Stream{q, nil} {
		for i, to := range []*runtime.Tensor{x, y} {
			m := mapHost(t, n)
			copy(m.bytes, bytePattern(int(n), byte(i)))
			require.NoError(t, to.CopyFromTensor(m.tensor, []*runtime.Stream{q, second}[i]))
			m.unmap(t)
		}
		require.NoError(t, s.sync(t, q))
		require.NoError(t, s.sync(t, second))
		got := make([]byte, n)
		for i, from := range []*runtime.Tensor{x, y} {
			require.NoError(t, from.CopyToBytes(got))
			require.True(t, string(bytePattern(int(n), byte(i))) == string(got), "copy %d of two", i)
		}
	}
	require.NoError(t, y.Close())
	require.NoError(t, x.Close())
	require.NoError(t, q.Close())
}

// sync waits for a stream; nil is the default stream.
func (s *suite) sync(t *testing.T, q *runtime.Stream) error {
	if q == nil {
		return runtime.SyncDevice(t.Context(), s.dev)
	}
	return q.Sync(t.Context())
}

// pinnedMemory copies from and to page-locked memory. A copy must be complete when its stream is done.
func (s *suite) pinnedMemory(t *testing.T) {
	n := s.opts.Large
	p, err := runtime.NewPinnedTensor(dlpack.UInt8, []int64{n}, s.dev)
	if isUnsupported(err) {
		t.Skip(err)
	}
	require.NoError(t, err)
	require.Equal(t, dlpack.CPU, p.Device().Type)
	back, err := runtime.NewPinnedTensor(dlpack.UInt8, []int64{n}, s.dev)
	require.NoError(t, err)
	require.NotEqual(t, p.Data(), back.Data())
	x, err := runtime.NewTensor(dlpack.UInt8, []int64{n}, s.dev)
	require.NoError(t, err)
	q := s.stream(t)
	for round, on := range []*runtime.Stream{nil, q} {
		data := bytePattern(int(n), byte(round))
		require.NoError(t, p.CopyFromBytes(data))
		require.NoError(t, x.CopyFromTensor(p, on))
		require.NoError(t, back.CopyFromTensor(x, on))
		require.NoError(t, s.sync(t, on))
		got := make([]byte, n)
		require.NoError(t, back.CopyToBytes(got))
		require.True(t, string(data) == string(got), "round %d", round)
		require.NoError(t, x.CopyToBytes(got))
		require.True(t, string(data) == string(got), "round %d", round)
	}
	for _, c := range []*runtime.Tensor{p, back, x} {
		require.NoError(t, c.Close())
	}
	require.NoError(t, q.Close())
	_, err = runtime.NewPinnedTensor(dlpack.UInt8, []int64{1}, s.absent)
	requireError(t, err)
}
