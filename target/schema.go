package target

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
)

// Patterns of text in a JSON Schema, in expressions with the same meaning in Go and ECMA-262.
const (
	textPattern    = `^[^\x00]*$`
	targetPattern  = `^[^\x00]*[^\x00 \t\r\n][^\x00]*$`
	tagPattern     = `^[A-Za-z0-9][A-Za-z0-9/._,+-]*(:[A-Za-z0-9][A-Za-z0-9_.-]*)?$`
	featurePattern = `^feature\.[A-Za-z0-9][A-Za-z0-9_.-]*$`
	itemPattern    = `('([^'\\\x00]|\\[^\x00])*'|([^',\\\x00]|\\[^\x00])*)`
	commaPattern   = `^` + itemPattern + `(,` + itemPattern + `)*$`
)

// Schema returns a JSON Schema (draft 2020-12) of the JSON objects that [New] accepts for targets of a kind; with "",
// for targets of any kind. It contains the schemas of all kinds that are registered now, since a host can be of any
// kind; its text depends on nothing else. It describes everything that New requires, except
//
//   - which tags exist, and that a tag belongs to the schema's kind;
//   - the content of strings that are targets themselves, or lists with commas whose elements are restricted;
//   - the maximum nesting ([MaxDepth]) and size of a target, and that a key occurs only once in an object;
//   - that an integer of a feature has 64 bits, unless it is written with a decimal point or an exponent;
//   - what the parser of a registered kind requires, and what a device reports.
//
// The error is that of [LookupKind].
func Schema(kind string) ([]byte, error) {
	root := "#/$defs/target"
	if kind != "" {
		if _, err := LookupKind(kind); err != nil {
			return nil, err
		}
		root = "#/$defs/" + kindDef(kind)
	}
	names := Kinds()
	defs := map[string]any{
		"text": schema{"type": "string", "pattern": textPattern, "description": "text without a NUL character"},
		"commas": schema{"type": "string", "pattern": commaPattern,
			"description": `a list with commas: "+neon,+sve". Elements that contain commas or quotes are enclosed ` +
				`in '…', where \ ` +
				`escapes the next character`},
		"feature": schema{"description": "a property of the hardware, such as has_sve",
			"anyOf": []any{schema{"type": "boolean"}, schema{"$ref": "#/$defs/text"}, floatSchema()}},
		"nested": schema{"description": "a nested target",
			"anyOf": []any{schema{"$ref": "#/$defs/target"}, schema{"type": "string", "pattern": targetPattern,
				"description": `a tag, the name of a kind, a command line such as "llvm -mcpu=cortex-a72", or JSON`}}},
	}
	one, rules := []any{}, []any{}
	for _, n := range names {
		k, err := LookupKind(n)
		if err != nil {
			return nil, err
		}
		defs[kindDef(n)] = k.schema()
		ref := schema{"$ref": "#/$defs/" + kindDef(n)}
		one = append(one, ref)
		rules = append(rules, schema{"if": kindIs(schema{"const": n}), "then": ref})
	}
	// one rule for each kind, so that errors refer to the intended kind
	defs["target"] = schema{"type": "object", "description": "a target of any kind",
		"properties": schema{"kind": schema{"enum": names}, "id": schema{"enum": names}},
		"allOf":      append(rules, schema{"if": schema{"not": kindIs(schema{})}, "then": schema{"anyOf": one}})}
	title := "target"
	if kind != "" {
		title += " of kind " + kind
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(schema{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, "$ref": root,
		"$defs": defs})
	return b.Bytes(), err
}

type schema map[string]any

// kindIs returns a schema of objects whose kind, under either name, is given and matches so.
func kindIs(so schema) schema {
	return schema{"anyOf": []any{
		schema{"required": []string{"kind"}, "properties": schema{"kind": so}},
		schema{"required": []string{"id"}, "properties": schema{"id": so}},
	}}
}

func kindDef(kind string) string { return "kind." + kind }

func (k *Kind) schema() schema {
	properties := schema{}
	var rules []any
	for i := range k.options {
		o := &k.options[i]
		s := o.schema()
		switch i {
		case slotKind:
			s = schema{"const": k.name, "description": o.Help}
		case slotTag:
			s["description"] = o.Help + ". Without a kind, that of the tag is used; options that are not given here " +
				"are those of the tag"
		}
		properties[o.Name] = s
		names := append([]string{o.Name}, o.Aliases...)
		for i, alias := range o.Aliases {
			a := maps.Clone(s)
			delete(a, "default")
			a["description"] = "alias of " + o.Name
			properties[alias] = a
			for _, other := range names[:i+1] {
				if o.Name != "kind" { // described below
					rules = append(rules, schema{"not": schema{"required": []string{other, alias}}})
				}
			}
		}
		if o.Unless != "" {
			rules = append(rules, k.limitSchema(o))
		}
	}
	s := schema{
		"title": k.name, "type": "object",
		"description":          fmt.Sprintf("a target of kind %s, whose code runs on devices of type %s", k.name, k.device),
		"properties":           properties,
		"patternProperties":    schema{featurePattern: schema{"$ref": "#/$defs/feature"}},
		"additionalProperties": false,
		"oneOf": []any{
			schema{"required": []string{"kind"}},
			schema{"required": []string{"id"}},
			schema{"required": []string{"tag"}, "properties": schema{"kind": false, "id": false,
				"tag": schema{"pattern": tagPattern}}},
		},
	}
	if len(rules) > 0 {
		s["allOf"] = rules
	}
	return s
}

// limitSchema returns the rules for [MaxUnless]. The flag can also be set by a tag or a device.
func (k *Kind) limitSchema(o *OptionInfo) schema {
	flag := &k.options[k.slots[o.Unless]]
	given := func(names []string, want any) []any {
		var all []any
		for _, n := range names {
			all = append(all, schema{"required": []string{n}, "properties": schema{n: want}})
		}
		return all
	}
	flagNames := append([]string{flag.Name}, flag.Aliases...)
	free := given(flagNames, schema{"const": true})
	free = append(free, schema{"not": kindIs(schema{})})
	free = append(free, given([]string{"from_device"}, schema{"minimum": 0})...)
	if flag.Default == true {
		free = append(free, schema{"not": schema{"anyOf": given(flagNames, schema{})}})
	}
	bound := schema{}
	for _, n := range append([]string{o.Name}, o.Aliases...) {
		bound[n] = schema{"maximum": o.Limit}
	}
	return schema{"if": schema{"anyOf": free}, "else": schema{"properties": bound}}
}

// schema returns the schema of an option's values.
func (o *OptionInfo) schema() schema {
	s := o.elementSchema()
	if o.Type.list {
		s = schema{"type": "array", "items": s}
		if o.Type.base == baseString {
			s = schema{"anyOf": []any{s, schema{"$ref": "#/$defs/commas"}}}
		}
	}
	if o.Help != "" {
		s["description"] = o.Help
	}
	if o.Default != nil {
		s["default"] = json.RawMessage(appendValue(nil, o.Default))
	}
	return s
}

func (o *OptionInfo) elementSchema() schema {
	switch o.Type.base {
	case baseBool:
		return schema{"type": "boolean"}
	case baseInt:
		low, high := int64(math.MinInt64), int64(math.MaxInt64)
		if o.Min != nil {
			low = *o.Min
		}
		if o.Max != nil {
			high = *o.Max
		}
		return schema{"type": "integer", "minimum": low, "maximum": high}
	case baseFloat:
		return floatSchema()
	case baseTarget:
		return schema{"$ref": "#/$defs/nested"}
	}
	s := schema{"$ref": "#/$defs/text"}
	var rules []any
	if o.Prefix != "" {
		rules = append(rules, schema{"pattern": "^" + regexp.QuoteMeta(o.Prefix) + `[^\x00]`})
	}
	if o.pattern != nil {
		rules = append(rules, schema{"pattern": o.pattern.String()})
	}
	if o.Values != nil {
		rules = append(rules, schema{"enum": slices.Clone(o.Values)})
	}
	if len(rules) > 0 {
		s["allOf"] = rules
	}
	return s
}

func floatSchema() schema {
	return schema{"type": "number", "minimum": -math.MaxFloat64, "maximum": math.MaxFloat64}
}
