package target

import (
	"strconv"
	"strings"
)

// String returns the command-line form: kind, keys, tag, host, then attributes sorted by name. A target made from it
// equals this one.
func (t *Target) String() string {
	if t.valid() != nil {
		return "<nil>"
	}
	var b strings.Builder
	b.WriteString(t.kind.name)
	put := func(name string, v any) {
		b.WriteString(" -" + name + "=")
		b.WriteString(textOf(v))
	}
	put("keys", t.keys)
	if t.tag != "" {
		put("tag", t.tag)
	}
	if t.host != nil {
		put("host", t.host)
	}
	for _, a := range t.sorted() {
		if s, ok := a.value.(string); ok && strings.HasPrefix(a.name, featurePrefix) {
			put(a.name, always(s))
			continue
		}
		put(a.name, a.value)
	}
	return b.String()
}

// always is text that is quoted even if that is not necessary.
type always string

func textOf(v any) string {
	switch v := v.(type) {
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return string(appendFloat(nil, v))
	case string:
		return quoted(v)
	case always:
		s := quoted(string(v))
		if !strings.HasPrefix(s, "'") {
			s = "'" + s + "'"
		}
		return s
	case *Target:
		return quoted(v.String())
	}
	items, _ := anySlice(v)
	parts := make([]string, len(items))
	for i, item := range items {
		parts[i] = textOf(item)
	}
	return strings.Join(parts, ",")
}
