package target

import (
	"fmt"
	"slices"

	"tvmgo/dlpack"
	"tvmgo/internal/jsonpos"
)

// Target says what code is generated for. It is immutable: slices and maps that its methods return are copies.
type Target struct {
	kind     *Kind
	tag      string
	keys     []string
	host     *Target
	values   []any // by the option's place in kind.options; nil: unset
	features []feature
	warnings []string
	says     bool // the configuration says something of from_device

	json  string // canonical; two targets are equal if it is
	hash  uint64
	depth int // levels of targets within, this one counted
}

// feature is an attribute "feature.name", which the kind's parser or the user set.
type feature struct {
	name  string
	value any
}

// none has the values of a nil target, so that t.Host().HasKey("arm_cpu") needs no check of Host.
var none Target

func (t *Target) orNone() *Target {
	if t == nil {
		return &none
	}
	return t
}

// Kind is the kind of target; nil for a target that is none.
func (t *Target) Kind() *Kind { return t.orNone().kind }

// Tag is the canonical name of the tag that the target was made from, or "".
func (t *Target) Tag() string { return t.orNone().tag }

// Keys are the names by which schedules are chosen, the most specific first.
func (t *Target) Keys() []string { return slices.Clone(t.orNone().keys) }

// HasKey reports whether Keys contains a key.
func (t *Target) HasKey(key string) bool { return slices.Contains(t.orNone().keys, key) }

// Host is the target of the code that launches kernels; nil if there is none. A nil Target has no host, keys, options
// or features.
func (t *Target) Host() *Target { return t.orNone().host }

// Libs are the libraries that generated code may call.
func (t *Target) Libs() []string {
	if t.valid() != nil {
		return nil
	}
	libs, _ := t.values[slotLibs].([]string)
	return slices.Clone(libs)
}

// DeviceType is the device that generated code runs on.
func (t *Target) DeviceType() dlpack.DeviceType {
	if t.valid() != nil {
		return 0
	}
	if n, ok := t.values[slotDeviceType].(int64); ok {
		return dlpack.DeviceType(n)
	}
	return t.kind.device
}

// Members are the targets that a composite target consists of; nil for all others.
func (t *Target) Members() []*Target {
	if t.valid() != nil || !t.kind.composite {
		return nil
	}
	members, _ := t.values[t.kind.slots["devices"]].([]*Target)
	return slices.Clone(members)
}

// Warnings are the assumptions that were made for the target, as sentences. Those for a nested target begin with its
// position: "host: …".
func (t *Target) Warnings() []string {
	return t.orNone().collectWarnings(nil, "", nil)
}

// collectWarnings adds the warnings of a target at a place. Those of the outer target's host are told once, also where
// members have it, too.
func (t *Target) collectWarnings(all []string, place string, outer *Target) []string {
	for _, w := range t.warnings {
		all = append(all, place+w)
	}
	if t.host != nil {
		if !t.host.Equal(outer) {
			all = t.host.collectWarnings(all, place+"host: ", nil)
		}
		outer = t.host
	}
	for i, v := range t.values {
		switch v := v.(type) {
		case *Target:
			all = v.collectWarnings(all, place+t.kind.options[i].Name+": ", nil)
		case []*Target:
			for j, m := range v {
				all = m.collectWarnings(all, place+jsonpos.Element(t.kind.options[i].Name, j)+": ", outer)
			}
		}
	}
	return all
}

// Attrs are the options that have a value, given or by default, and the features as "feature.name". The Go types are
// int64, bool, float64, string, *Target, and slices of these. Kind, tag, keys and host are not among them.
func (t *Target) Attrs() map[string]any {
	all := map[string]any{}
	for i, v := range t.orNone().values {
		if v != nil {
			all[t.kind.options[i].Name] = cloneValue(v)
		}
	}
	for _, f := range t.orNone().features {
		all["feature."+f.name] = f.value
	}
	return all
}

// Features are what the kind's parser found out about the hardware from options alone, as has_sve: int64, bool, float64
// or string.
func (t *Target) Features() map[string]any {
	all := map[string]any{}
	for _, f := range t.orNone().features {
		all[f.name] = f.value
	}
	return all
}

// Feature returns the value of a feature; nil if the target does not have it.
func (t *Target) Feature(name string) any {
	i, ok := slices.BinarySearchFunc(t.orNone().features, name,
		func(f feature, name string) int { return compare(f.name, name) })
	if !ok {
		return nil
	}
	return t.features[i].value
}

