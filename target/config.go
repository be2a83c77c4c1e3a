package target

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tvmgo/internal/jsonpos"
)

// Parser completes and checks a target under construction. It runs after the given values have been checked and a
// device, if one is to be queried, has answered, and before defaults are filled in. Its error becomes the error of
// [New]; see [Config.Wrong]. Several goroutines may call it.
type Parser func(*Config) error

// Config is a target under construction, for a Parser. It must not be used after the parser has returned.
type Config struct {
	kind       *Kind
	path       string
	tag        string
	host       *Target
	keys       []string
	keysGiven  bool
	values     []any
	features   []feature // sorted by name
	warnings   []string
	failed     error // the first error in a call by a parser
	fromDevice int
	asked      bool
	says       bool              // from_device is given
	spelled    map[string]string // the names, as given, of options that were given under an alias
}

// rename records the name under which the user gave an option, for errors.
func (c *Config) rename(option, written string) {
	if c.spelled == nil {
		c.spelled = map[string]string{}
	}
	c.spelled[option] = written
}

// at returns the path of an option, with the name that the user gave.
func (c *Config) at(option string) string {
	if written, ok := c.spelled[option]; ok {
		option = written
	}
	return jsonpos.Member(c.path, option)
}

// Kind returns the kind of the target.
func (c *Config) Kind() *Kind { return c.kind }

// Tag returns the canonical name of the tag that the target is made from, or "".
func (c *Config) Tag() string { return c.tag }

// Host returns the target's host, or nil.
func (c *Config) Host() *Target { return c.host }

// Value returns the value that the user gave, or a device reported, for an option; false if there is none. It does not
// return defaults.
func (c *Config) Value(name string) (any, bool) {
	slot, ok := c.kind.slots[name]
	if !ok || c.values[slot] == nil {
		return nil, false
	}
	return cloneValue(c.values[slot]), true
}

// Text returns the value of an option of type str; "" if there is none.
func (c *Config) Text(name string) string {
	v, _ := c.Value(name)
	s, _ := v.(string)
	return s
}

// Set sets an option. It is an error if the option does not accept the value.
func (c *Config) Set(name string, v any) error {
	slot, ok := c.kind.slots[name]
	if !ok || c.kind.options[slot].common {
		return wrong(jsonpos.Member(c.path, name), ErrRegister, "the parser of kind %q sets an option that the kind "+
			"does not have",
			c.kind.name)
	}
	value, err := c.kind.options[slot].check(c.at(name), v)
	if err != nil {
		return err
	}
	c.values[slot] = value
	return nil
}

// SetFeature sets "feature.name" to an int, bool, float or str of any Go type. A value of another type or a malformed
// name is an error, which [New] returns.
func (c *Config) SetFeature(name string, v any) {
	value, err := featureValue(jsonpos.Member(c.path, featurePrefix+name), name, v)
	if err != nil {
		c.failed = errors.Join(c.failed, err)
		return
	}
	c.putFeature(name, value)
}

// putFeature is SetFeature for a valid feature.
func (c *Config) putFeature(name string, v any) {
	i, found := slices.BinarySearchFunc(c.features, name, func(f feature, name string) int {
		return compare(f.name,
			name)
	})
	if found {
		c.features[i].value = v
		return
	}
	c.features = slices.Insert(c.features, i, feature{name, v})
}

// AddKeys appends keys to those that the user gave, or sets the keys if the user gave none. Keys that exist already
// keep their positions.
func (c *Config) AddKeys(keys ...string) {
	c.keys, c.keysGiven = append(slices.Clone(c.keys), keys...), true
}

// Warn records an assumption, which [Target.Warnings] returns.
func (c *Config) Warn(format string, args ...any) {
	c.warnings = append(c.warnings, fmt.Sprintf(format, args...))
}

// Wrong returns an error for an option's value, which a Parser can return.
func (c *Config) Wrong(name, format string, args ...any) error {
	return wrong(c.at(name), ErrRange, format, args...)
}

// guess converts the value of a feature on a command line to the type that it looks like; quoted text is a string.
func (t text) guess() any {
	one := strings.Join(t.parts, ",")
	if t.flag {
		return true
	}
	if t.quoted {
		return one
	}
	if one == "true" || one == "false" {
		return one == "true"
	}
	if n, err := strconv.ParseInt(one, 10, 64); err == nil {
		return n
	}
	if x, err := strconv.ParseFloat(one, 64); err == nil && strings.ContainsAny(one, "0123456789") &&
		!strings.ContainsAny(one, "xX_") && x-x == 0 {
		return x
	}
	return one
}
