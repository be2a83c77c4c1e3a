package target

import (
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"tvmgo/internal/jsonpos"
)

// JSON returns the canonical form: kind, tag, keys, host, then attributes sorted by name, with defaults filled in. A
// target made from it equals this one.
func (t *Target) JSON() string { return t.orNone().json }

// MarshalJSON returns the canonical form.
func (t *Target) MarshalJSON() ([]byte, error) {
	if err := t.valid(); err != nil {
		return nil, err
	}
	return []byte(t.json), nil
}

// UnmarshalJSON makes the target from an object, or from text as for [New], so that a program's own configuration can
// contain a *Target. It is an error if t is a target already, since targets do not change.
func (t *Target) UnmarshalJSON(data []byte) error {
	if t.kind != nil {
		return wrong("$", ErrDuplicate,
			"the destination is a target already, and targets do not change: use a new one")
	}
	var x any = data
	switch text := strings.TrimLeft(string(data), " \t\r\n"); {
	case strings.HasPrefix(text, "n"): // null changes nothing, by convention
		return nil
	case strings.HasPrefix(text, `"`):
		r := jsonpos.NewReader(text, MaxDepth)
		x = r.Text()
		if err := r.End(); err != nil {
			return notJSON(err)
		}
	}
	made, err := New(x)
	if err != nil {
		return err
	}
	*t = *made
	return nil
}

// Export returns the configuration that the canonical JSON describes: lists are []any, nested targets are maps.
func (t *Target) Export() map[string]any {
	if t.valid() != nil {
		return nil
	}
	all := t.Attrs()
	for name, v := range all {
		switch v := v.(type) {
		case *Target:
			all[name] = v.Export()
		case []*Target:
			list := make([]any, len(v))
			for i, m := range v {
				list[i] = m.Export()
			}
			all[name] = list
		default:
			if items, ok := anySlice(v); ok {
				all[name] = items
			}
		}
	}
	all["kind"], all["tag"], all["keys"] = t.kind.name, t.tag, boxed(t.keys)
	if t.keepsFromAsking() {
		all["from_device"] = int64(-1)
	}
	if t.host != nil {
		all["host"] = t.host.Export()
	}
	return all
}

// maxSize limits the canonical JSON: maps and targets in Go can share parts, so that their JSON can be far larger than
// they are.
const maxSize = 1 << 20

// seal computes the frequently used values of a finished target. It is an error if targets are nested too deeply, or if
// the target is too large.
func (t *Target) seal(path string) error {
	size := 0
	t.depth = 1
	if t.host != nil {
		t.depth = 1 + t.host.depth
		size = len(t.host.json)
	}
	for _, v := range t.values {
		switch v := v.(type) {
		case *Target:
			t.depth = max(t.depth, 1+v.depth)
			size += len(v.json)
		case []*Target:
			for _, m := range v {
				t.depth = max(t.depth, 1+m.depth)
				size += len(m.json)
			}
		}
	}
	if t.depth > maxTargets {
		return wrong(path, ErrTooDeep, "targets are nested more than %d deep: a host needs no host itself", maxTargets)
	}
	if size > maxSize { // checked before it is written
		return tooLarge(path)
	}
	b := make([]byte, 0, 512)
	b = append(b, `{"kind":`...)
	b = appendText(b, t.kind.name)
	b = append(b, `,"tag":`...)
	b = appendText(b, t.tag)
	b = append(b, `,"keys":`...)
	b = appendValue(b, t.keys)
	if t.host != nil {
		b = append(b, `,"host":`...)
		b = append(b, t.host.json...)
	}
	for _, a := range t.sorted() {
		b = append(b, ',')
		b = appendText(b, a.name)
		b = append(b, ':')
		b = appendValue(b, a.value)
	}
	if len(b) >= maxSize {
		return tooLarge(path)
	}
	t.json = string(append(b, '}'))
	h := fnv.New64a()
	h.Write([]byte(t.json))
	t.hash = h.Sum64()
	return nil
}

func tooLarge(path string) error {
	return wrong(path, ErrTooDeep, "the target has more than %d bytes of JSON", maxSize)
}

// keepsFromAsking reports whether the written form must contain that no device is queried, because the target's tag may
// contain from_device.
func (t *Target) keepsFromAsking() bool { return t.says && t.tag != "" }

// sorted returns the attributes sorted by name; the values are not copied.
func (t *Target) sorted() []feature {
	all := make([]feature, 0, len(t.values)+len(t.features))
	for i, v := range t.values {
		if v != nil {
			all = append(all, feature{t.kind.options[i].Name, v})
		}
	}
	for _, f := range t.features {
		all = append(all, feature{featurePrefix + f.name, f.value})
	}
	if t.keepsFromAsking() {
		all = append(all, feature{"from_device", int64(-1)})
	}
	slices.SortFunc(all, func(a, b feature) int { return compare(a.name, b.name) })
	return all
}

func appendValue(b []byte, v any) []byte {
	switch v := v.(type) {
	case bool:
		return strconv.AppendBool(b, v)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case float64:
		return appendFloat(b, v)
	case string:
		return appendText(b, v)
	case *Target:
		return append(b, v.json...)
	case []bool:
		return appendList(b, v)
	case []int64:
		return appendList(b, v)
	case []float64:
		return appendList(b, v)
	case []string:
		return appendList(b, v)
	case []*Target:
		return appendList(b, v)
	}
	return append(b, "null"...)
}

func appendList[T any](b []byte, list []T) []byte {
	b = append(b, '[')
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendValue(b, v)
	}
	return append(b, ']')
}

// appendFloat writes floats so that they differ from ints.
func appendFloat(b []byte, x float64) []byte {
	start := len(b)
	b = strconv.AppendFloat(b, x, 'g', -1, 64)
	if !strings.ContainsAny(string(b[start:]), ".e") {
		b = append(b, ".0"...)
	}
	return b
}

func appendText(b []byte, s string) []byte {
	const digits = "0123456789abcdef"
	b = append(b, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			_, n := utf8.DecodeRuneInString(s[i:])
			b = append(b, s[i:i+n]...)
			i += n
			continue
		}
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ' || c == 0x7f:
			b = append(b, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		default:
			b = append(b, c)
		}
		i++
	}
	return append(b, '"')
}
