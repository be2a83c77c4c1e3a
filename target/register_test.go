package target_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/target"
)

// partsOfEveryType declares an option of each type, with a default.
func partsOfEveryType() []target.KindOption {
	return []target.KindOption{
		target.DefaultKeys("third", "party"),
		target.Option("i", target.Int, target.Default(3), target.Min(-5), target.Max(5), target.Help("an int")),
		target.Option("b", target.Bool, target.Default(true)),
		target.Option("f", target.Float, target.Default(2)),
		target.Option("s", target.String, target.Default("x1"), target.StartsWith("x"), target.OneOf("x1", "x2"),
			target.Alias("str", "text")),
		target.Option("is", target.ListOf(target.Int), target.Default([]int{1, 2}), target.Min(0)),
		target.Option("bs", target.ListOf(target.Bool), target.Default([]bool{true})),
		target.Option("fs", target.ListOf(target.Float), target.Default([]float64{0.5})),
		target.Option("ss", target.ListOf(target.String), target.Default([]string{"a", "b"}), target.OneOf("a", "b", "c d")),
		target.Option("t", target.Nested, target.Default("ext_dev")),
		target.Option("ts", target.ListOf(target.Nested), target.Default([]any{"c", map[string]any{"kind": "ext_dev"}})),
	}
}

func TestRegisterKind_EveryType(t *testing.T) {
	name := fresh("typed")
	k := must.Get(target.RegisterKind(name, dlpack.ExtDev, partsOfEveryType()...))(t)
	require.Equal(t, name, k.Name())
	require.Equal(t, name, k.String())
	require.Equal(t, dlpack.ExtDev, k.DeviceType())
	require.Equal(t, []string{"third", "party"}, k.DefaultKeys())
	require.Same(t, k, must.Get(target.LookupKind(name))(t))
	require.Contains(t, target.Kinds(), name)

	ext, c := mustNew(t, "ext_dev"), mustNew(t, "c")
	plain := mustNew(t, name)
	require.Equal(t, []string{"third", "party"}, plain.Keys())
	require.Equal(t, map[string]any{"i": int64(3), "b": true, "f": 2.0, "s": "x1", "is": []int64{1, 2}, "bs": []bool{true},
		"fs": []float64{0.5},
		"ss": []string{"a", "b"}, "t": ext, "ts": []*target.Target{c, ext}}, plain.Attrs())

	given := map[string]any{"kind": name, "i": -5, "b": false, "f": -1.5e300, "text": "x2", "is": []any{0, 7.0},
		"bs": []any{},
		"fs": []any{1, 2.5},
		"ss": []any{"c d", "a"}, "t": map[string]any{"kind": name, "i": 1}, "ts": []*target.Target{ext}}
	got := mustNew(t, given)
	for _, form := range []any{got.String(), got.JSON(), []byte(got.JSON()), got.Export()} {
		again := mustNew(t, form)
		require.True(t, got.Equal(again), "%v\n%s", form, again.JSON())
	}
	require.Equal(t, -5, must.Get(target.Get[int](got, "i"))(t))
	require.False(t, must.Get(target.Get[bool](got, "b"))(t))
	require.Equal(t, -1.5e300, must.Get(target.Get[float64](got, "f"))(t))
	require.Equal(t, "x2", must.Get(target.Get[string](got, "str"))(t))
	is := must.Get(target.Get[[]int64](got, "is"))(t)
	require.Equal(t, []int64{0, 7}, is)
	require.Empty(t, must.Get(target.Get[[]bool](got, "bs"))(t))
	require.Equal(t, []float64{1, 2.5}, must.Get(target.Get[[]float64](got, "fs"))(t))
	ss := must.Get(target.Get[[]string](got, "ss"))(t)
	require.Equal(t, []string{"c d", "a"}, ss)
	inner := must.Get(target.Get[*target.Target](got, "t"))(t)
	require.Equal(t, int64(1), inner.Attrs()["i"])
	require.Len(t, must.Get(target.Get[[]*target.Target](got, "ts"))(t), 1)

	is[0], ss[0] = 99, "changed" // the caller owns what Get returns
	require.Equal(t, []int64{0, 7}, must.Get(target.Get[[]int64](got, "is"))(t))
	got.Attrs()["ss"].([]string)[0] = "changed"
	plain.Attrs()["is"].([]int64)[0] = 99
	require.Equal(t, []string{"c d", "a"}, got.Attrs()["ss"])
	require.Equal(t, []int64{1, 2}, mustNew(t, name).Attrs()["is"], "callers cannot change a default")
	k.Options()[13].Default.([]int64)[0] = 99
	*k.Options()[9].Min = 99
	require.Equal(t, []int64{1, 2}, mustNew(t, name).Attrs()["is"])
	mustNew(t, map[string]any{"kind": name, "i": 0})
}

