package runtime_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/runtime/devicetest"
)

func TestFakeDevice_Conforms(t *testing.T) {
	noLeaks(t)
	for id := range int32(fakeCount) {
		t.Run(fmt.Sprint(id), func(t *testing.T) {
			dev := fakeDevice(t)
			dev.ID = id
			devicetest.Run(t, dev, devicetest.Options{Absent: fakeCount, DataIsAddress: true,
				Second: dlpack.Device{Type: fakeType, ID: 1 - id}, OneMemory: true,
				Scopes: map[string][]int64{"global.texture": {2, 3, 4}}})
		})
	}
}

func TestDevice_IsKnownEverywhere(t *testing.T) {
	dev := fakeDevice(t)
	for _, name := range []string{"fakedev", "fk", "fakedev:0"} {
		require.Equal(t, dev, must.Get(dlpack.ParseDevice(name))(t))
	}
	require.Equal(t, "fakedev:0", dev.String())
	table := call(t, global(t, "device_api.fakedev"))
	require.NotNil(t, table.(runtime.Ptr))
	require.Equal(t, true, call(t, global(t, "runtime.RuntimeEnabled"), "fakedev"))
	require.Equal(t, int64(1), call(t, global(t, "runtime.GetDeviceAttr"), int(fakeType), 1, 0))
	require.Equal(t, "Fake 1", call(t, global(t, "runtime.GetDeviceAttr"), int(fakeType), 1, 5))
	require.Nil(t, call(t, global(t, "runtime.GetDeviceAttr"), int(fakeType), 0, 99))

	var mine []runtime.DeviceStatus
	for _, d := range runtime.Devices() {
		if d.Device.Type == fakeType {
			mine = append(mine, d)
		}
	}
	require.Equal(t, []runtime.DeviceStatus{{Device: dev, Name: "Fake 0"},
		{Device: dlpack.Device{Type: fakeType, ID: 1}, Name: "Fake 1"}}, mine)
}

func TestDevice_CPUIsAlwaysThere(t *testing.T) {
	require.True(t, runtime.DeviceExists(runtime.CPU))
	require.Equal(t, runtime.DeviceStatus{Device: runtime.CPU}, runtime.Devices()[0])
	for kind := runtime.AttrMaxThreadsPerBlock; kind <= runtime.AttrImagePitchAlignment; kind++ {
		require.Nil(t, must.Get(runtime.DeviceAttr(runtime.CPU, kind))(t), "%v", kind)
		require.NotContains(t, kind.String(), "attribute(")
	}
	require.Equal(t, "attribute(17)", runtime.AttrKind(17).String())
	require.Equal(t, "attribute(-1)", runtime.AttrKind(-1).String())
}

func TestDevice_AttributesOfWhatIsNotThere(t *testing.T) {
	noLeaks(t)
	cuda := dlpack.Device{Type: dlpack.Hexagon}
	v := must.Get(runtime.DeviceAttr(cuda, runtime.AttrExist))(t)
	require.Equal(t, int64(0), v)
	_, err := runtime.DeviceAttr(cuda, runtime.AttrDeviceName)
	requireError(t, err, runtime.ErrDeviceUnavailable, "hexagon is not enabled here")
	for _, n := range []dlpack.DeviceType{0, -1, 25, 36, 1 << 20} {
		require.False(t, runtime.DeviceExists(dlpack.Device{Type: n}))
		require.Error(t, must.Fail(runtime.DeviceAttr(dlpack.Device{Type: n}, runtime.AttrWarpSize)))
	}
	require.ErrorContains(t, must.Fail(runtime.DeviceAttr(fakeDevice(t), runtime.AttrGcnArch)), "no such luck")
}

