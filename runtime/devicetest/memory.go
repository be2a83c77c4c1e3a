package devicetest

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/testequal"
	"tvmgo/runtime"
)

// textual has the attributes whose values are strings; the others are integers.
var textual = map[runtime.AttrKind]bool{runtime.AttrComputeVersion: true, runtime.AttrDeviceName: true,
	runtime.AttrMaxThreadDimensions: true, runtime.AttrGcnArch: true, runtime.AttrDriverVersion: true}

func (s *suite) attributes(t *testing.T) {
	v, err := runtime.DeviceAttr(s.dev, runtime.AttrExist)
	require.NoError(t, err)
	require.Equal(t, int64(1), v)
	for kind := runtime.AttrExist; kind <= runtime.AttrImagePitchAlignment; kind++ {
		v, err := runtime.DeviceAttr(s.dev, kind)
		if err != nil { // a driver's query may fail, but the error must be a runtime.Error
			requireError(t, err)
			continue
		}
		switch v := v.(type) {
		case nil:
		case string:
			require.True(t, textual[kind], "%v is the string %q", kind, v)
			require.NotEmpty(t, v)
		case int64:
			require.False(t, textual[kind], "%v is the integer %d", kind, v)
			if kind == runtime.AttrAvailableGlobalMemory {
				require.GreaterOrEqual(t, v, int64(0), "%v", kind)
			} else {
				require.Greater(t, v, int64(0), "%v: a value that the device does not have is nil, not 0", kind)
			}
		default:
			require.Fail(t, "attribute", "%v is a %T", kind, v)
		}
	}
	for _, kind := range []runtime.AttrKind{17, 1000, -1} {
		v, err := runtime.DeviceAttr(s.dev, kind)
		require.NoError(t, err, "an unknown attribute is not an error")
		require.Nil(t, v)
	}
	listed := false
	for _, d := range runtime.Devices() {
		listed = listed || (d.Device == s.dev && d.Err == nil)
	}
	require.True(t, listed, "runtime.Devices does not contain %v", s.dev)
}

func (s *suite) absentIndex(t *testing.T) {
	require.False(t, runtime.DeviceExists(s.absent))
	v, err := runtime.DeviceAttr(s.absent, runtime.AttrExist)
	require.NoError(t, err, "AttrExist can be queried for every index")
	require.Equal(t, int64(0), v)
	_, err = runtime.NewTensor(dlpack.Float32, []int64{1}, s.absent)
	requireError(t, err)
	_, err = runtime.NewStream(s.absent)
	requireError(t, err)
	_, err = runtime.NewTimer(s.absent)
	requireError(t, err)
	requireError(t, runtime.SyncDevice(t.Context(), s.absent))
	for _, attr := range []runtime.AttrKind{runtime.AttrDeviceName, runtime.AttrTotalGlobalMemory} {
		_, err := runtime.DeviceAttr(s.absent, attr)
		requireError(t, err)
	}
}

func (s *suite) allocate(t *testing.T) {
	for _, n := range []int64{0, 1, 63, 64, 65, 4095, 4096, 4097, s.opts.Large + 1} {
		x, err := runtime.NewTensor(dlpack.UInt8, []int64{n}, s.dev)
		require.NoError(t, err, "%d bytes", n)
		require.Equal(t, s.dev, x.Device())
		require.Equal(t, n, x.Size())
		if n > 0 {
			require.NotZero(t, x.Data())
		}
		if s.opts.DataIsAddress {
			require.Zero(t, x.Data()%dlpack.AllocAlignment, "%d bytes", n)
		}
		require.NoError(t, x.Close())
	}
	for _, dtype := range []dlpack.DataType{dlpack.Bool, dlpack.ClassicBool, dlpack.Int64, dlpack.Float16, dlpack.BFloat16,
		dlpack.Float4E2M1FN, {Code: dlpack.CodeFloat, Bits: 32, Lanes: 4}} {
		x := s.tensor(t, dtype, 3, 5)
		require.Equal(t, dtype, x.DType())
		require.NoError(t, x.Close())
	}
	var wide []*runtime.Tensor // elements of 256 bytes; several tensors, since one may be aligned by chance
	for range 8 {
		x := s.tensor(t, dlpack.DataType{Code: dlpack.CodeFloat, Bits: 32, Lanes: 64}, 3)
		if s.opts.DataIsAddress {
			require.Zero(t, x.Data()%256, "memory is aligned to its elements")
		}
		wide = append(wide, x)
	}
	for _, x := range wide {
		require.NoError(t, x.Close())
	}
	// Freed memory is reused: these allocations would not all fit at once.
	for range 200 {
		x, err := runtime.NewTensor(dlpack.UInt8, []int64{s.opts.Large}, s.dev)
		require.NoError(t, err)
		require.NoError(t, x.Close())
	}
	// Tensors that exist at the same time have distinct memory, in whatever order they are closed.
	const count = 32
	var xs []*runtime.Tensor
	seen := map[uintptr]bool{}
	for range count {
		x := s.tensor(t, dlpack.Float32, 100)
		require.False(t, seen[x.Data()])
		seen[x.Data()] = true
		xs = append(xs, x)
	}
	for i := range xs {
		require.NoError(t, xs[(i*7)%count].Close())
	}
}

