package target

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"tvmgo/dlpack"
	"tvmgo/internal/nearest"
)

// Kind is a kind of target: a code generator, the type of device on which its code runs, and its options. RegisterKind
// makes it; afterwards only SetAttr adds attributes. It can be used by several goroutines.
type Kind struct {
	name      string
	device    dlpack.DeviceType
	keys      []string
	options   []OptionInfo   // the common options come first
	slots     map[string]int // indices in options, by name and alias
	parser    Parser
	composite bool
	builtin   bool

	attrsMu sync.Mutex
	attrs   atomic.Pointer[map[string]any] // copied on write
}

// Name returns the name of the kind, which is the value of "kind" in targets; "" for a nil kind.
func (k *Kind) Name() string {
	if k == nil {
		return ""
	}
	return k.name
}

// DeviceType returns the type of device on which code of this kind runs, unless the target sets target_device_type.
func (k *Kind) DeviceType() dlpack.DeviceType { return k.device }

// DefaultKeys returns the keys of targets that do not set any.
func (k *Kind) DefaultKeys() []string { return slices.Clone(k.keys) }

// IsComposite reports whether targets of the kind consist of other targets.
func (k *Kind) IsComposite() bool { return k.composite }

// BuiltIn reports whether the kind is built in, rather than registered by a program.
func (k *Kind) BuiltIn() bool { return k.builtin }

// Options returns the options in the order of their declaration, after those that every kind has.
func (k *Kind) Options() []OptionInfo {
	all := slices.Clone(k.options)
	for i := range all {
		all[i] = all[i].clone()
	}
	return all
}

// String returns the kind's name.
func (k *Kind) String() string { return k.Name() }

// OptionInfo is an option of a kind.
type OptionInfo struct {
	Name    string
	Type    Type
	Aliases []string // other names that are accepted
	Default any      // of the Go type for Type; nil: no default
	Min     *int64   // of an int; nil: no limit
	Max     *int64
	Values  []string // of a str, or the elements of a list; nil: any
	Prefix  string   // that a str must start with; "": any
	Pattern string   // a regular expression that a str must match from end to end; "": any
	Unless  string   // a flag: unless it is true, an int must be at most Limit; "": no such limit
	Limit   int64
	Help    string // one line

	pattern  *regexp.Regexp // Pattern, anchored
	example  string         // the meaning of Pattern
	property *string        // the name of the device's property; nil: the option's name
	common   bool           // handled by New itself: kind, keys, tag, host, from_device
}

func (o OptionInfo) clone() OptionInfo {
	o.Aliases, o.Values = slices.Clone(o.Aliases), slices.Clone(o.Values)
	o.Default = cloneValue(o.Default)
	if o.Min != nil {
		n := *o.Min
		o.Min = &n
	}
	if o.Max != nil {
		n := *o.Max
		o.Max = &n
	}
	return o
}

// KindOption is a part of a kind's declaration, for RegisterKind.
type KindOption func(*Kind) error

// OptionSetting is a part of an option's declaration, for Option.
type OptionSetting func(*OptionInfo) error

// Option declares an option with a name, a type and settings such as [Default], [Min] or [OneOf].
func Option(name string, t Type, settings ...OptionSetting) KindOption {
	return func(k *Kind) error {
		o := OptionInfo{Name: name, Type: t}
		if t.base == baseInvalid || t.base > baseTarget {
			return fmt.Errorf("option %q has no type: want target.Int, Bool, Float, String, Nested, or ListOf one of them", name)
		}
		for _, set := range settings {
			if set == nil {
				return fmt.Errorf("option %q: a setting is nil", name)
			}
			if err := set(&o); err != nil {
				return fmt.Errorf("option %q: %w", name, err)
			}
		}
		if o.Min != nil && o.Max != nil && *o.Min > *o.Max {
			return fmt.Errorf("option %q: Min is %d, and Max is %d", name, *o.Min, *o.Max)
		}
		for i := -1; i < len(o.Aliases); i++ {
			n := name
			if i >= 0 {
				n = o.Aliases[i]
			}
			if err := checkName("option", n); err != nil {
				return err
			}
			if strings.HasPrefix(n, featurePrefix) {
				return fmt.Errorf("option %q has the name of a feature: features are not declared", n)
			}
			if _, twice := k.slots[n]; twice {
				return fmt.Errorf("option %q is declared twice, or every kind has it", n)
			}
			k.slots[n] = len(k.options)
		}
		if o.Default != nil {
			v, err := o.check("default", o.Default)
			if err != nil {
				return fmt.Errorf("option %q: %w", name, err)
			}
			o.Default = v
		}
		k.options = append(k.options, o)
		return nil
	}
}