func TestRegisterKind_ValuesRefused(t *testing.T) {
	name := fresh("bounds")
	must.Get(target.RegisterKind(name, dlpack.ExtDev, partsOfEveryType()...))(t)
	for _, c := range []struct {
		option string
		v      any
		sort   error
		path   string
	}{
		{"i", -6, target.ErrRange, "$.i"}, {"i", 6, target.ErrRange, "$.i"}, {"i", uint64(math.MaxUint64), target.ErrRange,
			"$.i"}, {"i", "1", target.ErrType, "$.i"},
		{"f", math.NaN(), target.ErrRange, "$.f"}, {"f", math.Inf(1), target.ErrRange, "$.f"}, {"f", "1", target.ErrType,
			"$.f"}, {"f", true, target.ErrType, "$.f"},
		{"s", "y", target.ErrRange, "$.s"}, {"s", "x", target.ErrRange, "$.s"}, {"s", "x3", target.ErrRange, "$.s"}, {"text",
			1,
			target.ErrType, "$.text"},
		{"is", []int{0, -1}, target.ErrRange, "$.is[1]"}, {"is", []any{0, "1"}, target.ErrType, "$.is[1]"}, {"is", 1,
			target.ErrType, "$.is"},
		{"bs", []any{true, 1}, target.ErrType, "$.bs[1]"}, {"fs", []any{"x"}, target.ErrType, "$.fs[0]"}, {"ss",
			[]string{"a", "d"},
			target.ErrRange, "$.ss[1]"},
		{"t", "nope", target.ErrUnknown, "$.t"}, {"t", 1, target.ErrType, "$.t"}, {"t", map[string]any{"kind": name, "i": 9},
			target.ErrRange, "$.t.i"},
		{"ts", []any{"c", "nope"}, target.ErrUnknown, "$.ts[1]"}, {"ts", "c", target.ErrType, "$.ts"}, {"t",
			(*target.Target)(nil),
			target.ErrType, "$.t"},
	} {
		_, err := target.New(map[string]any{"kind": name, c.option: c.v})
		require.ErrorIs(t, err, c.sort, "%s=%v", c.option, c.v)
		var e *target.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, c.path, e.Path, "%s=%v", c.option, c.v)
	}
}

