package target_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/target"
)

// fakeDevices implements devices 0 to 3 of every type; properties holds their properties by name.
type fakeDevices struct {
	properties map[string]any // an error is returned; a func() is called
	none       bool           // no API at all
	asked      int
	names      []string
	devices    []dlpack.Device
}

func (d *fakeDevices) Registered(dlpack.DeviceType) bool { return !d.none }

func (d *fakeDevices) Exists(dev dlpack.Device) bool {
	d.asked++
	d.devices = append(d.devices, dev)
	return dev.ID < 4
}

func (d *fakeDevices) TargetProperty(_ dlpack.Device, name string) (any, error) {
	d.names = append(d.names, name)
	v := d.properties[name]
	if err, ok := v.(error); ok {
		return nil, err
	}
	if f, ok := v.(func()); ok {
		f()
	}
	return v, nil
}

func setDevices(t *testing.T, d target.Devices) {
	target.SetDevices(d)
	t.Cleanup(func() { target.SetDevices(nil) })
}

func mustNew(t *testing.T, x any) *target.Target {
	t.Helper()
	got, err := target.New(x)
	require.NoError(t, err, "%v", x)
	return got
}

// TestOrder_TagWithoutKind: the other keys override the tag's configuration, under any of their names.
func TestOrder_TagWithoutKind(t *testing.T) {
	quiet(t)
	got := mustNew(t, `{"tag":"nvidia/jetson-orin-nano","thread_warp_size":64,"libs":["cudnn"],"target_host":"c",`+
		`"feature.x":1}`)
	require.Equal(t, "nvidia/jetson-orin-nano", got.Tag())
	require.Equal(t, map[string]any{"arch": "sm_87", "max_shared_memory_per_block": int64(49152),
		"max_threads_per_block": int64(1024),
		"thread_warp_size":      int64(64), "registers_per_block": int64(65536), "max_num_threads": int64(1024),
		"libs":      []string{"cudnn"},
		"feature.x": int64(1)}, got.Attrs())
	require.Equal(t, "c", got.Host().Kind().Name(), "a host is replaced as a whole, also under its other name")
	require.Equal(t, []string{"mine"}, mustNew(t, "nvidia/h100 -keys=mine").Keys(), "and so are keys")
	require.Equal(t, []string{"cuda", "gpu", "dev"}, mustNew(t, "nvidia/h100 -device=dev").Keys(),
		"the tag's keys count as explicit keys")
	got = mustNew(t, "nvidia/tx2-cudnn -libs=cublas")
	require.Equal(t, "nvidia/tx2-cudnn", got.Tag())
	require.Equal(t, []string{"cublas"}, got.Libs())

	for x, sort := range map[string]error{
		`{"tag":"nvidia/h100","nope":1}`:                     target.ErrUnknown,
		`{"tag":"nvidia/h100","arch":1}`:                     target.ErrType,
		`{"tag":"nvidia/h100","arch":"sm_x"}`:                target.ErrRange,
		`{"tag":"nvidia/h10"}`:                               target.ErrUnknown,
		`{"tag":"nvidia/h100","host":"c","target_host":"c"}`: target.ErrDuplicate,
	} {
		require.ErrorIs(t, must.Fail(target.New(x)), sort, x)
	}
}

// TestOrder_OverlayByAlias: an option of a tag can also be replaced by its alias.
func TestOrder_OverlayByAlias(t *testing.T) {
	kind, tag := fresh("aliased"), fresh("vendor/aliased")
	must.Get(target.RegisterKind(kind, dlpack.CPU, target.Option("cores", target.Int, target.Alias("num_cores",
		"ncores"))))(t)
	require.NoError(t, target.RegisterTag(tag, map[string]any{"kind": kind, "num_cores": 2}))
	for _, name := range []string{"cores", "num_cores", "ncores"} {
		got := mustNew(t, map[string]any{"tag": tag, name: 8})
		require.Equal(t, map[string]any{"cores": int64(8)}, got.Attrs())
		require.Equal(t, 8, must.Get(target.Get[int](got, name))(t))
	}
	require.ErrorIs(t, must.Fail(target.New(map[string]any{"tag": tag, "cores": 8, "ncores": 8})), target.ErrDuplicate)
}

