package target_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/target"
)

// starts returns the beginnings of warnings, which name the position.
func starts(warnings []string) []string {
	all := []string{}
	for _, w := range warnings {
		start, _, _ := strings.Cut(w, " without")
		all = append(all, start)
	}
	return all
}

// Each assumption is reported once, with its position, however the nested targets were given.
func TestWarnings_OfTargetsWithin(t *testing.T) {
	name := fresh("warns")
	must.Get(target.RegisterKind(name, dlpack.ExtDev, target.Option("one", target.Nested),
		target.Option("many", target.ListOf(target.Nested))))(t)
	for config, want := range map[string][]string{
		`{"kind":"cuda","host":"rocm"}`:                            {`kind "cuda"`, `host: kind "rocm"`},
		`{"kind":"` + name + `","one":"cuda","many":["c","rocm"]}`: {`one: kind "cuda"`, `many[1]: kind "rocm"`},
		`{"kind":"composite","devices":["c","cuda"]}`:              {`devices[1]: kind "cuda"`},
		`{"kind":"composite","devices":["c",{"kind":"ext_dev","host":"nvptx"}],"host":"rocm"}`: {`host: kind "rocm"`,
			`devices[1]: host: kind "nvptx"`},
	} {
		require.Equal(t, want, starts(mustNew(t, config).Warnings()), config)
	}
	plain, rocm := mustNew(t, "cuda -arch=sm_90"), mustNew(t, "rocm")
	with := must.Get(target.NewWithHost(plain, rocm))(t)
	require.Equal(t, []string{`host: kind "rocm"`}, starts(with.Warnings()))
	without := must.Get(with.WithHost(nil))(t)
	require.Empty(t, without.Warnings(), "the warning belonged to the removed host")
}

func TestWarnings_AreLogged(t *testing.T) {
	var out bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&out, nil)))
	defer slog.SetDefault(before)
	must.Get(target.New(`{"kind":"composite","devices":["c",{"kind":"ext_dev","host":"rocm"}]}`))(t)
	require.Equal(t, 1, strings.Count(out.String(), "\n"), out.String())
	require.Contains(t, out.String(), "target: devices[1]: host: kind")
}

// A program's own configuration in JSON may hold targets.
func TestUnmarshalJSON(t *testing.T) {
	type config struct {
		Name   string
		One    *target.Target
		Value  target.Target
		List   []*target.Target
		ByName map[string]*target.Target
	}
	want := mustNew(t, `{"kind":"cuda","arch":"sm_90","host":"c"}`)
	in := config{Name: "a", One: want, Value: *want, List: []*target.Target{want, nil},
		ByName: map[string]*target.Target{"x": want}}
	text := must.Get(json.Marshal(&in))(t)
	var out config
	require.NoError(t, json.Unmarshal(text, &out))
	for _, got := range []*target.Target{out.One, &out.Value, out.List[0], out.ByName["x"]} {
		require.True(t, want.Equal(got))
		require.Equal(t, want.Hash(), got.Hash())
	}
	require.Nil(t, out.List[1])
	var h target.Target
	require.NoError(t, json.Unmarshal([]byte(` "nvidia\/h100" `), &h))
	require.Equal(t, "nvidia/nvidia-h100", h.Tag())
	var none target.Target
	require.NoError(t, json.Unmarshal([]byte(`null`), &none))
	require.Nil(t, none.Kind())
	require.ErrorIs(t, json.Unmarshal([]byte(`{"kind":"c"}`), out.One), target.ErrDuplicate, "a target does not change")
	require.True(t, want.Equal(out.One))
	require.ErrorContains(t, json.Unmarshal([]byte(`{"One":{"kind":"cuda","host":{"kind":"llvm","mcqu":"x"}}}`), &out),
		"targets do not change")
	for text, says := range map[string]string{`{"One":{"kind":"cuda","host":{"kind":"llvm","mcqu":"x"}}}`: `$.host.mcqu`,
		`{"One":3}`:        "$: wrong type",
		`{"One":["cuda"]}`: "$: wrong type", `{"One":"cudda"}`: `did you mean "cuda"?`, `{"Value":{}}`: "$.kind"} {
		var fresh config
		require.ErrorContains(t, json.Unmarshal([]byte(text), &fresh), says, text)
	}
}
