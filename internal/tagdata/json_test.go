package tagdata

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

func readAll(text string) (any, error) {
	r := newReader(text)
	v := r.Value()
	return v, r.End()
}

// standard reads with encoding/json what the reader accepts.
func standard(text string) (v any, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return integers(v), nil
}

func integers(v any) any {
	switch v := v.(type) {
	case json.Number:
		n, err := v.Int64()
		if err != nil {
			return v
		}
		return n
	case []any:
		for i := range v {
			v[i] = integers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = integers(v[k])
		}
	}
	return v
}

func texts(t testing.TB) (all []string) {
	t.Helper()
	entries := must.Get(files.ReadDir("."))(t)
	require.Len(t, entries, 9)
	for _, e := range entries {
		text := must.Get(files.ReadFile(e.Name()))(t)
		all = append(all, string(text))
	}
	return all
}

func TestReader_ReadsTheDataLikeTheStandardLibrary(t *testing.T) {
	for _, text := range texts(t) {
		require.Equal(t, must.Get(standard(text))(t), must.Get(readAll(text))(t))
	}
}

func TestReader_CutAnywhere(t *testing.T) {
	for _, text := range texts(t) {
		text = strings.TrimSpace(text)
		for n := range text {
			require.Error(t, must.Fail(parse(text[:n])), "%d bytes of %s", n, text)
		}
	}
}

func TestReader_Numbers(t *testing.T) {
	for _, text := range []string{"1e3", "1.5", "9223372036854775808"} {
		require.EqualError(t, must.Fail(readAll(text)), "$: at byte 0 (line 1): "+text+" is not an integer of 64 bits")
	}
}

func FuzzReader(f *testing.F) {
	for _, text := range texts(f) {
		f.Add(text)
	}
	for _, text := range []string{
		`{"a": [1, -2, true, {"b": ""}], "c": false}`, "[]", " {} ", "-9223372036854775808", `{"a":{"a":1}}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, _ = parse(text)
		got, err := readAll(text)
		if err != nil || !utf8.ValidString(text) { // the standard library replaces what is no UTF-8
			return
		}
		require.Equal(t, must.Get(standard(text))(t), got)
	})
}
