package runtime

/*
#include <stdlib.h>
#include "bridge/bridge.h"
*/
import "C"

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unsafe"

	"tvmgo/internal/fault"
	"tvmgo/internal/signature"
	"tvmgo/internal/value"
)

// Metadata is what the producer of a function says about it.
type Metadata struct {
	Text   string                     // the JSON as the file has it; "" when it has none
	Schema *TypeSchema                // the function's type; nil when the producer gave none
	Values map[string]json.RawMessage // what the JSON holds, by key, the schema too

	// Signature is the type for people. That of a function that Apache TVM compiled is the text that its error messages
	// print: "vadd(A: Tensor([n], float32), n: int32)". Else it is Schema.Signature, or "" without a schema.
	Signature string
}

// Metadata returns what the producer of a function attached to it for programs; kernels built on tvm-ffi's C++ headers
// have it where TVM_FFI_DLL_EXPORT_INCLUDE_METADATA was set. The function is the one that Function finds. In a library,
// metadata is code: asking for it runs it. Libraries that Apache TVM exports (v0.27 does) have no metadata, but the
// texts of their functions' error messages: then Signature alone is set.
//
// Without the function or the metadata the error is ErrNotFound, ErrCorruptModule when the text is not
// what metadata looks like, and the producer's own when its code fails.
func (m *Module) Metadata(function string) (*Metadata, error) {
	const op = "get metadata"
	text, err := m.describe(op, "metadata", moduleMetadata, function)
	if errors.Is(err, ErrNotFound) {
		if s := m.signature(function); s != "" {
			return &Metadata{Signature: s}, nil
		}
	}
	if err != nil {
		return nil, err
	}
	meta, err := parseMetadata(text)
	if err != nil {
		return nil, &Error{Op: op, Kind: ErrCorruptModule, Code: CodeOf(ErrCorruptModule), Err: err,
			Message: fmt.Sprintf("that of function %q: %v: it begins %s", function, err, excerpt(text))}
	}
	if meta.Schema != nil {
		meta.Signature = meta.Schema.Signature(function)
	}
	return meta, nil
}

// signature is what the library of a function prints in its errors; "" when it has no such text, or several.
func (m *Module) signature(function string) string {
	const maxParts = 64
	if m.use("") != nil {
		return ""
	}
	defer m.ref.release()
	var parts [maxParts]C.tvmgo_part
	var n C.int32_t
	ptr, size := cText(function)
	image, err := result("", C.tvmgo_bridge_constants(C.uintptr_t(m.ref.obj), ptr, size, &parts[0], maxParts, &n))
	if err != nil {
		return ""
	}
	defer image.release()
	var constants [][]byte
	for _, p := range parts[:n] {
		constants = append(constants, unsafe.Slice((*byte)(object(p.data).pointer()), int(p.size)))
	}
	return signature.Find(func(name string) bool { return name == function }, constants...)[function]
}

// Doc returns the documentation that the producer attached to a function. All of what Metadata says of
// errors holds.
func (m *Module) Doc(function string) (string, error) {
	return m.describe("get documentation", "documentation", moduleDoc, function)
}

func (m *Module) describe(op, noun string, what int, function string) (string, error) {
	v, err := m.text(op, what, function)
	if err != nil {
		return "", err
	}
	if s, ok := v.(string); ok {
		return s, nil
	}
	value.Close(v)
	if err := m.use(op); err != nil {
		return "", err
	}
	defer m.ref.release()
	ptr, n := cText(function)
	o, err := result(op, C.tvmgo_bridge_get_function(C.uintptr_t(m.ref.obj), ptr, n, 1))
	if err != nil {
		return "", err
	}
	if o == 0 {
		return "", m.noFunction(op, function)
	}
	o.release()
	return "", fault.New(op, ErrNotFound, "the producer of function %q gave it no %s", function, noun)
}

// excerpt is the beginning of a text, quoted.
func excerpt(text string) string {
	const most = 60
	if len(text) > most {
		return strconv.Quote(text[:most]) + "…"
	}
	return strconv.Quote(text)
}

func parseMetadata(text string) (*Metadata, error) {
	m := &Metadata{Text: text}
	if err := decodeJSON([]byte(text), &m.Values); err != nil {
		return nil, fmt.Errorf("not a JSON object: %w", err)
	}
	if m.Values == nil {
		return nil, fmt.Errorf("null instead of a JSON object")
	}
	schema := m.Values["type_schema"]
	if schema == nil {
		return m, nil
	}
	m.Schema = &TypeSchema{}
	if err := decodeJSON(schema, m.Schema); err != nil {
		return nil, fmt.Errorf("type_schema: %w", err)
	}
	return m, nil
}

// decodeJSON reads one value that is all of the data.
func decodeJSON(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(v); err != nil {
		if err == io.EOF {
			return io.ErrUnexpectedEOF
		}
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("something follows its end")
	}
	return nil
}
