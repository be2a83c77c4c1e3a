package target_test

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"tvmgo/target"
)

// difference is an intended difference between this package and Apache TVM's wheel. Exactly one of rewrite, refuse and
// adjust is set. A difference that no case shows fails the test.
type difference struct {
	name, why string

	// rewrite converts input to input that the wheel reads as this package reads the original; false if nothing
	// changes.
	rewrite     func(target object) bool
	rewriteText func(s string) string

	// refuse reports whether this package rejects input that the wheel accepts; sort is the kind of the error.
	refuse func(target object) bool
	sort   error

	// adjust converts the wheel's result to this package's; config is the wheel's input, a string or an object.
	adjust func(answer object, config any) bool
}

// kindOf returns the kind of the target that an object describes, "" if there is none.
func kindOf(o object) string {
	for _, name := range []string{"kind", "id"} {
		if kind, given := o[name]; given {
			s, _ := kind.(string)
			return s
		}
	}
	return kindOfTag(o)
}

// kindOfTag returns the kind of the tag that an object names, "" if it names no existing tag.
func kindOfTag(o object) string {
	tag, _ := o["tag"].(string)
	info, _ := target.LookupTag(tag)
	return info.Kind
}

// optionTypesOf returns the types of a kind's options, from the table of docs/abi.md F.2; for an unknown kind, those of
// the options that every kind has.
func optionTypesOf(o object) map[string]string {
	kind := kindOf(o)
	types := map[string]string{}
	rows := optionRows(nil, everyKind)
	for _, k := range kindRows {
		if k.name == kind {
			rows = append(rows, k.rows(nil)...)
		}
	}
	for _, r := range rows {
		types[r.name] = r.typ
	}
	return types
}

// changeOptions replaces the values of options of a type.
func changeOptions(o object, typ string, change func(v any) (any, bool)) bool {
	changed := false
	for name, t := range optionTypesOf(o) {
		if v, given := o[name]; given && t == typ {
			if n, ok := change(v); ok {
				o[name], changed = n, true
			}
		}
	}
	return changed
}

func rename(from, to string) func(object) bool {
	return func(o object) bool {
		v, ok := o[from]
		if _, both := o[to]; !ok || both {
			return false
		}
		delete(o, from)
		o[to] = v
		return true
	}
}

// anyOption reports whether an option of a type has a value for which a function returns true.
func anyOption(typ string, is func(name string, v any) bool) func(object) bool {
	return func(o object) bool {
		for name, t := range optionTypesOf(o) {
			if v, given := o[name]; given && t == typ && is(name, v) {
				return true
			}
		}
		return false
	}
}

// leastOf holds the minimum of options that are counts; the minimum of other options is 0.
var leastOf = map[string]int64{"thread_warp_size": 1, "max_threads_per_block": 1, "max_num_threads": 1, "num-cores": 1,
	"vector-width":             1,
	"workspace-byte-alignment": 1, "constants-byte-alignment": 1, "target_device_type": 1, "from_device": -1,
	"driver_version": math.MinInt64, "vulkan_api_version": math.MinInt64, "max_spirv_version": math.MinInt64}

var mostOf = map[string]int64{"opt-level": 3, "target_device_type": 35, "from_device": math.MaxInt32}

var capability = regexp.MustCompile(`^sm_[0-9]{2,3}[af]?$`)

