package target

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tvmgo/internal/jsonpos"
	"tvmgo/internal/nearest"
)

const (
	featurePrefix = "feature."
	maxTargets    = 8 // the nesting of targets: hosts of hosts, composites of composites
)

// New makes a target from
//
//   - a string: a tag or its alias ("nvidia/h100"), the name of a kind ("cuda"), the command line form ("cuda
//     -arch=sm_90"; the first word may be a tag), or JSON;
//   - []byte or json.RawMessage: JSON;
//   - map[string]any, or another map with string keys: the same as an object in JSON. Values and lists can have named
//
// Go
//
//	  types (type CPU string, []int32, dlpack.DeviceType); integers can have any integer type, or be a float64 without
//	  a fraction; nested targets can be strings, maps or *Target;
//	- *Target: returned unchanged.
//
// "tag" selects the configuration of a tag; the other keys replace its values. A kind that is given with it must be
// that of the tag. If the tag is not registered but a kind is given, the tag is only a label. "id" is an alias of
// "kind", and "target_host" of "host". With from_device, a device is queried for values that are not given (see
// [SetDevices]); otherwise no device is queried. Assumptions are returned by [Target.Warnings] and written to the
// default logger of log/slog.
//
// Errors are of type *[Error] and contain the JSON path of the faulty value.
func New(x any) (*Target, error) {
	t, err := newAt("$", x, 0)
	if err != nil {
		return nil, err
	}
	if _, ready := x.(*Target); !ready {
		for _, w := range t.Warnings() {
			warn("target: " + w)
		}
	}
	return t, nil
}

// NewWithHost makes a target from x, with a host made from host, which replaces a host in x. Both are values for New.
func NewWithHost(x, host any) (*Target, error) {
	t, err := New(x)
	if err != nil {
		return nil, err
	}
	h, err := New(host)
	if err != nil {
		return nil, under("$.host", err)
	}
	return t.WithHost(h)
}

func newAt(path string, x any, depth int) (*Target, error) {
	if depth > MaxDepth {
		return nil, tooDeep(path)
	}
	switch x := basic(x).(type) {
	case *Target:
		return x, under(path, x.valid())
	case string:
		if err := notTooLong(path, len(x)); err != nil {
			return nil, err
		}
		m, err := readString(x)
		if err != nil {
			return nil, under(path, err)
		}
		return newFromMap(path, m, depth)
	case []byte:
		return newFromJSON(path, x, depth)
	case json.RawMessage:
		return newFromJSON(path, x, depth)
	case map[string]any:
		return newFromMap(path, x, depth)
	case within:
		k, err := givenKind(path, x.config)
		if err != nil {
			return nil, err
		}
		return build(path, k, x.name, x.config, depth)
	}
	return nil, &Error{Path: path, Err: ErrType, Expected: "a string, JSON, a map or a target", Found: describe(x)}
}

// notTooLong rejects text that would take long to parse and cannot be a target.
func notTooLong(path string, size int) error {
	if size <= MaxText {
		return nil
	}
	return wrong(path, ErrSyntax, "the text has more than %d bytes, which is too long for a target", MaxText)
}

func newFromJSON(path string, text []byte, depth int) (*Target, error) {
	if err := notTooLong(path, len(text)); err != nil {
		return nil, err
	}
	m, err := readJSON(string(text))
	if err != nil {
		return nil, under(path, err)
	}
	return newFromMap(path, m, depth)
}

