package c

import (
	"encoding/json"
	"strings"

	"tvmgo/tir"
)

// AttrDoc is the attribute of a function with its documentation, which libraries carry.
const AttrDoc = "doc"

// metadata writes what programs ask a library about a function: its type in tvm-ffi's schema, with the names of its arguments and the
// shapes of tensors behind it, and its documentation.
func (e *entry) metadata(to *text) {
	f := e.f
	type schema struct {
		Type string   `json:"type"`
		Args []schema `json:"args,omitempty"`
	}
	result := schema{Type: "None"}
	if f.hasResult() {
		result.Type = schemaType(f.Result)
	}
	all := schema{Type: "ffi.Function", Args: []schema{result}}
	for _, p := range f.params {
		if p.buffer != nil {
			all.Args = append(all.Args, schema{Type: "DLTensor*"})
		} else {
			all.Args = append(all.Args, schema{Type: schemaType(p.v.Type)})
		}
	}
	inner, _ := json.Marshal(all)
	outer, _ := json.Marshal(struct {
		Schema    string `json:"type_schema"`
		Signature string `json:"signature"`
	}{string(inner), f.signature()})
	e.helper("text")
	e.describe(to, "__tvm_ffi__metadata_", string(outer))
	if doc, ok := f.Attrs[AttrDoc].(string); ok && doc != "" {
		e.describe(to, "__tvm_ffi__doc_", doc)
	}
}

func (e *entry) describe(to *text, prefix, content string) {
	to.line("TVMGO_EXPORT int %s%s(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {", prefix, e.f.Name)
	to.line("  static const char text[] =")
	for len(content) > 0 { // in lines that can be read
		n := min(len(content), 100)
		line := literal(content[:n])
		if content = content[n:]; content == "" {
			line += ";"
		}
		to.line("      %s", line)
	}
	to.line("  (void)self, (void)args, (void)num_args;")
	to.line("  return tvmgo_text(text, sizeof text - 1, result);")
	to.line("}")
	e.protos.line("int %s%s(void*, const TVMFFIAny*, int32_t, TVMFFIAny*);", prefix, e.f.Name)
}

// schemaType is what tvm-ffi calls a type of one lane.
func schemaType(t tir.Type) string {
	switch {
	case tir.IsBool(t):
		return "bool"
	case tir.IsHandle(t):
		return "void*"
	case tir.IsFloat(t):
		return "float"
	}
	return "int"
}

// clashes says whether a library has something else under the name that a function is exported by.
func clashes(name string) bool {
	for _, p := range []string{"_metadata_", "_doc_", "_library_"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}
