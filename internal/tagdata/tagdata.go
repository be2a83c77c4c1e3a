package tagdata

import (
	"embed"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Tag is a tag of the data. Numbers of its config are int64, lists []any, objects map[string]any; true and texts are
// bool and string. A Tag shares nothing with the data or with another Tag: its owner may change it.
type Tag struct {
	Name    string   // the canonical name
	Aliases []string // sorted
	Config  map[string]any
}

//go:embed *.json
var files embed.FS

var (
	builtin = sync.OnceValues(func() (*index, error) { return load(files) })
	sorted  = sync.OnceValue(func() []string {
		x, err := builtin()
		if err != nil {
			return nil
		}
		return slices.Sorted(maps.Keys(x.tags))
	})
)

// All returns every tag, sorted by name. It fails only where the package was built with broken data, and says where it
// broke.
func All() ([]Tag, error) {
	x, err := builtin()
	if err != nil {
		return nil, err
	}
	return x.all(sorted())
}

func (x *index) all(names []string) ([]Tag, error) {
	all := make([]Tag, len(names))
	read := map[configs]map[string]any{} // tags of a row have the same
	for i, name := range names {
		e := x.tags[name]
		config := read[e.configs]
		if config == nil {
			var err error
			if config, err = e.merge(); err != nil {
				return nil, fmt.Errorf("read target tag %q: %w", name, err)
			}
			read[e.configs] = config
		}
		all[i] = Tag{Name: name, Aliases: slices.Clone(e.aliases), Config: clone(config).(map[string]any)}
	}
	return all, nil
}

// Find returns the tag with a canonical name or an alias. Where All fails it finds nothing.
func Find(name string) (Tag, bool) {
	x, err := builtin()
	if err != nil {
		return Tag{}, false
	}
	e, ok := x.tags[name]
	if !ok {
		e, ok = x.aliases[name]
	}
	if !ok {
		return Tag{}, false
	}
	config, err := e.merge()
	return Tag{Name: e.name, Aliases: slices.Clone(e.aliases), Config: config}, err == nil
}

// Names returns the canonical names, sorted.
func Names() []string { return slices.Clone(sorted()) }

// Aliases returns the other names, sorted.
func Aliases() []string {
	x, err := builtin()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(x.aliases))
}
