package target_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/target"
)

// roundTrip checks properties of every target: each of its forms makes an equal target, and its JSON matches its
// export.
func roundTrip(t testing.TB, x *target.Target) {
	t.Helper()
	require.True(t, json.Valid([]byte(x.JSON())), "%s", x.JSON())
	for form, in := range map[string]any{"JSON": x.JSON(), "JSON in bytes": []byte(x.JSON()), "command line": x.String(),
		"export": x.Export()} {
		y, err := target.New(in)
		require.NoError(t, err, "%s: %v", form, in)
		require.True(t, x.Equal(y), "%s: %v\n%s\n%s", form, in, x.JSON(), y.JSON())
		require.Equal(t, x.Hash(), y.Hash(), form)
		require.Equal(t, x.JSON(), y.JSON(), form)
		require.Equal(t, x.String(), y.String(), form)
	}
	b := must.Get(json.Marshal(x.Export()))(t)
	require.Equal(t, content(t, string(b)), content(t, x.JSON()))
	b = must.Get(json.Marshal(x))(t)
	require.Equal(t, content(t, string(b)), content(t, x.JSON()))
}

// content decodes a JSON text. Integers are exact, and different spellings of a number, such as 1.0 and 1, are equal.
func content(t testing.TB, s string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	var v any
	require.NoError(t, d.Decode(&v))
	return plain(v)
}

func plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		x, _ := v.Float64()
		if x == float64(int64(x)) {
			return int64(x)
		}
		return x
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = plain(v[k])
		}
	}
	return v
}