// TestOrder_TagWithKind: with the tag's own kind, the tag is the base; with another kind it is an error. A name that is
// not a tag is a label.
func TestOrder_TagWithKind(t *testing.T) {
	quiet(t)
	h100 := mustNew(t, "nvidia/h100")
	for _, x := range []any{`{"kind":"cuda","tag":"nvidia/h100"}`, `{"id":"cuda","tag":"nvidia/nvidia-h100"}`,
		"cuda -tag=nvidia/h100",
		map[string]any{"kind": "cuda", "tag": "nvidia/h100"}} {
		require.True(t, h100.Equal(mustNew(t, x)), "%v", x)
	}
	over := mustNew(t, `{"kind":"cuda","tag":"nvidia/h100","arch":"sm_90","libs":["cudnn"],"host":{"id":"llvm",`+
		`"tag":"raspberry-pi/4b-aarch64","num-cores":2}}`)
	require.Equal(t, "sm_90", archOf(t, over))
	require.Equal(t, int64(52428800), over.Attrs()["l2_cache_size_bytes"])
	require.Equal(t, "cortex-a72", over.Host().Attrs()["mcpu"])
	require.Equal(t, int64(2), over.Host().Attrs()["num-cores"])
	require.Equal(t, "sm_62", archOf(t, mustNew(t, `{"id":"cuda","tag":"nvidia/tx2-cudnn","libs":["cublas"]}`)))

	for x, path := range map[string]string{
		`{"kind":"opencl","tag":"nvidia/nvidia-h100"}`:                                 "$.kind",
		`{"id":"opencl","tag":"nvidia/h100"}`:                                          "$.id",
		`metal -tag=nvidia/h100`:                                                       "$.kind",
		`{"kind":"cuda","host":{"kind":"c","tag":"nvidia/h100"}}`:                      "$.host.kind",
		`{"kind":"composite","devices":["c",{"kind":"opencl","tag":"nvidia/h100"}]}`:   "$.devices[1].kind",
		`{"kind":"opencl","tag":"nvidia/h100","arch":"sm_90","max_num_threads":"one"}`: "$.kind",
	} {
		_, err := target.New(x)
		var e *target.Error
		require.ErrorAs(t, err, &e, x)
		require.ErrorIs(t, err, target.ErrRange, x)
		require.Equal(t, path, e.Path, x)
		require.ErrorContains(t, err, `expected "cuda", the kind of tag "nvidia/nvidia-h100"`, x)
	}
	require.ErrorIs(t, must.Fail(target.New(`{"kind":"cuda","tag":"qcom/adreno-opencl"}`)), target.ErrRange)
	require.ErrorIs(t, target.RegisterTag(fresh("good/wrong"), map[string]any{"kind": "opencl", "tag": "nvidia/h100"}),
		target.ErrRange)
	require.ErrorIs(t, must.Fail(target.New(`{"kind":"nope","tag":"nvidia/h100"}`)), target.ErrUnknown)

	got := mustNew(t, `{"kind":"metal","tag":"my own label"}`)
	require.Equal(t, "my own label", got.Tag())
	require.True(t, got.Equal(mustNew(t, got.JSON())))
	require.True(t, got.Equal(mustNew(t, got.String())))
}

// TestOrder_TagComesBack writes targets that have less than their tags: the host was removed, or a device was queried.
func TestOrder_TagComesBack(t *testing.T) {
	quiet(t)
	d := &fakeDevices{}
	setDevices(t, d)
	asks := fresh("good/asks")
	require.NoError(t, target.RegisterTag(asks, map[string]any{"kind": "cuda", "arch": "sm_80", "from_device": 0}))
	xavier := mustNew(t, "nvidia/jetson-agx-xavier")
	bare := must.Get(xavier.WithHost(nil))(t)
	require.Empty(t, bare.Tag(), "the tag has a host")
	hosted := must.Get(mustNew(t, map[string]any{"tag": "nvidia/h100", "host": "c"}).WithHost(nil))(t)
	require.Equal(t, "nvidia/nvidia-h100", hosted.Tag(), "the tag has none")
	member := mustNew(t, map[string]any{"kind": "composite", "devices": []any{asks, "c"}, "host": asks})
	for _, x := range []*target.Target{xavier, bare, hosted, member, mustNew(t, asks),
		mustNew(t, map[string]any{"tag": asks, "from_device": -1})} {
		d.asked = 0
		for _, form := range []any{x.JSON(), x.String(), x.Export()} {
			require.True(t, x.Equal(mustNew(t, form)), "%v", form)
		}
		require.Zero(t, d.asked, "the text contains the device's values: %s", x.JSON())
	}
	info := must.Get(target.LookupTag(asks))(t)
	quietly := must.Get(info.Target())(t)
	require.True(t, quietly.Equal(mustNew(t, map[string]any{"tag": asks, "from_device": -1})))
}