func TestDevice_RegistrationConflicts(t *testing.T) {
	noLeaks(t)
	fakeDevice(t)
	make := func() (runtime.DeviceAPI, error) { return theFake, nil }
	for _, c := range []struct {
		name string
		spec runtime.DeviceSpec
		says string
	}{
		{"nothing to make it", runtime.DeviceSpec{Type: 22, Name: "other"}, "exactly one of New and Table"},
		{"two ways to make it", runtime.DeviceSpec{Type: 22, Name: "other", New: make,
			Table: unsafe.Pointer(&struct{ int }{})}, "exactly one"},
		{"number is taken", runtime.DeviceSpec{Type: fakeType, Name: "other", New: make}, "20"},
		{"number and name are taken", runtime.DeviceSpec{Type: fakeType, Name: "fakedev", Aliases: []string{"fk"},
			New: make}, "taken"},
		{"cpu is taken", runtime.DeviceSpec{Type: dlpack.CPU, Name: "cpu", New: make}, "taken"},
		{"name is taken", runtime.DeviceSpec{Type: 22, Name: "fakedev", New: make}, "fakedev"},
		{"name is an alias", runtime.DeviceSpec{Type: 22, Name: "fk", New: make}, "fk"},
		{"alias is a name", runtime.DeviceSpec{Type: 22, Name: "other", Aliases: []string{"cuda"}, New: make}, "cuda"},
		{"known number, another name", runtime.DeviceSpec{Type: dlpack.Hexagon, Name: "other", New: make}, "hexagon"},
		{"known number, alias of another", runtime.DeviceSpec{Type: dlpack.Hexagon, Name: "hexagon",
			Aliases: []string{"cl"}, New: make}, "cl"},
		{"number too small", runtime.DeviceSpec{Type: 5, Name: "other", New: make}, "5"},
		{"number too large", runtime.DeviceSpec{Type: 36, Name: "other", New: make}, "36"},
		{"number 0", runtime.DeviceSpec{Type: 0, Name: "other", New: make}, "0"},
		{"negative number", runtime.DeviceSpec{Type: -3, Name: "other", New: make}, "-3"},
		{"remote number", runtime.DeviceSpec{Type: 128 + fakeType, Name: "other", New: make}, "148"},
		{"no name", runtime.DeviceSpec{Type: 22, New: make}, "register device"},
		{"name of capitals", runtime.DeviceSpec{Type: 22, Name: "Other", New: make}, "Other"},
		{"zero byte in name", runtime.DeviceSpec{Type: 22, Name: "oth\x00er", New: make}, "register device"},
		{"zero byte in alias", runtime.DeviceSpec{Type: 22, Name: "other", Aliases: []string{"x\x00y"}, New: make},
			"register device"},
		{"name of remote devices", runtime.DeviceSpec{Type: 22, Name: "rpc", New: make}, "rpc"},
	} {
		t.Run(c.name, func(t *testing.T) {
			names := runtime.GlobalNames()
			err := runtime.RegisterDeviceAPI(c.spec)
			requireError(t, err, runtime.ErrInvalidArgument, c.says)
			require.Equal(t, names, runtime.GlobalNames())
			require.False(t, dlpack.DeviceType(22).Known(), "a refused registration leaves nothing behind")
			require.Error(t, must.Fail(dlpack.ParseDeviceType("other")))
		})
	}
}

// flaky is a device whose constructor fails twice.
var flaky struct {
	once  sync.Once
	err   error
	calls atomic.Int64
	fails atomic.Int64
}

func TestDevice_ConstructorFailsThenSucceeds(t *testing.T) {
	flaky.once.Do(func() {
		flaky.fails.Store(2)
		flaky.err = runtime.RegisterDeviceAPI(runtime.DeviceSpec{Type: 21, Name: "flaky",
			New: func() (runtime.DeviceAPI, error) {
				flaky.calls.Add(1)
				switch flaky.fails.Add(-1) {
				case 1:
					return nil, fmt.Errorf("%w: no driver", runtime.ErrDeviceUnavailable)
				case 0:
					panic("driver on fire")
				case -1:
					return nil, nil
				}
				return newFake(), nil
			}})
	})
	require.NoError(t, flaky.err)
	if flaky.calls.Load() > 0 {
		t.Skip("the device was made by an earlier round")
	}
	noLeaks(t)
	dev := dlpack.Device{Type: 21}
	require.Zero(t, flaky.calls.Load(), "registration creates no device")
	_, err := runtime.NewTensor(dlpack.Int8, []int64{1}, dev)
	requireError(t, err, runtime.ErrDeviceUnavailable, "open device flaky", "no driver")
	_, err = runtime.NewTensor(dlpack.Int8, []int64{1}, dev)
	requireError(t, err, runtime.ErrFailed, "open device flaky", "panic: driver on fire")
	_, err = runtime.NewTensor(dlpack.Int8, []int64{1}, dev)
	requireError(t, err, runtime.ErrFailed, "open device flaky", "gave no device")

	// From here on the constructor works; concurrent first uses create one device.
	errs := make(chan error, 16)
	for range cap(errs) {
		go func() {
			x, err := runtime.NewTensor(dlpack.Int8, []int64{1}, dev)
			x.Close()
			errs <- err
		}()
	}
	for range cap(errs) {
		require.NoError(t, <-errs)
	}
	require.Equal(t, int64(4), flaky.calls.Load())
}

