package tagdata

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func folder(files ...string) fstest.MapFS {
	dir := fstest.MapFS{}
	for i, text := range files {
		dir[string(rune('a'+i))+".json"] = &fstest.MapFile{Data: []byte(text)}
	}
	return dir
}

func tagsOf(t *testing.T, x *index, names ...string) (tags []Tag) {
	t.Helper()
	for _, name := range names {
		tag, err := x.tags[name].tag()
		require.NoError(t, err)
		tags = append(tags, tag)
	}
	return tags
}

func TestLoad(t *testing.T) {
	x, err := load(folder(
		`{"aliases": {"other/name": "v/brand-two", "v/2": "v/brand-two"}}`,
		`{"groups": [{
			"prefix": "v/", "optional": ["br", "brand-"], "config": {"kind": "llvm", "mcpu": "a", "mattr": ["+x"]},
			"rows": [
				{"names": ["one", " two  three "]},
				{"config": {"mcpu": "b", "mattr": [], "num-cores": 2}, "names": ["brand-two"]}
			]
		}, {"rows": [{"config": {"kind": "c"}, "names": ["bare"]}]}]}`,
		`{}`))
	require.NoError(t, err)
	require.Len(t, x.tags, 5)
	tags := tagsOf(t, x, "bare", "v/brand-two", "v/one", "v/three", "v/two")
	common := object{"kind": "llvm", "mcpu": "a", "mattr": list{"+x"}}
	require.Equal(t, []Tag{
		{Name: "bare", Config: object{"kind": "c"}},
		{Name: "v/brand-two", Aliases: []string{"other/name", "v/2", "v/and-two"},
			Config: object{"kind": "llvm", "mcpu": "b", "mattr": list{}, "num-cores": int64(2)}},
		{Name: "v/one", Config: common}, {Name: "v/three", Config: common}, {Name: "v/two", Config: common},
	}, tags)
}

func TestLoad_Errors(t *testing.T) {
	const good = `{"groups": [{"prefix": "v/", "rows": [{"names": ["one"]}]}]}`
	for _, c := range []struct {
		want  string
		files []string
	}{
		{`a.json: $: at byte 0 (line 1): the text ends early: want an object`, []string{``}},
		{`a.json: $: at byte 0 (line 1): want an object, not '['`, []string{`[]`}},
		{`a.json: $: at byte 61 (line 2): more text follows the end`, []string{good + "\n{}"}},
		{`a.json: $.group: at byte 9 (line 1): a file has no "group"`, []string{`{"group": []}`}},
		{`a.json: $.groups[0].name: at byte 20 (line 1): a group has no "name"`, []string{`{"groups": [{"name": "x"}]}`}},
		{`a.json: $.groups[0].rows[0].tags: at byte 30 (line 1): a row has no "tags"`,
			[]string{`{"groups": [{"rows": [{"tags": "x"}]}]}`}},
		{`a.json: $.groups[0].rows[0]: at byte 24 (line 1): a row has no names`, []string{`{"groups": [{"rows": [{}]}]}`}},
		{`a.json: $.groups[0].rows[0]: at byte 35 (line 1): a row has no names`,
			[]string{`{"groups": [{"rows": [{"names": []}]}]}`}},
		{`a.json: a row of group "v/" has an empty line of names`,
			[]string{`{"groups": [{"prefix": "v/", "rows": [{"names": [" "]}]}]}`}},
		{`a.json: $.groups[0].config: at byte 23 (line 1): want an object or a list, not '5'`,
			[]string{`{"groups": [{"config": 5}]}`}},
		{`a.json: $.groups[0].config: at byte 35 (line 1): the text ends early: a bracket is not closed`,
			[]string{`{"groups": [{"config": {"kind": "c"`}},
		{`a.json: tag "v/one" occurs twice`, []string{`{"groups": [{"prefix": "v/", "rows": [{"names": ["one one"]}]}]}`}},
		{`b.json: tag "v/one" occurs twice`, []string{good, `{"groups": [{"rows": [{"names": ["v/one"]}]}]}`}},
		{`a.json: alias "x" refers to tag "v/two", which does not exist`, []string{`{"aliases": {"x": "v/two"}}`, good}},
		{`b.json: alias "v/one" of tag "v/b-one" is the name of a tag`,
			[]string{good, `{"groups": [{"prefix": "v/", "optional": ["b-"], "rows": [{"names": ["b-one"]}]}]}`}},
		{`a.json: alias "v/one" of tag "v/b-one" is the name of a tag`,
			[]string{`{"groups": [{"prefix": "v/", "optional": ["b-"], "rows": [{"names": ["b-one"]}]}]}`, good}},
		{`b.json: alias "x" refers to two tags, "v/one" and "v/one"`,
			[]string{`{"aliases": {"x": "v/one"}}`, `{"aliases": {"x": "v/one"}}`, good}},
		{`a.json: alias "x" refers to two tags, "v/one" and "v/one"`,
			[]string{`{"aliases": {"x": "v/one", "x": "v/one"}}`, good}},
	} {
		_, err := load(folder(c.files...))
		require.EqualError(t, err, "read target tags: "+c.want, c.files)
	}
}

func TestTag_BrokenConfig(t *testing.T) {
	for config, want := range map[string]string{
		`{"a": 1.5}`:             `$.a: at byte 6 (line 1): 1.5 is not an integer of 64 bits`,
		"{\n\"a\": 1, \"a\": 2}": `$.a: at byte 10 (line 2): the key is repeated`,
		`{"a"}`:                  `$.a: at byte 4 (line 1): want a colon, not '}'`,
	} {
		for part, text := range map[string]string{
			"group": `{"groups": [{"config": ` + config + `, "rows": [{"names": ["x"]}]}]}`,
			"row":   `{"groups": [{"rows": [{"config": ` + config + `, "names": ["x"]}]}]}`,
		} {
			x, err := load(folder(text))
			require.NoError(t, err, "configs are not read before they are asked for")
			_, err = x.tags["x"].tag()
			require.EqualError(t, err, `the config of its `+part+`: `+want)
		}
	}
}

func TestTag_ListsOfObjectsAreCopied(t *testing.T) {
	x, err := load(folder(`{"groups": [{"config": {"kind": "composite", "devices": [{"kind": "c"}]}, "rows": ` +
		`[{"names": ["a b"]}]}]}`))
	require.NoError(t, err)
	tags := tagsOf(t, x, "a", "b")
	require.Equal(t, tags[0].Config, tags[1].Config)
	tags[0].Config["devices"].(list)[0].(object)["kind"] = "changed"
	require.Equal(t, list{object{"kind": "c"}}, tags[1].Config["devices"])
}
