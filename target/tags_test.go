package target_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/target"
)

var numFresh atomic.Int64

// fresh returns a name that is not registered, even if a test runs twice in a process.
func fresh(name string) string { return fmt.Sprintf("%s-%d", name, numFresh.Add(1)) }

func TestRegisterTag(t *testing.T) {
	name, alias := fresh("vendor/board"), fresh("vendor/nick")
	config := map[string]any{"kind": "cuda", "arch": "sm_87", "keys": []string{"board", "cuda", "gpu"},
		"host": map[string]any{"kind": "c"}}
	require.NoError(t, target.RegisterTag(name, config, alias))
	// the tag has its own copy of the configuration
	config["arch"], config["keys"].([]string)[0], config["host"].(map[string]any)["kind"] = "sm_50", "changed", "llvm"
	for _, ref := range []string{name, alias} {
		got := must.Get(target.New(ref))(t)
		require.Equal(t, name, got.Tag(), "the canonical name, even if an alias was used")
		require.Equal(t, "sm_87", got.Attrs()["arch"])
		require.Equal(t, []string{"board", "cuda", "gpu"}, got.Keys())
		require.Equal(t, "c", got.Host().Kind().Name())
	}
	info := must.Get(target.LookupTag(alias))(t)
	require.Equal(t, target.TagInfo{Name: name, Aliases: []string{alias}, Hash: info.Hash, Kind: "cuda",
		Keys: []string{"board",
			"cuda", "gpu"}}, info)
	require.Contains(t, target.Tags(), info)
	require.Contains(t, target.TagsWithKey("board"), info)
	require.NotContains(t, target.TagsWithKey("mali"), info)

	err := target.RegisterTag(name, map[string]any{"kind": "c"})
	require.ErrorIs(t, err, target.ErrDuplicate)
	require.ErrorContains(t, err, name)
	require.ErrorIs(t, target.RegisterTag(alias, map[string]any{"kind": "c"}), target.ErrDuplicate)
	require.ErrorIs(t, target.RegisterTag("nvidia/nvidia-h100", map[string]any{"kind": "c"}), target.ErrDuplicate)
	require.ErrorIs(t, target.RegisterTag("nvidia/h100", map[string]any{"kind": "c"}), target.ErrDuplicate)
}

// TestRegisterTag_Refused tests invalid tags; none of them leaves anything registered.
func TestRegisterTag_Refused(t *testing.T) {
	good := map[string]any{"kind": "cuda", "arch": "sm_80"}
	taken, name := fresh("vendor/taken"), fresh("vendor/refused")
	require.NoError(t, target.RegisterTag(taken, good, taken+"-alias"))
	for _, c := range []struct {
		name    string
		config  map[string]any
		aliases []string
		sort    error
		says    string
	}{
		{"", good, nil, target.ErrRegister, "empty"},
		{"a b", good, nil, target.ErrRegister, "tag name"},
		{"-a", good, nil, target.ErrRegister, "tag name"},
		{"/a", good, nil, target.ErrRegister, "tag name"},
		{"größe/a", good, nil, target.ErrRegister, "tag name"},
		{"{a}", good, nil, target.ErrRegister, "tag name"},
		{"cuda", good, nil, target.ErrRegister, "the name of a kind"},
		{name + ":", good, nil, target.ErrRegister, "version"},
		{name + ":a b", good, nil, target.ErrRegister, "version"},
		{name + ":1:2", good, nil, target.ErrRegister, "version"},
		{name, nil, nil, target.ErrUnknown, "kind"},
		{name, map[string]any{}, nil, target.ErrUnknown, "kind"},
		{name, map[string]any{"kind": "nope"}, nil, target.ErrUnknown, "nope"},
		{name, map[string]any{"kind": "cuda", "archs": 1}, nil, target.ErrUnknown, `"arch"`},
		{name, map[string]any{"kind": "cuda", "arch": 1}, nil, target.ErrType, "$.arch"},
		{name, map[string]any{"kind": "cuda", "arch": "x"}, nil, target.ErrRange, "$.arch"},
		{name, map[string]any{"kind": "cuda", "from_device": "x"}, nil, target.ErrType, "$.from_device"},
		{name, map[string]any{"kind": "cuda", "host": map[string]any{"kind": "llvm", "from_device": -7}}, nil,
			target.ErrRange, "from_device"},
		{name, map[string]any{"tag": "nope/nope"}, nil, target.ErrUnknown, "nope/nope"},
		{name, map[string]any{"tag": name}, nil, target.ErrUnknown, name},
		{name, good, []string{""}, target.ErrRegister, "alias"},
		{name, good, []string{"a b"}, target.ErrRegister, "alias"},
		{name, good, []string{"cuda"}, target.ErrRegister, "alias"},
		{name, good, []string{name}, target.ErrDuplicate, "alias"},
		{name, good, []string{name + "-fine", taken}, target.ErrDuplicate, "alias"},
		{name, good, []string{name + "-fine", taken + "-alias"}, target.ErrDuplicate, "alias"},
		{name, good, []string{name + "-fine", "nvidia/nvidia-h100"}, target.ErrDuplicate, "alias"},
		{name, good, []string{name + "-fine", "nvidia/h100"}, target.ErrDuplicate, "alias"},
	} {
		before := target.Tags()
		err := target.RegisterTag(c.name, c.config, c.aliases...)
		require.ErrorIs(t, err, c.sort, "%q %v %v", c.name, c.config, c.aliases)
		require.ErrorContains(t, err, c.says)
		require.ErrorContains(t, err, "register tag")
		require.Equal(t, before, target.Tags(), "%q", c.name)
		for _, ref := range []string{name, name + "-fine"} {
			require.ErrorIs(t, must.Fail(target.LookupTag(ref)), target.ErrUnknown)
		}
	}
	require.NoError(t, target.RegisterTag(name, good, name+"-fine"), "a valid registration is possible afterwards")
}

