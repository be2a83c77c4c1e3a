package target

import (
	"maps"
	"slices"
	"strings"
)

// What stands within the configuration of a tag: targets that would ask a device, and other tags.

// unasked is a configuration in which no target asks a device, and what each from_device in it said.
func unasked(config map[string]any, depth int) (map[string]any, []any, error) {
	if depth > MaxDepth {
		return nil, nil, tooDeep("$")
	}
	var asked []any
	nested := func(v any) (any, error) {
		if s, ok := v.(string); ok {
			m, err := readString(s)
			if err != nil {
				return v, nil // it is no target, which whoever makes it says better
			}
			v = m
		}
		m, ok := v.(map[string]any)
		if !ok {
			return v, nil
		}
		m, more, err := unasked(m, depth+1)
		asked = append(asked, more...)
		return m, err
	}
	quiet := maps.Clone(config)
	for _, name := range slices.Sorted(maps.Keys(config)) {
		var err error
		switch v := config[name].(type) {
		case map[string]any:
			quiet[name], err = nested(v)
		case string:
			if name == "host" || name == "target_host" {
				quiet[name], err = nested(v)
			}
		case []any:
			if name != "devices" && name != "targets" {
				continue
			}
			members := slices.Clone(v)
			for i := range members {
				if members[i], err = nested(v[i]); err != nil {
					return nil, nil, err
				}
			}
			quiet[name] = members
		}
		if err != nil {
			return nil, nil, err
		}
	}
	if v, given := config["from_device"]; given {
		asked = append(asked, v)
	}
	quiet["from_device"] = -1
	return quiet, asked, nil
}

// stands says whether a configuration would be made of a tag that is about to be there: by "tag" without "kind", or in a target within.
func stands(config map[string]any, self *tag, depth int) bool {
	if depth > MaxDepth {
		return true
	}
	within := func(v any) bool {
		switch v := v.(type) {
		case string:
			ref, version, _ := strings.Cut(v, ":")
			if to, ok := aliasOf(ref); ok {
				ref = to
			}
			newest := version == "" && exactTag(ref, "") == nil
			if ref == self.name && (version == self.version || newest) {
				return true
			}
			t := lookupTag(ref, version)
			return t != nil && stands(t.config, self, depth+1)
		case map[string]any:
			return stands(v, self, depth+1)
		}
		return false
	}
	if config["kind"] == nil && config["id"] == nil && within(config["tag"]) {
		return true
	}
	for name, v := range config {
		switch v := v.(type) {
		case map[string]any:
			if within(v) {
				return true
			}
		case string:
			if (name == "host" || name == "target_host") && within(v) {
				return true
			}
		case []any:
			if (name == "devices" || name == "targets") && slices.ContainsFunc(v, within) {
				return true
			}
		}
	}
	return false
}
