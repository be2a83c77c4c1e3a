package target_test

import (
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/target"
)

// TestNew_BadInput checks the error for input that is not a target.
func TestNew_BadInput(t *testing.T) {
	quiet(t)
	everyType()
	cyclic := map[string]any{"kind": "cuda"}
	cyclic["host"] = cyclic
	list := []any{nil}
	list[0] = map[string]any{"kind": "composite", "devices": list}
	hosts := map[string]any{"kind": "c"}
	for range 40 {
		hosts = map[string]any{"kind": "c", "host": hosts}
	}
	few := map[string]any{"kind": "c"}
	for range 12 {
		few = map[string]any{"kind": "c", "host": few}
	}
	chain := func(n int) any {
		all := map[string]any{"kind": "c", "model": "x"}
		for range n - 1 {
			all = map[string]any{"kind": "c", "host": all}
		}
		return all
	}
	shared := any(map[string]any{"kind": "c"}) // 1000^7 targets
	for range 7 {
		items := make([]any, 1000)
		for i := range items {
			items[i] = shared
		}
		shared = map[string]any{"kind": "composite", "devices": items}
	}
	for name, c := range map[string]struct {
		in   any
		path string
		sort error
		says string
	}{
		"nil":         {nil, "$", target.ErrType, "expected a string, JSON, a map or a target, found null"},
		"nil target":  {(*target.Target)(nil), "$", target.ErrType, "nil, or was not made by New"},
		"zero target": {&target.Target{}, "$", target.ErrType, "nil, or was not made by New"},
		"nil map":     {map[string]any(nil), "$.kind", target.ErrUnknown, `neither "kind" nor "tag"`},
		"nil bytes":   {[]byte(nil), "$", target.ErrSyntax, "the text ends early"},
		"nil raw":     {json.RawMessage(nil), "$", target.ErrSyntax, "the text ends early"},
		"number":      {7, "$", target.ErrType, "found int 7"},
		"struct":      {struct{}{}, "$", target.ErrType, "type struct {}"},
		"host nil target": {map[string]any{"kind": "cuda", "host": (*target.Target)(nil)}, "$.host", target.ErrType,
			"nil, or was not made by New"},
		"host zero target": {map[string]any{"kind": "cuda", "host": &target.Target{}}, "$.host", target.ErrType,
			"nil, or was not made by New"},
		"host nil": {map[string]any{"kind": "cuda", "host": nil}, "$.host", target.ErrType, "found null"},

		"empty":           {"", "$", target.ErrSyntax, "the text is empty"},
		"blank":           {" \t\n ", "$", target.ErrSyntax, "the text is empty"},
		"text of bytes":   {[]byte(""), "$", target.ErrSyntax, "at byte 0 (line 1): the text ends early"},
		"no JSON":         {[]byte("cuda"), "$", target.ErrSyntax, "at byte 0 (line 1): want a value, not 'c'"},
		"list":            {"[1]", "$", target.ErrType, "an object"},
		"text in JSON":    {`"cuda"`, "$", target.ErrType, "an object"},
		"number in JSON":  {[]byte(`7`), "$", target.ErrType, "expected an object, found int 7"},
		"cut":             {`{"kind": "cu`, "$.kind", target.ErrSyntax, "at byte 12 (line 1): the text ends early"},
		"cut in a member": {`{"kind":`, "$.kind", target.ErrSyntax, "at byte 8 (line 1): the text ends early"},
		"third line": {"{\"kind\": \"cuda\",\n\"host\": {\n\"kind\": oops}}", "$.host.kind", target.ErrSyntax,
			"at byte 35 (line 3): want a value, not 'o'"},
		"comma at end":  {`{"kind":"c",}`, "$", target.ErrSyntax, "want a key in quotes, not '}'"},
		"comma in list": {`{"kind":"c","libs":["a",]}`, "$.libs[1]", target.ErrSyntax, "want a value, not ']'"},
		"no colon":      {`{"kind" "c"}`, "$.kind", target.ErrSyntax, "want a colon"},
		"key a number":  {`{1:2}`, "$", target.ErrSyntax, "want a key in quotes"},
		"more text":     {`{"kind":"c"} {}`, "$", target.ErrSyntax, "at byte 13 (line 1): more text"},
		"comment":       {`{"kind":"c"} // c`, "$", target.ErrSyntax, "more text"},
		"control":       {"{\"kind\":\"c\",\"model\":\"a\nb\"}", "$.model", target.ErrSyntax, `write \u000a`},
		"escape":        {`{"kind":"c","model":"\x"}`, "$.model", target.ErrSyntax, "at byte 21 (line 1): no such escape"},
		"escape cut":    {`{"kind":"c","model":"\u12"}`, "$.model", target.ErrSyntax, "no such escape"},
		"backslash":     {`{"kind":"c","model":"\`, "$.model", target.ErrSyntax, "the text ends early"},
		"number 01":     {`{"kind":"c","from_device":01}`, "$", target.ErrSyntax, "want a comma or }, not '1'"},
		"number 1.":     {`{"kind":"c","from_device":1.}`, "$.from_device", target.ErrSyntax, "want a digit"},
		"number -":      {`{"kind":"c","from_device":-}`, "$.from_device", target.ErrSyntax, "want a digit"},
		"number 1e":     {`{"kind":"c","from_device":1e`, "$.from_device", target.ErrSyntax, "want a digit"},
		"NaN":           {`{"kind":"c","from_device":NaN}`, "$.from_device", target.ErrSyntax, "want a value, not 'N'"},

		"surrogate high": {`{"kind":"c","model":"x\ud800y"}`, "$.model", target.ErrSyntax,
			"at byte 22 (line 1): half of a surrogate pair"},
		"surrogate low":    {`{"kind":"c","model":"\udc00"}`, "$.model", target.ErrSyntax, "half of a surrogate pair"},
		"surrogate twice":  {`{"kind":"c","model":"\ud800\ud800"}`, "$.model", target.ErrSyntax, "half of a surrogate pair"},
		"surrogate in key": {`{"kind":"c","\ud800":1}`, "$", target.ErrSyntax, "half of a surrogate pair"},
		"UTF-8 in JSON": {"{\"kind\":\"c\",\n\"model\":\"\xff\"}", "$", target.ErrSyntax,
			"at byte 22 (line 2): the text is not valid UTF-8"},
		"UTF-8 in bytes": {[]byte("\xff"), "$", target.ErrSyntax, "at byte 0 (line 1): the text is not valid UTF-8"},
		"UTF-8 in CLI":   {"cuda -model=\xff", "$", target.ErrSyntax, "not valid UTF-8"},
		"UTF-8 in map":   {map[string]any{"kind": "c", "model": "\xff"}, "$.model", target.ErrSyntax, "not valid UTF-8"},
		"UTF-8 in list": {map[string]any{"kind": "c", "libs": []string{"a", "\xff"}}, "$.libs[1]", target.ErrSyntax,
			"not valid UTF-8"},
		"UTF-8 in kind": {map[string]any{"kind": "\xff"}, "$.kind", target.ErrSyntax, "not valid UTF-8"},
		"UTF-8 in tag":  {map[string]any{"kind": "c", "tag": "\xff"}, "$.tag", target.ErrSyntax, "not valid UTF-8"},
		"UTF-8 in feature": {map[string]any{"kind": "c", "feature.x": "\xff"}, `$["feature.x"]`, target.ErrSyntax,
			"not valid UTF-8"},
		"UTF-8 in key":     {map[string]any{"kind": "c", "\xff": 1}, `$["\xff"]`, target.ErrUnknown, "no option"},
		"NUL in JSON":      {`{"kind":"c","host":{"kind":"c","mcpu":"a\u0000"}}`, "$.host.mcpu", target.ErrSyntax, "NUL"},
		"NUL in kind":      {`{"kind":"c\u0000"}`, "$.kind", target.ErrSyntax, "NUL"},
		"NUL in tag":       {`{"tag":"c\u0000"}`, "$.tag", target.ErrSyntax, "NUL"},
		"NUL in key":       {`{"kind":"c","m\u0000":1}`, `$["m\x00"]`, target.ErrUnknown, "no option"},
		"NUL in a feature": {`{"kind":"c","feature.\u0000":1}`, `$["feature.\x00"]`, target.ErrSyntax, "feature name"},
		"NUL in CLI":       {"cuda -model=a\x00", "$", target.ErrSyntax, "NUL"},

		"unknown kind":   {`{"kind":"cudda"}`, "$.kind", target.ErrUnknown, `did you mean "cuda"?`},
		"unknown word":   {"nvidia/h10", "$", target.ErrUnknown, `did you mean "nvidia/`},
		"tag of no name": {`{"tag":""}`, "$.tag", target.ErrUnknown, `the tag is empty, and no "kind" is given`},
		"unknown tag":    {`{"tag":"nvidia/h10"}`, "$.tag", target.ErrUnknown, `did you mean "nvidia/`},
		"unknown option": {`{"kind":"cuda","host":{"kind":"llvm","mccpu":"x"}}`, "$.host.mccpu", target.ErrUnknown,
			`did you mean "mcpu"?`},
		"unknown in host": {"cuda -host='llvm -mccpu=x'", "$.host.mccpu", target.ErrUnknown, `did you mean "mcpu"?`},
		"of an alias": {`{"kind":"llvm","taget_host":"c"}`, "$.taget_host", target.ErrUnknown,
			`did you mean "target_host"?`},
		"type at depth": {`{"kind":"composite","targets":["c",{"kind":"cuda","target_host":{"kind":"llvm","mattr":["+a",` +
			`1]}}]}`, "$.targets[1].target_host.mattr[1]", target.ErrType, "expected str, found int 1"},
		"in text in JSON": {`{"kind":"cuda","host":"{\"kind\":\"llvm\",\"num-cores\":0}"}`, `$.host.num-cores`,
			target.ErrRange, "at least 1"},
		"duplicate": {`{"kind":"c","host":{"kind":"c","mcpu":"a","mcpu":"a"}}`, "$.host.mcpu",
			target.ErrDuplicate, "at byte 42 (line 1): the key is repeated"},
		"duplicate by \\": {`{"kind":"c","k\u0069nd":"c"}`, "$.kind", target.ErrDuplicate, "repeated"},
		"kind and id":     {`{"kind":"c","id":"c"}`, "$.kind", target.ErrDuplicate, `"kind" and as "id"`},
		"host twice": {`{"kind":"c","host":"c","target_host":"c"}`, "$.host", target.ErrDuplicate,
			"two of its names"},
		"two names": {`{"kind":"c","system-lib":true,"system_lib":true}`, "$.system-lib", target.ErrDuplicate,
			"two of its names"},
		"two names in a Go map": {map[string]any{"tag": "nvidia/h100", "host": "c", "target_host": "c"}, "$.host",
			target.ErrDuplicate, "two of its names"},
		"option twice": {"cuda -arch=sm_90 -arch=sm_80", "$.arch", target.ErrDuplicate, "twice"},
		"tag twice":    {"nvidia/h100 -tag=x", "$.tag", target.ErrDuplicate, "-tag names another"},

		"tag and -kind":     {"nvidia/h100 -kind=cuda", "$.kind", target.ErrDuplicate, "leave -kind out"},
		"tag and -id":       {"nvidia/h100 -id=llvm", "$.id", target.ErrDuplicate, "-id names a kind"},
		"Kind":              {`{"Kind":"cuda"}`, "$.Kind", target.ErrUnknown, `did you mean "kind"?`},
		"knd":               {`{"arch":"sm_90","knd":"cuda"}`, "$.knd", target.ErrUnknown, `did you mean "kind"?`},
		"mark of a text":    {"\ufeff" + `{"kind":"c"}`, "$", target.ErrSyntax, "byte order mark"},
		"mark of bytes":     {[]byte("\ufeff" + `{"kind":"c"}`), "$", target.ErrSyntax, "byte order mark"},
		"mark within":       {`{"kind":"c","host":"\ufeff{\"kind\":\"c\"}"}`, "$.host", target.ErrSyntax, "byte order mark"},
		"no name of a kind": {`{"kind":""}`, "$.kind", target.ErrUnknown, `there is no target kind ""`},

		"1e30": {`{"kind":"llvm","num-cores":1e30}`, "$.num-cores", target.ErrRange,
			"expected an int of at least 1, found float 1e30"},
		"2^63": {`{"kind":"llvm","num-cores":9223372036854775808}`, "$.num-cores", target.ErrRange,
			"found int 9223372036854775808"},
		"2^63 of uint64": {map[string]any{"kind": "llvm", "num-cores": uint64(1 << 63)}, "$.num-cores", target.ErrRange,
			"found int 9223372036854775808"},
		"2^63 of float64": {map[string]any{"kind": "llvm", "num-cores": float64(1 << 63)}, "$.num-cores", target.ErrRange,
			"at least 1"},
		"-1":          {`{"kind":"llvm","num-cores":-1}`, "$.num-cores", target.ErrRange, "found int -1"},
		"-1 in CLI":   {"llvm -num-cores=-1", "$.num-cores", target.ErrRange, "found int -1"},
		"2^63 in CLI": {"llvm -num-cores=9223372036854775808", "$.num-cores", target.ErrRange, "9223372036854775808"},
		"1.5": {`{"kind":"llvm","num-cores":1.5}`, "$.num-cores", target.ErrType,
			"expected int, found float 1.5"},
		"1e-400": {`{"kind":"llvm","num-cores":1e-400}`, "$.num-cores", target.ErrType,
			"expected int, found float 1e-400"},
		"huge exponent": {`{"kind":"llvm","num-cores":1e999999999999999999999}`, "$.num-cores", target.ErrRange,
			"at least 1"},
		"small exponent": {`{"kind":"llvm","num-cores":1e-999999999999999999999}`, "$.num-cores", target.ErrType,
			"expected int"},
		"NaN of Go": {map[string]any{"kind": "llvm", "num-cores": math.NaN()}, "$.num-cores", target.ErrType,
			"found float NaN"},
		"Inf of Go": {map[string]any{"kind": "llvm", "num-cores": math.Inf(1)}, "$.num-cores", target.ErrType,
			"found float +Inf"},
		"NaN for a float": {map[string]any{"kind": "every-type", "float": math.NaN()}, "$.float", target.ErrRange,
			"a finite 64-bit float"},
		"Inf in a list": {map[string]any{"kind": "every-type", "floats": []float64{1, math.Inf(-1)}}, "$.floats[1]",
			target.ErrRange, "a finite 64-bit float"},
		"Inf in CLI":   {"every-type -float=inf", "$.float", target.ErrRange, "a finite 64-bit float"},
		"1e999 in CLI": {"every-type -float=1e999", "$.float", target.ErrRange, "a finite 64-bit float"},
		"NaN of a feature": {map[string]any{"kind": "llvm", "feature.x": math.NaN()}, `$["feature.x"]`, target.ErrRange,
			"a finite 64-bit float"},
		"json.Number": {map[string]any{"kind": "llvm", "num-cores": json.Number("four")}, "$.num-cores", target.ErrType,
			"expected int"},

		"empty value":   {"cuda -arch=", "$.arch", target.ErrSyntax, "the value is empty"},
		"empty tag":     {"cuda -tag=", "$.tag", target.ErrType, "expected str"},
		"no value":      {"cuda -arch", "$.arch", target.ErrSyntax, "the option needs a value"},
		"no option":     {"cuda sm_90", "$", target.ErrSyntax, "options start with -"},
		"no kind first": {"-arch=sm_90", "$", target.ErrSyntax, "the first word must be a kind"},
		"no name":       {"cuda -=x", "$", target.ErrSyntax, "has no name"},
		"open quote":    {"cuda -model='x", "$", target.ErrSyntax, "not closed"},
		"open escape":   {`cuda -model=x\`, "$", target.ErrSyntax, "escapes nothing"},
		"bool":          {"llvm -fast-math=yes", "$.fast-math", target.ErrType, "true, false, 1 or 0"},

		"cyclic map": {cyclic, "$.host.host.host.host.host.host.host.host.host.host.host.host.host.host.host.hos…",
			target.ErrTooDeep, "contains itself"},
		"cyclic list":         {list[0], "", target.ErrTooDeep, "contains itself"},
		"hosts of hosts":      {hosts, "", target.ErrTooDeep, "nested more than 32 deep"},
		"33 targets":          {chain(33), "", target.ErrTooDeep, "nested more than 8 deep"}, // 32 levels below the first
		"34 targets":          {chain(34), "", target.ErrTooDeep, "nested more than 32 deep"},
		"hosts in JSON":       {text(t, hosts), "", target.ErrTooDeep, "nested more than 32 deep"},
		"a few hosts":         {few, "", target.ErrTooDeep, "nested more than 8 deep"},
		"a few hosts in JSON": {text(t, few), "", target.ErrTooDeep, "nested more than 8 deep"},
		"lists": {`{"kind":"c","libs":` + strings.Repeat("[", 1<<19), "", target.ErrTooDeep,
			"nested more than 32 deep"},
		"lists alone":  {[]byte(strings.Repeat("[", 1<<20)), "", target.ErrTooDeep, "nested more than 32 deep"},
		"objects":      {strings.Repeat(`{"host":`, 1<<17), "", target.ErrTooDeep, "nested more than 32 deep"},
		"quotes":       {"c -host=" + strings.Repeat("'", 1<<19), "$.host", target.ErrSyntax, ""},
		"shared parts": {shared, "", target.ErrTooDeep, "bytes of JSON"},
		"enormous text": {"c -model=" + strings.Repeat("x", 1<<22), "$", target.ErrSyntax,
			"the text has more than 1048576 bytes"},
		"enormous option": {map[string]any{"kind": "c", "model": strings.Repeat("x", 1<<22)}, "$", target.ErrTooDeep,
			"bytes of JSON"},
		"enormous word": {strings.Repeat("x", 1<<19), "$", target.ErrUnknown, "no target kind and no tag"},
		"enormous kind": {map[string]any{"kind": strings.Repeat("x", 1<<22)}, "$.kind", target.ErrUnknown,
			"no target kind"},
		"enormous key": {map[string]any{"kind": "c", strings.Repeat("x", 1<<22): 1}, "", target.ErrUnknown,
			"no option"},
		"enormous number": {[]byte(`{"kind":"c","from_device":` + strings.Repeat("1", 1<<19) + `}`), "$.from_device",
			target.ErrRange, "…"},
		"enormous fraction": {[]byte(`{"kind":"c","from_device":0.` + strings.Repeat("1", 1<<19) + `}`), "$.from_device",
			target.ErrType, "…"},
		"enormous list": {map[string]any{"kind": "c", "libs": make([]string, 1<<20)}, "$", target.ErrTooDeep,
			"bytes of JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			x, err := target.New(c.in)
			runtime.ReadMemStats(&after)
			require.Error(t, err, "%v", x)
			require.Nil(t, x)
			isClear(t, err)
			var e *target.Error
			require.ErrorAs(t, err, &e)
			require.ErrorIs(t, err, c.sort, "%v", err)
			require.Contains(t, err.Error(), c.says)
			if c.path != "" {
				require.Equal(t, c.path, e.Path, "%v", err)
			}
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(512<<20), "bytes allocated")
		})
	}
}

// TestWithHost_TooDeep checks that no chain of hosts can exceed the depth limit.
func TestWithHost_TooDeep(t *testing.T) {
	x := must.Get(target.New("c"))(t)
	levels := 1
	for {
		y, err := x.WithHost(x)
		if err != nil {
			isClear(t, err)
			require.ErrorIs(t, err, target.ErrTooDeep)
			break
		}
		roundTrip(t, y)
		x, levels = y, levels+1
		require.Less(t, levels, 100)
	}
	require.Equal(t, 8, levels)
	require.ErrorIs(t, must.Fail(target.NewWithHost("c", x)), target.ErrTooDeep)
	_, err := target.New(map[string]any{"kind": "composite", "devices": []any{x}})
	require.ErrorIs(t, err, target.ErrTooDeep)
}

// TestZeroTarget checks that targets that New did not make cause errors, not panics.
func TestZeroTarget(t *testing.T) {
	for _, x := range []*target.Target{nil, {}} {
		isClear(t, errorOf(x.WithHost(nil)))
		isClear(t, errorOf(target.NewWithHost(x, "c")))
		isClear(t, errorOf(target.NewWithHost("c", x)))
		isClear(t, errorOf(target.Get[string](x, "mcpu")))
		_, err := x.MarshalJSON()
		isClear(t, err)
		require.Equal(t, "<nil>", x.String())
		require.Nil(t, x.Export())
		require.Nil(t, x.Members())
		require.Nil(t, x.Libs())
		require.Zero(t, x.DeviceType())
		require.True(t, x.Equal(x))
		require.Equal(t, "<nil>", fmt.Sprint(x))
		require.Nil(t, x.Kind())
		require.Empty(t, x.Kind().Name()+x.Kind().String()+x.Tag()+x.JSON())
		require.Nil(t, x.Host())
		require.Empty(t, x.Keys())
		require.False(t, x.HasKey("gpu") || x.HasCPUFeature("avx2"))
		require.Empty(t, x.Attrs())
		require.Empty(t, x.Features())
		require.Nil(t, x.Feature("has_sve"))
		require.Empty(t, x.Warnings())
		require.Zero(t, x.Hash())
	}
	c := must.Get(target.New("c"))(t)
	_, err := c.WithHost(&target.Target{})
	isClear(t, err)
	same := must.Get(c.WithHost(nil))(t)
	require.True(t, c.Equal(same))
	require.False(t, c.Equal(nil))
}

func errorOf[T any](_ T, err error) error { return err }
