package target

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tvmgo/internal/jsonpos"
)

// Expansion of a configuration that names a tag: the tag's own configuration, with the other fields replacing its
// values, and the same for nested targets.

// finder finds a tag by its name or alias, with or without a version.
type finder func(ref string) (*tag, bool)

// within is a target nested in the configuration of a tag, after the tag that it named has been expanded.
type within struct {
	config map[string]any // without "tag"
	name   string         // the tag's canonical name; or the label
}

// own returns the configuration of a tag, expanded so that it is not based on another tag; nil if a tag does not exist
// or is based on itself.
func (t *tag) own(find finder, depth int) map[string]any {
	ref := baseOf(t.config)
	if ref == "" {
		return t.config
	}
	next, ok := find(ref)
	if !ok || depth > MaxDepth {
		return nil
	}
	base := next.own(find, depth+1)
	if base == nil {
		return nil
	}
	merged := merge(base, t.config)
	delete(merged, "tag")
	return merged
}

// baseOf returns the tag on which a registered configuration is based, even if that tag changes: "tag" without a kind.
func baseOf(config map[string]any) string {
	if config["kind"] != nil || config["id"] != nil {
		return ""
	}
	ref, _ := config["tag"].(string)
	return ref
}

// merge replaces values of a configuration that names its kind. Aliases of options are replaced, too.
func merge(base, over map[string]any) map[string]any {
	merged := maps.Clone(base)
	if k := kindNamed(base); k != nil {
		for given := range over {
			if slot, ok := k.slots[given]; ok {
				delete(merged, k.options[slot].Name)
				for _, a := range k.options[slot].Aliases {
					delete(merged, a)
				}
			}
		}
	}
	maps.Copy(merged, over)
	return merged
}

// kindNamed returns the kind that a configuration names; nil if it names none.
func kindNamed(config map[string]any) *Kind {
	v, _, err := kindOf("$", config)
	s, ok := basic(v).(string)
	if err != nil || !ok {
		return nil
	}
	k, err := LookupKind(s)
	if err != nil {
		return nil
	}
	return k
}

// overlay replaces values in the configuration of a tag by those of the user. given is the kind that the user names, or
// nil.
func overlay(path string, t *tag, user map[string]any, given *Kind) (map[string]any, error) {
	base := t.own(findTag, 0)
	if base == nil {
		return nil, wrong(jsonpos.Member(path, "tag"), ErrTooDeep, "the tag %s is based on itself, or has no kind",
			brief(t.full()))
	}
	if k := kindNamed(base); given != nil && k != given {
		_, key, _ := kindOf(path, user)
		name := "another"
		if k != nil {
			name = k.name
		}
		return nil, &Error{Path: jsonpos.Member(path, key), Err: ErrRange, Found: brief(given.name),
			Expected: fmt.Sprintf("%q, the kind of tag %s, or no tag", name, brief(t.full()))}
	}
	return merge(base, user), nil
}

// expand replaces tags in a configuration by what find returns for them. Unless all is set, it replaces only tags that
// are given together with a kind; others are looked up later. If frozen is set, nested targets lose the names of tags
// that can be replaced. Invalid targets are not changed: New reports the error.
func expand(config map[string]any, find finder, all, frozen bool) map[string]any {
	e := expander{find: find, all: all, frozen: frozen}
	expanded, _ := e.config(config, 0)
	return expanded
}

type expander struct {
	find        finder
	all, frozen bool
}