func TestRegisterTag_Versions(t *testing.T) {
	quiet(t)
	name, alias := fresh("vendor/v"), fresh("vendor/va")
	arch := func(ref string) string {
		got, err := target.New(ref)
		require.NoError(t, err, ref)
		return got.Attrs()["arch"].(string) + " " + strings.TrimPrefix(got.Tag(), name)
	}
	config := func(arch string) map[string]any { return map[string]any{"kind": "cuda", "arch": arch} }
	require.NoError(t, target.RegisterTag(name+":1.9", config("sm_60"), alias))
	require.NoError(t, target.RegisterTag(name+":1.10", config("sm_70")))
	require.NoError(t, target.RegisterTag(name+":1.rc", config("sm_50")))
	require.Equal(t, "sm_70 :1.10", arch(name), "a name without a version means the newest version")
	require.Equal(t, "sm_70 :1.10", arch(alias))
	require.Equal(t, "sm_60 :1.9", arch(name+":1.9"))
	require.Equal(t, "sm_60 :1.9", arch(alias+":1.9"))
	require.Equal(t, "sm_50 :1.rc", arch(name+":1.rc"))
	for _, ref := range []string{name + ":2", name + ":", name + ":1", alias + ":2"} {
		require.ErrorIs(t, must.Fail(target.New(ref)), target.ErrUnknown, ref)
	}

	require.NoError(t, target.RegisterTag(name+":1.9", config("sm_60")), "an equal configuration is accepted")
	err := target.RegisterTag(name+":1.9", config("sm_61"))
	require.ErrorIs(t, err, target.ErrDuplicate)
	require.ErrorContains(t, err, "hash")
	require.ErrorIs(t, target.ReplaceTag(name+":1.9", config("sm_61")), target.ErrDuplicate)
	require.Equal(t, "sm_60 :1.9", arch(name+":1.9"))

	require.NoError(t, target.RegisterTag(name+":2", map[string]any{"tag": name + ":1.9", "model": "of 1.9"}))
	require.Equal(t, "sm_60 :2", arch(name))
	err = target.RegisterTag(name+":3", map[string]any{"tag": name})
	require.ErrorIs(t, err, target.ErrRegister, "the tag would refer to itself")
	info := must.Get(target.LookupTag(name + ":1.10"))(t)
	require.Equal(t, []string{name + ":1.10", "1.10"}, []string{info.Name, info.Version})
	require.Equal(t, []string{alias}, info.Aliases)

	// A version of a built-in tag exists beside it: the name without a version keeps its meaning.
	version := ":" + fresh("9")
	require.NoError(t, target.RegisterTag("nvidia/nvidia-h100"+version, map[string]any{"tag": "nvidia/nvidia-h100",
		"l2_cache_size_bytes": 1}))
	got := must.Get(target.New("nvidia/h100" + version))(t)
	require.EqualValues(t, 1, got.Attrs()["l2_cache_size_bytes"])
	require.Equal(t, "nvidia/nvidia-h100"+version, got.Tag())
	got = must.Get(target.New("nvidia/h100"))(t)
	require.EqualValues(t, 52428800, got.Attrs()["l2_cache_size_bytes"])
}

