package target

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"tvmgo/internal/nearest"
	"tvmgo/internal/tagdata"
)

// TagInfo is what a tag is.
type TagInfo struct {
	Name    string   // canonical, with the version if it has one: "nvidia/nvidia-h100", "vendor/board:2"
	Version string   // "" if it has none
	Aliases []string // other names of all its versions
	BuiltIn bool
	Hash    string // of its configuration: SHA-256, 64 hexadecimal digits
	Kind    string
	Keys    []string // of its target
}

// A tag's name is path/name or path/name:version; all versions share the aliases.
type tag struct {
	name, version string
	config        map[string]any
	builtIn       bool
	sum           string // hash, of those that were registered
}

// tags has those that were registered, and those built in that somebody registered anew.
var tags = struct {
	sync.RWMutex
	byName  map[string]*tag     // name or name:version
	aliases map[string]string   // alias to name without version
	names   map[string][]string // name to versions, the newest last
}{byName: map[string]*tag{}, aliases: map[string]string{}, names: map[string][]string{}}

// RegisterTag gives a configuration, as [New] takes in a map, a name: "vendor/board", or with a version, "vendor/board:2". Without a
// version a name stands for what was registered, or is built in, without one; for its newest version if nothing was. Aliases are further names of it, whatever the version. It fails, and nothing is registered,
// when the configuration makes no target, or a name is malformed, taken, or that of a kind. To register a version again with the
// same configuration changes nothing; with another one it is an error.
func RegisterTag(name string, config map[string]any, aliases ...string) error {
	return registerTag(name, config, aliases, false)
}

// ReplaceTag is RegisterTag for a name without version that may be taken: the new configuration takes the place of the old.
func ReplaceTag(name string, config map[string]any, aliases ...string) error {
	return registerTag(name, config, aliases, true)
}

func registerTag(name string, config map[string]any, aliases []string, replace bool) error {
	fail := func(sort error, format string, args ...any) error {
		return &Error{Err: sort, Message: fmt.Sprintf("register tag %s: ", brief(name)) + fmt.Sprintf(format, args...)}
	}
	base, version, hasVersion := strings.Cut(name, ":")
	if err := checkTag(base); err != nil {
		return fail(ErrRegister, "%v", err)
	}
	if hasVersion {
		if err := checkName("version", version); err != nil {
			return fail(ErrRegister, "%v", err)
		}
	}
	own, err := copyConfig(config)
	if err != nil {
		return under("", fail(ErrRegister, "%v", err))
	}
	t := &tag{name: base, version: version, config: own}
	if t.sum, err = t.hash(); err != nil {
		var e *Error
		if errors.As(err, &e) {
			e.Message = fmt.Sprintf("register tag %s: %s", brief(name), e.Message)
			if e.Message[len(e.Message)-2:] == ": " {
				e.Message += e.Err.Error()
			}
		}
		return err
	}
	tags.Lock()
	defer tags.Unlock()
	if stands(own, t, 0) {
		return fail(ErrRegister, "the configuration is made of this very tag")
	}
	if to, isAlias := aliasOf(base); isAlias {
		return fail(ErrDuplicate, "the name is an alias of tag %s", brief(to))
	}
	if old := exactTag(base, version); old != nil && !replace {
		if version == "" {
			return fail(ErrDuplicate, "there is one of that name; add a version, as in %s:2, or use ReplaceTag", base)
		}
		if old.sum != t.sum {
			return fail(ErrDuplicate, "the version is recorded with another configuration (hash %.12s, now %.12s): give the change a new version",
				old.sum, t.sum)
		}
	} else if old != nil && version != "" {
		return fail(ErrDuplicate, "a version is for good: give the change a new one")
	}
	for _, a := range aliases {
		if err := checkTag(a); err != nil {
			return fail(ErrRegister, "alias: %v", err)
		}
		if to, taken := aliasOf(a); taken && to != base {
			return fail(ErrDuplicate, "alias %s is one of tag %s", brief(a), brief(to))
		}
		if a == base || tagExists(a) {
			return fail(ErrDuplicate, "alias %s is the name of a tag", brief(a))
		}
	}
	for _, a := range aliases {
		tags.aliases[a] = base
	}
	tags.byName[t.full()] = t
	if version != "" && !slices.Contains(tags.names[base], version) {
		tags.names[base] = append(tags.names[base], version)
		slices.SortFunc(tags.names[base], compareVersions)
	}
	return nil
}

