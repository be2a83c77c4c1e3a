package tagdata

import (
	"embed"
	"maps"
	"slices"
	"sync"
)

// Tag is a tag of the data. Numbers in its config are int64, lists are []any, objects are map[string]any; booleans and
// strings are bool and string. A Tag shares no memory with the data or another Tag: the caller may change it.
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

// Find returns the tag with a canonical name or an alias. It finds nothing if the package was built with invalid data.
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
	tag, err := e.tag()
	return tag, err == nil
}

func (e *entry) tag() (Tag, error) {
	config, err := e.merge()
	return Tag{Name: e.name, Aliases: slices.Clone(e.aliases), Config: config}, err
}

// Names returns the canonical names, sorted.
func Names() []string { return slices.Clone(sorted()) }

// Aliases returns all aliases, sorted.
func Aliases() []string {
	x, err := builtin()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(x.aliases))
}