// A C table is a device too, here that of the fake device under another number.
func TestDevice_FromATable(t *testing.T) {
	fakeDevice(t)
	table := call(t, global(t, "device_api.fakedev")).(runtime.Ptr)
	spec := runtime.DeviceSpec{Type: 23, Name: "tabledev", Table: unsafe.Pointer(table)}
	if !dlpack.DeviceType(23).Known() {
		require.NoError(t, runtime.RegisterDeviceAPI(spec))
	}
	noLeaks(t)
	x := empty(t, dlpack.Int16, []int64{3}, dlpack.Device{Type: 23})
	require.NoError(t, runtime.CopyFrom(x, []int16{1, 2, 3}))
	require.Equal(t, []int16{1, 2, 3}, slice[int16](t, x))
}

// ---- failures of the device ----

func TestDevice_ErrorsReachTheCaller(t *testing.T) {
	noLeaks(t)
	dev := fakeDevice(t)
	broken := errors.New("the bus is on fire")
	x := empty(t, dlpack.Float32, []int64{2}, dev)
	s := must.Open(runtime.NewStream(dev))(t)
	f := goFunction(t, func(...any) (any, error) { return nil, nil })
	failing := ""
	theFake.failWith(t, func(op string) error {
		switch op {
		case failing:
			return fmt.Errorf("%s: %w", op, broken)
		case failing + "!":
			panic(op)
		}
		return nil
	})
	for _, c := range []struct {
		op string
		do func() error
	}{
		{"alloc", func() error { _, err := runtime.NewTensor(dlpack.Float32, []int64{2}, dev); return err }},
		{"alloc scope", func() error {
			_, err := runtime.NewTensorInScope(dlpack.Float32, []int64{2}, dev, "global.texture")
			return err
		}},
		{"copy", func() error { return runtime.CopyFrom(x, []float32{1, 2}) }},
		{"copy", func() error { return x.CopyFromTensor(x, s) }},
		{"sync", func() error { return runtime.CopyTo(x, make([]float32, 2)) }},
		{"sync", func() error { return runtime.SyncDevice(ctx, dev) }},
		{"sync", func() error { return s.Sync(ctx) }},
		{"create stream", func() error { _, err := runtime.NewStream(dev); return err }},
		{"create timer", func() error { _, err := runtime.NewTimer(dev); return err }},
		{"statistics", func() error { _, err := runtime.DeviceMemory(dev); return err }},
		{"set stream", func() error { _, err := f.CallOn(s); return err }},
		{"set", func() error { _, err := f.CallOn(s); return err }},
	} {
		failing = c.op
		err := c.do()
		require.ErrorIs(t, err, broken, c.op)
		requireError(t, err, runtime.ErrFailed, c.op+": the bus is on fire")
		failing = ""
		require.NoError(t, func() error { _, err := f.CallOn(s); return err }())
	}
}

// A tensor whose memory cannot be freed is closed nevertheless: its destructor cannot report an error.
func TestDevice_FreeFails(t *testing.T) {
	noLeaks(t)
	dev := fakeDevice(t)
	x := must.Get(runtime.NewTensor(dlpack.Float32, []int64{2}, dev))(t)
	failing := true
	var p uintptr = x.Data()
	theFake.failWith(t, func(op string) error {
		if failing && op == "free" {
			panic("free")
		}
		return nil
	})
	require.NoError(t, x.Close())
	failing = false
	require.NoError(t, theFake.FreeDataSpace(0, *(*unsafe.Pointer)(unsafe.Pointer(&p))))
}

// ---- timers, workspaces, statistics ----