// readString parses a string in any of its forms.
func readString(s string) (map[string]any, error) {
	if strings.HasPrefix(strings.TrimLeft(strings.TrimPrefix(s, jsonpos.ByteOrderMark), " \t\r\n"), "{") {
		return readJSON(s)
	}
	if err := checkText("$", s); err != nil {
		return nil, err
	}
	if s = strings.Trim(s, " \t\r\n"); s == "" {
		return nil, wrong("$", ErrSyntax,
			"the text is empty: want a tag, a kind such as \"cuda\", \"cuda -arch=sm_90\", or JSON")
	}
	if _, ok := findTag(s); ok {
		return map[string]any{"tag": s}, nil
	}
	if !strings.ContainsAny(s, " \t\r\n'\\") {
		if _, err := LookupKind(s); err != nil && s[0] != '-' {
			return nil, unknownTarget(s)
		}
	}
	m, err := readCLI(s)
	if err != nil {
		return nil, err
	}
	first := m["kind"].(string)
	if _, err := LookupKind(first); err == nil {
		return m, nil
	}
	if _, ok := findTag(first); !ok {
		return nil, unknownTarget(first)
	}
	delete(m, "kind")
	if _, twice := m["id"]; twice {
		return nil, wrong("$.id", ErrDuplicate, "command line %s: the first word is a tag, but -id names a kind", brief(s))
	}
	if _, twice := m["tag"]; twice {
		return nil, wrong("$.tag", ErrDuplicate, "command line %s: the first word is a tag, but -tag names another", brief(s))
	}
	m["tag"] = first
	return m, nil
}

// unknownTarget returns the error for a word that is neither a kind nor a tag.
func unknownTarget(s string) error {
	if strings.HasPrefix(s, "[") || strings.HasPrefix(s, `"`) {
		return &Error{Path: "$", Err: ErrType, Expected: "an object in JSON", Found: brief(s)}
	}
	near := nearest.Name(s, Kinds())
	if n := nearest.Name(s, tagNames()); near == "" || strings.ContainsRune(s, '/') && n != "" {
		near = n
	}
	return &Error{Path: "$", Err: ErrUnknown, Nearest: near,
		Message: fmt.Sprintf("there is no target kind and no tag %s: kinds are %s; `tvmgo target tags` lists the tags",
			brief(s), listed(Kinds()))}
}

// kindOf returns the value of "kind" or "id" in a configuration, and which of the two it is.
func kindOf(path string, m map[string]any) (v any, name string, err error) {
	v, hasKind := m["kind"]
	id, hasID := m["id"]
	switch {
	case hasKind && hasID:
		return nil, "", wrong(jsonpos.Member(path, "kind"), ErrDuplicate, `the kind is given both as "kind" and as "id"`)
	case hasID:
		return id, "id", nil
	case hasKind:
		return v, "kind", nil
	}
	return nil, "", nil
}

// newFromMap makes a target from a configuration. The order of steps is that of docs/abi.md F.1, except that a device
// is queried before defaults are filled in, so that its values take precedence.
func newFromMap(path string, m map[string]any, depth int) (*Target, error) {
	name, err := tagOf(path, m)
	if err != nil {
		return nil, err
	}
	k, err := givenKind(path, m)
	if err != nil {
		return nil, err
	}
	tag, known := findTag(name)
	switch {
	case known:
		if m, err = overlay(path, tag, m, k); err != nil {
			return nil, err
		}
		if k, err = givenKind(path, m); err != nil {
			return nil, err
		}
		name = tag.full()
	case k == nil:
		return nil, noKind(path, name, m)
	}
	return build(path, k, name, m, depth)
}

// givenKind returns the kind that a configuration names; nil if it names none.
func givenKind(path string, m map[string]any) (*Kind, error) {
	name, key, err := kindOf(path, m)
	if err != nil || key == "" {
		return nil, err
	}
	if t, isText := name.(text); isText && len(t.parts) > 0 {
		name = strings.Join(t.parts, ",")
	}
	s, ok := basic(name).(string)
	if !ok {
		return nil, &Error{Path: jsonpos.Member(path, key), Err: ErrType, Expected: "str", Found: describe(name)}
	}
	if err := checkText(jsonpos.Member(path, key), s); err != nil {
		return nil, err
	}
	k, err := LookupKind(s)
	if err != nil {
		return nil, unknownKind(jsonpos.Member(path, key), s)
	}
	return k, nil
}

