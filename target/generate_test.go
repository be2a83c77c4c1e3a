package target_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/target"
)

// Generates valid configurations from the declarations of the kinds, and records the positions at which they can be
// made invalid.

// everyType has options of every type, and every setting.
var everyType = sync.OnceValue(func() *target.Kind {
	k, err := target.RegisterKind("every-type", dlpack.ExtDev, target.DefaultKeys("one", "two"),
		target.Option("int", target.Int, target.Alias("integer", "whole-number")),
		target.Option("small", target.Int, target.Min(-3), target.Max(5), target.Default(2), target.Help("a few")),
		target.Option("bool", target.Bool, target.Default(true)),
		target.Option("float", target.Float, target.Default(0.5)),
		target.Option("str", target.String, target.Alias("string")),
		target.Option("enum", target.String, target.OneOf("red", "green", "light blue")),
		target.Option("prefix", target.String, target.StartsWith("a.b+")),
		target.Option("arch", target.String, target.Matches("sm_[0-9]{2,3}[af]?", "a capability")),
		target.Option("target", target.Nested),
		target.Option("ints", target.ListOf(target.Int), target.Max(100)),
		target.Option("bools", target.ListOf(target.Bool)),
		target.Option("floats", target.ListOf(target.Float), target.Alias("numbers")),
		target.Option("strs", target.ListOf(target.String), target.Alias("strings"), target.Default([]string{"x", "y, z"})),
		target.Option("nested", target.ListOf(target.Nested)),
		target.Option("lanes", target.Int, target.MaxUnless(4, "wide")),
		target.Option("wide", target.Bool, target.Alias("broad"), target.Default(false)),
		target.Option("threads", target.Int, target.MaxUnless(7, "many"), target.Alias("workers")),
		target.Option("many", target.Bool, target.Default(true)))
	if err != nil {
		panic(err)
	}
	return k
})

// shared lists the kinds for the tests below: the built-in ones, and everyType.
func shared() []*target.Kind {
	all := []*target.Kind{everyType()} // not target.Kinds(): other tests register further kinds
	for _, row := range kindRows {
		k, err := target.LookupKind(row.name)
		if err != nil {
			panic(err)
		}
		all = append(all, k)
	}
	slices.SortFunc(all, func(a, b *target.Kind) int { return strings.Compare(a.Name(), b.Name()) })
	return all
}

// tagsOf returns the built-in tags by kind.
var tagsOf = sync.OnceValue(func() map[string][]string {
	all := map[string][]string{}
	for _, t := range target.Tags() {
		if t.BuiltIn {
			all[t.Kind] = append(all[t.Kind], append(t.Aliases, t.Name)...)
		}
	}
	return all
})

// place is the position of a value in a configuration.
type place struct {
	path    string
	set     func(any)
	option  target.OptionInfo // the option of the value; Name is "" if it is an object or a feature
	element bool              // the value is an element of a list
	object  map[string]any    // the object that the value is or belongs to
	kind    *target.Kind      // kind of object
	within  string            // path of object
	whole   bool              // the value is the object itself
}

// generator makes configurations.
type generator struct {
	*rand.Rand
	places []place
	frozen int // > 0: places are not recorded
}

func newGenerator(seed uint64) *generator {
	return &generator{Rand: rand.New(rand.NewPCG(seed, 42))}
}

func (g *generator) add(p place) {
	if g.frozen == 0 {
		g.places = append(g.places, p)
	}
}

var simpleKey = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func member(path, key string) string {
	if simpleKey.MatchString(key) {
		return path + "." + key
	}
	return fmt.Sprintf("%s[%q]", path, key)
}