// Default sets the value of an option that is not given.
func Default(v any) OptionSetting {
	return func(o *OptionInfo) error {
		if v == nil {
			return fmt.Errorf("the default is nil: leave Default out")
		}
		o.Default = v
		return nil
	}
}

// Min sets the least value of an int, or of the elements of a list of ints.
func Min(n int64) OptionSetting {
	return func(o *OptionInfo) error { o.Min = &n; return o.needs(baseInt, "Min") }
}

// Max sets the greatest value of an int, or of the elements of a list of ints.
func Max(n int64) OptionSetting {
	return func(o *OptionInfo) error { o.Max = &n; return o.needs(baseInt, "Max") }
}

// OneOf sets the permitted values of a str, or of the elements of a list.
func OneOf(values ...string) OptionSetting {
	return func(o *OptionInfo) error {
		if len(values) == 0 {
			return errors.New("OneOf has no values")
		}
		o.Values = slices.Clone(values)
		return o.needs(baseString, "OneOf")
	}
}

// StartsWith sets the prefix that a str, or each element of a list, must have.
func StartsWith(prefix string) OptionSetting {
	return func(o *OptionInfo) error { o.Prefix = prefix; return o.needs(baseString, "StartsWith") }
}

// Matches sets a regular expression that a str, or each element of a list, must match as a whole. It must have the same
// meaning in Go and ECMA-262: classes, groups and counts. Errors contain the meaning instead of the pattern: "sm_ and
// two or three digits".
func Matches(pattern, meaning string) OptionSetting {
	return func(o *OptionInfo) (err error) {
		o.Pattern, o.example = pattern, meaning
		if o.pattern, err = regexp.Compile(`^(?:` + pattern + `)$`); err != nil {
			return err
		}
		return o.needs(baseString, "Matches")
	}
}

// MaxUnless sets the greatest value of an int for targets in which flag, another option, is not true.
func MaxUnless(n int64, flag string) OptionSetting {
	return func(o *OptionInfo) error {
		o.Limit, o.Unless = n, flag
		if o.Type != Int {
			return o.needs(baseInvalid, "MaxUnless")
		}
		return nil
	}
}

// Alias adds names under which the option can be given and read.
func Alias(names ...string) OptionSetting {
	return func(o *OptionInfo) error { o.Aliases = append(o.Aliases, names...); return nil }
}

// Help sets the description of an option, in one line.
func Help(line string) OptionSetting {
	return func(o *OptionInfo) error { o.Help = line; return nil }
}

func (o *OptionInfo) needs(b baseType, setting string) error {
	if o.Type.base != b {
		return fmt.Errorf("%s does not apply to type %s", setting, o.Type)
	}
	return nil
}

// DefaultKeys sets the keys of targets that do not set any.
func DefaultKeys(keys ...string) KindOption {
	return func(k *Kind) error {
		for _, s := range keys {
			if err := checkName("key", s); err != nil {
				return err
			}
		}
		k.keys = slices.Clone(keys)
		return nil
	}
}

// WithParser sets the function that completes and checks the targets of a kind.
func WithParser(p Parser) KindOption {
	return func(k *Kind) error { k.parser = p; return nil }
}

// Composite declares a kind whose targets consist of other targets, which are listed in the option "devices" or its
// alias "targets". Package target/partition divides work among them.
func Composite() KindOption {
	return func(k *Kind) error {
		k.composite = true
		return Option("devices", ListOf(Nested), Alias("targets"), Help("the targets that this one consists of"))(k)
	}
}

// WithAttr sets an attribute of the kind, as [SetAttr] does.
func WithAttr[T any](column string, value T) KindOption {
	return func(k *Kind) error { return setAttr(k, column, value) }
}