// TestRegisterKind_Refused: inconsistent declarations are rejected, and leave nothing registered.
func TestRegisterKind_Refused(t *testing.T) {
	name := fresh("refused")
	one := target.Option("one", target.Int)
	for _, c := range []struct {
		name  string
		dev   dlpack.DeviceType
		parts []target.KindOption
		says  string
	}{
		{"", 1, nil, "empty"}, {"a b", 1, nil, "kind name"}, {"-a", 1, nil, "kind name"}, {"a/b", 1, nil, "kind name"}, {"ä",
			1, nil,
			"kind name"}, {"a:b", 1, nil, "kind name"},
		{name, 0, nil, "device type"}, {name, -1, nil, "device type"}, {name, dlpack.MaxDeviceAPI, nil, "device type"},
		{name, 1, []target.KindOption{one, one}, "twice"},
		{name, 1, []target.KindOption{target.Option("kind", target.String)}, "every kind"},
		{name, 1, []target.KindOption{target.Option("id", target.String)}, "every kind"},
		{name, 1, []target.KindOption{target.Option("target_host", target.String)}, "every kind"},
		{name, 1, []target.KindOption{target.Option("x", target.Int, target.Alias("libs"))}, "every kind"},
		{name, 1, []target.KindOption{one, target.Option("x", target.Int, target.Alias("one"))}, "twice"},
		{name, 1, []target.KindOption{target.Option("x", target.Int, target.Alias("x"))}, "twice"},
		{name, 1, []target.KindOption{target.Option("", target.Int)}, "empty"},
		{name, 1, []target.KindOption{target.Option("a b", target.Int)}, "option name"},
		{name, 1, []target.KindOption{target.Option("x", target.Int, target.Alias("a b"))}, "option name"},
		{name, 1, []target.KindOption{target.Option("x", target.Type{})}, "no type"},
		{name, 1, []target.KindOption{target.Option("x", target.Int, target.Default("1"))}, "default"},
		{name, 1, []target.KindOption{target.Option("x", target.Int, target.Default(nil))}, "nil"},
		{name, 1, []target.KindOption{target.Option("x", target.Int, target.Default(1), target.Min(2))}, "default"},
		{name, 1, []target.KindOption{target.Option("x", target.String, target.Default("b"), target.OneOf("a"))}, "default"},
		{name, 1, []target.KindOption{target.Option("x", target.Nested, target.Default("nope"))}, "nope"},
		{name, 1, []target.KindOption{target.Option("x", target.String, target.Min(1))}, "Min"},
		{name, 1, []target.KindOption{target.Option("x", target.Bool, target.Max(1))}, "Max"},
		{name, 1, []target.KindOption{target.Option("x", target.Int, target.OneOf("a"))}, "OneOf"},
		{name, 1, []target.KindOption{target.Option("x", target.Int, target.StartsWith("a"))}, "StartsWith"},
		{name, 1, []target.KindOption{target.DefaultKeys("a", "b c")}, "key name"},
		{name, 1, []target.KindOption{target.DefaultKeys("")}, "empty"},
		{name, 1, []target.KindOption{target.Composite(), target.Option("targets", target.Int)}, "twice"},
		{name, 1, []target.KindOption{target.WithAttr("a b", 1)}, "column"},
		{name, 1, []target.KindOption{target.WithAttr("a", 1), target.WithAttr("a", 2)}, "already"},
		{name, 1, []target.KindOption{target.Option("feature.x", target.Int)}, "feature"},
		{name, 1, []target.KindOption{nil}, "nil"},
		{name, 1, []target.KindOption{target.Option("x", target.ListOf(target.ListOf(target.Int)))}, "no type"},
		{name, 1, []target.KindOption{target.Option("x", target.String, target.OneOf())}, "OneOf has no values"},
		{name, 1, []target.KindOption{target.Option("x", target.Int, nil)}, "nil"},
		{name, 1, []target.KindOption{target.Option("x", target.Int, target.Min(3), target.Max(2))}, "Min"},
		{name, 1, []target.KindOption{target.Option("x", target.Int, target.Default(4), target.MaxUnless(3, "y")),
			target.Option("y", target.Bool)},
			"Default is 4, and MaxUnless 3"},
	} {
		before := target.Kinds()
		k, err := target.RegisterKind(c.name, c.dev, c.parts...)
		require.Nil(t, k, c.says)
		require.ErrorIs(t, err, target.ErrRegister, "%q %s", c.name, c.says)
		require.ErrorContains(t, err, c.says)
		require.ErrorContains(t, err, fmt.Sprintf("register kind %q", c.name))
		require.Equal(t, before, target.Kinds())
	}
	_, err := target.RegisterKind(name, 1, one)
	require.NoError(t, err, "a valid registration is possible afterwards")
	for _, taken := range []string{name, "cuda"} {
		k, err := target.RegisterKind(taken, 1)
		require.ErrorIs(t, err, target.ErrDuplicate)
		require.Nil(t, k)
	}
	require.Contains(t, mustNew(t, map[string]any{"kind": name, "one": 1}).Attrs(), "one", "the first one is kept")
}

