package jsonpos

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

const depth = 32

func TestParse(t *testing.T) {
	text := ` {"a": [1, -0.5e+3, true, {"b": "é\n\u00e9\ud83d\ude00\/"}], "c": false, "": null, "d": [], "e": {}} `
	v := must.Get(Parse(text, depth))(t)
	require.Equal(t, map[string]any{
		"a": []any{json.Number("1"), json.Number("-0.5e+3"), true, map[string]any{"b": "é\né😀/"}},
		"c": false, "": nil, "d": []any{}, "e": map[string]any{},
	}, v)
}

func TestParse_Errors(t *testing.T) {
	for text, want := range map[string]string{
		"":               "$: at byte 0 (line 1): the text ends early: want a value",
		"nul":            `$: at byte 0 (line 1): want a value, not 'n'`,
		"01":             "$: at byte 1 (line 1): more text follows the end",
		"+1":             `$: at byte 0 (line 1): want a value, not '+'`,
		"1.":             "$: at byte 2 (line 1): the text ends early: want a digit",
		"-a":             `$: at byte 1 (line 1): want a digit, not 'a'`,
		"1e":             "$: at byte 2 (line 1): the text ends early: want a digit",
		"[1,\n\"a\nb\"]": `$[1]: at byte 6 (line 2): a control character in text: write \u000a`,
		`"\n` + "\n\"":   `$: at byte 3 (line 1): a control character in text: write \u000a`,
		`"a`:             `$: at byte 2 (line 1): the text ends early: a " is not closed`,
		`"a\`:            `$: at byte 2 (line 1): the text ends early: a " is not closed`,
		`"\x"`: `$: at byte 1 (line 1): no such escape: want one of \" \\ \/ \b \f \n \r \t, or \u ` +
			`and four hexadecimal digits`,
		`"\u12g4"`: `$: at byte 1 (line 1): no such escape: want one of \" \\ \/ \b \f \n \r \t, or \u ` +
			`and four hexadecimal digits`,
		`"\ud800x"`:                   "$: at byte 1 (line 1): half of a surrogate pair",
		"[1,]":                        `$[1]: at byte 3 (line 1): want a value, not ']'`,
		"[1 2]":                       `$[0]: at byte 3 (line 1): want a comma or ], not '2'`,
		`{"a": 1,}`:                   `$: at byte 8 (line 1): want a key in quotes, not '}'`,
		`{a: 1}`:                      `$: at byte 1 (line 1): want a key in quotes, not 'a'`,
		`{"a" 1}`:                     `$.a: at byte 5 (line 1): want a colon, not '1'`,
		`{"a": 1 "b": 2}`:             `$: at byte 8 (line 1): want a comma or }, not '"'`,
		"[1]\n\n2":                    "$: at byte 5 (line 3): more text follows the end",
		"{\"a\": 1,\n\"a\": 1}":       "$.a: at byte 9 (line 2): the key is repeated",
		"{\"a b\": [0, {\"\": {\n: 1": `$["a b"][1][""]: at byte 19 (line 2): want a key in quotes, not ':'`,
		"[\"a\xffb\"]":                "$: at byte 3 (line 1): the text is not valid UTF-8",
		ByteOrderMark + "{}": "$: at byte 0 (line 1): the text starts with a byte order mark: save it as UTF-8 " +
			"without one",
		strings.Repeat("[", 33): "$" + strings.Repeat("[0]", 32) + ": at byte 32 (line 1): more than 32 levels",
	} {
		_, err := Parse(text, depth)
		require.EqualError(t, err, want, text)
		kind := Syntax
		switch {
		case strings.Contains(want, "repeated"):
			kind = Duplicate
		case strings.Contains(want, "levels"):
			kind = TooDeep
		}
		var e *Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, kind, e.Kind, text)
	}
}

