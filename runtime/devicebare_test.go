package runtime_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// bare is a device with only the mandatory part.
type bare struct{ runtime.DeviceAPI }

func (bare) DriverReport() runtime.DriverReport { return runtime.DriverReport{Library: "libbare.so"} }

func TestDriverOf(t *testing.T) {
	report, ok := runtime.DriverOf(dlpack.CPU)
	require.True(t, ok)
	require.Regexp(t, `^[1-9][0-9]* threads$`, report.Summary)
	const number dlpack.DeviceType = 30
	require.NoError(t, runtime.RegisterDeviceAPI(runtime.DeviceSpec{Type: number, Name: "reportdev",
		New: func() (runtime.DeviceAPI, error) { return bare{theFake}, nil }}))
	_, ok = runtime.DriverOf(number)
	require.False(t, ok, "the device has not been used")
	require.True(t, runtime.DeviceExists(dlpack.Device{Type: number}))
	report, ok = runtime.DriverOf(number)
	require.True(t, ok)
	require.Equal(t, "libbare.so", report.Library)
}

func TestTimer_OfADeviceWithoutOne(t *testing.T) {
	fakeDevice(t)
	const number dlpack.DeviceType = 28
	require.NoError(t, runtime.RegisterDeviceAPI(runtime.DeviceSpec{Type: number, Name: "baredev",
		New: func() (runtime.DeviceAPI, error) { return bare{theFake}, nil }}))
	timer := must.Get(runtime.NewTimer(dlpack.Device{Type: number}))(t)
	defer timer.Close()
	require.False(t, timer.OnDevice(), "the host measures")
	require.ErrorContains(t, must.Fail(timer.Elapsed()), "not stopped")
	require.ErrorContains(t, timer.Stop(nil), "not started")
	require.NoError(t, timer.Start(nil))
	require.NoError(t, timer.Stop(nil))
	require.GreaterOrEqual(t, must.Get(timer.Elapsed())(t), time.Duration(0))
	require.NoError(t, timer.Start(nil))
	require.ErrorContains(t, must.Fail(timer.Elapsed()), "not stopped", "a new start discards the old stop")
	require.Error(t, must.Fail(runtime.NewTimer(dlpack.Device{Type: number, ID: 9})), "there is no such device")
}

// A workspace of the runtime's pool is in the device's memory, but the device must not free it.
func TestDevice_DoesNotFreeWorkspaces(t *testing.T) {
	fakeDevice(t)
	dev := dlpack.Device{Type: 31}
	require.NoError(t, runtime.RegisterDeviceAPI(runtime.DeviceSpec{Type: dev.Type, Name: "pooldev",
		New: func() (runtime.DeviceAPI, error) { return bare{theFake}, nil }}))
	free, table := function(t, probe(t), "free_data_space"), call(t, global(t, "device_api.pooldev"))
	w, err := runtime.NewWorkspace(dlpack.Int8, []int64{100}, dev, nil)
	require.NoError(t, err)
	_, err = free.Call(table, dev, w)
	requireError(t, err, runtime.ErrInvalidArgument, "is a workspace of pooldev:0")
	require.NoError(t, runtime.CopyFrom(w, make([]int8, 100)), "the workspace still exists")
	require.NoError(t, w.Close())
	_, err = runtime.TrimWorkspaces(dev)
	require.NoError(t, err)
}

func TestDevice_ConstructorAsksForItself(t *testing.T) {
	dev := dlpack.Device{Type: 29}
	var inner error
	require.NoError(t, runtime.RegisterDeviceAPI(runtime.DeviceSpec{Type: dev.Type, Name: "selfdev",
		New: func() (runtime.DeviceAPI, error) {
			_, inner = runtime.NewTensor(dlpack.Float32, []int64{1}, dev)
			return nil, inner
		}}))
	_, err := runtime.NewTensor(dlpack.Float32, []int64{1}, dev)
	require.ErrorContains(t, err, "asks for the device itself")
	require.ErrorContains(t, inner, "asks for the device itself")
}
