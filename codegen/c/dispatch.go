package c

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"

	"tvmgo/codegen/abi"
	"tvmgo/dlpack"
	"tvmgo/tir"
)

// Attributes of functions with variants for several targets.
const (
	// AttrDispatch marks a function that calls one of its variants: its value is a [Dispatch], as JSON. Its body is not
	// generated.
	AttrDispatch = "tvmgo.dispatch"
	// AttrShown is a string, the name of a function in its error messages and its signature. Absent: its own.
	AttrShown = "tvmgo.shown"
)

// Dispatch says how a function selects one of its variants.
type Dispatch struct {
	// Param is the parameter whose tensor's device selects. -1: there is none, and the first variant is called. It is
	// also called if the argument is no tensor: its own check of the arguments then reports the error.
	Param    int           `json:"param"`
	Variants []abi.Variant `json:"variants"` // those for one type of device are tried in their order
}

// dispatches reports whether a function calls one of its variants.
func dispatches(f *tir.PrimFunc) bool {
	_, ok := f.Attrs[AttrDispatch].(string)
	return ok
}

// isVariant reports whether a function is the variant of another one.
func isVariant(f *tir.PrimFunc) bool {
	_, ok := f.Attrs[AttrShown].(string)
	return ok
}

// variantEntry returns the C name of a variant, of which its exported name is an alias: a call of the exported one
// would go through the table of the dynamic linker, which may bind it to another file.
func variantEntry(name string) string { return "tvmgo_variant_" + name }

// shownName returns the name of a function in messages.
func shownName(f *tir.PrimFunc) string {
	if name, ok := f.Attrs[AttrShown].(string); ok {
		return name
	}
	return f.Name
}

// dispatch writes an exported function that calls one of its variants. A call costs a look at the tensor and a jump: no
// allocation, and no search for a name after the first call.
func (g *generator) dispatch(f *function, to *text) {
	var d Dispatch
	if err := json.Unmarshal([]byte(f.Attrs[AttrDispatch].(string)), &d); err != nil {
		g.fail("its attribute %s is not what it should be: %w", AttrDispatch, err)
		return
	}
	if g.classic || g.kernels || len(d.Variants) == 0 || d.Param >= len(f.params) {
		g.fail("a function with variants needs the tvm-ffi convention, and at least one variant")
		return
	}
	e := g.newEntry(f)
	calls := make([]string, len(d.Variants))
	for i, v := range d.Variants {
		calls[i] = e.variantCall(v.Function)
	}
	names := variantNames(d.Variants)
	const params = "(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {"
	to.line("")
	if d.Param < 0 {
		to.line("/* %s: %s. */", comment(f.signature()), comment(names))
		to.line("TVMGO_EXPORT int %s%s", entryName(f.Name), params)
		to.line("  return %s;", calls[0])
		to.line("}")
	} else {
		// The way to the CPU's variant has no stack frame: other devices, whose calls take longer anyway, and mistakes
		// are in a function of their own.
		e.snippet("dispatched", "no_variant")
		others := e.generator.names.pick("elsewhere_" + f.Name)
		to.line("static __attribute__((noinline)) int %s%s", others, params)
		to.line("  static const tvmgo_parameter p = %s", strings.TrimSuffix(abi.Parameter(f.Name, d.Param,
			f.paramName(d.Param), f.paramType(f.params[d.Param])), ",")+";")
		to.line("  const DLTensor* tensor = tvmgo_dispatched(args, num_args, %d);", d.Param)
		to.line("  if (tensor == NULL) return %s; /* which reports what is wrong with the arguments */", calls[0])
		to.line("  switch ((int)tensor->device.device_type) {")
		e.cases(&d, calls, to)
		to.line("  }")
		to.line("  return tvmgo_no_variant(&p, tensor->device, %s);", abi.Literal(names))
		to.line("}")
		to.line("")
		to.line("/* %s: %s. */", comment(f.signature()), comment(names))
		to.line("TVMGO_EXPORT int %s%s", entryName(f.Name), params)
		cpu := slices.IndexFunc(d.Variants, func(v abi.Variant) bool { return v.Device == dlpack.CPU && len(v.Needs) == 0 })
		if cpu >= 0 {
			to.line("  const DLTensor* tensor = tvmgo_dispatched(args, num_args, %d);", d.Param)
			to.line("  if (tensor != NULL && tensor->device.device_type == kDLCPU) return %s;", calls[cpu])
		}
		to.line("  return %s(self, args, num_args, result);", others)
		to.line("}")
	}
	e.protos.line("int %s(void*, const TVMFFIAny*, int32_t, TVMFFIAny*);", entryName(f.Name))
	e.metadata(&g.about)
	e.table(&d)
}