// TestRegisterKind_ManyOnADevice: several kinds can have one device type.
func TestRegisterKind_ManyOnADevice(t *testing.T) {
	hello := fresh("hello")
	must.Get(target.RegisterKind(hello, dlpack.CPU, target.DefaultKeys("hello", "cpu")))(t)
	seen := map[string]bool{}
	for _, name := range []string{"llvm", "c", hello} {
		got := mustNew(t, name)
		require.Equal(t, dlpack.CPU, got.DeviceType())
		require.Equal(t, name, got.Kind().Name())
		require.False(t, seen[got.JSON()])
		seen[got.JSON()] = true
	}
	require.Equal(t, dlpack.Vulkan, mustNew(t, hello+" -target_device_type=7").DeviceType())
}

func TestRegisterKind_Parser(t *testing.T) {
	quiet(t)
	name := fresh("parsed")
	failure := errors.New("no such board")
	_, err := target.RegisterKind(name, dlpack.CPU, target.DefaultKeys("d"), target.Option("n", target.Int, target.Max(9),
		target.Default(7)), target.Option("what", target.String),
		target.Option("list", target.ListOf(target.String)),
		target.WithParser(func(c *target.Config) error {
			switch c.Text("what") {
			case "set":
				if err := c.Set("n", 4); err != nil {
					return err
				}
				c.AddKeys("added", "d")
				c.SetFeature("found", 2.5)
				c.Warn("n is taken to be %d", 4)
			case "set wrong":
				return c.Set("n", 10)
			case "set type":
				return c.Set("n", "x")
			case "set unknown":
				return c.Set("nope", 1)
			case "set common":
				return c.Set("keys", []string{"x"})
			case "fail":
				return failure
			case "wrong":
				return c.Wrong("n", "%d is odd", 7)
			case "panic":
				panic("a mistake")
			case "nil map":
				var m map[string]int
				m["x"] = 1
			case "look":
				if v, ok := c.Value("n"); ok {
					return fmt.Errorf("the default is seen: %v", v)
				}
				list, _ := c.Value("list")
				list.([]string)[0] = "changed"
				c.SetFeature("tag", c.Tag())
				c.SetFeature("host", c.Host().Kind().Name())
				c.SetFeature("kind", c.Kind().Name())
			}
			return nil
		}))
	require.NoError(t, err)
	make := func(what string) (*target.Target, error) {
		return target.New(map[string]any{"kind": name, "what": what, "list": []string{"a"}, "host": "ext_dev",
			"tag": "label"})
	}
	got := must.Get(make("set"))(t)
	require.Equal(t, map[string]any{"n": int64(4), "what": "set", "list": []string{"a"}, "feature.found": 2.5},
		got.Attrs())
	require.Equal(t, []string{"added", "d"}, got.Keys())
	require.Equal(t, []string{"n is taken to be 4"}, got.Warnings())
	got = must.Get(make("look"))(t)
	require.Equal(t, map[string]any{"n": int64(7), "what": "look", "list": []string{"a"}, "feature.tag": "label",
		"feature.host": "ext_dev", "feature.kind": name}, got.Attrs())
	for what, want := range map[string]struct {
		sort error
		says string
	}{
		"set wrong": {target.ErrRange, "$.n"}, "set type": {target.ErrType, "$.n"}, "set unknown": {target.ErrRegister,
			"$.nope"},
		"set common": {target.ErrRegister, "$.keys"}, "fail": {target.ErrRange, "no such board"}, "wrong": {target.ErrRange,
			"$.n: 7 is odd"},
		"panic": {target.ErrRegister, "a mistake"}, "nil map": {target.ErrRegister, "nil map"},
	} {
		got, err := make(what)
		require.Nil(t, got, what)
		require.ErrorIs(t, err, want.sort, what)
		require.ErrorContains(t, err, want.says)
		_, err = target.New(map[string]any{"kind": "cuda", "arch": "sm_80",
			"host": map[string]any{"kind": name, "what": what}})
		require.ErrorContains(t, err, "$.host", what)
	}
	require.ErrorIs(t, func() error { _, err := make("fail"); return err }(), failure, "it wraps the parser's error")
}