// RegisterKind registers a kind of target, whose code runs on devices of the given type. A kind cannot be removed or
// replaced. If a name is in use, malformed or declared twice, nothing is registered, and the error, of type *[Error],
// is ErrDuplicate or ErrRegister. RegisterKind may be called from init functions and by several goroutines.
func RegisterKind(name string, device dlpack.DeviceType, parts ...KindOption) (*Kind, error) {
	builtinKinds()
	k, err := newKind(name, device, parts)
	if err != nil {
		return nil, err
	}
	if _, taken := findTag(name); taken {
		return nil, &Error{Err: ErrDuplicate, Message: fmt.Sprintf("register kind %q: a tag has that name", name)}
	}
	if err := kinds.add(k); err != nil {
		return nil, err
	}
	return k, nil
}

// commonKind returns a kind with the options of every kind; newKind completes it.
func commonKind() *Kind {
	common.Do(func() {
		common.kind.slots = map[string]int{}
		for _, part := range commonOptions() {
			if err := part(&common.kind); err != nil {
				panic(err) // a mistake in commonOptions
			}
		}
	})
	return &common.kind
}

var common struct {
	sync.Once
	kind Kind
}

func newKind(name string, device dlpack.DeviceType, parts []KindOption) (*Kind, error) {
	fail := func(err error) (*Kind, error) {
		return nil, &Error{Err: ErrRegister, Message: fmt.Sprintf("register kind %q: %v", name, err)}
	}
	if err := checkName("kind", name); err != nil {
		return fail(err)
	}
	if device <= 0 || device >= dlpack.MaxDeviceAPI {
		return fail(fmt.Errorf("invalid device type %d: want one from 1 to %d", device, dlpack.MaxDeviceAPI-1))
	}
	base := commonKind()
	k := &Kind{name: name, device: device, slots: make(map[string]int, len(base.slots)+len(parts)),
		options: append(make([]OptionInfo, 0, numCommon+len(parts)), base.options...)}
	maps.Copy(k.slots, base.slots)
	for _, part := range parts {
		if part == nil {
			return fail(errors.New("a part of the declaration is nil"))
		}
		if err := part(k); err != nil {
			return fail(err)
		}
	}
	for _, o := range k.options {
		if o.Unless == "" {
			continue
		}
		if slot, ok := k.slots[o.Unless]; !ok || k.options[slot].Type != Bool {
			return fail(fmt.Errorf("option %q: MaxUnless names %q, which is not a flag of the kind", o.Name, o.Unless))
		}
		if n, ok := o.Default.(int64); ok && n > o.Limit { // the JSON of a target without the flag would be rejected
			return fail(fmt.Errorf("option %q: Default is %d, and MaxUnless %d", o.Name, n, o.Limit))
		}
	}
	if _, divides := Attr[Strategy](k, ColumnStrategy); divides && !k.composite {
		return fail(errNoComposite)
	}
	return k, nil
}

// checkName accepts only names that command lines and JSON can contain without quotes.
func checkName(what, s string) error {
	if s == "" {
		return fmt.Errorf("a %s has an empty name", what)
	}
	for i := range len(s) {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && (i == 0 || c != '_' && c != '-' && c != '.') {
			return fmt.Errorf("%s name %q: want letters and digits, and _ - . after the first", what, s)
		}
	}
	return nil
}

// kinds contains the registered kinds.
var kinds kindTable

type kindTable struct {
	mu  sync.Mutex
	all atomic.Pointer[map[string]*Kind] // copied on write
}

func (t *kindTable) add(some ...*Kind) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := map[string]*Kind{}
	if p := t.all.Load(); p != nil {
		all = maps.Clone(*p)
	}
	for _, k := range some {
		if all[k.name] != nil {
			return &Error{Err: ErrDuplicate, Message: fmt.Sprintf("register kind %q: a kind has that name already", k.name)}
		}
		all[k.name] = k
	}
	t.all.Store(&all)
	return nil
}

// LookupKind returns the kind with the given name. If there is none, the error is ErrUnknown and contains the most
// similar name.
func LookupKind(name string) (*Kind, error) {
	builtinKinds()
	if k := (*kinds.all.Load())[name]; k != nil {
		return k, nil
	}
	return nil, unknownKind("", name)
}

func unknownKind(path, name string) *Error {
	names := Kinds()
	return &Error{Path: path, Err: ErrUnknown, Nearest: nearest.Name(name, names),
		Message: fmt.Sprintf("there is no target kind %s: known are %s", brief(name), listed(names))}
}

// Kinds returns the names of the registered kinds, sorted. The caller may change the list.
func Kinds() []string {
	builtinKinds()
	return slices.Sorted(maps.Keys(*kinds.all.Load()))
}
