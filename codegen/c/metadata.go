package c

import (
	"encoding/json"
	"strings"

	"tvmgo/codegen/abi"
	"tvmgo/target"
	"tvmgo/tir"
)

// AttrDoc is the attribute of a function with its documentation, which libraries carry.
const AttrDoc = "doc"

// AttrAbout is the attribute of a module that has [About] of functions by their names, as JSON.
const AttrAbout = "tvmgo.about"

// About is the origin of a function in its metadata, in the form of packed kernels.
type About struct {
	Targets     []TargetOfCode `json:"targets,omitempty"`
	Builder     string         `json:"builder,omitempty"`
	ContentHash string         `json:"content_hash,omitempty"` // hash of the program's text and the target: "sha256:…"
}

// TargetOfCode is the target that a function was generated for.
type TargetOfCode struct {
	Device string          `json:"device"`
	Format string          `json:"format"` // source format: "tir"
	Target json.RawMessage `json:"target"`
	// Function is the variant for this target, of a function that has several.
	Function string `json:"function,omitempty"`
}

// NewTargetOfCode describes a target.
func NewTargetOfCode(t *target.Target) TargetOfCode {
	return TargetOfCode{Device: t.DeviceType().String(), Format: "tir", Target: json.RawMessage(t.JSON())}
}

// about returns the origin of the function, at least its target.
func (e *entry) about() (a About) {
	if t := e.target; t != nil {
		a.Targets = []TargetOfCode{NewTargetOfCode(t)}
	}
	if own, ok := e.abouts()[e.f.Name]; ok {
		a = own
	}
	return a
}

// abouts returns the origins in the module's attribute, which are parsed once.
func (g *generator) abouts() map[string]About {
	text, given := g.module.Attrs[AttrAbout].(string)
	if given && g.origins == nil {
		if err := json.Unmarshal([]byte(text), &g.origins); err != nil {
			g.fail("the module's attribute %s is not what it should be: %w", AttrAbout, err)
		}
	}
	return g.origins
}

// argument is a parameter in the metadata.
type argument struct {
	Name  string `json:"name"`
	Kind  string `json:"kind"` // "tensor", "scalar" or "pointer"
	DType string `json:"dtype,omitempty"`
	Shape *[]any `json:"shape,omitempty"` // numbers, and expressions of sizes
}

func (f *function) argument(i int) argument {
	p := f.params[i]
	a := argument{Name: f.paramName(i), Kind: "scalar", DType: p.v.Type.String()}
	switch {
	case p.buffer != nil:
		shape := make([]any, len(p.buffer.Shape))
		for j, n := range p.buffer.Shape {
			if c, ok := n.(*tir.IntImm); ok {
				shape[j] = c.Value
			} else {
				shape[j] = plain(n)
			}
		}
		a.Kind, a.DType, a.Shape = "tensor", p.buffer.DType.String(), &shape
	case tir.IsHandle(p.v.Type):
		a.Kind, a.DType = "pointer", ""
	}
	return a
}

// metadata writes the functions that describe a function: its type in tvm-ffi's schema, the names of its arguments and
// the shapes of tensors, its targets, and its documentation.
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
	arguments := make([]argument, len(f.params))
	for i := range arguments {
		arguments[i] = f.argument(i)
	}
	inner, _ := json.Marshal(all)
	outer, err := json.Marshal(struct {
		Schema    string     `json:"type_schema"`
		Signature string     `json:"signature"`
		Args      []argument `json:"args"`
		About
	}{string(inner), f.signature(), arguments, e.about()})
	if err != nil {
		e.fail("its metadata: %w", err)
	}
	e.describe(to, abi.MetadataPrefix, string(outer))
	if doc, ok := f.Attrs[AttrDoc].(string); ok && doc != "" {
		e.describe(to, abi.DocPrefix, doc)
	}
}

func (e *entry) describe(to *text, prefix, content string) {
	e.snippet("text")
	to.WriteString(abi.Constant(prefix+e.f.Name, "text", content))
	e.protos.line("int %s%s(void*, const TVMFFIAny*, int32_t, TVMFFIAny*);", prefix, e.f.Name)
}

// schemaType returns tvm-ffi's name of a type of one lane.
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

// clashes reports whether the exported name of a function is reserved for something else.
func clashes(name string) bool {
	for _, p := range []string{"_metadata_", "_doc_", "_library_"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}
