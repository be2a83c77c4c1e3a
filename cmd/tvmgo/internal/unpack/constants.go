package unpack

import (
	"bytes"
	"encoding/json"
	"fmt"

	"tvmgo/blob"
	"tvmgo/dlpack"
	"tvmgo/internal/npyfile"
)

// maxDimensions is the maximum number of dimensions that NumPy supports.
const maxDimensions = 64

// constantsJSON is the file of role constants; its tensors are in the order of the files of role constant.
type constantsJSON struct {
	Constants []constantJSON `json:"constants"`
	Symbols   []symbolJSON   `json:"symbols"`
}

type constantJSON struct {
	Name  string    `json:"name"`
	DType string    `json:"dtype"` // for readers: not every type has a name
	Type  [3]uint16 `json:"type"`  // code, bits, lanes
	Shape []int64   `json:"shape"`
}

// symbolJSON lists the constants that the function __init_<symbol> gets.
type symbolJSON struct {
	Symbol    string   `json:"symbol"`
	Constants []string `json:"constants"`
}

// splitConstants makes a .npy file of each tensor, or a file of the bare bytes if NumPy does not have the type.
func (c *contents) splitConstants(payload []byte) error {
	m, err := blob.ParseConstants(payload)
	if err != nil {
		return err
	}
	c.symbols = m.Symbols
	table := constantsJSON{Constants: []constantJSON{}, Symbols: []symbolJSON{}}
	for i, t := range m.Tensors {
		table.Constants = append(table.Constants, constantJSON{Name: m.Names[i], DType: t.DType.String(),
			Type: [3]uint16{uint16(t.DType.Code), uint16(t.DType.Bits), t.DType.Lanes}, Shape: t.Shape})
		if npyfile.Descr(t.DType) == "" || len(t.Shape) > maxDimensions {
			c.add(Constant, m.Names[i], "bin", t.Data)
			continue
		}
		var header bytes.Buffer
		if err := npyfile.WriteHeader(&header, t.DType, t.Shape); err != nil {
			return err
		}
		c.add(Constant, m.Names[i], "npy", header.Bytes(), t.Data)
	}
	for _, s := range m.Symbols {
		table.Symbols = append(table.Symbols, symbolJSON{Symbol: s.Symbol, Constants: s.Names})
		c.functions = append(c.functions, s.Symbol)
	}
	c.tensors = table.Constants
	text, err := encodeJSON(table)
	c.add(Constants, "", "json", text)
	return err
}

// joinConstants is the inverse of splitConstants.
func joinConstants(table []byte, files [][]byte) ([]byte, error) {
	var t constantsJSON
	if err := json.Unmarshal(table, &t); err != nil {
		return nil, err
	}
	if len(files) != len(t.Constants) {
		return nil, fmt.Errorf("%d constants in %d files", len(t.Constants), len(files))
	}
	m := &blob.Constants{}
	for i, c := range t.Constants {
		dtype := dlpack.DataType{Code: uint8(c.Type[0]), Bits: uint8(c.Type[1]), Lanes: c.Type[2]}
		size, err := dlpack.SerializedDataSize(c.Shape, dtype)
		if err != nil {
			return nil, err
		}
		if int64(len(files[i])) < size {
			return nil, fmt.Errorf("constant %q: %d bytes of %d", c.Name, len(files[i]), size)
		}
		m.Names = append(m.Names, c.Name)
		m.Tensors = append(m.Tensors, blob.Tensor{DType: dtype, Shape: c.Shape,
			Data: files[i][int64(len(files[i]))-size:]})
	}
	for _, s := range t.Symbols {
		m.Symbols = append(m.Symbols, blob.SymbolConstants{Symbol: s.Symbol, Names: s.Constants})
	}
	return m.Encode()
}
