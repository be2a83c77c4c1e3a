package target_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/target"
)

// seeds are valid and invalid texts of targets.
var seeds = []string{
	``, ` `, `{}`, `[]`, `null`, `"cuda"`, `cuda`, `nvidia/h100`, `{"kind":"cuda"}`,
	`{"id":"cuda","target_host":"llvm -mcpu=cortex-a72"}`,
	`{"kind":"cuda","arch":"sm_90a","libs":["cudnn","cu,blas"],"host":{"kind":"llvm","mattr":"+neon,+sve",` +
		`"num-cores":4.0}}`,
	`{"tag":"nvidia/h100","max_num_threads":1e3}`, `{"kind":"composite","targets":[{"kind":"cuda"},"llvm"],"host":"c"}`,
	`{"kind":"llvm","feature.x":1.5,"feature.y":"1","feature.z":-0.0,"feature.w":true,"model":"\ud83d\ude80 \u00e9 ` +
		`\u0000"}`,
	`{"kind":"llvm","model":"\ud800"}`, `{"kind":"c","kind":"c"}`, `{"kind":"c","model":"a'b\\c, d"}`,
	`{"kind":"every-type","floats":[1,2.5,1e300],"ints":"1"}`,
	`cuda -arch=sm_90 -libs=cudnn,cublas -model='h 100'`, `llvm --mcpu x -fast-math -host='c -model=\'a b\''`,
	`c -keys= -model=\'x\' -feature.a='1' -feature.b=1e3`,
	`nvidia/h100 -host=llvm`, `composite -devices='cuda -libs=a,b','llvm -mattr=\'+a\''`,
	`{"kind":"every-type","strs":["","a b","'"],"target":{"kind":"c"}}`,
}

func fuzzNew(t *testing.T, in any) *target.Target {
	x, err := target.New(in)
	if err != nil {
		isClear(t, err)
		require.Nil(t, x)
		return nil
	}
	roundTrip(t, x)
	return x
}

// isClear checks the properties of every error of New.
func isClear(t testing.TB, err error) {
	t.Helper()
	var e *target.Error
	require.ErrorAs(t, err, &e)
	require.True(t, strings.HasPrefix(e.Path, "$"), "path %q: %v", e.Path, err)
	require.NotNil(t, e.Err)
	require.True(t, e.Message != "" || e.Expected != "" && e.Found != "", "%v", err)
	require.True(t, utf8.ValidString(err.Error()) && !strings.ContainsRune(err.Error(), 0), "%q", err)
	require.Less(t, len(err.Error()), 4000, "%v", err)
	var known error
	for _, sort := range []error{target.ErrSyntax, target.ErrUnknown, target.ErrType, target.ErrRange, target.ErrDuplicate,
		target.ErrTooDeep, target.ErrScope} {
		if errors.Is(err, sort) {
			known = sort
		}
	}
	require.NotNil(t, known, "%v", err)
}

// FuzzNew_JSON checks that New accepts only valid JSON, and that accepted targets can be made again from all their
// forms.
func FuzzNew_JSON(f *testing.F) {
	everyType()
	quiet(f)
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if fuzzNew(t, b) != nil {
			require.True(t, json.Valid(b), "%q", b)
		}
	})
}

// FuzzNew_CLI tests strings, most of which are command lines.
func FuzzNew_CLI(f *testing.F) {
	everyType()
	quiet(f)
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { fuzzNew(t, s) })
}

// FuzzRegisterTag checks that a tag exists if and only if there is no error.
func FuzzRegisterTag(f *testing.F) {
	everyType()
	quiet(f)
	for i, s := range seeds {
		f.Add([]string{"fuzz/a", "fuzz/b:1", "fuzz/b:1.10", "x", "cuda", "", "nvidia/h100", "a b", "-x", "a:b:c"}[i%10],
			[]byte(s), []string{"fuzz-alias", "", "t4"}[i%3])
	}
	f.Fuzz(func(t *testing.T, name string, config []byte, alias string) {
		var m map[string]any
		if json.Unmarshal(config, &m) != nil {
			return
		}
		_, before := target.LookupTag(name)
		_, aliasBefore := target.LookupTag(alias)
		err := target.RegisterTag(name, m, alias)
		info, after := target.LookupTag(name)
		if err != nil {
			var e *target.Error
			require.ErrorAs(t, err, &e)
			require.True(t, utf8.ValidString(err.Error()), "%q", err)
			require.Equal(t, before == nil, after == nil, "%v", err)
			_, aliasAfter := target.LookupTag(alias)
			require.Equal(t, aliasBefore == nil, aliasAfter == nil, "%v", err)
			return
		}
		require.NoError(t, after)
		require.Equal(t, name, info.Name)
		require.Contains(t, info.Aliases, alias)
		x := must.Get(target.New(name))(t)
		require.Equal(t, name, x.Tag())
		roundTrip(t, x)
	})
}