// config also returns the name of the expanded tag, or the label.
func (e expander) config(m map[string]any, depth int) (map[string]any, string) {
	name, err := tagOf("$", m)
	if err != nil || depth > MaxDepth {
		return m, ""
	}
	base, known := e.find(name)
	_, key, err := kindOf("$", m)
	if err != nil || key == "" && !known {
		return m, ""
	}
	label, k := name, kindNamed(m)
	switch replaced := e.all || key != ""; {
	case known:
		own := base.own(e.find, 0)
		if own == nil || key != "" && kindNamed(own) != k {
			return m, ""
		}
		k = kindNamed(own)
		if !replaced {
			label = ""
			break
		}
		if m, label = merge(own, m), base.full(); e.frozen && !base.builtIn && base.version == "" {
			label = ""
		}
		fallthrough
	case replaced:
		m = maps.Clone(m)
		delete(m, "tag")
	}
	return eachWithin(k, m, func(v any) any { return e.within(v, depth) }), label
}

// within expands a nested target, the value of an option.
func (e expander) within(v any, depth int) any {
	given := v
	if s, ok := v.(string); ok {
		m, err := readString(s)
		if _, beside := m["kind"]; err != nil || !e.all && (!beside || m["tag"] == nil) {
			return v // the tag is looked up later, there is none, or the target is invalid, which New reports
		}
		v = m
	}
	switch m := v.(type) {
	case within:
		return within{eachWithin(kindNamed(m.config), m.config, func(v any) any { return e.within(v, depth+1) }), m.name}
	case map[string]any:
		_, tagged := m["tag"]
		expanded, label := e.config(m, depth+1)
		if _, left := expanded["tag"]; tagged && !left {
			return within{expanded, label}
		}
		return expanded
	}
	return given
}

// eachWithin returns a configuration in which each nested target has been replaced, in the order of the options' names.
func eachWithin(k *Kind, config map[string]any, replace func(any) any) map[string]any {
	if k == nil {
		return config
	}
	changed := maps.Clone(config)
	for _, name := range slices.Sorted(maps.Keys(config)) {
		slot, ok := k.slots[name]
		if !ok || k.options[slot].Type.base != baseTarget {
			continue
		}
		v, list := basic(config[name]), k.options[slot].Type.list
		if t, ok := v.(text); ok {
			if v = any(strings.Join(t.parts, ",")); list {
				v = boxed(t.parts)
			}
		}
		items, isList := anySlice(v)
		switch {
		case list && isList:
			items = slices.Clone(items)
			for i := range items {
				items[i] = replace(basic(items[i]))
			}
			changed[name] = items
		case !list && !isList:
			changed[name] = replace(v)
		}
	}
	return changed
}

// unasked returns an expanded configuration in which no target queries a device, and the values of from_device in it.
func unasked(config map[string]any) (quiet map[string]any, asked []any) {
	quiet = eachWithin(kindNamed(config), config, func(v any) any {
		m, isMap := v.(map[string]any)
		w, isWithin := v.(within)
		if !isMap && !isWithin {
			return v
		}
		if isWithin {
			m = w.config
		}
		m, more := unasked(m)
		asked = append(asked, more...)
		if isWithin {
			return within{m, w.name}
		}
		return m
	})
	if v, given := config["from_device"]; given {
		asked = append(asked, v)
		quiet = maps.Clone(quiet)
		quiet["from_device"] = -1
	}
	return quiet, asked
}

// follows reports whether a configuration is based on the tag self through names that are looked up each time.
func follows(config map[string]any, find finder, self *tag, depth int) bool {
	if depth > MaxDepth {
		return true
	}
	through := func(ref string) bool {
		t, ok := find(ref)
		return ok && (t == self || follows(t.config, find, self, depth+1))
	}
	ref := baseOf(config)
	if ref != "" && through(ref) {
		return true
	}
	k, found := kindNamed(config), false
	if t, ok := find(ref); ok && ref != "" {
		k = kindNamed(t.own(find, 0))
	}
	eachWithin(k, config, func(v any) any {
		switch m := v.(type) {
		case string:
			if read, err := readString(m); err == nil {
				found = found || follows(read, find, self, depth+1)
			}
		case within:
			found = found || follows(m.config, find, self, depth+1)
		case map[string]any:
			found = found || follows(m, find, self, depth+1)
		}
		return v
	})
	return found
}
