package deploy

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

// schemas has the schemas of Kubernetes and of KServe. Unknown fields are errors in them.
type schemas struct {
	t          *testing.T
	kubernetes *zip.ReadCloser
	compiler   *jsonschema.Compiler
	names      map[string]string // of Kubernetes' definitions by the names that its Python client gives them
	kserve     map[string]string // the Python classes of KServe's objects by their names
}

// Where build/scripts/deps.sh puts the wheels, and where they have the schemas.
const (
	wheels      = "../build/.cache/schemas"
	definitions = "https://kubernetes.io/api/_definitions.json"
)

var (
	folderOfSchemas = regexp.MustCompile(`/v[0-9.]+-local-strict/_definitions\.json$`)
	classOfKServe   = regexp.MustCompile(`(?m)^class (\w+)\(object\):`)
	entry           = regexp.MustCompile(`(?m)^ +'(\w+)': '([^']+)'`)
	needed          = regexp.MustCompile(`client_side_validation and (\w+) is None`)
)

func openSchemas(t *testing.T) *schemas {
	t.Helper()
	open := func(pattern string) *zip.ReadCloser {
		paths := must.Get(filepath.Glob(filepath.Join(wheels, pattern)))(t)
		if len(paths) == 0 {
			require.Empty(t, os.Getenv("CI"), "the schemas of Kubernetes and KServe are not in %s", wheels)
			t.Skip("the schemas of Kubernetes and KServe are not there: run make deps")
		}
		z := must.Get(zip.OpenReader(paths[0]))(t)
		t.Cleanup(func() { z.Close() })
		return z
	}
	s := &schemas{t: t, kubernetes: open("kubernetes_validate-*.whl"), names: map[string]string{},
		kserve: map[string]string{}}
	for _, f := range open("kserve-*.whl").File {
		if strings.HasPrefix(f.Name, "kserve/models/") {
			text := s.text(f)
			if class := classOfKServe.FindStringSubmatch(text); class != nil {
				s.kserve[class[1]] = text
			}
		}
	}
	require.NotEmpty(t, s.kserve)
	s.compiler = jsonschema.NewCompiler()
	s.compiler.UseLoader(s)
	var all struct {
		Definitions map[string]any `json:"$defs"`
	}
	require.NoError(t, json.Unmarshal([]byte(s.kubernetesFile("_definitions")), &all))
	for name := range all.Definitions {
		parts := strings.Split(name, ".")
		group, version, kind := parts[len(parts)-3], parts[len(parts)-2], parts[len(parts)-1]
		short := strings.ToUpper(version[:1]) + version[1:] + kind
		if s.names[short] == "" || group == "core" { // several groups have, for example, an Event
			s.names[short] = name
		}
	}
	return s
}

func (s *schemas) text(f *zip.File) string {
	r := must.Get(f.Open())(s.t)
	defer r.Close()
	return string(must.Get(io.ReadAll(r))(s.t))
}

// kubernetesFile returns a file of the newest version of Kubernetes that the wheel has, which is its last.
func (s *schemas) kubernetesFile(name string) (text string) {
	for _, f := range s.kubernetes.File {
		if folderOfSchemas.MatchString(filepath.Dir(f.Name)+"/_definitions.json") && filepath.Base(f.Name) == name+".json" {
			text = s.text(f)
		}
	}
	require.NotEmpty(s.t, text, "the wheel with the schemas of Kubernetes has no %s.json", name)
	return text
}

// Load is called for the schemas that others refer to.
func (s *schemas) Load(url string) (any, error) {
	if url != definitions {
		return nil, fmt.Errorf("there is no %s", url)
	}
	return jsonschema.UnmarshalJSON(strings.NewReader(s.kubernetesFile("_definitions")))
}

// check returns what is wrong with an object.
func (s *schemas) check(object map[string]any) error {
	version, kind := object["apiVersion"].(string), object["kind"].(string)
	group, v, ok := strings.Cut(version, "/")
	if !ok {
		group, v = "", version
	}
	var schema any
	if group == "serving.kserve.io" {
		schema = s.class(strings.ToUpper(v[:1]) + v[1:] + kind)
	} else {
		parts := []string{strings.ToLower(kind), strings.Split(group, ".")[0], v}
		if group == "" {
			parts = []string{parts[0], v}
		}
		text := s.kubernetesFile(strings.Join(parts, "-"))
		schema = must.Get(jsonschema.UnmarshalJSON(strings.NewReader(text)))(s.t)
	}
	url := "https://kubernetes.io/api/" + strings.ToLower(version+"/"+kind)
	if err := s.compiler.AddResource(url, schema); err != nil {
		var exists *jsonschema.ResourceExistsError
		require.ErrorAs(s.t, err, &exists)
	}
	compiled := must.Get(s.compiler.Compile(url))(s.t)
	text := must.Get(json.Marshal(object))(s.t)
	return compiled.Validate(must.Get(jsonschema.UnmarshalJSON(strings.NewReader(string(text))))(s.t))
}

// class returns the schema of a class of KServe, with those that it refers to.
func (s *schemas) class(name string) map[string]any {
	require.NotEmpty(s.t, s.kserve[name], "KServe has no %s", name)
	defs := map[string]any{}
	s.define(name, defs)
	return map[string]any{"$schema": "https://json-schema.org/draft/2020-12/schema", "$ref": "#/$defs/" + name,
		"$defs": defs}
}

// define adds the schema of a class. Its text has a table of the attributes' types, and one of their names in JSON.
func (s *schemas) define(name string, defs map[string]any) {
	if defs[name] != nil {
		return
	}
	properties, required := map[string]any{}, []any{}
	defs[name] = map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
	_, text, _ := strings.Cut(s.kserve[name], "openapi_types = {")
	types, text, _ := strings.Cut(text, "}")
	_, text, _ = strings.Cut(text, "attribute_map = {")
	names, text, _ := strings.Cut(text, "}")
	inJSON := map[string]string{}
	for _, e := range entry.FindAllStringSubmatch(names, -1) {
		inJSON[e[1]] = e[2]
	}
	for _, e := range entry.FindAllStringSubmatch(types, -1) {
		properties[inJSON[e[1]]] = s.typed(e[2], defs)
	}
	require.Len(s.t, properties, len(inJSON), "attributes of %s", name)
	for _, e := range needed.FindAllStringSubmatch(text, -1) {
		required = append(required, inJSON[e[1]])
	}
	defs[name].(map[string]any)["required"] = required
}

// typed returns the schema of a type as the client writes it: str, list[V1Container], dict(str, str).
func (s *schemas) typed(name string, defs map[string]any) map[string]any {
	if of, ok := strings.CutPrefix(name, "list["); ok {
		return map[string]any{"type": "array", "items": s.typed(strings.TrimSuffix(of, "]"), defs)}
	}
	if of, ok := strings.CutPrefix(name, "dict(str, "); ok {
		return map[string]any{"type": "object", "additionalProperties": s.typed(strings.TrimSuffix(of, ")"), defs)}
	}
	if plain, ok := map[string]string{"str": "string", "datetime": "string", "int": "integer", "float": "number",
		"bool": "boolean"}[name]; ok {
		return map[string]any{"type": plain}
	}
	if s.kserve[name] != "" {
		s.define(name, defs)
		return map[string]any{"$ref": "#/$defs/" + name}
	}
	if of := s.names[name]; of != "" {
		return map[string]any{"$ref": definitions + "#/$defs/" + of}
	}
	return map[string]any{} // of another project, such as Knative: anything
}