func TestTagInfo_HashIsOfTheConfiguration(t *testing.T) {
	hash := func(config map[string]any) string {
		name := fresh("vendor/hash")
		require.NoError(t, target.RegisterTag(name, config))
		info := must.Get(target.LookupTag(name))(t)
		require.Equal(t, info, must.Get(target.LookupTag(name))(t))
		return info.Hash
	}
	base := hash(map[string]any{"kind": "cuda", "arch": "sm_80"})
	require.Equal(t, base, hash(map[string]any{"id": "cuda", "arch": "sm_80", "thread_warp_size": 32.0}),
		"the same configuration in another spelling")
	all := []string{base}
	for _, config := range []map[string]any{
		{"kind": "cuda", "arch": "sm_81"},
		{"kind": "cuda", "arch": "sm_80", "keys": []string{"cuda"}},
		{"kind": "cuda", "arch": "sm_80", "host": "c"},
		{"kind": "cuda", "arch": "sm_80", "from_device": 0},
		{"kind": "cuda", "arch": "sm_80", "from_device": 1},
		{"kind": "cuda", "arch": "sm_80", "host": map[string]any{"kind": "c", "from_device": 1}},
	} {
		h := hash(config)
		require.NotContains(t, all, h, "%v", config)
		all = append(all, h)
	}
	h100 := must.Get(target.LookupTag("nvidia/h100"))(t)
	sum := sha256.Sum256([]byte(`{"kind":"cuda","tag":"","keys":["cuda","gpu"],"arch":"sm_90a",` +
		`"l2_cache_size_bytes":52428800,"max_num_threads":1024,"max_shared_memory_per_block":49152,` +
		`"max_threads_per_block":1024,"registers_per_block":65536,"thread_warp_size":32}`))
	require.Equal(t, hex.EncodeToString(sum[:]), h100.Hash, "hashes are the same on every machine")
}

func TestReplaceTag(t *testing.T) {
	name := fresh("vendor/replaced")
	require.NoError(t, target.ReplaceTag(name, map[string]any{"kind": "c"}), "the tag need not exist")
	require.NoError(t, target.ReplaceTag(name, map[string]any{"kind": "c", "mcpu": "new"}))
	got := must.Get(target.New(name))(t)
	require.Equal(t, "new", got.Attrs()["mcpu"])
	require.Error(t, target.ReplaceTag(name, map[string]any{"kind": "c", "mcpu": 1}))
	again := must.Get(target.New(name))(t)
	require.True(t, got.Equal(again), "a failed replacement does not change the tag")
	count := 0
	for _, info := range target.Tags() {
		if info.Name == name {
			count++
		}
	}
	require.Equal(t, 1, count)
	require.ErrorIs(t, target.ReplaceTag("nvidia/h100", map[string]any{"kind": "c"}), target.ErrDuplicate,
		"an alias is not a tag")
}

func TestRegisterTag_OfAnotherTag(t *testing.T) {
	a, b := fresh("vendor/a"), fresh("vendor/b")
	require.NoError(t, target.RegisterTag(a, map[string]any{"tag": "nvidia/h100", "libs": []string{"cudnn"}, "host": "c"}))
	require.NoError(t, target.RegisterTag(b, map[string]any{"tag": a, "libs": "cublas", "keys": "mine",
		"target_host": "llvm -mcpu=core2"}))
	got := must.Get(target.New(map[string]any{"tag": b, "model": "m"}))(t)
	require.Equal(t, b, got.Tag())
	require.Equal(t, []string{"cublas"}, got.Libs())
	require.Equal(t, []string{"mine"}, got.Keys())
	require.Equal(t, "llvm", got.Host().Kind().Name())
	require.Equal(t, "sm_90a", got.Attrs()["arch"])

	// Tags cannot form a cycle.
	for _, config := range []map[string]any{{"tag": b}, {"tag": a}, {"kind": "cuda", "host": b}, {"kind": "cuda",
		"host": map[string]any{"tag": b}},
		{"kind": "composite", "devices": []any{"c", b}}, {"kind": "composite",
			"devices": []any{map[string]any{"kind": "c", "host": a}}}} {
		err := target.ReplaceTag(a, config)
		require.ErrorIs(t, err, target.ErrRegister, "%v", config)
		require.ErrorContains(t, err, "based on this tag itself")
	}
	require.NoError(t, target.ReplaceTag(a, map[string]any{"kind": "cuda", "tag": a, "arch": "sm_70"}),
		"with a kind, the tag's current configuration is used")
	got = must.Get(target.New(b))(t)
	require.Equal(t, "sm_70", got.Attrs()["arch"], "b changes with a")
}

func TestRegisterTag_OfAThirdPartysKind(t *testing.T) {
	kind, name := fresh("acme"), fresh("acme/card")
	must.Get(target.RegisterKind(kind, dlpack.ExtDev, target.DefaultKeys("acme"),
		target.Option("cores", target.Int, target.Default(4))))(t)
	require.NoError(t, target.RegisterTag(name, map[string]any{"kind": kind, "cores": 8}))
	got := must.Get(target.New(name))(t)
	require.Equal(t, map[string]any{"cores": int64(8)}, got.Attrs())
	info := must.Get(target.LookupTag(name))(t)
	require.Equal(t, kind, info.Kind)
	require.True(t, slices.ContainsFunc(target.TagsWithKey("acme"), func(i target.TagInfo) bool { return i.Name == name }))
}