func TestOrder_Keys(t *testing.T) {
	for x, want := range map[string][]string{
		`{"kind":"opencl"}`:                                              {"opencl", "gpu"},
		`{"kind":"opencl","device":"mali"}`:                              {"mali", "opencl", "gpu"},
		`{"kind":"opencl","device":"gpu"}`:                               {"gpu", "opencl"},
		`{"kind":"opencl","device":""}`:                                  {"opencl", "gpu"},
		`{"kind":"opencl","keys":["a"]}`:                                 {"a"},
		`{"kind":"opencl","keys":["a"],"device":"mali"}`:                 {"a", "mali"},
		`{"kind":"opencl","keys":["mali","a"],"device":"mali"}`:          {"mali", "a"},
		`{"kind":"opencl","keys":[],"device":"mali"}`:                    {"mali"},
		`{"kind":"opencl","keys":[]}`:                                    {},
		`{"kind":"opencl","keys":["b","a","b","a","c"]}`:                 {"b", "a", "c"},
		`{"kind":"opencl","keys":["","a"]}`:                              {"a"},
		`{"kind":"ext_dev","device":"x"}`:                                {"x"},
		`{"kind":"c","mcpu":"cortex-m7"}`:                                {"arm_cpu", "cpu"},
		`{"kind":"c","mcpu":"cortex-m7","device":"x"}`:                   {"arm_cpu", "cpu", "x"},
		`{"kind":"c","mcpu":"cortex-m7","keys":["cpu","x"]}`:             {"cpu", "x", "arm_cpu"},
		`{"kind":"c","mcpu":"cortex-m7","keys":["mine"],"device":"dev"}`: {"mine", "arm_cpu", "cpu", "dev"},
	} {
		got := mustNew(t, x)
		require.Equal(t, want, got.Keys(), x)
		require.True(t, got.Equal(mustNew(t, got.JSON())), "%s: keys are not added to twice", x)
	}
}

// TestOrder_Features: the user's features are kept, unless the kind's parser overrides them.
func TestOrder_Features(t *testing.T) {
	got := mustNew(t, `{"kind":"test","feature.is_test":false,"feature.mine":"x"}`)
	require.Equal(t, map[string]any{"is_test": true, "mine": "x"}, got.Features())
	got = mustNew(t, `{"kind":"llvm","mtriple":"aarch64-linux-gnu","mcpu":"cortex-a53","feature.has_sve":true,`+
		`"feature.mine":2.5}`)
	require.Equal(t, false, got.Feature("has_sve"))
	require.Equal(t, 2.5, got.Feature("mine"))
	require.Equal(t, true, got.Feature("has_asimd"))
	got = mustNew(t, "cuda -arch=sm_90 -feature.a=1 -feature.b -feature.c=x -feature.d='1'")
	require.Equal(t, map[string]any{"a": int64(1), "b": true, "c": "x", "d": "1"}, got.Features())
	require.True(t, got.Equal(mustNew(t, got.String())))
}

