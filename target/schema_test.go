package target_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/target"
)

// validator compiles a schema, which checks it against the metaschema of its draft.
func validator(t *testing.T, kind string) func(text string) error {
	t.Helper()
	everyType()
	b := must.Get(target.Schema(kind))(t)
	doc := must.Get(jsonschema.UnmarshalJSON(strings.NewReader(string(b))))(t)
	c := jsonschema.NewCompiler()
	c.UseLoader(nothing{})
	require.NoError(t, c.AddResource("mem:///target.json", doc))
	s := must.Get(c.Compile("mem:///target.json"))(t)
	return func(text string) error {
		v := must.Get(jsonschema.UnmarshalJSON(strings.NewReader(text)))(t)
		return s.Validate(v)
	}
}

// nothing is a loader that rejects references to other schemas.
type nothing struct{}

func (nothing) Load(url string) (any, error) {
	return nil, errors.New("the schema refers to " + url)
}

// TestSchema_AgreesOnValid checks that the schema and New accept configurations that are valid by construction.
func TestSchema_AgreesOnValid(t *testing.T) {
	quiet(t)
	anyKind := validator(t, "")
	for i, k := range shared() {
		valid := validator(t, k.Name())
		for n := range cases(t, k, 40) {
			g := newGenerator(uint64(i*10000 + n))
			m := g.config("$", k, 0, n%10 == 0)
			config := text(t, m)
			x, err := target.New(config)
			require.NoError(t, err, "seed %d: %s", i*10000+n, config)
			require.Equal(t, k, x.Kind(), config)
			require.NoError(t, valid(config), "seed %d: %s", i*10000+n, config)
			require.NoError(t, anyKind(config), "seed %d: %s", i*10000+n, config)
			roundTrip(t, x)
			same, err := target.New(m)
			require.NoError(t, err, "as a map: %s", config)
			require.True(t, x.Equal(same), "as a map: %s", config)
			require.NoError(t, valid(x.JSON()), "canonical form: %s", x.JSON())
		}
	}
}

// TestSchema_AgreesOnInvalid checks that both reject a configuration after one change made it invalid, and that New's
// error names the position and the cause.
func TestSchema_AgreesOnInvalid(t *testing.T) {
	quiet(t)
	anyKind := validator(t, "")
	seen := map[string]int{}
	for i, k := range shared() {
		valid := validator(t, k.Name())
		for n := range cases(t, k, 100) {
			seed := uint64(1e6 + i*10000 + n)
			g := newGenerator(seed)
			m := g.config("$", k, 0, n%10 == 0)
			before := text(t, m)
			change := g.mutate()
			after := text(t, m)
			seen[change.name]++
			_, err := target.New(after)
			require.Error(t, err, "seed %d: %s: at %s\n%s\n%s", seed, change.name, change.path, before, after)
			var e *target.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, change.path, e.Path, "seed %d: %s: %v\n%s", seed, change.name, err, after)
			require.ErrorIs(t, err, change.sort, "seed %d: %s: %v\n%s", seed, change.name, err, after)
			if change.expected != "" {
				require.True(t, strings.HasPrefix(e.Expected, change.expected), "seed %d: %s: want %q: %v", seed, change.name,
					change.expected, err)
			}
			if change.found != "" {
				require.True(t, strings.HasPrefix(e.Found, change.found), "seed %d: %s: want %q: %v", seed, change.name,
					change.found, err)
			}
			if change.nearest != "" {
				require.Equal(t, change.nearest, e.Nearest, "seed %d: %s: %v", seed, change.name, err)
			}
			require.Equal(t, err, errorOf(target.New(m)), "seed %d: as a map: %s", seed, after)
			require.Error(t, valid(after), "seed %d: %s: at %s: %s", seed, change.name, change.path, after)
			if strings.Contains(after, `"kind"`) || strings.Contains(after, `"id"`) {
				_, hasKind := m["kind"]
				_, hasID := m["id"]
				if hasKind || hasID {
					require.Error(t, anyKind(after), "seed %d: %s: at %s: %s", seed, change.name, change.path, after)
				}
			}
		}
	}
	if testing.Short() {
		return
	}
	for _, name := range []string{"type", "range", "range of a float", "misspelled key", "two names", "no kind",
		"unknown kind", "enumeration",
		"pattern", "prefix", "NUL", "list with commas", "empty target", "name of a feature", "type of a feature", "limit"} {
		require.Greater(t, seen[name], 5, "%s: %v", name, seen)
	}
	t.Log(seen)
}

// cases returns the number of cases: fewer in short runs, more for the kind with all options.
func cases(t *testing.T, k *target.Kind, n int) int {
	if k == everyType() {
		n *= 10
	}
	if testing.Short() {
		return n / 10
	}
	return n
}

// TestSchema_Tags checks that the schema of a tag's kind accepts the tag without other keys.
func TestSchema_Tags(t *testing.T) {
	valid := map[string]func(string) error{}
	for _, tag := range target.Tags() {
		if !tag.BuiltIn {
			continue
		}
		if valid[tag.Kind] == nil {
			valid[tag.Kind] = validator(t, tag.Kind)
		}
		for _, name := range append(tag.Aliases, tag.Name) {
			require.NoError(t, valid[tag.Kind](text(t, map[string]any{"tag": name})))
		}
	}
	require.NotEmpty(t, valid)
}

// TestSchema_Stable checks that the text depends only on the kinds.
func TestSchema_Stable(t *testing.T) {
	for _, kind := range []string{"", "cuda", "composite"} {
		first := must.Get(target.Schema(kind))(t)
		require.True(t, json.Valid(first))
		for range 20 {
			require.Equal(t, string(first), string(must.Get(target.Schema(kind))(t)))
		}
	}
}

func TestSchema_UnknownKind(t *testing.T) {
	_, err := target.Schema("cudda")
	require.ErrorIs(t, err, target.ErrUnknown)
	require.ErrorContains(t, err, `did you mean "cuda"?`)
}