// checkTag keeps names of tags apart from kinds, command lines and JSON.
func checkTag(name string) error {
	if name == "" {
		return errors.New("a tag has an empty name")
	}
	for i := range len(name) {
		c := name[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && (i == 0 || !strings.ContainsRune("/._-,+", rune(c))) {
			return fmt.Errorf("tag name %s: want letters and digits, after the first also / . _ - , and +, and at most one : before a version", brief(name))
		}
	}
	if _, err := LookupKind(name); err == nil {
		return fmt.Errorf("tag name %s is that of a kind", brief(name))
	}
	return nil
}

// copyConfig copies a configuration, so that nobody changes a tag later.
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

// target is what the tag stands for, but that no device is asked.
func (t *tag) target() (*Target, error) {
	config, _, err := unasked(t.config, 0)
	if err != nil {
		return nil, err
	}
	return newFromMap("$", config, 0)
}

// hash is that of the target that the tag stands for, and of the device that is to be asked.
func (t *tag) hash() (string, error) {
	x, err := t.target()
	if err != nil {
		return "", err
	}
	plain := *x
	plain.tag = ""
	if err := plain.seal("$"); err != nil {
		return "", err
	}
	_, asked, err := unasked(t.config, 0)
	if err != nil {
		return "", err
	}
	for _, v := range asked {
		if _, err := x.kind.options[slotFromDevice].check(child("$", "from_device"), v); err != nil {
			return "", err
		}
	}
	sum := sha256.Sum256(fmt.Append([]byte(plain.json), asked...))
	return hex.EncodeToString(sum[:]), nil
}

// The next four, and stands, need tags to be locked.

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

func lookupTag(base, version string) *tag {
	if t := exactTag(base, version); t != nil || version != "" {
		return t
	}
	if versions := tags.names[base]; len(versions) > 0 {
		return tags.byName[base+":"+versions[len(versions)-1]]
	}
	return nil
}

func tagExists(name string) bool {
	base, version, _ := strings.Cut(name, ":")
	return lookupTag(base, version) != nil
}

// builtInTag spares reading the tables for what can't be in them.
func builtInTag(name string) (tagdata.Tag, bool) {
	if !strings.Contains(name, "/") {
		return tagdata.Tag{}, false
	}
	return tagdata.Find(name)
}

// findTag finds a tag by its name or alias, with or without a version.
func findTag(ref string) (*tag, bool) {
	tags.RLock()
	defer tags.RUnlock()
	base, version, hasVersion := strings.Cut(ref, ":")
	if hasVersion && version == "" {
		return nil, false
	}
	if to, ok := aliasOf(base); ok {
		base = to
	}
	t := lookupTag(base, version)
	return t, t != nil
}

// canonicalTag is the canonical name of a tag; what is no tag stays as it is.
func canonicalTag(ref string) string {
	if ref == "" {
		return ""
	}
	if t, ok := findTag(ref); ok {
		return t.full()
	}
	return ref
}

// compareVersions orders versions by the numbers and words in them: 1.9 before 1.10, v2 before v10, 2024-9-1 before 2024-10-1. A word is older
// than nothing, and nothing is older than a number: 1.0-rc1, 1.0, 1.0.1.
func compareVersions(a, b string) int {
	for x, y := a, b; x != "" || y != ""; {
		var m, n string
		m, x = versionPart(x)
		n, y = versionPart(y)
		if c := cmp.Or(cmp.Compare(rankOfPart(m), rankOfPart(n)), comparePart(m, n)); c != 0 {
			return c
		}
	}
	return compare(a, b)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// versionPart cuts off the first run of digits, or of letters; "" when only separators are left.
func versionPart(s string) (part, rest string) {
	s = strings.TrimLeft(s, "._-")
	end := 0
	for end < len(s) && strings.IndexByte("._-", s[end]) < 0 && isDigit(s[end]) == isDigit(s[0]) {
		end++
	}
	return s[:end], s[end:]
}

func rankOfPart(s string) int {
	switch {
	case s == "":
		return 1
	case isDigit(s[0]):
		return 2
	}
	return 0
}

// comparePart compares two words, or two numbers of any size.
func comparePart(a, b string) int {
	if a != "" && isDigit(a[0]) {
		a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
		return cmp.Or(cmp.Compare(len(a), len(b)), compare(a, b))
	}
	return compare(a, b)
}

// tagNames are the names and aliases of all tags.
func tagNames() []string {
	tags.RLock()
	defer tags.RUnlock()
	all := slices.Concat(tagdata.Names(), tagdata.Aliases(), slices.Sorted(maps.Keys(tags.byName)), slices.Sorted(maps.Keys(tags.aliases)))
	slices.Sort(all)
	return slices.Compact(all)
}

// Tags lists the tags that are registered and built in, sorted by name.
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

// TagsWithKey lists the family of a key: the tags whose targets have it, as all those of "mali".
func TagsWithKey(key string) []TagInfo {
	return slices.DeleteFunc(Tags(), func(t TagInfo) bool { return !slices.Contains(t.Keys, key) })
}

// LookupTag finds a tag by its name or alias, with or without a version. The error names the nearest one.
func LookupTag(ref string) (TagInfo, error) {
	t, ok := findTag(ref)
	if !ok {
		return TagInfo{}, &Error{Err: ErrUnknown, Nearest: nearest.Name(ref, tagNames()), Message: "there is no target tag " + brief(ref)}
	}
	return t.info()
}

// Target is what the tag stands for; no device is asked, also where its configuration says from_device, and no warning is logged. The
// error is that of [LookupTag], for a name that is none.
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

// info builds the tag's target, whose keys and kind it tells.
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