// config makes a configuration of a kind. With all, every option is given except the tag.
func (g *generator) config(path string, k *target.Kind, depth int, all bool) map[string]any {
	m := map[string]any{}
	byTag := !all && len(tagsOf()[k.Name()]) > 0 && g.IntN(6) == 0
	if byTag && path != "$" { // the schema of any target does not know the kind here, so it may accept invalid values
		g.frozen++
		defer func() { g.frozen-- }()
	}
	kindKey := []string{"kind", "id"}[g.IntN(2)]
	for _, o := range k.Options() {
		name := append(o.Aliases, o.Name)[g.IntN(len(o.Aliases)+1)]
		at, set := member(path, name), func(v any) { m[name] = v }
		p := place{path: at, set: set, option: o, object: m, kind: k, within: path}
		switch {
		case o.Name == "kind" && !byTag:
			p.path = member(path, kindKey)
			p.set = func(v any) { m[kindKey] = v }
			m[kindKey] = k.Name()
			g.add(p)
		case o.Name == "kind":
		case o.Name == "tag" && byTag:
			m["tag"] = g.pick(tagsOf()[k.Name()])
			g.add(p)
		case all && o.Name != "tag" || g.IntN(3) == 0:
			if o.Name == "host" && depth > 1 || o.Type == target.ListOf(target.Nested) && depth > 2 {
				continue
			}
			m[name] = g.value(p, depth)
		}
	}
	for range g.IntN(3) {
		name := g.pick([]string{"feature.has_sve", "feature.is_test", "feature.a.b-c", "feature.0"})
		m[name] = g.pickAny([]any{true, "text", "", json.Number("3"), json.Number("0.25"), json.Number("1e3"),
			json.Number("-9223372036854775808")})
		g.add(place{path: member(path, name), set: func(v any) { m[name] = v }, object: m, kind: k, within: path})
	}
	for _, o := range k.Options() { // limits that depend on another option
		if flag := o.Unless; flag != "" && !byTag {
			for _, spelling := range append(o.Aliases, o.Name) {
				n, _ := m[spelling].(json.Number)
				x, err := n.Float64()
				if err != nil || x <= float64(o.Limit) {
					continue
				}
				given := flagsIn(k, m, flag)
				for _, f := range given {
					m[f] = true
				}
				if len(given) == 0 && !byDefault(k, flag) {
					m[flag] = true
				}
			}
		}
	}
	g.add(place{path: path, object: m, kind: k, within: path, whole: true})
	return m
}

// byDefault reports whether a flag is true if it is not set.
func byDefault(k *target.Kind, flag string) bool {
	return slices.ContainsFunc(k.Options(), func(o target.OptionInfo) bool { return o.Name == flag && o.Default == true })
}

// flagsIn returns the keys under which a configuration has an option.
func flagsIn(k *target.Kind, m map[string]any, name string) (found []string) {
	for _, o := range k.Options() {
		if o.Name != name {
			continue
		}
		for _, n := range append(o.Aliases, o.Name) {
			if _, ok := m[n]; ok {
				found = append(found, n)
			}
		}
	}
	return found
}

func (g *generator) pick(all []string) string { return all[g.IntN(len(all))] }
func (g *generator) pickAny(all []any) any    { return all[g.IntN(len(all))] }

var elementOf = map[target.Type]target.Type{
	target.ListOf(target.Int): target.Int, target.ListOf(target.Bool): target.Bool,
	target.ListOf(target.Float):  target.Float,
	target.ListOf(target.String): target.String, target.ListOf(target.Nested): target.Nested,
}

// value makes a value for an option.
func (g *generator) value(p place, depth int) any {
	g.add(p)
	element, isList := elementOf[p.option.Type]
	if !isList {
		return g.one(p, p.option.Type, depth)
	}
	if element == target.String && g.IntN(3) == 0 {
		parts := make([]string, g.IntN(4))
		for i := range parts {
			parts[i] = quote(g.str(p.option))
		}
		return strings.Join(parts, ",")
	}
	list := make([]any, g.IntN(4))
	for i := range list {
		e := p
		e.path, e.element = fmt.Sprintf("%s[%d]", p.path, i), true
		e.set = func(v any) { list[i] = v }
		g.add(e)
		list[i] = g.one(e, element, depth)
	}
	return list
}

// quote writes an element of a list with commas.
func quote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

func (g *generator) one(p place, t target.Type, depth int) any {
	switch t {
	case target.Bool:
		return g.IntN(2) == 0
	case target.Int:
		return g.integer(p.option)
	case target.Float:
		return json.Number(g.pick([]string{"0", "-0.0", "1.5", "-3", "1e3", "1.7976931348623157e308", "5e-324",
			"9007199254740993", "0.1"}))
	case target.String:
		return g.str(p.option)
	}
	kinds := shared()
	k := kinds[g.IntN(len(kinds))]
	switch g.IntN(5) {
	case 0:
		return k.Name()
	case 1:
		return g.pick([]string{"llvm -mcpu=cortex-a72 -mattr=+neon,+sve", "cuda -arch=sm_90", `{"kind": "c"}`, "nvidia/h100",
			" c ", "aws/cpu/c5.large"})
	}
	return g.config(p.path, k, depth+1, false)
}

// integer returns an integer within the bounds, in one of several notations.
func (g *generator) integer(o target.OptionInfo) json.Number {
	low, high := int64(math.MinInt64), int64(math.MaxInt64)
	if o.Min != nil {
		low = *o.Min
	}
	if o.Max != nil {
		high = *o.Max
	}
	n := low
	switch g.IntN(4) {
	case 0:
		n = high
	case 1:
		n = max(low, min(high, int64(g.IntN(3))))
	case 2:
		n = max(low, min(high, int64(g.IntN(5000))*10))
	}
	if n == 0 {
		return json.Number(g.pick([]string{"0", "-0", "0.0", "0e5", "0E-2"}))
	}
	writing := []string{fmt.Sprint(n), fmt.Sprintf("%d.0", n), fmt.Sprintf("%de0", n), fmt.Sprintf("%d0E-1", n)}
	if n%10 == 0 {
		writing = append(writing, fmt.Sprintf("%de+1", n/10))
	}
	return json.Number(g.pick(writing))
}