func TestOrder_Hosts(t *testing.T) {
	got := mustNew(t, `{"kind":"cuda","arch":"sm_90","host":{"kind":"c","mcpu":"a","host":"nvidia/h100"}}`)
	require.Equal(t, "c", got.Host().Kind().Name())
	require.Equal(t, "nvidia/nvidia-h100", got.Host().Host().Tag())

	replaced := must.Get(target.NewWithHost(got, "ext_dev"))(t)
	require.Equal(t, "ext_dev", replaced.Host().Kind().Name())
	require.Nil(t, replaced.Host().Host())
	require.Equal(t, "c", got.Host().Kind().Name(), "the first target does not change")
	require.NotEqual(t, got.Hash(), replaced.Hash())

	with := must.Get(replaced.WithHost(got.Host()))(t)
	require.True(t, with.Equal(got))
	without := must.Get(got.WithHost(nil))(t)
	require.Nil(t, without.Host())
	require.True(t, without.Equal(mustNew(t, "cuda -arch=sm_90")))

	for _, host := range []any{"nope", 5, nil, map[string]any{}, &target.Target{}} {
		require.ErrorContains(t, must.Fail(target.NewWithHost(got, host)), "$.host", "%v", host)
	}
	require.ErrorContains(t, must.Fail(target.NewWithHost("nope", "c")), "nope")
	require.ErrorIs(t, must.Fail(new(target.Target).WithHost(got)), target.ErrType)
	require.ErrorContains(t, must.Fail(got.WithHost(new(target.Target))), "$.host")
}

// TestOrder_HostBesideMembers: a composite target lends its host to members without one.
func TestOrder_HostBesideMembers(t *testing.T) {
	got := mustNew(t, `{"id":"composite","targets":["nvidia/h100",{"kind":"metal","host":"ext_dev"}],"target_host":"c"}`)
	members := got.Members()
	require.Len(t, members, 2)
	require.Equal(t, "c", members[0].Host().Kind().Name())
	require.Equal(t, "ext_dev", members[1].Host().Kind().Name())
	require.Equal(t, "c", got.Host().Kind().Name())
	require.Nil(t, mustNew(t, "nvidia/h100").Host(), "the tag alone has no host")
	require.True(t, got.Equal(mustNew(t, got.JSON())))

	// WithHost and nested composite targets do the same. The JSON contains every host and makes the same target again.
	got = mustNew(t, `{"kind":"composite","devices":["nvidia/h100",{"kind":"composite","devices":["vulkan",`+
		`{"kind":"metal","host":"ext_dev"}]}]}`)
	with := must.Get(got.WithHost(mustNew(t, "c")))(t)
	inner := with.Members()[1]
	require.Equal(t, "c", with.Members()[0].Host().Kind().Name())
	require.Equal(t, "c", inner.Host().Kind().Name())
	require.Equal(t, "c", inner.Members()[0].Host().Kind().Name())
	require.Equal(t, "ext_dev", inner.Members()[1].Host().Kind().Name())
	require.True(t, with.Equal(mustNew(t, with.JSON())))
	require.Nil(t, got.Members()[0].Host(), "the first target does not change")
	require.Nil(t, got.Members()[1].Members()[0].Host())
}

// TestOrder_Device: values from a device take precedence over defaults, but not over the user's values.
func TestOrder_Device(t *testing.T) {
	d := &fakeDevices{properties: map[string]any{"max_threads_per_block": int64(512),
		"max_shared_memory_per_block": int64(65536),
		"thread_warp_size":            int64(64), "max_num_threads": nil}}
	setDevices(t, d)
	got := mustNew(t, `{"kind":"opencl","from_device":2,"max_threads_per_block":128}`)
	require.Equal(t, []dlpack.Device{{Type: dlpack.OpenCL, ID: 2}}, d.devices)
	attrs := got.Attrs()
	require.Equal(t, int64(128), attrs["max_threads_per_block"], "the user's value")
	require.Equal(t, int64(65536), attrs["max_shared_memory_per_block"], "the device's value")
	require.Equal(t, int64(256), attrs["max_num_threads"], "the default, because the device has no such property")
	require.NotContains(t, d.names, "max_threads_per_block", "explicit values are not queried")
	require.NotContains(t, attrs, "from_device")
	require.Empty(t, got.Warnings())

	// The target contains the device's values; made again from its JSON, it queries no device.
	d.asked = 0
	require.True(t, got.Equal(mustNew(t, got.JSON())))
	require.True(t, got.Equal(mustNew(t, got.String())))
	require.Zero(t, d.asked)

	// If the target sets a device type, devices of that type are queried.
	d.devices = nil
	mustNew(t, `{"kind":"opencl","from_device":0,"target_device_type":7}`)
	require.Equal(t, []dlpack.Device{{Type: dlpack.Vulkan, ID: 0}}, d.devices)

	for _, x := range []string{`{"kind":"opencl"}`, `{"kind":"opencl","from_device":-1}`} {
		d.asked = 0
		mustNew(t, x)
		require.Zero(t, d.asked, x)
	}
}

