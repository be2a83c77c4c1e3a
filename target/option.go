package target

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tvmgo/dlpack"
	"tvmgo/internal/jsonpos"
	"tvmgo/internal/nearest"
)

// commonOptions are the options of every kind.
func commonOptions() []KindOption {
	mark := func(o *OptionInfo) error { o.common = true; return nil }
	return []KindOption{
		Option("kind", String, Alias("id"), mark, Help("the code generator")),
		Option("keys", ListOf(String), mark, Help("names by which schedules are chosen; the first match is used")),
		Option("tag", String, mark, Help("the name of the tag that the target was made from")),
		Option("device", String, Help("a key for the hardware, which is added to keys")),
		Option("model", String, Help("the model of the hardware")),
		Option("libs", ListOf(String), Help("libraries that generated code may call")),
		Option("host", Nested, Alias("target_host"), mark, Help("the target of the code that launches kernels")),
		Option("from_device", Int, mark, Min(-1), Max(math.MaxInt32),
			Help("the device that is queried for options that are not given; -1: none")),
		Option("target_device_type", Int, Min(1), Max(int64(dlpack.MaxDeviceAPI)-1),
			Help("the device type on which code runs, instead of that of the kind")),
	}
}

// Indices of common options in Kind.options.
const (
	slotKind = iota
	slotKeys
	slotTag
	slotDevice
	slotModel
	slotLibs
	slotHost
	slotFromDevice
	slotDeviceType
	numCommon
)

// text is a value from a command line, whose type depends on the option. parts are separated by commas outside of
// quotes.
type text struct {
	raw    string
	parts  []string // unquoted; empty: no value at all
	quoted bool     // the value is one quoted part
	flag   bool     // the option has no value
}

// check converts a given value to the option's Go type.
func (o *OptionInfo) check(path string, v any) (any, error) { return o.checkAt(path, v, 0) }

func (o *OptionInfo) checkAt(path string, v any, depth int) (any, error) {
	if depth > MaxDepth {
		return nil, tooDeep(path)
	}
	v = basic(v)
	if t, ok := v.(text); ok {
		return o.checkCLI(path, t, depth)
	}
	if !o.Type.list {
		return o.checkOne(path, v, depth)
	}
	if s, ok := v.(string); ok && o.Type.base == baseString { // a list in one string: "+neon,+sve"
		parts, err := splitList(s)
		if err != nil {
			return nil, wrong(path, ErrSyntax, "%v", err)
		}
		v = parts
	}
	items, ok := anySlice(v)
	if !ok {
		return nil, &Error{Path: path, Err: ErrType, Expected: o.Type.String(), Found: describe(v)}
	}
	switch o.Type.base {
	case baseInt:
		return listOf[int64](o, path, items, depth)
	case baseBool:
		return listOf[bool](o, path, items, depth)
	case baseFloat:
		return listOf[float64](o, path, items, depth)
	case baseString:
		return listOf[string](o, path, items, depth)
	}
	return listOf[*Target](o, path, items, depth)
}

func listOf[T any](o *OptionInfo, path string, items []any, depth int) (any, error) {
	list := make([]T, len(items))
	size := 0
	for i, item := range items {
		v, err := o.checkOne(jsonpos.Element(path, i), item, depth+1)
		if err != nil {
			return nil, err
		}
		if t, ok := v.(*Target); ok {
			if size += len(t.json); size > maxSize { // checked before all are made: they can share parts
				return nil, tooLarge(path)
			}
		}
		list[i] = v.(T)
	}
	return list, nil
}

func (o *OptionInfo) checkOne(path string, v any, depth int) (any, error) {
	mismatch := func() (any, error) {
		return nil, &Error{Path: path, Err: ErrType, Expected: typeNames[o.Type.base], Found: describe(v)}
	}
	v = basic(v)
	switch o.Type.base {
	case baseBool:
		if b, ok := v.(bool); ok {
			return b, nil
		}
	case baseInt:
		n, whole, fits := toInt(v)
		if whole && (!fits || o.Min != nil && n < *o.Min || o.Max != nil && n > *o.Max) {
			return nil, &Error{Path: path, Err: ErrRange, Expected: o.interval(), Found: describe(v)}
		}
		if whole {
			return n, nil
		}
	case baseFloat:
		if x, ok := toFloat(v); ok {
			return x, nil
		}
		if _, whole, _ := toInt(v); whole || isFloat(v) {
			return nil, &Error{Path: path, Err: ErrRange, Expected: "a finite 64-bit float", Found: describe(v)}
		}
	case baseString:
		s, ok := v.(string)
		if !ok {
			return mismatch()
		}
		if err := checkText(path, s); err != nil {
			return nil, err
		}
		if !strings.HasPrefix(s, o.Prefix) || len(s) == len(o.Prefix) && o.Prefix != "" {
			return nil, &Error{Path: path, Err: ErrRange, Expected: fmt.Sprintf("a str that starts with %q and is longer",
				o.Prefix), Found: describe(v)}
		}
		if o.pattern != nil && !o.pattern.MatchString(s) {
			return nil, &Error{Path: path, Err: ErrRange, Expected: o.example, Found: describe(v)}
		}
		if o.Values != nil && !slices.Contains(o.Values, s) {
			return nil, &Error{Path: path, Err: ErrRange, Expected: "one of " + listed(o.Values), Found: describe(v),
				Nearest: nearest.Name(s, o.Values)}
		}
		return s, nil
	case baseTarget:
		switch v.(type) {
		case string, map[string]any, *Target, within:
			return newAt(path, v, depth+1)
		}
	}
	return mismatch()
}

func isFloat(v any) bool {
	switch v.(type) {
	case float32, float64:
		return true
	}
	return false
}

func (o *OptionInfo) interval() string {
	low, high := int64(math.MinInt64), int64(math.MaxInt64)
	if o.Min != nil {
		low = *o.Min
	}
	if o.Max != nil {
		high = *o.Max
	}
	if o.Max == nil && o.Min != nil {
		return fmt.Sprintf("an int of at least %d", low)
	}
	return fmt.Sprintf("an int from %d to %d", low, high)
}

// anySlice returns the elements of a slice of values of options.
func anySlice(v any) ([]any, bool) {
	switch v := v.(type) {
	case []any:
		return v, true
	case []string:
		return boxed(v), true
	case []int64:
		return boxed(v), true
	case []int:
		return boxed(v), true
	case []bool:
		return boxed(v), true
	case []float64:
		return boxed(v), true
	case []*Target:
		return boxed(v), true
	case []map[string]any:
		return boxed(v), true
	}
	return nil, false
}

func boxed[T any](s []T) []any {
	all := make([]any, len(s))
	for i, v := range s {
		all[i] = v
	}
	return all
}

// cloneValue copies a value of an option, so that callers can change the copy.
func cloneValue(v any) any {
	switch v := v.(type) {
	case []int64:
		return append([]int64{}, v...)
	case []bool:
		return append([]bool{}, v...)
	case []float64:
		return append([]float64{}, v...)
	case []string:
		return append([]string{}, v...)
	case []*Target:
		return append([]*Target{}, v...)
	}
	return v
}
