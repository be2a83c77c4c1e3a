package jsonpos

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReader_Custom(t *testing.T) {
	const text = `{"a": <x> , "b": 1, "c": [{"d": "\u0041", "e": [true, null, -1.5e3, {}]}, []] }`
	r := NewReader(text, depth)
	var keys []string
	r.Object(func(key string) {
		keys = append(keys, key)
		if key != "a" {
			r.Skip()
			return
		}
		rest := r.Rest()
		require.True(t, strings.HasPrefix(rest, "<x> ,"), rest)
		r.Advance(len("<x>"))
	})
	require.NoError(t, r.Err())
	require.NoError(t, r.End())
	require.Equal(t, []string{"a", "b", "c"}, keys)
	require.Empty(t, r.Rest())
}

func TestReader_CustomErrors(t *testing.T) {
	r := NewReader("[1, 2\n, 3] more", depth)
	require.NoError(t, r.Err())
	r.List(func() {
		if strings.HasPrefix(r.Rest(), "3") {
			r.FailAt(4, "no %s", "good")
			require.Empty(t, r.Rest(), "nothing is read after an error")
			r.Advance(100)
		}
		r.Skip()
	})
	require.EqualError(t, r.Err(), "$[2]: at byte 4 (line 1): no good")
	require.Equal(t, r.Err(), r.End())

	r = NewReader("1 2", depth)
	r.Skip()
	require.NoError(t, r.Err(), "text is left")
	require.ErrorContains(t, r.End(), "more text follows the end")
}

// TestReader_Skip checks that Skip accepts what Value accepts, except that keys are repeated.
func TestReader_Skip(t *testing.T) {
	for _, text := range []string{
		"1", "-0.5E+3", `"a\n"`, "true", "false", "null", "[]", "{}", "[1,[2,{}]]", `{"a":{"b":[null]}}`,
		"", "01", "1.", "-", "nul", `"a`, "[1,]", "[1", "{1:2}", `{"a"}`, `{"a":}`, "]", `"\ud800"`, strings.Repeat("[",
			depth+1),
	} {
		value, skip := NewReader(text, depth), NewReader(text, depth)
		value.Value()
		skip.Skip()
		if want := value.End(); want != nil {
			require.EqualError(t, skip.End(), want.Error())
			continue
		}
		require.NoError(t, skip.End())
	}
	r := NewReader(`{"a":1,"a":2}`, depth)
	r.Skip()
	require.NoError(t, r.End())
}

func TestReader_CheckEncoding(t *testing.T) {
	for text, want := range map[string]string{
		"":                   "",
		"é😀":                 "",
		"a\xff":              "$: at byte 1 (line 1): the text is not valid UTF-8",
		"é\n\xc3":            "$: at byte 3 (line 2): the text is not valid UTF-8",
		ByteOrderMark + "{}": "$: at byte 0 (line 1): the text starts with a byte order mark",
	} {
		r := NewReader(text, depth)
		r.CheckEncoding()
		if want == "" {
			require.NoError(t, r.Err())
			continue
		}
		require.ErrorContains(t, r.Err(), want)
	}
}
