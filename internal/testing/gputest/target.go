package gputest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/target"
)

// FromDevice checks targets with the option from_device: a property of the device replaces an option's default, but not
// a given value, and without from_device the defaults stay. It returns the target, in which the caller checks
// the options `others`.
func FromDevice(t *testing.T, kind string, dev dlpack.Device, others ...string) *target.Target {
	t.Helper()
	config := func(more ...any) map[string]any {
		m := map[string]any{"kind": kind, "from_device": dev.ID}
		for i := 0; i < len(more); i += 2 {
			m[more[i].(string)] = more[i+1]
		}
		return m
	}
	asked := must.Get(target.New(config()))(t)
	own := map[string]bool{}
	for _, name := range others {
		own[name] = true
	}
	answers := 0
	for _, o := range asked.Kind().Options()[9:] { // the first nine are options of all kinds
		if own[o.Name] {
			continue
		}
		v := must.Get(runtime.TargetProperty(dev, o.Name))(t)
		if v == nil {
			require.Equal(t, o.Default, asked.Attrs()[o.Name], o.Name)
			continue
		}
		answers++
		require.Equal(t, v, asked.Attrs()[o.Name], o.Name)
		if n, ok := v.(int64); ok {
			given := must.Get(target.New(config(o.Name, n+1)))(t)
			require.EqualValues(t, n+1, given.Attrs()[o.Name], o.Name)
		}
		plain := must.Get(target.New(kind))(t)
		require.Equal(t, o.Default, plain.Attrs()[o.Name], o.Name)
	}
	require.GreaterOrEqual(t, answers, 3)
	require.NotContains(t, asked.Attrs(), "from_device") // a target does not depend on the machine
	again := must.Get(target.New(asked.JSON()))(t)
	require.True(t, asked.Equal(again))
	detected := must.Get(runtime.DetectTarget(dev))(t)
	require.Equal(t, dev.Type, detected.DeviceType())
	_, err := target.New(map[string]any{"kind": kind, "from_device": 63})
	require.ErrorIs(t, err, target.ErrDevice)
	require.ErrorContains(t, err, dlpack.Device{Type: dev.Type, ID: 63}.String())
	_, err = runtime.DetectTarget(dlpack.Device{Type: dev.Type, ID: 63})
	require.ErrorIs(t, err, runtime.ErrDeviceUnavailable)
	return asked
}