// A reader's parts read what Value reads, and its first error ends it.
func TestReader(t *testing.T) {
	r := NewReader(`{"name": "x", "tags": ["a", "b"], "rest": {"c": [1, "}"]}, "n": [1, 2]}`, depth)
	r.Number = func(text string) (any, error) { return strconv.Atoi(text) }
	var name, rest string
	var tags []string
	var n any
	r.Object(func(key string) {
		switch key {
		case "name":
			name = r.Text()
		case "tags":
			r.List(func() { tags = append(tags, r.Text()) })
		case "rest":
			rest = r.Raw()
		case "n":
			n = r.Value()
		}
	})
	require.NoError(t, r.End())
	require.Equal(t, "x", name)
	require.Equal(t, []string{"a", "b"}, tags)
	require.Equal(t, `{"c": [1, "}"]}`, rest)
	require.Equal(t, []any{1, 2}, n)

	for _, c := range []struct {
		text string
		read func(r *Reader)
		want string
	}{
		{`5`, func(r *Reader) { r.Text() }, "want text in quotes, not '5'"},
		{`5`, func(r *Reader) { r.Raw() }, "want an object or a list, not '5'"},
		{`{"a": [1}`, func(r *Reader) { r.Raw() }, ""},
		{`{"a": [1`, func(r *Reader) { r.Raw() }, "a bracket is not closed"},
		{`{"a": "`, func(r *Reader) { r.Raw() }, `a " is not closed`},
		{`[]`, func(r *Reader) { r.Object(func(string) {}) }, "want an object, not '['"},
		{`{}`, func(r *Reader) { r.List(func() {}) }, "want a list, not '{'"},
		{`{"a": 1}`, func(r *Reader) { r.Object(func(string) {}) }, "$: at byte 6 (line 1): want a comma or }, not '1'"},
		{`{"a": 1}`, func(r *Reader) { r.Object(func(string) { r.Fail("no %q", "a"); r.Fail("later") }) },
			`$.a: at byte 5 (line 1): no "a"`},
		{`[1.5]`, func(r *Reader) { r.Value() }, `$[0]: at byte 1 (line 1): strconv.Atoi: parsing "1.5": invalid syntax`},
		{`{} {}`, func(r *Reader) { r.Value() }, "more text follows the end"},
	} {
		r := NewReader(c.text, depth)
		r.Number = func(text string) (any, error) { return strconv.Atoi(text) }
		c.read(r)
		if c.want != "" {
			require.ErrorContains(t, r.End(), c.want, c.text)
			require.Nil(t, r.Value(), "nothing is read after an error")
		}
	}
}

func TestMember(t *testing.T) {
	require.Equal(t, `$.a-b_9`, Member("$", "a-b_9"))
	require.Equal(t, `$["a.b"]`, Member("$", "a.b"))
	require.Equal(t, `$[""]`, Member("$", ""))
	require.Equal(t, `$["a b"][3]`, Element(Member("$", "a b"), 3))
	require.Equal(t, `$["`+strings.Repeat("x", 60)+`…"]`, Member("$", strings.Repeat("x", 61)))
}

// FuzzParse compares with encoding/json: what is accepted means the same, and only repeated keys, invalid Unicode and
// depth are rejected in addition.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		`{"a": [1, -2, true, {"b": ""}], "c": false}`, "[]", " {} ", "-9223372036854775808", `{"a":{"a":1}}`,
		`"\ud83d\ude00"`,
		`{"a":1,"a":2}`, "1e5", "nul", `"\ud800"`, "[[[[1]]]]", `{"":null}`, "01", "\xff", "2.", `"\b\f"`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := Parse(text, depth)
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		var want any
		if err == nil {
			require.True(t, json.Valid([]byte(text)), text)
			require.NoError(t, d.Decode(&want))
			require.Equal(t, want, got, text)
			return
		}
		var e *Error
		require.True(t, errors.As(err, &e))
		require.LessOrEqual(t, e.Offset, len(text))
		if json.Valid([]byte(text)) && e.Kind == Syntax && utf8.ValidString(text) {
			require.Contains(t, e.Msg, "surrogate", text)
		}
	})
}

func TestFind(t *testing.T) {
	const text = `{"ab": {"b": 1}, "a": {"b": [0, [{"c": {}}, 2]]}, "d": "x"}`
	key := func(k string) Step { return Step{k, -1} }
	at := func(i int) Step { return Step{"", i} }
	for _, c := range []struct {
		want string
		path []Step
	}{
		{`{"ab"`, nil},
		{`{"b": [`, []Step{key("a")}},
		{`[0`, []Step{key("a"), key("b")}},
		{`[{`, []Step{key("a"), key("b"), at(1)}},
		{`{}}`, []Step{key("a"), key("b"), at(1), at(0), key("c")}},
		{`"x"`, []Step{key("d")}},
		{`1}`, []Step{key("ab"), key("b")}},
		{`{"c"`, []Step{key("a"), key("b"), at(1), at(0), key("missing")}}, // the enclosing value
		{`[0`, []Step{key("a"), key("b"), at(7)}},
		{`{"ab"`, []Step{key("none"), key("at"), key("all")}},
		{`{"ab"`, []Step{at(0)}},
		{`"x"`, []Step{key("d"), key("x")}},
	} {
		require.Equal(t, strings.Index(text, c.want), Find(text, c.path), Path(c.path))
	}
	require.Equal(t, 2, Find("  ", []Step{key("a")}))
	require.Equal(t, 2, Find("[ }", []Step{at(0)}), "a text that is not JSON")
}

func TestPath_Long(t *testing.T) {
	steps := make([]Step, 41)
	require.Equal(t, 40, strings.Count(Path(steps[:40]), "[0]"))
	require.Equal(t, "$"+strings.Repeat("[0]", 20)+"…"+strings.Repeat("[0]", 10), Path(steps))
}