// cases writes a case for each type of device. Types with several variants, or with one that has needs, select by the
// attributes of the device, once.
func (e *entry) cases(d *Dispatch, calls []string, to *text) {
	var types []dlpack.DeviceType
	for _, v := range d.Variants {
		if !slices.Contains(types, v.Device) {
			types = append(types, v.Device)
		}
	}
	for _, t := range types {
		var group []int
		needs := false
		for i, v := range d.Variants {
			if v.Device == t {
				group = append(group, i)
				needs = needs || len(v.Needs) > 0
			}
		}
		to.line("    case %d: /* %s */", int32(t), t)
		if !needs {
			to.line("      return %s;", calls[group[0]])
			continue
		}
		to.line("      switch (tvmgo_select(&%s, tensor->device, &p)) {", e.group(d, group))
		for k, i := range group {
			to.line("        case %d: return %s;", k, calls[i])
		}
		to.line("        default: return -1;")
		to.line("      }")
	}
}

// group returns the variable that remembers which of several variants is for which device. Functions with equal needs
// share it.
func (e *entry) group(d *Dispatch, group []int) string {
	var rows strings.Builder
	var list []abi.Variant
	n := 0
	for k, i := range group {
		list = append(list, d.Variants[i])
		for _, need := range d.Variants[i].Needs {
			fmt.Fprintf(&rows, "    {%d, %d, %d, %d},\n", k, need.Attribute, need.Least, need.Most)
			n++
		}
	}
	names := abi.Literal(variantNames(list))
	key := fmt.Sprint(rows.String(), names)
	name := fmt.Sprintf("tvmgo_group_%08x", crc32.ChecksumIEEE([]byte(key)))
	e.snippet("select")
	e.snippetText("group "+name, fmt.Sprintf("static const tvmgo_need %s_needs[] = {\n%s};\n"+
		"static tvmgo_group %s = {%d, %d, %s_needs, %s, {0}};\n", name, rows.String(), name, len(group), n, name, names))
	return name
}

// variantCall returns the call of a variant with the caller's arguments.
func (e *entry) variantCall(name string) string {
	if f := e.module.Func(name); f != nil && isVariant(f) {
		return variantEntry(name) + "(self, args, num_args, result)"
	}
	found := e.lookUp(name)
	e.snippet("call_variant")
	linked := "NULL"
	if e.isSibling(name) {
		e.declareSibling(name)
		linked = entryName(name)
	}
	return fmt.Sprintf("tvmgo_call_variant(%s, &%s, %s, self, args, num_args, result)", linked, found,
		abi.Literal(name))
}

// table writes the constant that lists the variants.
func (e *entry) table(d *Dispatch) {
	text, err := abi.VariantTable{Function: e.f.Name, Variants: d.Variants}.Text()
	if err != nil {
		e.fail("its variants: %w", err)
	}
	symbol := abi.VariantsPrefix + e.f.Name
	e.generator.about.line("TVMGO_EXPORT extern const char %s[];", symbol)
	e.generator.about.line("const char %s[] = %s;", symbol, abi.Literal(text))
}

// variantNames lists variants by their devices: "cpu (c), cuda (cuda -arch=sm_80; cuda -arch=sm_90)".
func variantNames(list []abi.Variant) string {
	var types []dlpack.DeviceType
	texts := map[dlpack.DeviceType][]string{}
	for _, v := range list {
		if texts[v.Device] == nil {
			types = append(types, v.Device)
		}
		texts[v.Device] = append(texts[v.Device], v.Target)
	}
	all := make([]string, len(types))
	for i, t := range types {
		all[i] = t.String()
		if list := strings.Join(texts[t], "; "); list != all[i] {
			all[i] += " (" + list + ")"
		}
	}
	return strings.Join(all, ", ")
}