func compare(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// Value is the type of an option in Go.
type Value interface {
	int | int64 | bool | float64 | string | *Target | []int64 | []bool | []float64 | []string | []*Target
}

// Get returns the value of an option, or of a feature as "feature.name". The error is ErrNotSet for an option with
// neither a value nor a default, ErrType for an option of another type, and ErrUnknown if the kind has no such option.
// Scalars cost no allocation; a list is a copy.
func Get[T Value](t *Target, name string) (T, error) {
	var out T
	if err := t.valid(); err != nil {
		return out, err
	}
	if slot, ok := t.kind.slots[name]; ok && slot >= slotDevice && slot < len(t.values) {
		if v, ok := as[T](t.values[slot]); ok {
			return v, nil
		}
	}
	v, err := t.lookup(name)
	if err != nil {
		return out, err
	}
	out, ok := as[T](v)
	if !ok {
		return out, &Error{Path: jsonpos.Member("$", name), Err: ErrType, Expected: fmt.Sprintf("type %T in Get", v),
			Found: fmt.Sprintf("%T", out)}
	}
	return out, nil
}

func as[T Value](v any) (T, bool) {
	var out T
	switch p := any(&out).(type) {
	case *int:
		n, ok := v.(int64)
		*p = int(n)
		return out, ok && int64(int(n)) == n
	case *[]int64, *[]bool, *[]float64, *[]string, *[]*Target:
		v = cloneValue(v)
	}
	x, ok := v.(T)
	return x, ok
}

// lookup finds a value by every name that a target has.
func (t *Target) lookup(name string) (any, error) {
	if len(name) > len(featurePrefix) && name[:len(featurePrefix)] == featurePrefix {
		if v := t.Feature(name[len(featurePrefix):]); v != nil {
			return v, nil
		}
		return nil, &Error{Path: jsonpos.Member("$", name), Err: ErrNotSet,
			Message: fmt.Sprintf("kind %q found no such feature", t.kind.name)}
	}
	slot, ok := t.kind.slots[name]
	if !ok {
		return nil, t.kind.unknownOption(jsonpos.Member("$", name), name)
	}
	var v any
	switch slot {
	case slotKind:
		v = t.kind.name
	case slotKeys:
		v = t.keys
	case slotTag:
		v = t.tag
	case slotHost:
		if t.host != nil {
			v = t.host
		}
	default:
		v = t.values[slot]
	}
	if v == nil {
		return nil, &Error{Path: jsonpos.Member("$", name), Err: ErrNotSet,
			Message: "the option is not set, and has no default"}
	}
	return v, nil
}

// Equal reports whether two targets have the same kind, tag, keys, host and options. Modules built for equal targets
// are equal.
func (t *Target) Equal(u *Target) bool {
	return t == u || t != nil && u != nil && t.hash == u.hash && t.json == u.json
}

// Hash is the 64-bit FNV-1a hash of the target's JSON: equal for equal targets, in every process and on every machine.
func (t *Target) Hash() uint64 { return t.orNone().hash }

// WithHost returns the target with another host, or, for nil, without a host and without the name of a tag that has
// one. Members of a composite that have a host keep it; the others get this one.
func (t *Target) WithHost(host *Target) (*Target, error) {
	if err := t.valid(); err != nil {
		return nil, err
	}
	if err := host.valid(); host != nil && err != nil {
		return nil, under("$.host", err)
	}
	u := *t
	u.host = host
	if host == nil && t.host != nil && u.tagHasHost() {
		u.tag = "" // what is read from "tag" would have a host
	}
	if err := u.lendHost("$.devices"); err != nil {
		return nil, err
	}
	if err := u.seal("$"); err != nil {
		return nil, err
	}
	return &u, nil
}

// lendHost gives the host of a composite target to those of its members, and of theirs, that have none. path is that of
// the members.
func (t *Target) lendHost(path string) error {
	members := t.Members()
	if t.host == nil || len(members) == 0 {
		return nil
	}
	for i, m := range members {
		if m.host != nil {
			continue
		}
		with, at := *m, jsonpos.Element(path, i)
		with.host = t.host
		if err := with.lendHost(at + ".devices"); err != nil {
			return err
		}
		if err := with.seal(at); err != nil {
			return err
		}
		members[i] = &with
	}
	t.values = slices.Clone(t.values)
	t.values[t.kind.slots["devices"]] = members
	return nil
}

// valid tells targets that New made from a nil or a zero one.
func (t *Target) valid() error {
	if t == nil || t.kind == nil {
		return wrong("$", ErrType, "the target is nil, or was not made by New")
	}
	return nil
}

// tagHasHost reports whether the target's tag is one that has a host.
func (t *Target) tagHasHost() bool {
	tag, ok := findTag(t.tag)
	if !ok {
		return false
	}
	own := tag.own(findTag, 0)
	return own["host"] != nil || own["target_host"] != nil
}
