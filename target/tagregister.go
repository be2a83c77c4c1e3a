package target

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// RegisterTag gives a name to a configuration, a map for [New]: "vendor/board", or with a version, "vendor/board:2". A
// name without a version refers to the tag that was registered or is built in without one, or else to the newest
// version. Aliases are further names, for all versions. If the configuration is invalid, if a name is malformed, in
// use, or that of a kind, or if a tag that is based on this one would become invalid, nothing is registered; the error
// is of type *[Error].
//
// A version cannot be changed: tags in its configuration, also in hosts and other nested targets, are resolved when it
// is registered. Registering a version again has no effect if the configuration is the same, and is an error otherwise.
// A tag without a version follows changes of the tags that it names, except those that are given together with a kind.
func RegisterTag(name string, config map[string]any, aliases ...string) error {
	return registerTag(name, config, aliases, false)
}

// ReplaceTag is like RegisterTag, but replaces the configuration if the name, which must be without a version, is in
// use.
func ReplaceTag(name string, config map[string]any, aliases ...string) error {
	return registerTag(name, config, aliases, true)
}

// registration is a tag that is being registered.
type registration struct {
	full          string // the name as it was given
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
	for { // parsers of kinds run in this loop, and can look up tags: tags must not be locked
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

// tag returns the tag to be recorded; if the same version is recorded already, it returns old.
func (r *registration) tag(old *tag) (*tag, error) {
	isVersion := r.version != ""
	if old != nil && isVersion { // its configuration may have another meaning now
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
		return nil, r.fail(ErrRegister, "the configuration is based on this tag itself")
	}
	return t, nil
}

// checkFollowers checks the tags that would be based on this one.
func (r *registration) checkFollowers(t, old *tag) error {
	if t == old {
		return nil
	}
	tags.RLock()
	// no configuration can name it; it will not be recorded
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
				"tag %s is based on it, and would become invalid: %s; replace that tag first, or register this one under another "+
					"name",
				brief(f.full()), strings.TrimPrefix(err.Error(), "target: "))
		}
	}
	return nil
}

// record records the tag; the result is false if another tag has been registered since this one was checked.
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
			return false, r.fail(ErrDuplicate, "the name is in use; add a version, as in %s:2, or use ReplaceTag", r.name)
		case r.version != "" && r.replace:
			return false, r.fail(ErrDuplicate, "a version cannot be changed: register a new one")
		case r.version != "" && t != old:
			return false, r.fail(ErrDuplicate,
				"the version is registered with another configuration (hash %.12s, now %.12s): register a new version",
				old.sum, t.sum)
		}
	}
	for _, a := range r.aliases {
		if err := checkTag(a); err != nil {
			return false, r.fail(ErrRegister, "alias: %v", err)
		}
		if to, taken := aliasOf(a); taken && to != r.name {
			return false, r.fail(ErrDuplicate, "alias %s is in use by tag %s", brief(a), brief(to))
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
