package target

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tvmgo/internal/jsonpos"
)

// Parser completes and checks a target that is being made, once what was given has been checked for itself, and a
// device, if one was to be asked, has answered; defaults are filled in after it. What it returns as an error is the
// error of [New]; see [Config.Wrong]. It may be called by many at once.
type Parser func(*Config) error

// Config is a target under construction, as a Parser sees it. It must not be used after the parser returns.
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
	failed     error // of what a parser did
	fromDevice int
	asked      bool
	says       bool              // from_device is given
	spelled    map[string]string // names of options under which another one was given
}

// rename remembers the name that the user wrote, for errors.
func (c *Config) rename(option, written string) {
	if c.spelled == nil {
		c.spelled = map[string]string{}
	}
	c.spelled[option] = written
}

// at is the path of an option as the user wrote it.
func (c *Config) at(option string) string {
	if written, ok := c.spelled[option]; ok {
		option = written
	}
	return jsonpos.Member(c.path, option)
}

// Kind is the kind of the target.
func (c *Config) Kind() *Kind { return c.kind }

// Tag is the canonical name of the tag that the target is made from, or "".
func (c *Config) Tag() string { return c.tag }

// Host is the target's host, or nil.
func (c *Config) Host() *Target { return c.host }

// Value is an option's value as the user gave it, or as a device reported it; false if there is none yet. It does not
// return defaults.
func (c *Config) Value(name string) (any, bool) {
	slot, ok := c.kind.slots[name]
	if !ok || c.values[slot] == nil {
		return nil, false
	}
	return cloneValue(c.values[slot]), true
}

// Text is the value of an option of type str; "" when there is none yet.
func (c *Config) Text(name string) string {
	v, _ := c.Value(name)
	s, _ := v.(string)
	return s
}

// Set sets an option. A value that the option does not take is an error.
func (c *Config) Set(name string, v any) error {
	slot, ok := c.kind.slots[name]
	if !ok || c.kind.options[slot].common {
		return wrong(jsonpos.Member(c.path, name), ErrRegister, "the parser of kind %q sets what is no option of the kind",
			c.kind.name)
	}
	value, err := c.kind.options[slot].check(c.at(name), v)
	if err != nil {
		return err
	}
	c.values[slot] = value
	return nil
}

// SetFeature records "feature.name": an int, bool, float or str of any type of Go. What is none, or a malformed name,
// is an error of the parser's.
func (c *Config) SetFeature(name string, v any) {
	value, err := featureValue(jsonpos.Member(c.path, featurePrefix+name), name, v)
	if err != nil {
		c.failed = errors.Join(c.failed, err)
		return
	}
	c.putFeature(name, value)
}

// putFeature is SetFeature for what is known to be one.
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

// AddKeys appends keys to those that the user gave, or sets them if the user gave none. Existing keys keep their
// positions.
func (c *Config) AddKeys(keys ...string) {
	c.keys, c.keysGiven = append(slices.Clone(c.keys), keys...), true
}

// Warn records an assumption, which Target.Warnings lists.
func (c *Config) Warn(format string, args ...any) {
	c.warnings = append(c.warnings, fmt.Sprintf(format, args...))
}

// Wrong makes the error for an option's value, for a Parser to return.
func (c *Config) Wrong(name, format string, args ...any) error {
	return wrong(c.at(name), ErrRange, format, args...)
}

// guess is the value of a feature on a command line: text in quotes is text.
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