var samples = []string{"", "a", "cortex-a72", "x,y", "it's", `back\slash`, "two words", "a\tb", "new\nline", "return\r",
	"ünïcode 日本 🚀", "\u00a0", "\x01\x7f", `"quoted"`, "-x=1", "{", "1", "true"}

func (g *generator) str(o target.OptionInfo) string {
	switch {
	case o.Values != nil:
		return g.pick(o.Values)
	case o.Pattern != "":
		return g.pick([]string{"sm_50", "sm_90a", "sm_100f", "sm_120"})
	case o.Prefix != "":
		return o.Prefix + g.pick(samples[1:])
	}
	return g.pick(samples)
}

func text(t *testing.T, m any) string {
	t.Helper()
	return string(must.Get(json.Marshal(m))(t))
}

// mutation is a change that makes a configuration invalid.
type mutation struct {
	name     string
	path     string // path in the error
	sort     error
	expected string // prefix of Expected in the error; "": not checked
	found    string
	nearest  string
}

var typeWord = map[target.Type]string{target.Int: "int", target.Bool: "bool", target.Float: "float",
	target.String: "str", target.Nested: "target.Target"}

// wrongly returns a value that does not have a type, and its description in errors.
func (g *generator) wrongly(t target.Type) (any, string) {
	type candidate struct {
		v     any
		found string
		not   []target.Type
	}
	object := map[string]any{"kind": "c"}
	all := []candidate{
		{nil, "null", nil},
		{true, "bool true", []target.Type{target.Bool, target.ListOf(target.Bool)}},
		{"text", `str "text"`, []target.Type{target.String, target.ListOf(target.String), target.Nested}},
		{json.Number("7"), "int 7", []target.Type{target.Int, target.Float}},
		{json.Number("1.5"), "float 1.5", []target.Type{target.Float}},
		{[]any{}, "a list", slices.Collect(maps.Keys(elementOf))},
		{object, "an object", []target.Type{target.Nested}},
	}
	for {
		c := all[g.IntN(len(all))]
		if !slices.Contains(c.not, t) {
			return c.v, c.found
		}
	}
}

// mutate makes one value invalid, at a random position.
func (g *generator) mutate() mutation {
	for {
		p := g.places[g.IntN(len(g.places))]
		if g.IntN(4) == 0 { // use the object to which the value belongs
			p = place{path: p.within, within: p.within, object: p.object, kind: p.kind, whole: true}
		}
		if m, ok := g.mutateAt(p); ok {
			return m
		}
	}
}