// TestRegisterTag_AsksNoDevice puts from_device into every possible position in a tag: only a target made from the tag
// queries a device.
func TestRegisterTag_AsksNoDevice(t *testing.T) {
	d := &fakeDevices{}
	setDevices(t, d)
	host := map[string]any{"kind": "llvm", "from_device": 0}
	base := fresh("vendor/asks")
	require.NoError(t, target.RegisterTag(base, map[string]any{"kind": "cuda", "arch": "sm_80", "from_device": 0}))
	for _, config := range []map[string]any{
		{"tag": base}, {"kind": "cuda", "arch": "sm_80", "host": host}, {"kind": "cuda", "arch": "sm_80",
			"target_host": "llvm -from_device=0"},
		{"kind": "composite", "devices": []any{host, "llvm -from_device=0", base}}, {"kind": "cuda", "arch": "sm_80",
			"host": base},
		{"kind": "cuda", "arch": "sm_80", "host": `{"kind":"c","host":{"kind":"llvm","from_device":0}}`},
	} {
		name := fresh("vendor/asks")
		require.NoError(t, target.RegisterTag(name, config), "%v", config)
		must.Get(target.LookupTag(name))(t)
		require.NotEmpty(t, target.Tags())
		require.Zero(t, d.asked, "%v", config)
		must.Get(target.New(name))(t)
		require.NotZero(t, d.asked, "%v", config)
		d.asked = 0
	}
}

// A name without a version means the newest one, in whatever order the versions were registered.
func TestRegisterTag_VersionOrder(t *testing.T) {
	for _, ascending := range [][]string{
		{"1.9", "1.10", "2", "10"}, {"v1.9", "v1.10", "v2", "v10"}, {"2024-9-1", "2024-10-1", "2024-10-02", "2025-1-1"},
		{"1.0-alpha", "1.0-rc2", "1.0-rc10", "1.0", "1.0.1", "1.0-2"}, {"r9", "r10b", "r10"}, {"01", "1"},
		{"99999999999999999999", "100000000000000000000"}, {"b", "1"}, {"1.0-rc-1", "1.0-rc2", "1.0-rc-3"},
	} {
		for _, down := range []bool{false, true} {
			name := fresh("vendor/order")
			for i := range ascending {
				v := ascending[i]
				newest := v
				if down {
					v, newest = ascending[len(ascending)-1-i], ascending[len(ascending)-1]
				}
				require.NoError(t, target.RegisterTag(name+":"+v, map[string]any{"kind": "c", "model": v}))
				require.Equal(t, name+":"+newest, mustNew(t, name).Tag(), "%v", ascending)
			}
		}
	}
	name := fresh("vendor/plain")
	require.NoError(t, target.RegisterTag(name, map[string]any{"kind": "c", "model": "plain"}))
	require.NoError(t, target.RegisterTag(name+":2", map[string]any{"kind": "c", "model": "2"}))
	require.Equal(t, name, mustNew(t, name).Tag(), "a tag that was registered without a version keeps its name")
}

// TestTagInfo_Target checks that Target returns what New makes from each tag, but queries no device and logs nothing.
func TestTagInfo_Target(t *testing.T) {
	var out bytes.Buffer
	before := slog.Default()
	defer slog.SetDefault(before)
	base, live := fresh("vendor/base"), fresh("vendor/live")
	require.NoError(t, target.RegisterTag(base+":2", map[string]any{"kind": "rocm", "model": "m"}))
	require.NoError(t, target.RegisterTag(live, map[string]any{"tag": base, "host": map[string]any{"kind": "cuda",
		"from_device": 0}}))
	d := &fakeDevices{}
	setDevices(t, d)
	for _, info := range target.Tags() {
		slog.SetDefault(slog.New(slog.NewTextHandler(&out, nil)))
		got := must.Get(info.Target())(t)
		slog.SetDefault(slog.New(slog.DiscardHandler))
		require.Equal(t, info.Name, got.Tag())
		require.Equal(t, info.Kind, got.Kind().Name())
		if want := mustNew(t, info.Name); d.asked == 0 {
			require.Equal(t, want.JSON(), got.JSON())
			require.Equal(t, want.Warnings(), got.Warnings())
		}
		d.asked = 0
	}
	info := must.Get(target.LookupTag(live))(t)
	got := must.Get(info.Target())(t)
	require.Zero(t, d.asked, "nor for a host")
	require.Equal(t, []string{`kind "rocm"`, `host: kind "cuda"`}, starts(got.Warnings()))
	require.Empty(t, out.String())
	require.ErrorIs(t, must.Fail(target.TagInfo{Name: "vendor/nome"}.Target()), target.ErrUnknown)
}
