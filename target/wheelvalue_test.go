package target_test

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"tvmgo/target"
)

// number is a float that is always written with a decimal point, even if it is an integer.
type number float64

func (n number) MarshalJSON() ([]byte, error) {
	s := strconv.FormatFloat(float64(n), 'g', -1, 64)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return []byte(s), nil
}

func asText(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// plainValue decodes JSON so that ints, floats and bools keep different types: int64, number, bool.
func plainValue(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return plainNumbers(v), err
}

func plainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		if !strings.ContainsAny(string(v), ".eE") {
			return v
		}
		x, err := v.Float64()
		if err != nil {
			return v
		}
		return number(x)
	case []any:
		for i := range v {
			v[i] = plainNumbers(v[i])
		}
	case object:
		for k := range v {
			v[k] = plainNumbers(v[k])
		}
	}
	return v
}

// answerOf returns a target or an error in the form that testdata/wheel.py writes.
func answerOf(t *target.Target, err error) object {
	if err != nil {
		return object{"error": err.Error()}
	}
	a := object{"kind": t.Kind().Name(), "tag": t.Tag(), "keys": []any{}, "host": nil}
	for _, k := range t.Keys() {
		a["keys"] = append(a["keys"].([]any), k)
	}
	if t.Host() != nil {
		a["host"] = answerOf(t.Host(), nil)
	}
	attrs := object{}
	for name, v := range t.Attrs() {
		switch v := v.(type) {
		case []string:
			list := []any{}
			for _, s := range v {
				list = append(list, s)
			}
			attrs[name] = list
		case []*target.Target:
			list := []any{}
			for _, m := range v {
				list = append(list, answerOf(m, nil))
			}
			attrs[name] = list
		case float64:
			attrs[name] = number(v)
		default:
			attrs[name] = v
		}
	}
	a["attrs"] = attrs
	return a
}

// eachTarget visits the objects of a question that describe targets.
func eachTarget(v any, visit func(object)) {
	o, ok := v.(object)
	if !ok {
		return
	}
	visit(o)
	for _, name := range []string{"host", "target_host"} {
		eachTarget(o[name], visit)
	}
	for _, name := range []string{"devices", "targets"} {
		members, _ := o[name].([]any)
		for _, m := range members {
			eachTarget(m, visit)
		}
	}
}

// eachAnswer visits the targets of an answer together with the configurations from which they were made.
func eachAnswer(answer object, config any, visit func(answer object, config any)) {
	o, _ := config.(object)
	if host, ok := answer["host"].(object); ok {
		eachAnswer(host, o["host"], visit)
	}
	attrs, _ := answer["attrs"].(object)
	members, _ := attrs["devices"].([]any)
	configs, _ := o["devices"].([]any)
	for i, m := range members {
		if i < len(configs) {
			eachAnswer(m.(object), configs[i], visit)
		}
	}
	visit(answer, config)
}

func deepCopy(v any) any {
	switch v := v.(type) {
	case object:
		c := object{}
		for k, x := range v {
			c[k] = deepCopy(x)
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i, x := range v {
			c[i] = deepCopy(x)
		}
		return c
	}
	return v
}

// asGo converts a value's numbers to the float64 that a Go program would use.
func asGo(v any) any {
	switch v := v.(type) {
	case object:
		for k := range v {
			v[k] = asGo(v[k])
		}
	case []any:
		for i := range v {
			v[i] = asGo(v[i])
		}
	case number:
		return float64(v)
	}
	return v
}