func (g *generator) mutateAt(p place) (mutation, bool) {
	o := p.option
	t := o.Type
	if p.element {
		t = elementOf[t]
	}
	switch {
	case p.whole:
		return g.mutateObject(p)
	case o.Name == "" && g.IntN(4) > 0:
		v, found := g.pickAny([]any{nil, []any{}, map[string]any{}}), ""
		p.set(v)
		return mutation{name: "type of a feature", path: p.path, sort: target.ErrType, expected: "int, bool, float or str",
			found: found}, true
	case o.Name == "":
		p.set("a\x00b")
		return mutation{name: "NUL", path: p.path, sort: target.ErrSyntax}, true
	case o.Name == "kind" && g.IntN(2) == 0 && len(p.kind.Name()) > 1:
		name := misspelled(p.kind.Name())
		p.set(name)
		return mutation{name: "unknown kind", path: p.path, sort: target.ErrUnknown, nearest: p.kind.Name()}, true
	}
	if g.IntN(2) == 0 {
		v, found := g.wrongly(t)
		p.set(v)
		word := t.String()
		if _, isList := elementOf[t]; !isList {
			word = typeWord[t]
		}
		return mutation{name: "type", path: p.path, sort: target.ErrType, expected: word, found: found}, true
	}
	switch t {
	case target.Int:
		bad := []string{"1e30", "9223372036854775808", "-9223372036854775809", "1e400"}
		if o.Min != nil {
			bad = append(bad, fmt.Sprint(*o.Min-1), fmt.Sprintf("%d.0", *o.Min-1))
		}
		if o.Max != nil {
			bad = append(bad, fmt.Sprint(*o.Max+1))
		}
		n := g.pick(bad)
		p.set(json.Number(n))
		return mutation{name: "range", path: p.path, sort: target.ErrRange, expected: "an int "}, true
	case target.Float:
		p.set(json.Number("1e400"))
		return mutation{name: "range of a float", path: p.path, sort: target.ErrRange, expected: "a finite 64-bit " +
			"float"}, true
	case target.String:
		return g.mutateString(p)
	case target.ListOf(target.String):
		p.set(g.pick([]string{"'open", `end\`, "a'b", "'a'b", "a,'"}))
		return mutation{name: "list with commas", path: p.path, sort: target.ErrSyntax}, true
	case target.Nested:
		p.set(g.pick([]string{"", " ", "\t\n"}))
		return mutation{name: "empty target", path: p.path, sort: target.ErrSyntax}, true
	}
	return mutation{}, false
}

func (g *generator) mutateString(p place) (mutation, bool) {
	o := p.option
	if o.Name != "kind" && g.IntN(3) == 0 {
		p.set("a\x00b")
		return mutation{name: "NUL", path: p.path, sort: target.ErrSyntax}, true
	}
	switch {
	case o.Values != nil:
		p.set(misspelled(o.Values[0]))
		return mutation{name: "enumeration", path: p.path, sort: target.ErrRange, expected: "one of ", found: "str ",
			nearest: o.Values[0]}, true
	case o.Pattern != "":
		p.set(g.pick([]string{"", "sm_", "sm_9", "sm_9000", "sm_90af", "SM_90", " sm_90", "sm_90\n", "sm_9x"}))
		return mutation{name: "pattern", path: p.path, sort: target.ErrRange, found: "str "}, true
	case o.Prefix != "":
		p.set(g.pick([]string{"", o.Prefix, "x" + o.Prefix + "y", strings.ToUpper(o.Prefix) + "9"}))
		return mutation{name: "prefix", path: p.path, sort: target.ErrRange, expected: "a str that starts with",
			found: "str "}, true
	}
	return mutation{}, false
}

// misspelled returns a name with one letter too many.
func misspelled(name string) string { return name[:len(name)/2] + "q" + name[len(name)/2:] }

func (g *generator) mutateObject(p place) (mutation, bool) {
	m, options := p.object, p.kind.Options()
	o := options[g.IntN(len(options))]
	path := func(name string) string { return member(p.path, name) }
	switch g.IntN(5) {
	case 0:
		name := misspelled(o.Name)
		m[name] = "x"
		return mutation{name: "misspelled key", path: path(name), sort: target.ErrUnknown, nearest: o.Name}, true
	case 1: // the option is given under both names
		given := flagsIn(p.kind, m, o.Name)
		if len(o.Aliases) == 0 || len(given) != 1 {
			return mutation{}, false
		}
		for _, other := range append(o.Aliases, o.Name) {
			if other != given[0] {
				m[other] = m[given[0]]
				return mutation{name: "two names", path: path(o.Name), sort: target.ErrDuplicate}, true
			}
		}
	case 2:
		_, hasKind := m["kind"]
		_, hasID := m["id"]
		if !hasKind && !hasID {
			return mutation{}, false
		}
		delete(m, "kind")
		delete(m, "id")
		delete(m, "tag")
		return mutation{name: "no kind", path: path("kind"), sort: target.ErrUnknown}, true
	case 3:
		name := g.pick([]string{"feature.", "feature.-x", "feature.a b", "feature.ü"})
		m[name] = true
		return mutation{name: "name of a feature", path: path(name), sort: target.ErrSyntax}, true
	case 4:
		if bounded := slices.DeleteFunc(slices.Clone(options),
			func(o target.OptionInfo) bool { return o.Unless == "" }); len(bounded) > 0 {
			o = bounded[g.IntN(len(bounded))]
		}
		_, hasKind := m["kind"]
		_, hasID := m["id"]
		n, asked := m["from_device"].(json.Number)
		if o.Unless == "" || !hasKind && !hasID || asked && !strings.HasPrefix(string(n), "-") {
			return mutation{}, false
		}
		for _, f := range flagsIn(p.kind, m, o.Unless) {
			delete(m, f)
		}
		m[o.Unless] = false
		name := o.Name
		if given := flagsIn(p.kind, m, o.Name); len(given) == 1 {
			name = given[0]
		}
		m[name] = json.Number(fmt.Sprint(o.Limit + 1))
		for _, other := range options { // so that only this limit is exceeded
			if other.Unless != "" && other.Name != o.Name {
				for _, f := range flagsIn(p.kind, m, other.Name) {
					delete(m, f)
				}
			}
		}
		return mutation{name: "limit", path: path(name), sort: target.ErrRange, expected: fmt.Sprintf("at most %d", o.Limit),
			found: "int "}, true
	}
	return mutation{}, false
}