func (s *suite) allocateTooMuch(t *testing.T) {
	for _, n := range []int64{1 << 50, math.MaxInt64 / 4} {
		_, err := runtime.NewTensor(dlpack.UInt8, []int64{n}, s.dev)
		requireError(t, err)
		require.ErrorIs(t, err, runtime.ErrOutOfMemory, "%d bytes: %v", n, err)
	}
	x := s.tensor(t, dlpack.Float32, 4) // the device still works
	require.NoError(t, runtime.CopyFrom(x, []float32{1, 2, 3, 4}))
	require.NoError(t, x.Close())
}

func (s *suite) scopes(t *testing.T) {
	for _, flat := range []string{"", "global"} {
		x, err := runtime.NewTensorInScope(dlpack.Float32, []int64{2, 2}, s.dev, flat)
		require.NoError(t, err)
		require.NoError(t, x.Close())
	}
	_, err := runtime.NewTensorInScope(dlpack.Float32, []int64{4, 4, 4}, s.dev, "no.such.scope")
	requireError(t, err)
	for scope, shape := range s.opts.Scopes {
		x, err := runtime.NewTensorInScope(dlpack.Float32, shape, s.dev, scope)
		require.NoError(t, err, scope)
		data := pattern(int(x.Len()), 5)
		require.NoError(t, runtime.CopyFrom(x, data), scope)
		got, err := runtime.ToSlice[float32](x)
		require.NoError(t, err, scope)
		testequal.Slices(t, data, got, scope)
		require.NoError(t, x.Close())
	}
}

func (s *suite) copyRoundTrip(t *testing.T) {
	for _, n := range []int64{0, 1, 5, 1000, s.opts.Large / 4} {
		data := pattern(int(n), uint32(n))
		x, y := s.tensor(t, dlpack.Float32, n), s.tensor(t, dlpack.Float32, n)
		require.NoError(t, runtime.CopyFrom(x, data))
		require.NoError(t, y.CopyFromTensor(x, nil))
		got, err := runtime.ToSlice[float32](y)
		require.NoError(t, err)
		testequal.Slices(t, data, got)
		// The same through a tensor on the host.
		host, err := runtime.NewTensor(dlpack.Float32, []int64{n}, runtime.CPU)
		require.NoError(t, err)
		require.NoError(t, host.CopyFromTensor(x, nil))
		require.NoError(t, runtime.SyncDevice(t.Context(), s.dev))
		got, err = runtime.ToSlice[float32](host)
		require.NoError(t, err)
		testequal.Slices(t, data, got)
		for _, c := range []*runtime.Tensor{x, y, host} {
			require.NoError(t, c.Close())
		}
	}
	// Types of less than a byte are copied as bytes, too.
	packed := s.tensor(t, dlpack.Float4E2M1FN, 7)
	require.NoError(t, packed.CopyFromBytes([]byte{1, 2, 3, 4}))
	raw := make([]byte, 4)
	require.NoError(t, packed.CopyToBytes(raw))
	require.Equal(t, []byte{1, 2, 3, 4}, raw)
	require.NoError(t, packed.Close())
}