// TestOrder_DeviceBeforeParser: the parser sees the values from the device.
func TestOrder_DeviceBeforeParser(t *testing.T) {
	d := &fakeDevices{properties: map[string]any{"arch": "sm_90a", "compute_version": "9.0"}}
	setDevices(t, d)
	kind := fresh("asking")
	_, err := target.RegisterKind(kind, dlpack.ExtDev, target.Option("speed", target.Int, target.Default(1)),
		target.Option("name",
			target.String, target.Property("device_name")),
		target.Option("silent", target.Int, target.Property(""), target.Default(5)), target.Option("fine",
			target.Bool), target.Option("inner", target.Nested),
		target.WithParser(func(c *target.Config) error {
			speed, known := c.Value("speed")
			if known {
				c.SetFeature("speed", speed)
			}
			_, known = c.Value("silent")
			c.SetFeature("silent_known", known)
			return nil
		}))
	require.NoError(t, err)
	d.properties = map[string]any{"speed": int64(9), "device_name": "Fake 1", "silent": int64(7), "fine": true,
		"inner": "cuda",
		"name":  "wrong"}
	got := mustNew(t, map[string]any{"kind": kind, "from_device": 0})
	require.Equal(t, map[string]any{"speed": int64(9), "name": "Fake 1", "silent": int64(5), "fine": true,
		"feature.speed":        int64(9),
		"feature.silent_known": false}, got.Attrs())
	require.Equal(t, []string{"speed", "device_name", "fine"}, d.names)
	require.Equal(t, map[string]any{"speed": int64(1), "silent": int64(5), "feature.silent_known": false},
		mustNew(t, kind).Attrs())
}

func TestOrder_DeviceFails(t *testing.T) {
	quiet(t)
	d := &fakeDevices{}
	setDevices(t, d)
	_, err := target.New("opencl -from_device=4")
	require.ErrorIs(t, err, target.ErrDevice)
	require.ErrorContains(t, err, "$.from_device")
	require.ErrorContains(t, err, "opencl:4")
	_, err = target.New(`{"kind":"cuda","host":{"kind":"llvm","from_device":9}}`)
	require.ErrorContains(t, err, "$.host.from_device")

	d.properties = map[string]any{"max_threads_per_block": errors.New("the driver is gone")}
	_, err = target.New("opencl -from_device=0")
	require.ErrorIs(t, err, target.ErrDevice)
	require.ErrorContains(t, err, "the driver is gone")
	require.ErrorContains(t, err, "max_threads_per_block")
	for _, bad := range []any{"many", true, int64(-1), 1.5, []int64{1}, struct{}{}} {
		d.properties["max_threads_per_block"] = bad
		_, err = target.New("opencl -from_device=0")
		var e *target.Error
		require.ErrorAs(t, err, &e, "%v", bad)
		require.Equal(t, "$.max_threads_per_block", e.Path)
		require.ErrorIs(t, err, target.ErrDevice)
		require.ErrorContains(t, err, "opencl:0")
		require.IsType(t, e, err, "the same type of error also in a host")
		_, err = target.New(`{"kind":"c","host":{"kind":"opencl","from_device":1}}`)
		require.ErrorContains(t, err, `$.host.max_threads_per_block: opencl:1 reports a value of "max_threads_per_block"`)
	}
	d.properties["max_threads_per_block"] = func() { panic("the driver broke") }
	_, err = target.New(`{"kind":"c","host":{"kind":"opencl","from_device":1}}`)
	require.ErrorIs(t, err, target.ErrDevice)
	require.ErrorContains(t, err, "$.host.from_device: querying the device failed: the driver broke")

	for _, none := range []target.Devices{&fakeDevices{none: true}, nil} {
		setDevices(t, none)
		got := mustNew(t, "opencl -from_device=9")
		require.Equal(t, mustNew(t, "opencl").JSON(), got.JSON())
		require.Len(t, got.Warnings(), 1)
		require.Contains(t, got.Warnings()[0], "opencl")
	}
}
