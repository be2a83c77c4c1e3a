package tagdata

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
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
	entries, err := files.ReadDir(".")
	require.NoError(t, err)
	require.Len(t, entries, 9)
	for _, e := range entries {
		text, err := files.ReadFile(e.Name())
		require.NoError(t, err)
		all = append(all, string(text))
	}
	return all
}

func TestReader_ReadsTheDataLikeTheStandardLibrary(t *testing.T) {
	for _, text := range texts(t) {
		want, err := standard(text)
		require.NoError(t, err)
		got, err := readAll(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func TestReader_CutAnywhere(t *testing.T) {
	for _, text := range texts(t) {
		text = strings.TrimSpace(text)
		for n := range text {
			_, err := parse(text[:n])
			require.Error(t, err, "%d bytes of %s", n, text)
		}
	}
}

func TestReader_Numbers(t *testing.T) {
	for _, text := range []string{"1e3", "1.5", "9223372036854775808"} {
		_, err := readAll(text)
		require.EqualError(t, err, "$: at byte 0 (line 1): "+text+" is not an integer of 64 bits")
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
		want, err := standard(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}