var differences = []difference{
	{name: "command line", why: "v0.18 reads the command-line form, and people type it; the wheel no longer reads it",
		rewrite:     func(object) bool { return false },
		rewriteText: func(s string) string { return strings.TrimSpace(s) }},
	{name: "id", why: "the 2020 design calls the kind id", rewrite: rename("id", "kind")},
	{name: "target_host", why: "the 2020 design calls the host target_host", rewrite: rename("target_host", "host")},
	{name: "targets", why: "the 2020 design calls the members of a composite target targets",
		rewrite: func(o object) bool { return kindOf(o) == "composite" && rename("targets", "devices")(o) }},
	{name: "whole floats", why: "other programs write 1024.0 where they mean the int, and JSON does not distinguish " +
		"the two",
		rewrite: func(o object) bool {
			return changeOptions(o, "int", func(v any) (any, bool) {
				n, ok := v.(number)
				x := float64(n)
				return int64(x), ok && x == math.Trunc(x) && math.Abs(x) < 1<<62
			})
		}},
	{name: "list as text", why: `the 2020 design writes "mattr": "+neon"`,
		rewrite: func(o object) bool {
			return changeOptions(o, "[]str", func(v any) (any, bool) {
				s, ok := v.(string)
				list := []any{}
				if s != "" {
					for part := range strings.SplitSeq(s, ",") {
						list = append(list, part)
					}
				}
				return list, ok
			})
		}},
	{name: "aliases of tags", why: "people call nvidia/nvidia-h100 nvidia/h100",
		rewriteText: canonicalTagOf,
		rewrite: func(o object) bool {
			s, _ := o["tag"].(string)
			o2 := canonicalTagOf(s)
			if s != o2 {
				o["tag"] = o2
			}
			changed := s != o2
			for _, name := range []string{"host", "devices"} {
				switch v := o[name].(type) {
				case string:
					o[name] = canonicalTagOf(v)
					changed = changed || o[name] != v
				case []any:
					for i := range v {
						if s, ok := v[i].(string); ok && canonicalTagOf(s) != s {
							v[i], changed = canonicalTagOf(s), true
						}
					}
				}
			}
			return changed
		}},
	{name: "a tag beside its kind",
		why: "the 2020 design writes both, and a target that names a GPU is for that GPU",
		rewrite: func(o object) bool {
			if kind, ok := o["kind"]; !ok || kind != kindOfTag(o) {
				return false
			}
			delete(o, "kind")
			return true
		}},
	{name: "a tag beside another kind", why: "the kind or the tag is a mistake", sort: target.ErrRange,
		refuse: func(o object) bool {
			kind, ok := o["kind"]
			return ok && kindOfTag(o) != "" && kind != kindOfTag(o)
		}},
	{name: "system-lib is taken",
		why: "v0.18 has the option, and the 2020 design uses it; its value is compared with the original below",
		rewrite: func(o object) bool {
			v, given := o["system-lib"]
			if !given {
				v, given = o["system_lib"]
			}
			if _, isBool := v.(bool); !given || !isBool || kindOf(o) != "llvm" && kindOf(o) != "c" {
				return false
			}
			delete(o, "system-lib")
			delete(o, "system_lib")
			o["feature.test-system-lib"] = v
			return true
		}},
	{name: "system-lib stays", why: "as above",
		adjust: func(answer object, _ any) bool {
			attrs := answer["attrs"].(object)
			v, ok := attrs["feature.test-system-lib"]
			if ok {
				delete(attrs, "feature.test-system-lib")
				attrs["system-lib"] = v
			}
			return ok
		}},

	{name: "int is no bool", why: "true instead of a number is a mistake, which the wheel turns into 1",
		sort:   target.ErrType,
		refuse: anyOption("int", func(_ string, v any) bool { _, is := v.(bool); return is })},
	{name: "bool is no int", why: "a number instead of true or false is a mistake", sort: target.ErrType,
		refuse: anyOption("bool", func(_ string, v any) bool { _, is := v.(int64); return is })},
	{name: "sizes have a least value", why: "sizes are not negative, warps not empty, device types below 36",
		sort: target.ErrRange,
		refuse: anyOption("int", func(name string, v any) bool {
			n, isInt := v.(int64)
			most, bounded := mostOf[name]
			return isInt && (n < leastOf[name] || bounded && n > most)
		})},
	{name: "enumerations", why: "LLVM supports no other values, and fails later", sort: target.ErrRange,
		refuse: anyOption("str", func(name string, v any) bool {
			known := map[string][]string{"mfloat-abi": {"hard", "soft", "softfp"}, "jit": {"mcjit", "orcjit"}}[name]
			s, isText := v.(string)
			return isText && known != nil && !slices.Contains(known, s)
		})},
	{name: "compute capability",
		why:  "NVCC accepts sm_, digits and at most one letter; the wheel accepts everything that starts with sm_",
		sort: target.ErrRange,
		refuse: func(o object) bool {
			name := map[string]string{"cuda": "arch", "nvptx": "mcpu"}[kindOf(o)]
			s, given := o[name].(string)
			return given && !capability.MatchString(s)
		}},
	{name: "features are scalars", why: "parsers only set numbers, booleans and names", sort: target.ErrType,
		refuse: func(o object) bool {
			return anyFeature(o, func(_ string, v any) bool {
				switch v.(type) {
				case nil, []any, object:
					return true
				}
				return false
			})
		}},
	{name: "names of features", why: "so that the command line form can write them", sort: target.ErrSyntax,
		refuse: func(o object) bool {
			return anyFeature(o, func(name string, _ any) bool { return strings.ContainsAny(name, " ,'") })
		}},
	{name: "null", why: "an option that is not set is left out; null is usually a mistake of another program",
		sort: target.ErrType,
		refuse: func(o object) bool {
			types := optionTypesOf(o)
			for name, v := range o {
				if _, known := types[name]; known && v == nil {
					return true
				}
			}
			return false
		}},

	{name: "a tag by name is kept", why: "a target keeps the tag it was made from; the wheel only for {tag: …}",
		adjust: func(answer object, config any) bool {
			s, _ := config.(string)
			if !strings.Contains(s, "/") || answer["tag"] != "" {
				return false
			}
			answer["tag"] = s
			return true
		}},
	{name: "the system's triple", why: "the wheel names the vendor conda, for which it was built",
		adjust: func(answer object, _ any) bool {
			attrs := answer["attrs"].(object)
			triple, _ := attrs["mtriple"].(string)
			if !strings.Contains(triple, "-conda-") {
				return false
			}
			attrs["mtriple"] = strings.Replace(triple, "-conda-", "-unknown-", 1)
			return true
		}},
	{name: "an empty key is no key", why: "an empty key selects nothing",
		adjust: func(answer object, _ any) bool {
			keys := answer["keys"].([]any)
			answer["keys"] = slices.DeleteFunc(slices.Clone(keys), func(k any) bool { return k == "" })
			return len(answer["keys"].([]any)) < len(keys)
		}},
	{name: "members share the host", why: "in the 2020 design, a member without a host has the composite's",
		adjust: func(answer object, _ any) bool {
			return lend(answer)
		}},
	{name: "SPIR-V follows Vulkan", why: "each version of Vulkan guarantees a version of SPIR-V: 1.0, 1.3, 1.5, 1.6",
		adjust: func(answer object, _ any) bool {
			attrs := answer["attrs"].(object)
			version, ok := attrs["vulkan_api_version"].(int64)
			if _, given := attrs["max_spirv_version"]; !ok || given || version < 1<<22 {
				return false
			}
			spirv := []int64{0x10000, 0x10300, 0x10500, 0x10600}
			attrs["max_spirv_version"] = spirv[min(3, version>>12&0x3ff)]
			return true
		}},
}

// lend gives the host of a composite target to members without a host, recursively.
func lend(answer object) bool {
	changed := false
	members, _ := answer["attrs"].(object)["devices"].([]any)
	for _, m := range members {
		if m := m.(object); answer["host"] != nil && m["host"] == nil {
			m["host"], changed = answer["host"], true
			lend(m)
		}
	}
	return changed
}

func anyFeature(o object, is func(name string, v any) bool) bool {
	for name, v := range o {
		if f, ok := strings.CutPrefix(name, "feature."); ok && is(f, v) {
			return true
		}
	}
	return false
}

// canonicalTagOf returns the canonical name for the aliases that the cases use.
func canonicalTagOf(s string) string {
	if s == "nvidia/h100" {
		return "nvidia/nvidia-h100"
	}
	return s
}
