package target_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/target"
)

type (
	cpuName string
	cores   uint16
	cpus    []cpuName
	options map[cpuName]any
)

// A program can pass values of its own types, and lists of every numeric type.
func TestNew_TypesOfThePrograms(t *testing.T) {
	name := fresh("own")
	must.Get(target.RegisterKind(name, dlpack.ExtDev, partsOfEveryType()...))(t)
	want := mustNew(t, map[string]any{"kind": name, "i": 4, "b": false, "f": 0.5, "s": "x2", "is": []any{1, 2},
		"fs": []any{0.25, 3}, "ss": []any{"a"},
		"ts": []any{"c", map[string]any{"kind": "ext_dev"}}, "host": map[string]any{"kind": "llvm",
			"mcpu": "core2"}, "target_device_type": 2,
		"feature.n": 7})
	type yes bool
	type ratio float32
	for _, config := range []any{
		map[string]any{"kind": cpuName(name), "i": cores(4), "b": yes(false), "f": ratio(0.5), "s": cpuName("x2"),
			"is": []int32{1, 2}, "fs": []float32{0.25, 3},
			"ss": cpus{"a"}, "ts": []options{{"kind": "c"},
				{"kind": cpuName("ext_dev")}}, "host": map[string]string{"kind": "llvm", "mcpu": "core2"},
			"target_device_type": dlpack.CUDA, "feature.n": cores(7)},
		options{"id": name, "i": int8(4), "b": false, "f": 0.5, "s": "x2", "is": [2]uint8{1, 2}, "fs": [2]any{0.25, ratio(3)},
			"ss": [1]string{"a"},
			"ts": [2]any{mustNew(t, "c"), cpuName("ext_dev")}, "host": options{"kind": "llvm",
				"mcpu": cpuName("core2")}, "target_device_type": dlpack.CUDA,
			"feature.n": 7},
	} {
		require.Equal(t, want.JSON(), mustNew(t, config).JSON())
	}
	require.Equal(t, mustNew(t, "llvm -mcpu=core2").JSON(),
		mustNew(t, map[string]string{"kind": "llvm", "mcpu": "core2"}).JSON())
	for want, config := range map[string]map[string]any{
		"$.is[1]": {"kind": name, "is": []float32{1, 1.5}}, "$.ss": {"kind": name, "ss": []byte("a")}, "$.i": {"kind": name,
			"i": &want},
		"$.t": {"kind": name, "t": struct{}{}}, "$.ts": {"kind": name, "ts": cpuName("c")}, "$.b": {"kind": name,
			"b": cores(1)},
		"$.kind": {"kind": cores(1)}, "$.host": {"kind": name, "host": map[int]string{1: "x"}}, "$.s": {"kind": name,
			"s": func() {}},
	} {
		_, err := target.New(config)
		require.ErrorIs(t, err, target.ErrType, want)
		require.ErrorContains(t, err, want+":")
	}
}

// A registered configuration does not change when the caller changes its lists.
func TestRegisterTag_KeepsCopies(t *testing.T) {
	tag := fresh("copies") + "/own"
	libs, host := cpus{"one"}, map[string]string{"kind": "llvm", "mcpu": "core2"}
	require.NoError(t, target.RegisterTag(tag, map[string]any{"kind": "c", "libs": libs, "host": host}))
	before := mustNew(t, tag)
	libs[0], host["mcpu"] = "two", "corei7"
	require.Equal(t, before.JSON(), mustNew(t, tag).JSON())
}