func TestSetAttr(t *testing.T) {
	type pass func(string) string
	name := fresh("columns")
	k := must.Get(target.RegisterKind(name, dlpack.CPU, target.WithAttr("first", 1)))(t)
	require.NoError(t, target.SetAttr(name, "passes", []pass{func(s string) string { return s + "!" }}))
	require.NoError(t, target.SetAttr[any](name, "any", nil))

	n, ok := target.Attr[int](k, "first")
	require.True(t, ok)
	require.Equal(t, 1, n)
	passes, ok := target.Attr[[]pass](k, "passes")
	require.True(t, ok)
	require.Equal(t, "a!", passes[0]("a"))
	_, ok = target.Attr[int64](k, "first")
	require.False(t, ok, "another type")
	_, ok = target.Attr[int](k, "passes")
	require.False(t, ok)
	_, ok = target.Attr[int](k, "second")
	require.False(t, ok)
	_, ok = target.Attr[int](nil, "first")
	require.False(t, ok)
	nothing, ok := target.Attr[any](k, "any")
	require.True(t, ok, "nil is a value")
	require.Nil(t, nothing)
	_, ok = target.Attr[*int](k, "any")
	require.False(t, ok)
	other := must.Get(target.LookupKind("llvm"))(t)
	_, ok = target.Attr[int](other, "first")
	require.False(t, ok, "the column belongs to another kind")

	err := target.SetAttr(name, "first", 2)
	require.ErrorIs(t, err, target.ErrDuplicate)
	require.ErrorContains(t, err, "first")
	require.ErrorIs(t, target.SetAttr("nope", "first", 2), target.ErrUnknown)
	require.ErrorIs(t, target.SetAttr(name, "a b", 2), target.ErrRegister)
	n, _ = target.Attr[int](k, "first")
	require.Equal(t, 1, n)
	require.NotContains(t, mustNew(t, name).Attrs(), "first", "a column is not an option")
}

// TestRegister_ByMany registers and looks up concurrently.
func TestRegister_ByMany(t *testing.T) {
	name, tag := fresh("many"), fresh("vendor/many")
	var group sync.WaitGroup
	var mu sync.Mutex
	kinds, columns, tags := 0, 0, 0
	for range 16 {
		group.Go(func() {
			_, errKind := target.RegisterKind(name, dlpack.CPU)
			errColumn := target.SetAttr(name, "one", 1)
			errTag := target.RegisterTag(tag, map[string]any{"kind": name})
			_, errNew := target.New(tag)
			mu.Lock()
			defer mu.Unlock()
			for _, c := range []struct {
				n   *int
				err error
			}{{&kinds, errKind}, {&columns, errColumn}, {&tags, errTag}} {
				if c.err == nil {
					*c.n++
				} else if !errors.Is(c.err, target.ErrDuplicate) {
					t.Error(c.err)
				}
			}
			if errNew != nil || !slices.Contains(target.Kinds(), name) {
				t.Error(errNew)
			}
		})
	}
	group.Wait()
	require.Equal(t, []int{1, 1, 1}, []int{kinds, columns, tags})
}

// A parser can set features of any numeric type; values that JSON cannot represent are errors.
func TestConfig_SetFeature(t *testing.T) {
	var value any
	feature := "x"
	name := fresh("features")
	_, err := target.RegisterKind(name, dlpack.ExtDev, target.WithParser(func(c *target.Config) error {
		c.SetFeature(feature, value)
		return nil
	}))
	require.NoError(t, err)
	type own uint8
	for in, want := range map[any]any{4: int64(4), own(3): int64(3), uint32(7): int64(7), float32(0.5): 0.5, "s": "s",
		true: true, int64(-1): int64(-1)} {
		value = in
		got := mustNew(t, name)
		require.Equal(t, want, got.Feature("x"), "%T", in)
		require.True(t, got.Equal(mustNew(t, got.JSON())))
	}
	for _, c := range []struct {
		feature string
		value   any
	}{{"x", nil}, {"x", []int{1}}, {"x", math.NaN()}, {"x", "\xff"}, {"x", struct{}{}}, {"a b", 1}, {"", 1}} {
		feature, value = c.feature, c.value
		_, err := target.New(map[string]any{"kind": "c", "host": name})
		require.ErrorIs(t, err, target.ErrRegister, "%v", c)
		require.ErrorContains(t, err, fmt.Sprintf(`["feature.%s"]: the parser of kind %q sets an invalid feature: `,
			c.feature, name))
		require.ErrorContains(t, err, "target: $.host[")
	}
}