// noKind returns the error for a configuration that names neither a kind nor an existing tag.
func noKind(path, tag string, m map[string]any) error {
	if tag != "" {
		return &Error{Path: jsonpos.Member(path, "tag"), Err: ErrUnknown, Nearest: nearest.Name(tag, tagNames()),
			Message: fmt.Sprintf("there is no target tag %s; `tvmgo target tags` lists them", brief(tag))}
	}
	if _, given := m["tag"]; given {
		return wrong(jsonpos.Member(path, "tag"), ErrUnknown,
			`the tag is empty, and no "kind" is given: name a tag such as "nvidia/h100", or a kind`)
	}
	for _, given := range slices.Sorted(maps.Keys(m)) {
		if strings.EqualFold(given, "id") || strings.EqualFold(given, "tag") ||
			nearest.Distance(strings.ToLower(given), "kind", 2) < 2 {
			return &Error{Path: jsonpos.Member(path, given), Err: ErrUnknown,
				Nearest: nearest.Name(given, []string{"kind", "id", "tag"}),
				Message: `neither "kind" nor "tag" is given`}
		}
	}
	return &Error{Path: jsonpos.Member(path, "kind"), Err: ErrUnknown,
		Message: `neither "kind" nor "tag" is given: want a kind, one of ` + listed(Kinds())}
}

// build makes a target from a configuration in which the tag is only a label.
func build(path string, k *Kind, tag string, m map[string]any, depth int) (*Target, error) {
	c := &Config{kind: k, path: path, tag: tag, values: make([]any, len(k.options))}
	if err := c.read(m, depth); err != nil {
		return nil, err
	}
	return c.finish()
}

// tagOf returns the tag that a configuration names, "" if none.
func tagOf(path string, m map[string]any) (string, error) {
	v, ok := m["tag"]
	if t, isText := v.(text); isText && len(t.parts) > 0 {
		v = strings.Join(t.parts, ",")
		m["tag"] = v
	}
	if !ok {
		return "", nil
	}
	s, isText := basic(v).(string)
	if !isText {
		return "", &Error{Path: jsonpos.Member(path, "tag"), Err: ErrType, Expected: "str", Found: describe(v)}
	}
	return s, checkText(jsonpos.Member(path, "tag"), s)
}

// read stores the given values.
func (c *Config) read(m map[string]any, depth int) error {
	var seen []int // options, by their index
	for _, name := range slices.Sorted(maps.Keys(m)) {
		v, path := m[name], jsonpos.Member(c.path, name)
		if f, ok := strings.CutPrefix(name, featurePrefix); ok {
			if err := c.readFeature(path, f, v); err != nil {
				return err
			}
			continue
		}
		slot, ok := c.kind.slots[name]
		if !ok {
			return c.kind.unknownOption(path, name)
		}
		if slot == slotKind || slot == slotTag {
			continue
		}
		o := &c.kind.options[slot]
		if slices.Contains(seen, slot) {
			return wrong(jsonpos.Member(c.path, o.Name), ErrDuplicate, "the option is given under two of its names")
		}
		seen = append(seen, slot)
		if name != o.Name {
			c.rename(o.Name, name)
		}
		value, err := o.checkAt(path, v, depth)
		if err != nil {
			return err
		}
		switch slot {
		case slotKeys:
			c.keys, c.keysGiven = value.([]string), true
		case slotHost:
			c.host = value.(*Target)
		case slotFromDevice:
			c.fromDevice, c.asked, c.says = int(value.(int64)), value.(int64) >= 0, true
		default:
			c.values[slot] = value
		}
	}
	return nil
}

// readFeature stores a feature, whose type is that of the given value.
func (c *Config) readFeature(path, name string, v any) error {
	if t, ok := v.(text); ok {
		v = t.guess()
	}
	value, err := featureValue(path, name, v)
	if err == nil {
		c.putFeature(name, value)
	}
	return err
}

