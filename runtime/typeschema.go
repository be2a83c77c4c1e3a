package runtime

import (
	"encoding/json"
	"errors"
	"strings"
)

// TypeSchema is a type as producers of tvm-ffi modules describe it.
type TypeSchema struct {
	Type   string       // as written: "int", "ffi.Tensor", "ffi.Array", "Optional", "ffi.Function"…
	Args   []TypeSchema // element types of containers, alternatives of a Variant
	Params []TypeSchema // of a function whose signature is known
	Return *TypeSchema  // of such a function; nil for everything else
}

const functionType = "ffi.Function"

// maxSchema bounds a schema's text, and with it how deep it nests.
const maxSchema = 1 << 20

// UnmarshalJSON reads a schema, which may be inside a JSON string. A function's signature is
// under named_args; older headers wrote args, the result first.
func (s *TypeSchema) UnmarshalJSON(data []byte) error {
	if len(data) > maxSchema {
		return errors.New("too long for a type")
	}
	if len(data) > 0 && data[0] == '"' {
		var inner string
		if err := json.Unmarshal(data, &inner); err != nil {
			return err
		}
		data = []byte(inner)
		if !strings.HasPrefix(strings.TrimSpace(inner), "{") {
			return errors.New("the text is not a JSON object")
		}
	}
	var raw rawSchema
	if err := decodeJSON(data, &raw); err != nil {
		return err
	}
	return s.set(&raw)
}

// rawSchema is the JSON form of a schema.
type rawSchema struct {
	Type  *string     `json:"type"`
	Args  []rawSchema `json:"args"`
	Named *struct {
		Return []rawSchema `json:"return"`
		Params []rawSchema `json:"params"`
	} `json:"named_args"`
}

func (s *TypeSchema) set(raw *rawSchema) error {
	if raw.Type == nil || *raw.Type == "" {
		return errors.New(`a type without its name, the key "type"`)
	}
	result, params, args := []rawSchema(nil), []rawSchema(nil), raw.Args
	if raw.Named != nil {
		result, params = raw.Named.Return, raw.Named.Params
	} else if *raw.Type == functionType && len(args) > 0 {
		result, params, args = args[:1], args[1:], nil
	}
	if raw.Named != nil && len(result) != 1 {
		return errors.New("a function that does not return one type")
	}
	s.Type = *raw.Type
	var err error
	if s.Args, err = schemas(args); err != nil || len(result) == 0 {
		return err
	}
	s.Return = &TypeSchema{}
	if err := s.Return.set(&result[0]); err != nil {
		return err
	}
	s.Params, err = schemas(params)
	return err
}

func schemas(raw []rawSchema) ([]TypeSchema, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	list := make([]TypeSchema, len(raw))
	for i := range raw {
		if err := list[i].set(&raw[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// shortNames maps the names of types that accept the same values to one name.
var shortNames = map[string]string{
	"DLTensor*": "Tensor", "ffi.String": "str", "ffi.SmallStr": "str", "std::string": "str", "const char*": "str",
	"ffi.Bytes": "bytes", "ffi.SmallBytes": "bytes", "TVMFFIByteArray*": "bytes", "void*": "Ptr", "DataType": "dtype",
}

// String returns the type in readable form: "int", "Array[int]", "Function(Tensor, int) -> Tensor".
func (s *TypeSchema) String() string {
	var b strings.Builder
	s.write(&b)
	return b.String()
}

// Signature returns the type of a function with this name in readable form: "add(Tensor, int) -> Tensor". Unknown
// parameters are shown as "...".
func (s *TypeSchema) Signature(name string) string {
	var b strings.Builder
	b.WriteString(name)
	if s.Return == nil {
		b.WriteString("(...)")
	} else {
		s.writeCall(&b)
	}
	return b.String()
}

func (s *TypeSchema) write(b *strings.Builder) {
	switch {
	case s.Return != nil:
		b.WriteString("Function")
		s.writeCall(b)
	case s.Type == "Variant" && len(s.Args) > 0:
		writeAll(b, s.Args, " | ")
	default:
		name, known := shortNames[s.Type]
		if !known {
			name = strings.TrimPrefix(s.Type, "ffi.")
		}
		b.WriteString(name)
		if len(s.Args) > 0 {
			b.WriteByte('[')
			writeAll(b, s.Args, ", ")
			b.WriteByte(']')
		}
	}
}

func (s *TypeSchema) writeCall(b *strings.Builder) {
	b.WriteByte('(')
	writeAll(b, s.Params, ", ")
	b.WriteString(") -> ")
	s.Return.write(b)
}

func writeAll(b *strings.Builder, list []TypeSchema, between string) {
	for i := range list {
		if i > 0 {
			b.WriteString(between)
		}
		list[i].write(b)
	}
}
