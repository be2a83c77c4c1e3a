package blob

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"tvmgo/dlpack"
)

// Meta is the content of a `.tvm_meta.json`, which is next to a device file and describes its functions.
type Meta struct {
	TVMVersion string // the version of the file format, "" if absent; newer readers ignore it
	Functions  []Function
}

// ParseMetaJSON reads a `.tvm_meta.json`: an object with func_info and, optionally, tvm_version.
func ParseMetaJSON(data []byte) (*Meta, error) {
	meta, hasFunctions := &Meta{}, false
	err := eachMember(data, func(key string, value json.RawMessage) error {
		switch key {
		case "tvm_version":
			return json.Unmarshal(value, &meta.TVMVersion)
		case "func_info":
			hasFunctions = true
			var err error
			meta.Functions, err = ParseFunctionsJSON(value)
			return err
		}
		return fmt.Errorf("unknown key: the known ones are tvm_version and func_info")
	})
	if err == nil && !hasFunctions {
		err = errors.New(`the key "func_info" is missing`)
	}
	if err != nil {
		return nil, fmt.Errorf("read function metadata: %w", err)
	}
	return meta, nil
}

// ParseFunctionsJSON reads a function table, an object from keys to descriptions, in file order.
func ParseFunctionsJSON(data []byte) ([]Function, error) {
	var list []Function
	err := eachMember(data, func(key string, value json.RawMessage) error {
		info, err := ParseFunctionInfoJSON(value)
		if err != nil {
			return err
		}
		f := Function{Key: key, FunctionInfo: info}
		f.nameByKey()
		list = append(list, f)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// ParseFunctionInfoJSON reads one description: name, arg_types (data types in modern or classic form), and optionally
// launch_param_tags (called thread_axis_tags in old files) and arg_extra_tags. An unknown key is an error, since an
// unknown field could change how the kernel must be launched.
func ParseFunctionInfoJSON(data []byte) (FunctionInfo, error) {
	var info FunctionInfo
	seen := map[string]bool{}
	err := eachMember(data, func(key string, value json.RawMessage) error {
		seen[key] = true
		switch key {
		case "name":
			return json.Unmarshal(value, &info.Name)
		case "arg_types":
			var names []string
			if err := json.Unmarshal(value, &names); err != nil {
				return err
			}
			var err error
			info.ArgTypes, err = parseArgTypes(names)
			return err
		case "launch_param_tags", "thread_axis_tags":
			return json.Unmarshal(value, &info.LaunchParamTags)
		case "arg_extra_tags":
			return json.Unmarshal(value, &info.ArgExtraTags)
		}
		return fmt.Errorf("unknown key: the known ones are name, arg_types, launch_param_tags and arg_extra_tags")
	})
	switch {
	case err != nil:
	case !seen["arg_types"]:
		err = errors.New(`the key "arg_types" is missing`)
	case seen["launch_param_tags"] && seen["thread_axis_tags"]:
		err = errors.New("launch_param_tags and thread_axis_tags are two names of one field")
	default:
		err = info.check()
	}
	if err != nil {
		return FunctionInfo{}, err
	}
	return info, nil
}

// parseArgTypes accepts both forms of data types: the file does not identify the generation that wrote it, and no text
// stands for two types that a kernel's argument can have.
func parseArgTypes(names []string) ([]dlpack.DataType, error) {
	types := make([]dlpack.DataType, len(names))
	for i, name := range names {
		t, err := dlpack.ParseDataType(name)
		if err != nil {
			var classicErr error
			if t, classicErr = dlpack.ParseDataTypeClassic(name); classicErr != nil {
				return nil, fmt.Errorf("argument %d: %w", i, err)
			}
		}
		types[i] = t
	}
	return types, nil
}

// eachMember calls visit for the members of a JSON object, in order. A repeated key is an error, and so is text after
// the object.
func eachMember(data []byte, visit func(key string, value json.RawMessage) error) error {
	d := json.NewDecoder(bytes.NewReader(data))
	token, err := d.Token()
	if err != nil {
		return jsonError(err)
	}
	if token != json.Delim('{') {
		return fmt.Errorf("expected an object, found %v", token)
	}
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return jsonError(err)
		}
		key := token.(string) // inside an object the decoder returns only strings here
		if seen[key] {
			return fmt.Errorf("key %q occurs twice", key)
		}
		seen[key] = true
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return fmt.Errorf("key %q: %w", key, jsonError(err))
		}
		if string(value) == "null" {
			return fmt.Errorf("key %q: the value is null", key)
		}
		if err := visit(key, value); err != nil {
			return fmt.Errorf("key %q: %w", key, err)
		}
	}
	if _, err := d.Token(); err != nil {
		return jsonError(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is text after the object")
	}
	return nil
}

// jsonError replaces the error for the end of the text by a clearer one.
func jsonError(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// functionJSON has its fields in the order in which TVM writes them.
type functionJSON struct {
	Name            string   `json:"name"`
	ArgTypes        []string `json:"arg_types"`
	LaunchParamTags []string `json:"launch_param_tags"`
	ArgExtraTags    []int32  `json:"arg_extra_tags,omitempty"`
}

// EncodeMetaJSON returns a `.tvm_meta.json` that readers of both generations can read, with functions in the given
// order.
func EncodeMetaJSON(functions []Function) ([]byte, error) {
	table, err := EncodeFunctionsJSON(functions)
	if err != nil {
		return nil, err
	}
	text := append([]byte(`{"tvm_version":"0.1.0","func_info":`), table...)
	var indented bytes.Buffer
	if err := json.Indent(&indented, append(text, '}'), "", "  "); err != nil {
		return nil, err
	}
	indented.WriteByte('\n')
	return indented.Bytes(), nil
}

// EncodeFunctionsJSON returns a function table that [ParseFunctionsJSON] reads.
func EncodeFunctionsJSON(functions []Function) ([]byte, error) {
	text := []byte{'{'}
	seen := make(map[string]bool, len(functions))
	for i, f := range functions {
		if seen[f.Key] {
			return nil, fmt.Errorf("blob: write functions: %q occurs twice", f.Key)
		}
		seen[f.Key] = true
		if i > 0 {
			text = append(text, ',')
		}
		key, err := encodeJSON(f.Key)
		if err != nil {
			return nil, err
		}
		info, err := EncodeFunctionInfoJSON(f.FunctionInfo)
		if err != nil {
			return nil, err
		}
		text = append(append(append(text, key...), ':'), info...)
	}
	return append(text, '}'), nil
}

// EncodeFunctionInfoJSON returns a description that [ParseFunctionInfoJSON] reads.
func EncodeFunctionInfoJSON(info FunctionInfo) ([]byte, error) {
	if err := info.check(); err != nil {
		return nil, fmt.Errorf("blob: write function %q: %w", info.Name, err)
	}
	out := functionJSON{Name: info.Name, ArgTypes: []string{}, LaunchParamTags: info.LaunchParamTags,
		ArgExtraTags: info.ArgExtraTags}
	if out.LaunchParamTags == nil {
		out.LaunchParamTags = []string{}
	}
	for i, t := range info.ArgTypes {
		text := t.String()
		if back, err := dlpack.ParseDataType(text); err != nil || back != t {
			return nil, fmt.Errorf("blob: write function %q: argument %d has a type without a name: %s", info.Name, i,
				text)
		}
		out.ArgTypes = append(out.ArgTypes, text)
	}
	return encodeJSON(out)
}

// encodeJSON does not escape <, > and &. Text that is not valid UTF-8 would be changed, so that it is an error.
func encodeJSON(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	if bytes.Contains(out.Bytes(), []byte(`\ufffd`)) {
		return nil, fmt.Errorf("blob: write functions: a name is not valid UTF-8, which JSON requires: %s",
			bytes.TrimSpace(out.Bytes()))
	}
	return bytes.TrimSpace(out.Bytes()), nil
}
