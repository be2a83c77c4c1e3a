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

// Metadata is the producer's description of a function.
type Metadata struct {
	Text   string                     // the JSON text in the file; "" if there is none
	Schema *TypeSchema                // the function's type; nil when the producer gave none
	Values map[string]json.RawMessage // the content of the JSON by key, including the schema

	// Signature is the type in readable form. For a function that Apache TVM compiled it is the text in the function's
	// error messages: "vadd(A: Tensor([n], float32), n: int32)". For others it is Schema.Signature, or "" without a
	// schema.
	Signature string
}

// Metadata returns the metadata that the producer attached to a function. Kernels built with tvm-ffi's C++ headers have
// it if TVM_FFI_DLL_EXPORT_INCLUDE_METADATA was set. The function is the one that Function finds. In a library,
// metadata is a function: Metadata runs code of the library. Libraries that Apache TVM exports have no metadata, but
// those of v0.27 have the texts of their functions' error messages: then only Signature is set.
//
// The error is ErrNotFound if there is no such function or no metadata, ErrCorruptModule if the text is not valid
// metadata, and the producer's own error if its code fails.
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

// signature returns the signature that the library of a function prints in its errors; "" if it has no such text, or
// several.
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

// Doc returns the documentation that the producer attached to a function. Its errors are those of Metadata.
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

// excerpt returns the beginning of a text, quoted.
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

// decodeJSON reads data that consists of a single value.
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
