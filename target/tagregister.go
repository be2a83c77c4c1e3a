package target

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// RegisterTag gives a configuration, as [New] takes in a map, a name: "vendor/board", or with a version,
// "vendor/board:2". Without a version a name stands for what was registered, or is built in, without one; for its
// newest version if nothing was. Aliases are further names of it, whatever the version. It fails, and nothing is
// registered, when the configuration makes no target, or a name is malformed, taken, or that of a kind, or when a tag
// that is made of this one would make no target any more.
//
// A version is for good: tags that its configuration names, also in hosts and other targets within, stand for what they
// are when it is registered. To register it again with the same configuration changes nothing; with another one it is
// an error. A tag without version follows the tags that it names, but for those beside a kind.
func RegisterTag(name string, config map[string]any, aliases ...string) error {
	return registerTag(name, config, aliases, false)
}

// ReplaceTag is RegisterTag for a name without version that may be taken: the new configuration takes the place of the
// old.
func ReplaceTag(name string, config map[string]any, aliases ...string) error {
	return registerTag(name, config, aliases, true)
}

// registration is a tag that is to be recorded.
type registration struct {
	full          string // as it was given
	name, version string
	config        map[string]any // a copy
	aliases       []string
	replace       bool
}

func registerTag(name string, config map[string]any, aliases []string, replace bool) error {
	r := registration{full: name, aliases: aliases, replace: replace}
	var hasVersion bool
	r.name, r.version, hasVersion = strings.Cut(name, ":")
	if err := checkTag(r.name); err != nil {
		return r.fail(ErrRegister, "%v", err)
	}
	if hasVersion {
		if err := checkName("version", r.version); err != nil {
			return r.fail(ErrRegister, "%v", err)
		}
	}
	var err error
	if r.config, err = copyConfig(config); err != nil {
		return under("", r.fail(ErrRegister, "%v", err))
	}
	for { // parsers of kinds run in it, which may look for tags: nothing is locked then
		tags.RLock()
		changes, old := tags.changes, tags.byName[(&tag{name: r.name, version: r.version}).full()]
		tags.RUnlock()
		t, err := r.tag(old)
		if err != nil {
			return err
		}
		if err := r.checkFollowers(t, old); err != nil {
			return err
		}
		if recorded, err := r.record(t, old, changes); recorded || err != nil {
			return err
		}
	}
}

func (r *registration) fail(sort error, format string, args ...any) error {
	return &Error{Err: sort, Message: fmt.Sprintf("register tag %s: ", brief(r.full)) + fmt.Sprintf(format, args...)}
}

// tag is the one to be recorded; old itself if it is the version that is recorded already.
func (r *registration) tag(old *tag) (*tag, error) {
	isVersion := r.version != ""
	if old != nil && isVersion { // what was said then may say something else now
		then := func(ref string) (*tag, bool) {
			if t := old.pins[ref]; t != nil {
				return t, true
			}
			return findTag(ref)
		}
		same := tag{name: r.name, version: r.version, config: expand(r.config, then, true, true)}
		if sum, err := same.hash(); err == nil && sum == old.sum {
			return old, nil
		}
	}
	t := &tag{name: r.name, version: r.version}
	find := findTag
	if isVersion {
		t.pins = map[string]*tag{}
		find = func(ref string) (*tag, bool) {
			found, ok := findTag(ref)
			if ok {
				t.pins[ref] = found
			}
			return found, ok
		}
	}
	t.config = expand(r.config, find, isVersion, isVersion)
	var err error
	if t.sum, err = t.hash(); err != nil {
		var e *Error
		if errors.As(err, &e) {
			e.Message = fmt.Sprintf("register tag %s: %s", brief(r.full), e.Message)
			if e.Message[len(e.Message)-2:] == ": " {
				e.Message += e.Err.Error()
			}
		}
		return nil, err
	}
	if old != nil && isVersion && old.sum == t.sum {
		return old, nil
	}
	among := func(ref string) (*tag, bool) { return findAmong(t, ref) }
	if follows(expand(r.config, findTag, false, false), among, t, 0) {
		return nil, r.fail(ErrRegister, "the configuration is made of this very tag")
	}
	return t, nil
}

// checkFollowers looks at the tags that would be made of this one then.
func (r *registration) checkFollowers(t, old *tag) error {
	if t == old {
		return nil
	}
	tags.RLock()
	// nobody can name it; it will not be recorded
	if lookupTag(r.name, "") == nil || exactTag(r.name, r.version) != nil && !r.replace {
		tags.RUnlock()
		return nil
	}
	all := slices.SortedFunc(maps.Values(tags.byName), func(a, b *tag) int { return compare(a.full(), b.full()) })
	tags.RUnlock()
	among := func(ref string) (*tag, bool) { return findAmong(t, ref) }
	for _, f := range all {
		if f == old || f.version != "" || !follows(f.config, among, t, 0) {
			continue
		}
		if _, _, err := f.targetBy(among); err != nil {
			return r.fail(ErrRegister,
				"tag %s is made of it, and would make no target: %s; replace that one first, or register this one under another "+
					"name",
				brief(f.full()), strings.TrimPrefix(err.Error(), "target: "))
		}
	}
	return nil
}

// record is false when something else has been registered since the tag was looked at.
func (r *registration) record(t, old *tag, changes uint64) (bool, error) {
	tags.Lock()
	defer tags.Unlock()
	if tags.changes != changes {
		return false, nil
	}
	if to, isAlias := aliasOf(r.name); isAlias {
		return false, r.fail(ErrDuplicate, "the name is an alias of tag %s", brief(to))
	}
	if there := exactTag(r.name, r.version); there != nil {
		switch {
		case r.version == "" && !r.replace:
			return false, r.fail(ErrDuplicate, "there is one of that name; add a version, as in %s:2, or use ReplaceTag", r.name)
		case r.version != "" && r.replace:
			return false, r.fail(ErrDuplicate, "a version is for good: give the change a new one")
		case r.version != "" && t != old:
			return false, r.fail(ErrDuplicate,
				"the version is recorded with another configuration (hash %.12s, now %.12s): give the change a new version",
				old.sum, t.sum)
		}
	}
	for _, a := range r.aliases {
		if err := checkTag(a); err != nil {
			return false, r.fail(ErrRegister, "alias: %v", err)
		}
		if to, taken := aliasOf(a); taken && to != r.name {
			return false, r.fail(ErrDuplicate, "alias %s is one of tag %s", brief(a), brief(to))
		}
		if a == r.name || tagExists(a) {
			return false, r.fail(ErrDuplicate, "alias %s is the name of a tag", brief(a))
		}
	}
	for _, a := range r.aliases {
		tags.aliases[a] = r.name
	}
	tags.byName[t.full()] = t
	if t.version != "" && !slices.Contains(tags.names[t.name], t.version) {
		tags.names[t.name] = append(tags.names[t.name], t.version)
		slices.SortFunc(tags.names[t.name], compareVersions)
	}
	tags.changes++
	return true, nil
}