func TestTimer_OfDevices(t *testing.T) {
	noLeaks(t)
	for _, dev := range []dlpack.Device{runtime.CPU, fakeDevice(t)} {
		before := theFake.timers.Load()
		timer := must.Get(runtime.NewTimer(dev))(t)
		require.Equal(t, dev != runtime.CPU, timer.OnDevice())
		requireError(t, must.Fail(timer.Elapsed()), runtime.ErrInvalidArgument, "not stopped")
		require.NoError(t, timer.Start(nil))
		requireError(t, must.Fail(timer.Elapsed()), runtime.ErrInvalidArgument)
		require.NoError(t, timer.Stop(nil))
		d := must.Get(timer.Elapsed())(t)
		require.GreaterOrEqual(t, d.Nanoseconds(), int64(0))
		require.NoError(t, timer.Close())
		require.NoError(t, timer.Close())
		require.Equal(t, before, theFake.timers.Load())
		for _, timer := range []*runtime.Timer{timer, nil} {
			requireError(t, timer.Start(nil), runtime.ErrClosed)
			requireError(t, timer.Stop(nil), runtime.ErrClosed)
			requireError(t, must.Fail(timer.Elapsed()), runtime.ErrClosed)
			require.NoError(t, timer.Close())
			require.False(t, timer.OnDevice())
		}
	}
}

func TestWorkspace_OfGeneratedCode(t *testing.T) {
	noLeaks(t)
	f := function(t, probe(t), "workspace")
	for _, n := range []int{0, 1, 64, 4097, 1 << 20} {
		require.Equal(t, int64(0), call(t, f, int(dlpack.CPU), 0, n))
		require.Equal(t, int64(0), call(t, f, int(fakeType), 1, n))
	}
	require.Zero(t, theFake.workspaces.Load())
	requireError(t, must.Fail(f.Call(int(fakeType), 9, 8)), runtime.ErrDeviceUnavailable, "no index 9")
	requireError(t, must.Fail(f.Call(int(dlpack.Hexagon), 0, 8)), runtime.ErrDeviceUnavailable, "hexagon")
}

func TestMemory_Statistics(t *testing.T) {
	noLeaks(t)
	s := must.Get(runtime.DeviceMemory(runtime.CPU))(t)
	require.Positive(t, s.Total)
	before := must.Get(runtime.DeviceMemory(fakeDevice(t)))(t)
	x := empty(t, dlpack.Float32, []int64{1000}, fakeDevice(t))
	now := must.Get(runtime.DeviceMemory(fakeDevice(t)))(t)
	require.Equal(t, before.Data+4000, now.Data)
	require.Equal(t, before.DataCount+1, now.DataCount)
	require.Equal(t, int64(1<<32), now.Total)
	require.NoError(t, x.Close())
	_, err := runtime.DeviceMemory(dlpack.Device{Type: 77})
	requireError(t, err, runtime.ErrInvalidArgument, "device type 77")
}

func TestScopes_ReachTheDevice(t *testing.T) {
	noLeaks(t)
	x := must.Get(runtime.NewTensorInScope(dlpack.Float32, []int64{2, 3, 4}, fakeDevice(t), "global.texture"))(t)
	require.Equal(t, "global.texture[2 3 4] float32", theFake.scope)
	require.NoError(t, x.Close())
	_, err := runtime.NewTensorInScope(dlpack.Float32, []int64{1}, fakeDevice(t), "shared")
	requireError(t, err, runtime.ErrNotSupported, "global.texture")
}

func TestCopy_BetweenDevices(t *testing.T) {
	noLeaks(t)
	fakeDevice(t)
	x := empty(t, dlpack.Int32, []int64{2}, dlpack.Device{Type: fakeType, ID: 0})
	y := empty(t, dlpack.Int32, []int64{2}, dlpack.Device{Type: fakeType, ID: 1})
	require.NoError(t, runtime.CopyFrom(x, []int32{5, 6}))
	require.NoError(t, y.CopyFromTensor(x, nil))
	require.NoError(t, runtime.SyncDevice(ctx, y.Device()))
	require.Equal(t, []int32{5, 6}, slice[int32](t, y))
	strided := must.Get(y.View(dlpack.Int32, []int64{1}, []int64{2}, 0))(t)
	require.NoError(t, strided.Close())
	wide := must.Open(empty(t, dlpack.Int32, []int64{4}, x.Device()).View(dlpack.Int32, []int64{2}, []int64{2}, 0))(t)
	requireError(t, must.Fail(runtime.ToSlice[int32](wide)), runtime.ErrInvalidArgument, "not contiguous")
	requireError(t, runtime.CopyFrom(wide, []int32{1, 2}), runtime.ErrInvalidArgument, "not contiguous")
}
