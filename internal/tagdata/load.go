package tagdata

import (
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"tvmgo/internal/jsonpos"
)

// index contains the data for lookups. A config stays text until its tag is used; most never are.
type index struct {
	tags    map[string]*entry
	aliases map[string]*entry
}

type entry struct {
	name    string
	aliases []string
	configs
}

// configs are the configs of the group and of the row, which takes precedence, as text; "" if there is none.
type configs struct{ common, own string }

// A file, a group and a row as doc.go describes them.
type (
	file struct {
		groups  []group
		aliases [][2]string // alias and tag
	}
	group struct {
		prefix   string
		optional []string
		config   string
		rows     []row
	}
	row struct {
		config string
		names  []string
	}
)

// load reads the files of a folder. Names and aliases must be unique among all of them.
func load(dir fs.FS) (*index, error) {
	paths, err := fs.ReadDir(dir, ".")
	if err != nil {
		return nil, err
	}
	x := &index{tags: make(map[string]*entry, 512), aliases: make(map[string]*entry, 512)}
	read := make([]file, len(paths))
	for i, path := range paths {
		text, err := fs.ReadFile(dir, path.Name())
		if err != nil {
			return nil, err
		}
		if read[i], err = parse(string(text)); err == nil {
			err = x.addTags(&read[i])
		}
		if err != nil {
			return nil, fmt.Errorf("read target tags: %s: %w", path.Name(), err)
		}
	}
	for i, path := range paths { // after all tags, which an alias can refer to in any file
		if err := x.addAliases(&read[i]); err != nil {
			return nil, fmt.Errorf("read target tags: %s: %w", path.Name(), err)
		}
	}
	return x, nil
}

// reader reads a file of tags.
type reader struct{ *jsonpos.Reader }

// maxDepth is the maximum nesting of lists and objects, far more than the data have.
const maxDepth = 32

// newReader returns a reader whose numbers are int64.
func newReader(text string) reader {
	r := jsonpos.NewReader(text, maxDepth)
	r.Number = func(text string) (any, error) {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			err = fmt.Errorf("%s is not an integer of 64 bits", text)
		}
		return n, err
	}
	return reader{r}
}

func (r reader) texts() []string {
	var all []string
	r.List(func() { all = append(all, r.Text()) })
	return all
}

func parse(text string) (f file, err error) {
	r := newReader(text)
	r.Object(func(key string) {
		switch key {
		case "groups":
			r.List(func() { f.groups = append(f.groups, r.group()) })
		case "aliases":
			r.Object(func(alias string) { f.aliases = append(f.aliases, [2]string{alias, r.Text()}) })
		default:
			r.Fail("a file has no %q", key)
		}
	})
	return f, r.End()
}

func (r reader) group() (g group) {
	r.Object(func(key string) {
		switch key {
		case "prefix":
			g.prefix = r.Text()
		case "optional":
			g.optional = r.texts()
		case "config":
			g.config = r.Raw()
		case "rows":
			r.List(func() { g.rows = append(g.rows, r.row()) })
		default:
			r.Fail("a group has no %q", key)
		}
	})
	return g
}

func (r reader) row() (w row) {
	r.Object(func(key string) {
		switch key {
		case "config":
			w.config = r.Raw()
		case "names":
			w.names = r.texts()
		default:
			r.Fail("a row has no %q", key)
		}
	})
	if len(w.names) == 0 {
		r.Fail("a row has no names")
	}
	return w
}

func (x *index) addTags(f *file) error {
	for _, g := range f.groups {
		for _, r := range g.rows {
			for _, line := range r.names {
				names := strings.Fields(line)
				if len(names) == 0 {
					return fmt.Errorf("a row of group %q has an empty line of names", g.prefix)
				}
				entries := make([]entry, len(names))
				for i, name := range names {
					name = g.prefix + name
					if x.tags[name] != nil {
						return fmt.Errorf("tag %q occurs twice", name)
					}
					entries[i] = entry{name: name, configs: configs{g.config, r.config}}
					x.tags[name] = &entries[i]
				}
			}
		}
	}
	return nil
}

func (x *index) addAliases(f *file) error {
	for _, g := range f.groups {
		if len(g.optional) == 0 {
			continue
		}
		for _, r := range g.rows {
			for _, line := range r.names {
				for name := range strings.FieldsSeq(line) {
					if err := x.shorten(g.prefix, name, g.optional); err != nil {
						return err
					}
				}
			}
		}
	}
	for _, a := range f.aliases {
		if err := x.addAlias(a[0], a[1]); err != nil {
			return err
		}
	}
	return nil
}

// shorten adds the alias that leaves out the first optional prefix that matches.
func (x *index) shorten(prefix, name string, optional []string) error {
	for _, beginning := range optional {
		if short, ok := strings.CutPrefix(name, beginning); ok {
			return x.addAlias(prefix+short, prefix+name)
		}
	}
	return nil
}

func (x *index) addAlias(alias, name string) error {
	e := x.tags[name]
	switch {
	case e == nil:
		return fmt.Errorf("alias %q refers to tag %q, which does not exist", alias, name)
	case x.tags[alias] != nil:
		return fmt.Errorf("alias %q of tag %q is the name of a tag", alias, name)
	case x.aliases[alias] != nil:
		return fmt.Errorf("alias %q refers to two tags, %q and %q", alias, x.aliases[alias].name, name)
	}
	at, _ := slices.BinarySearch(e.aliases, alias)
	e.aliases = slices.Insert(e.aliases, at, alias)
	x.aliases[alias] = e
	return nil
}