// copyParts copies between views that begin inside their memory.
func (s *suite) copyParts(t *testing.T) {
	data := pattern(64, 1)
	x, y := s.tensor(t, dlpack.Float32, 64), s.tensor(t, dlpack.Float32, 64)
	require.NoError(t, runtime.CopyFrom(x, data))
	require.NoError(t, runtime.CopyFrom(y, make([]float32, 64)))
	view := func(of *runtime.Tensor, first, n int64) *runtime.Tensor {
		v, err := of.View(dlpack.Float32, []int64{n}, nil, first*4)
		require.NoError(t, err)
		return v
	}
	from, to := view(x, 3, 10), view(y, 21, 10)
	require.NoError(t, to.CopyFromTensor(from, nil))
	part, err := runtime.ToSlice[float32](to)
	require.NoError(t, err)
	require.Equal(t, data[3:13], part)
	want := make([]float32, 64)
	copy(want[21:], data[3:13])
	got, err := runtime.ToSlice[float32](y)
	require.NoError(t, err)
	testequal.Slices(t, want, got, "bytes outside the view are unchanged")
	require.NoError(t, runtime.CopyFrom(from, make([]float32, 10)))
	copy(data[3:], make([]float32, 10))
	got, err = runtime.ToSlice[float32](x)
	require.NoError(t, err)
	testequal.Slices(t, data, got)
	for _, c := range []*runtime.Tensor{from, to, x, y} {
		require.NoError(t, c.Close())
	}
}

func (s *suite) copyRejected(t *testing.T) {
	x, y := s.tensor(t, dlpack.Float32, 8), s.tensor(t, dlpack.Float32, 9)
	requireError(t, x.CopyFromTensor(y, nil))
	requireError(t, runtime.CopyFrom(x, make([]float32, 7)))
	requireError(t, runtime.CopyTo(x, make([]int32, 8)))
	require.NoError(t, x.Close())
	require.NoError(t, y.Close())
	require.ErrorIs(t, runtime.CopyTo(x, make([]float32, 8)), runtime.ErrClosed)
}

// freeAfterQueuedWork frees memory that enqueued copies still read and write.
func (s *suite) freeAfterQueuedWork(t *testing.T) {
	n := s.opts.Large / 4
	last := s.tensor(t, dlpack.Float32, n)
	data := pattern(int(n), 9)
	for range 8 {
		x, y := s.tensor(t, dlpack.Float32, n), s.tensor(t, dlpack.Float32, n)
		require.NoError(t, runtime.CopyFrom(x, data))
		require.NoError(t, y.CopyFromTensor(x, nil))
		require.NoError(t, last.CopyFromTensor(y, nil))
		require.NoError(t, x.Close())
		require.NoError(t, y.Close())
	}
	got, err := runtime.ToSlice[float32](last)
	require.NoError(t, err)
	testequal.Slices(t, data, got)
	require.NoError(t, last.Close())
}

func (s *suite) memoryStatistics(t *testing.T) {
	before, err := runtime.DeviceMemory(s.dev)
	if err != nil {
		require.ErrorIs(t, err, runtime.ErrNotSupported)
		t.Skip(err)
	}
	x := s.tensor(t, dlpack.UInt8, s.opts.Large)
	during, err := runtime.DeviceMemory(s.dev)
	require.NoError(t, err)
	require.GreaterOrEqual(t, during.Data, before.Data+s.opts.Large)
	require.Less(t, during.Data, before.Data+2*s.opts.Large, "memory counts once")
	require.Equal(t, before.DataCount+1, during.DataCount, "one allocation")
	host, err := runtime.NewTensor(dlpack.UInt8, []int64{s.opts.Large}, runtime.CPU)
	require.NoError(t, err)
	if s.dev.Type != dlpack.CPU {
		with, err := runtime.DeviceMemory(s.dev)
		require.NoError(t, err)
		require.Equal(t, during.Data, with.Data, "host memory does not count as device memory")
	}
	require.NoError(t, host.Close())
	cpu, err := runtime.DeviceMemory(runtime.CPU)
	require.NoError(t, err)
	require.Equal(t, cpu.DataCount == 0, cpu.Data == 0, "%+v", cpu)
	if during.DataPeak > 0 {
		require.GreaterOrEqual(t, during.DataPeak, during.Data)
	}
	if during.Total > 0 {
		require.LessOrEqual(t, during.Free, during.Total)
	}
	require.NoError(t, x.Close())
	after, err := runtime.DeviceMemory(s.dev)
	require.NoError(t, err)
	require.Equal(t, before.Data, after.Data)
	require.Equal(t, before.DataCount, after.DataCount)
	require.Equal(t, before.WorkspaceInUse, after.WorkspaceInUse)
	_, err = runtime.DeviceMemory(s.absent)
	requireError(t, err)
}
