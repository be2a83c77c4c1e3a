package target

import (
	"fmt"
	"slices"

	"tvmgo/dlpack"
	"tvmgo/internal/jsonpos"
)

// Target describes what code is generated for. It is immutable and can be used by several goroutines: slices and maps
// that its methods return are copies.
type Target struct {
	kind     *Kind
	tag      string
	keys     []string
	host     *Target
	values   []any // by the option's index in kind.options; nil: unset
	features []feature
	warnings []string
	says     bool // the configuration contains from_device

	json  string // canonical; equal targets have equal JSON
	hash  uint64
	depth int // levels of nested targets, including this one
}

// feature is an attribute "feature.name", which the kind's parser or the user has set.
type feature struct {
	name  string
	value any
}

// none represents a nil target, so that t.Host().HasKey("arm_cpu") needs no check of Host.
var none Target

func (t *Target) orNone() *Target {
	if t == nil {
		return &none
	}
	return t
}

// Kind returns the kind of the target; nil for a nil or zero target.
func (t *Target) Kind() *Kind { return t.orNone().kind }

// Tag returns the canonical name of the tag that the target was made from, or "".
func (t *Target) Tag() string { return t.orNone().tag }

// Keys returns the names by which schedules are chosen, the most specific first.
func (t *Target) Keys() []string { return slices.Clone(t.orNone().keys) }

// HasKey reports whether Keys contains a key.
func (t *Target) HasKey(key string) bool { return slices.Contains(t.orNone().keys, key) }

// Host returns the target of the code that launches kernels; nil if there is none. A nil Target has no host, keys,
// options or features.
func (t *Target) Host() *Target { return t.orNone().host }

// Libs returns the libraries that generated code may call.
func (t *Target) Libs() []string {
	if t.valid() != nil {
		return nil
	}
	libs, _ := t.values[slotLibs].([]string)
	return slices.Clone(libs)
}

// DeviceType returns the type of the device on which generated code runs.
func (t *Target) DeviceType() dlpack.DeviceType {
	if t.valid() != nil {
		return 0
	}
	if n, ok := t.values[slotDeviceType].(int64); ok {
		return dlpack.DeviceType(n)
	}
	return t.kind.device
}

// Members returns the targets that a composite target consists of; nil for other targets.
func (t *Target) Members() []*Target {
	if t.valid() != nil || !t.kind.composite {
		return nil
	}
	members, _ := t.values[t.kind.slots["devices"]].([]*Target)
	return slices.Clone(members)
}

// Warnings returns the assumptions that were made for the target, as sentences. Those for a nested target begin with
// its position: "host: …".
func (t *Target) Warnings() []string {
	return t.orNone().collectWarnings(nil, "", nil)
}

// collectWarnings adds the warnings of the target at a position. Those of the outer target's host are added once, even
// if members have the same host.
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

// Attrs returns the options that have a value, given or by default, and the features as "feature.name". The Go types
// are int64, bool, float64, string, *Target, and slices of these. Kind, tag, keys and host are not included.
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

// Features returns what the kind's parser determined about the hardware from the options, such as has_sve: int64, bool,
// float64 or string.
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

// Value is the constraint of Get: the Go types of options.
type Value interface {
	int | int64 | bool | float64 | string | *Target | []int64 | []bool | []float64 | []string | []*Target
}

// Get returns the value of an option, or of a feature as "feature.name". The error is ErrNotSet for an option with
// neither a value nor a default, ErrType for an option of another type, and ErrUnknown if the kind has no such option.
// Scalars are returned without allocation; a list is a copy.
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

// lookup finds a value by any name under which a target can have it.
func (t *Target) lookup(name string) (any, error) {
	if len(name) > len(featurePrefix) && name[:len(featurePrefix)] == featurePrefix {
		if v := t.Feature(name[len(featurePrefix):]); v != nil {
			return v, nil
		}
		return nil, &Error{Path: jsonpos.Member("$", name), Err: ErrNotSet,
			Message: fmt.Sprintf("a target of kind %q has no such feature here", t.kind.name)}
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

// Hash returns the 64-bit FNV-1a hash of the target's JSON: equal targets have equal hashes, in every process and on
// every machine.
func (t *Target) Hash() uint64 { return t.orNone().hash }

// WithHost returns a copy of the target with another host. With nil it returns a target without a host, and, if the
// target's tag has a host, without the tag. Members of a composite that have a host keep it; the others get this one.
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
		u.tag = "" // a target read from "tag" would have a host
	}
	if err := u.lendHost("$.devices"); err != nil {
		return nil, err
	}
	if err := u.seal("$"); err != nil {
		return nil, err
	}
	return &u, nil
}

// lendHost sets the host of a composite target on those of its members, and of their members, that have none. path is
// that of the members.
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

// valid returns an error for targets that New did not make: nil or zero ones.
func (t *Target) valid() error {
	if t == nil || t.kind == nil {
		return wrong("$", ErrType, "the target is nil, or was not made by New")
	}
	return nil
}

// tagHasHost reports whether the target's tag has a host.
func (t *Target) tagHasHost() bool {
	tag, ok := findTag(t.tag)
	if !ok {
		return false
	}
	own := tag.own(findTag, 0)
	return own["host"] != nil || own["target_host"] != nil
}
