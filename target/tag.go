package target

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"tvmgo/internal/jsonpos"
	"tvmgo/internal/nearest"
	"tvmgo/internal/tagdata"
)

// TagInfo describes a tag.
type TagInfo struct {
	Name    string   // canonical, with the version if there is one: "nvidia/nvidia-h100", "vendor/board:2"
	Version string   // "" if it has none
	Aliases []string // other names, the same for all its versions
	BuiltIn bool
	Hash    string // of its configuration: SHA-256, 64 hexadecimal digits
	Kind    string
	Keys    []string // of its target
}

// tag is a tag with the name path/name or path/name:version. All versions share the aliases.
type tag struct {
	name, version string
	config        map[string]any // that of a version refers to no tag that must be looked up
	builtIn       bool
	sum           string          // the hash, for registered tags
	pins          map[string]*tag // for a version: the tags that names in it referred to
}

// tags contains the registered tags, including built-in ones that were registered again.
var tags = struct {
	sync.RWMutex
	byName  map[string]*tag     // name or name:version
	aliases map[string]string   // alias to name without version
	names   map[string][]string // name to versions, the newest last
	changes uint64              // the number of registrations
}{byName: map[string]*tag{}, aliases: map[string]string{}, names: map[string][]string{}}

// checkTag rejects names of tags that could be confused with kinds, command lines or JSON.
func checkTag(name string) error {
	if name == "" {
		return errors.New("a tag has an empty name")
	}
	for i := range len(name) {
		c := name[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && (i == 0 || !strings.ContainsRune("/._-,+", rune(c))) {
			return fmt.Errorf("tag name %s: want letters and digits, after the first also / . _ - , and +, and at most one : "+
				"before a version", brief(name))
		}
	}
	if _, err := LookupKind(name); err == nil {
		return fmt.Errorf("tag name %s is the name of a kind", brief(name))
	}
	return nil
}

// copyConfig copies a configuration, so that later changes of it do not affect a tag.
func copyConfig(m map[string]any) (map[string]any, error) {
	v, err := copyValue(m, 0)
	c, _ := v.(map[string]any)
	return c, err
}

func copyValue(v any, depth int) (any, error) {
	if depth > MaxDepth {
		return nil, tooDeep("$")
	}
	var err error
	switch v := basic(v).(type) {
	case map[string]any:
		c := make(map[string]any, len(v))
		for name, item := range v {
			if c[name], err = copyValue(item, depth+1); err != nil {
				return nil, err
			}
		}
		return c, nil
	default:
		items, ok := anySlice(v)
		if !ok {
			return v, nil
		}
		c := make([]any, len(items))
		for i, item := range items {
			if c[i], err = copyValue(item, depth+1); err != nil {
				return nil, err
			}
		}
		return c, nil
	}
}

func (t *tag) full() string {
	if t.version == "" {
		return t.name
	}
	return t.name + ":" + t.version
}

// target returns the target of the tag; no device is queried.
func (t *tag) target() (*Target, error) {
	x, _, err := t.targetBy(findTag)
	return x, err
}

// targetBy also returns the values of from_device in the configuration.
func (t *tag) targetBy(find finder) (*Target, []any, error) {
	config, asked := unasked(expand(t.config, find, true, false))
	x, err := newFromMap("$", config, 0)
	return x, asked, err
}

// hash returns a hash of the tag's target and of its from_device.
func (t *tag) hash() (string, error) {
	x, asked, err := t.targetBy(findTag)
	if err != nil {
		return "", err
	}
	plain := *x
	plain.tag = ""
	if err := plain.seal("$"); err != nil {
		return "", err
	}
	for _, v := range asked {
		if _, err := x.kind.options[slotFromDevice].check(jsonpos.Member("$", "from_device"), v); err != nil {
			return "", err
		}
	}
	sum := sha256.Sum256(fmt.Append([]byte(plain.json), asked...))
	return hex.EncodeToString(sum[:]), nil
}

// The next four functions require the lock of tags.

func aliasOf(name string) (string, bool) {
	if to, ok := tags.aliases[name]; ok {
		return to, true
	}
	if t, ok := builtInTag(name); ok && t.Name != name {
		return t.Name, true
	}
	return "", false
}

func exactTag(base, version string) *tag {
	t := &tag{name: base, version: version}
	if found := tags.byName[t.full()]; found != nil {
		return found
	}
	if b, ok := builtInTag(base); ok && b.Name == base && version == "" {
		return &tag{name: base, config: b.Config, builtIn: true}
	}
	return nil
}

func lookupTag(base, version string) *tag { return lookupAmong(nil, base, version) }

// lookupAmong is lookupTag as if more, a tag that need not be registered, was registered, unless it is nil.
func lookupAmong(more *tag, base, version string) *tag {
	if more != nil && more.name == base && more.version == version {
		return more
	}
	if t := exactTag(base, version); t != nil || version != "" {
		return t
	}
	newest := ""
	if versions := tags.names[base]; len(versions) > 0 {
		newest = versions[len(versions)-1]
	}
	if more != nil && more.name == base && (newest == "" || compareVersions(more.version, newest) > 0) {
		return more
	}
	if newest == "" {
		return nil
	}
	return tags.byName[base+":"+newest]
}

func tagExists(name string) bool {
	base, version, _ := strings.Cut(name, ":")
	return lookupTag(base, version) != nil
}

// builtInTag avoids reading the tables for names that they cannot contain.
func builtInTag(name string) (tagdata.Tag, bool) {
	if !strings.Contains(name, "/") {
		return tagdata.Tag{}, false
	}
	return tagdata.Find(name)
}

// findTag finds a tag by its name or alias, with or without a version.
func findTag(ref string) (*tag, bool) { return findAmong(nil, ref) }

func findAmong(more *tag, ref string) (*tag, bool) {
	tags.RLock()
	defer tags.RUnlock()
	base, version, hasVersion := strings.Cut(ref, ":")
	if hasVersion && version == "" {
		return nil, false
	}
	if to, ok := aliasOf(base); ok {
		base = to
	}
	t := lookupAmong(more, base, version)
	return t, t != nil
}

// tagNames returns the names and aliases of all tags.
func tagNames() []string {
	tags.RLock()
	defer tags.RUnlock()
	all := slices.Concat(tagdata.Names(), tagdata.Aliases(), slices.Sorted(maps.Keys(tags.byName)),
		slices.Sorted(maps.Keys(tags.aliases)))
	slices.Sort(all)
	return slices.Compact(all)
}

// Tags returns all registered and built-in tags, sorted by name.
func Tags() []TagInfo {
	tags.RLock()
	all := map[string]*tag{}
	for _, n := range tagdata.Names() {
		all[n] = lookupTag(n, "")
	}
	maps.Copy(all, tags.byName)
	tags.RUnlock()
	var infos []TagInfo
	for _, n := range slices.SortedFunc(maps.Keys(all), compare) {
		if info, err := all[n].info(); err == nil {
			infos = append(infos, info)
		}
	}
	return infos
}

// TagsWithKey returns the tags whose targets have a key, such as "mali".
func TagsWithKey(key string) []TagInfo {
	return slices.DeleteFunc(Tags(), func(t TagInfo) bool { return !slices.Contains(t.Keys, key) })
}

// LookupTag finds a tag by its name or alias, with or without a version. If there is none, the error is ErrUnknown and
// contains the most similar name.
func LookupTag(ref string) (TagInfo, error) {
	t, ok := findTag(ref)
	if !ok {
		return TagInfo{}, &Error{Err: ErrUnknown, Nearest: nearest.Name(ref, tagNames()), Message: "there is no target tag " +
			brief(ref)}
	}
	return t.info()
}

// Target returns the tag's target. No device is queried, even if the configuration contains from_device, and no warning
// is logged. If the name is not that of a tag, the error is that of [LookupTag].
func (i TagInfo) Target() (*Target, error) {
	t, ok := findTag(i.Name)
	if !ok {
		_, err := LookupTag(i.Name)
		return nil, err
	}
	x, err := t.target()
	if err != nil {
		return nil, err
	}
	named := *x
	named.tag = t.full()
	return &named, named.seal("$")
}

// info makes the tag's target, and returns its keys and kind with the other information.
func (t *tag) info() (TagInfo, error) {
	x, err := t.target()
	if err != nil {
		return TagInfo{}, err
	}
	hash, err := t.hash()
	if err != nil {
		return TagInfo{}, err
	}
	info := TagInfo{Name: t.full(), Version: t.version, BuiltIn: t.builtIn, Hash: hash, Kind: x.kind.name, Keys: x.Keys()}
	tags.RLock()
	defer tags.RUnlock()
	if b, ok := builtInTag(t.name); ok {
		info.Aliases = slices.Clone(b.Aliases)
	}
	for a, to := range tags.aliases {
		if to == t.name && !slices.Contains(info.Aliases, a) {
			info.Aliases = append(info.Aliases, a)
		}
	}
	slices.Sort(info.Aliases)
	return info, nil
}