// featureValue checks the value of a feature and converts it to int64, bool, float64 or string.
func featureValue(path, name string, v any) (any, error) {
	v = basic(v)
	if n, ok := v.(json.Number); ok && !strings.ContainsAny(string(n), ".eE") {
		i, whole, fits := toInt(n)
		if !whole || !fits {
			return nil, &Error{Path: path, Err: ErrRange, Expected: "a 64-bit int", Found: describe(v)}
		}
		v = i
	}
	switch x := v.(type) {
	case bool, int64:
	case string:
		if err := checkText(path, x); err != nil {
			return nil, err
		}
	case float64, json.Number:
		f, ok := toFloat(x)
		if !ok {
			return nil, &Error{Path: path, Err: ErrRange, Expected: "a finite 64-bit float", Found: describe(v)}
		}
		v = f
	default:
		n, whole, fits := toInt(x)
		if !whole || !fits {
			return nil, &Error{Path: path, Err: ErrType, Expected: "int, bool, float or str", Found: describe(v)}
		}
		v = n
	}
	if err := checkName("feature", name); err != nil {
		return nil, wrong(path, ErrSyntax, "%v", err)
	}
	return v, nil
}

// finish completes a configuration whose values have all been checked.
func (c *Config) finish() (*Target, error) {
	if err := c.askDevice(); err != nil {
		return nil, err
	}
	if err := c.checkLimits(); err != nil {
		return nil, err
	}
	if c.kind.parser != nil {
		err := c.runParser()
		if err != nil {
			return nil, err
		}
	}
	for i := range c.values {
		if c.values[i] == nil {
			c.values[i] = c.kind.options[i].Default
		}
	}
	t := &Target{kind: c.kind, tag: c.tag, keys: c.allKeys(), host: c.host, values: c.values, features: c.features,
		warnings: c.warnings,
		says:     c.says}
	if err := t.lendHost(c.at("devices")); err != nil {
		return nil, err
	}
	if err := t.seal(c.path); err != nil {
		return nil, err
	}
	return t, nil
}

// checkLimits checks the limits that [MaxUnless] declares.
func (c *Config) checkLimits() error {
	for i := range c.kind.options {
		o := &c.kind.options[i]
		if o.Unless == "" {
			continue
		}
		n, given := c.values[i].(int64)
		slot := c.kind.slots[o.Unless]
		flag := c.values[slot]
		if flag == nil {
			flag = c.kind.options[slot].Default
		}
		if given && n > o.Limit && flag != true {
			return &Error{Path: c.at(o.Name), Err: ErrRange, Found: describe(n),
				Expected: fmt.Sprintf("at most %d unless %s=true is given, too", o.Limit, o.Unless)}
		}
	}
	return nil
}

// runParser runs the kind's parser and converts a panic to an error.
func (c *Config) runParser() (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = wrong(c.path, ErrRegister, "the parser of kind %q failed: %v", c.kind.name, v)
		}
	}()
	err = c.kind.parser(c)
	var e *Error
	if err == nil && errors.As(c.failed, &e) {
		return wrong(e.Path, ErrRegister, "the parser of kind %q sets an invalid feature: %s", c.kind.name,
			strings.TrimPrefix(e.Error(), "target: "))
	}
	if err != nil && !errors.As(err, &e) {
		return &Error{Path: c.path, Err: fmt.Errorf("%w: %w", ErrRange, err), Message: err.Error()}
	}
	return err
}

// allKeys returns the keys of the target: those of the user or of the kind, and the device.
func (c *Config) allKeys() []string {
	device, _ := c.values[slotDevice].(string)
	all := make([]string, 0, len(c.keys)+len(c.kind.keys)+1)
	add := func(keys ...string) {
		for _, k := range keys {
			if k != "" && !slices.Contains(all, k) {
				all = append(all, k)
			}
		}
	}
	if c.keysGiven {
		add(c.keys...)
		add(device)
	} else {
		add(device)
		add(c.kind.keys...)
	}
	return all
}

// unknownOption returns the error for an option that the kind does not have.
func (k *Kind) unknownOption(path, name string) error {
	if e := outOfScope(path, name); e != nil {
		return e
	}
	names := make([]string, len(k.options))
	var all []string
	for i, o := range k.options {
		names[i] = o.Name
		all = append(append(all, o.Name), o.Aliases...)
	}
	return &Error{Path: path, Err: ErrUnknown, Nearest: nearest.Name(name, all),
		Message: fmt.Sprintf("kind %q has no option %s: its options are %s", k.name, brief(name), strings.Join(names,
			", "))}
}
