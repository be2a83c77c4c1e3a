package pack

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"tvmgo/dlpack"
)

// Metadata describes a packed function, as JSON: runtime.Module.Metadata returns it.
type Metadata struct {
	TypeSchema  string         `json:"type_schema"` // the schema of tvm-ffi, which is JSON itself
	Signature   string         `json:"signature"`
	Args        []ArgMetadata  `json:"args"`
	Launch      []LaunchParam  `json:"launch,omitempty"`
	Targets     []TargetOfFile `json:"targets"`
	Builder     string         `json:"builder"`
	ContentHash string         `json:"content_hash"` // sha256 of the signature and the kernels' files, "sha256:…"
}

// ArgMetadata describes an argument.
type ArgMetadata struct {
	Name   string `json:"name,omitempty"`
	Kind   string `json:"kind"`             // "tensor", "scalar" or "launch"
	DType  string `json:"dtype,omitempty"`  // of a tensor, unless it is a handle
	Shape  []any  `json:"shape,omitempty"`  // numbers, names, and "_" for any size; absent if any shape is accepted
	Access string `json:"access,omitempty"` // "const", "out" or "inout"
}

// LaunchParam is a launch parameter.
type LaunchParam struct {
	Tag  string `json:"tag"`
	Expr string `json:"expr,omitempty"` // "": the caller passes the value as an argument
}

// TargetOfFile describes for which device one of a function's kernels is.
type TargetOfFile struct {
	Device string          `json:"device"`
	Format string          `json:"format"` // suffix of the file with the kernel
	Target json.RawMessage `json:"target"` // a string, or the target's own JSON
}

// describe makes the metadata of every function.
func (p *packer) describe(Kernels) error {
	for _, f := range p.functions {
		m := Metadata{TypeSchema: f.sig.schema(), Signature: f.sig.String(), Args: f.sig.args(), Builder: p.builder}
		for _, l := range f.sig.Launch {
			param := LaunchParam{Tag: l.Tag}
			if l.Expr != nil {
				param.Expr = l.Expr.String()
			}
			m.Launch = append(m.Launch, param)
		}
		hash := sha256.New()
		fmt.Fprintf(hash, "%s\n", f.sig)
		for _, v := range f.variants {
			in := v.input
			fmt.Fprintf(hash, "%s %s %x\n", in.form.suffix, in.target, in.hash)
			target, err := json.Marshal(in.target)
			if strings.HasPrefix(in.target, "{") {
				target = json.RawMessage(in.target)
			}
			if err != nil {
				return err
			}
			m.Targets = append(m.Targets, TargetOfFile{v.kind.name, in.form.suffix[1:], target})
		}
		m.ContentHash = fmt.Sprintf("sha256:%x", hash.Sum(nil))
		text, err := json.Marshal(m)
		if err != nil {
			return err
		}
		f.metadata = string(text)
	}
	return nil
}

func (s *Signature) args() []ArgMetadata {
	list := []ArgMetadata{}
	for i := range s.Params {
		p := &s.Params[i]
		a := ArgMetadata{Name: p.Name, Kind: "scalar", DType: p.Type.String()}
		switch {
		case p.Any:
			a.Kind, a.DType = "tensor", ""
		case p.Tensor:
			a.Kind, a.Shape = "tensor", []any{}
			for _, d := range p.Dims {
				if d.Any || d.Name != "" {
					a.Shape = append(a.Shape, d.String())
				} else {
					a.Shape = append(a.Shape, d.Size)
				}
			}
		}
		a.Access = map[bool]string{true: "const"}[p.Const] + map[Role]string{Out: "out", InOut: "inout"}[p.Role]
		list = append(list, a)
	}
	for _, l := range s.CallerExtents() {
		list = append(list, ArgMetadata{Name: l.Tag, Kind: "launch", DType: "int64"})
	}
	return list
}

type schemaType struct {
	Type  string       `json:"type"`
	Named *namedSchema `json:"named_args,omitempty"`
}

type namedSchema struct {
	Return []schemaType `json:"return"`
	Params []schemaType `json:"params"`
}

// schema returns the type as tvm-ffi describes it.
func (s *Signature) schema() string {
	params := []schemaType{}
	for i := range s.Params {
		p := &s.Params[i]
		name := "int"
		switch {
		case p.Tensor:
			name = "DLTensor*" // of which a ffi.Tensor is one
		case p.Type == dlpack.Bool:
			name = "bool"
		case p.Type.Code == dlpack.CodeFloat:
			name = "float"
		}
		params = append(params, schemaType{Type: name})
	}
	for range s.CallerExtents() {
		params = append(params, schemaType{Type: "int"})
	}
	text, err := json.Marshal(schemaType{"ffi.Function",
		&namedSchema{Return: []schemaType{{Type: "None"}}, Params: params}})
	if err != nil {
		panic(err) // strings alone
	}
	return string(text)
}

var targetName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// targetKind returns the kind of a target in either form.
func targetKind(text string) (string, error) {
	kind := strings.TrimSpace(text)
	if strings.HasPrefix(kind, "{") {
		var t struct{ Kind string }
		if err := json.Unmarshal([]byte(text), &t); err != nil {
			return "", fmt.Errorf("it is no JSON: %w", err)
		}
		kind = t.Kind
	} else if fields := strings.Fields(kind); len(fields) > 0 {
		kind = fields[0]
	}
	if !targetName.MatchString(kind) {
		return "", errors.New(`it names no kind: write for example cuda -arch=sm_90, or {"kind": "cuda"}`)
	}
	return kind, nil
}
