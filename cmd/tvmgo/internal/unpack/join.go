package unpack

import (
	"bytes"
	"encoding/json"
	"fmt"

	"tvmgo/blob"
	"tvmgo/internal/modulekind"
)

// join builds a payload from a module in tree.json and its files. It is the inverse of [split].
func join(m *Module, layout blob.Layout, read func(*File) ([]byte, error)) ([]byte, error) {
	files := map[Role][][]byte{}
	var shaders []blob.Shader
	for i := range m.Files {
		f := &m.Files[i]
		data, err := read(f)
		if err != nil {
			return nil, err
		}
		files[f.Role] = append(files[f.Role], data)
		if f.Role == Shader {
			shaders = append(shaders, blob.Shader{Key: f.Of, Flag: f.Flag, Code: data})
		}
	}
	one := func(role Role) []byte {
		if len(files[role]) == 1 {
			return files[role][0]
		}
		return nil
	}
	if whole := files[Payload]; len(whole) == 1 {
		return whole[0], nil
	}
	switch modulekind.FormOf(m.Kind) {
	case modulekind.Source:
		return (&blob.CSource{Code: string(one(Code)), Format: m.Format, Functions: m.Functions,
			Constants: m.Constants}).Encode(), nil
	case modulekind.Object:
		return (&blob.StaticLibrary{Object: one(Code), Functions: m.Functions}).Encode(), nil
	case modulekind.Constants:
		return joinConstants(one(Constants), files[Constant])
	}
	return m.joinDevice(layout, one(Meta), one(Code), shaders)
}

func (m *Module) joinDevice(layout blob.Layout, meta, code []byte, shaders []blob.Shader) ([]byte, error) {
	if m.FunctionLayout == blob.LegacyFFI.String() {
		layout = blob.LegacyFFI
	}
	table, err := blob.ParseMetaJSON(meta)
	if err != nil {
		return nil, fmt.Errorf("module %d: %w", m.Index, err)
	}
	if m.Unnamed {
		for i := range table.Functions {
			table.Functions[i].Name = ""
		}
	}
	if modulekind.FormOf(m.Kind) == modulekind.Shaders {
		return (&blob.VulkanModule{Format: m.Format, Functions: table.Functions, Shaders: shaders}).Encode(layout)
	}
	return (&blob.DeviceModule{Format: m.Format, Functions: table.Functions, Data: code}).Encode(layout)
}

// chooseForm finds the form in which the files give the same payload: with descriptions that have no names, as v0.17
// wrote them, or shaders without a length, as v0.22 and v0.23 did. It reports whether there is such a form. pieces are
// the contents of the module's files.
func (m *Module) chooseForm(payload []byte, layout blob.Layout, pieces []piece) bool {
	layouts := []string{""}
	if modulekind.FormOf(m.Kind) == modulekind.Shaders && layout == blob.Modern {
		layouts = append(layouts, blob.LegacyFFI.String())
	}
	for _, m.FunctionLayout = range layouts {
		for _, m.Unnamed = range []bool{false, true} {
			if m.rebuilds(payload, layout, pieces) {
				return true
			}
			if len(m.Functions) == 0 {
				break
			}
		}
	}
	m.FunctionLayout, m.Unnamed = "", false
	return false
}

// rebuilds reports whether the payload can be rebuilt. It encodes and decodes the JSON, because names that are not
// UTF-8 would change.
func (m *Module) rebuilds(payload []byte, layout blob.Layout, pieces []piece) bool {
	text, err := json.Marshal(m)
	if err != nil {
		return false
	}
	var read Module
	if json.Unmarshal(text, &read) != nil || len(read.Files) != len(pieces) {
		return false
	}
	next := 0
	again, err := join(&read, layout, func(*File) ([]byte, error) {
		next++
		if parts := pieces[next-1].parts; len(parts) == 1 {
			return parts[0], nil
		}
		return bytes.Join(pieces[next-1].parts, nil), nil
	})
	return err == nil && bytes.Equal(again, payload)
}
