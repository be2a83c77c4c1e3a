package unpack

import (
	"bytes"
	"cmp"
	"strconv"
	"unicode/utf8"

	"tvmgo/blob"
	"tvmgo/blob/vmcode"
	"tvmgo/internal/modulekind"
)

// contents are the parts of a payload. Pieces are views of the payload if possible.
type contents struct {
	format    string
	functions []string
	constants []string
	table     []blob.Function // the functions of device code
	symbols   []blob.SymbolConstants
	tensors   []constantJSON // in the order of the pieces
	pieces    []piece
}

// piece is the contents of a file.
type piece struct {
	role  Role
	of    string
	flag  uint32
	ext   string
	parts [][]byte
}

func (c *contents) add(role Role, of, ext string, parts ...[]byte) {
	c.pieces = append(c.pieces, piece{role: role, of: of, ext: ext, parts: parts})
}

// split splits a payload according to its kind. A damaged payload, or one of an unknown kind, is one piece.
func split(kind string, payload []byte, layout blob.Layout) (*contents, error) {
	c, err := &contents{}, error(nil)
	form := modulekind.FormOf(kind)
	switch form {
	case modulekind.Device:
		err = c.splitDevice(payload, layout)
	case modulekind.Shaders:
		err = c.splitVulkan(payload, layout)
	case modulekind.Source:
		err = c.splitSource(payload)
	case modulekind.Object:
		err = c.splitObject(payload)
	case modulekind.Constants:
		err = c.splitConstants(payload)
	case modulekind.Program:
		err = c.splitProgram(payload, layout)
	default:
		c.splitGraph(form, payload)
		c.add(Payload, "", "bin", payload)
	}
	if err != nil {
		c = &contents{}
		c.add(Payload, "", "bin", payload)
	}
	if c.functions == nil {
		c.functions = []string{}
	}
	return c, err
}

func (c *contents) splitDevice(payload []byte, layout blob.Layout) error {
	m, err := blob.ParseDeviceModule(payload, layout)
	if err != nil {
		return err
	}
	c.format = m.Format
	c.add(Code, "", cmp.Or(m.Suffix(), "bin"), m.Data)
	c.addTable(m.Functions)
	return nil
}

func (c *contents) splitVulkan(payload []byte, layout blob.Layout) error {
	m, err := blob.ParseVulkanModule(payload, layout)
	if err != nil {
		return err
	}
	c.format = m.Format
	for _, s := range m.Shaders {
		c.pieces = append(c.pieces, piece{role: Shader, of: s.Key, flag: s.Flag, ext: "spv", parts: [][]byte{s.Code}})
	}
	c.addTable(m.Functions)
	return nil
}

// addTable adds the meta file. If the table cannot be written as JSON, the payload is kept instead.
func (c *contents) addTable(table []blob.Function) {
	c.table = table
	for _, f := range table {
		c.functions = append(c.functions, f.Key)
	}
	if meta, err := blob.EncodeMetaJSON(table); err == nil {
		c.add(Meta, "", "tvm_meta.json", meta)
	}
}

func (c *contents) splitSource(payload []byte) error {
	m, err := blob.ParseCSource(payload)
	if err != nil {
		return err
	}
	c.format, c.functions, c.constants = m.Format, m.Functions, m.Constants
	c.add(Code, "", cmp.Or(m.Format, "c"), payload[8:8+len(m.Code)]) // the code is first, after its length
	return nil
}

func (c *contents) splitObject(payload []byte) error {
	m, err := blob.ParseStaticLibrary(payload)
	if err != nil {
		return err
	}
	c.functions = m.Functions
	c.add(Code, "", "o", m.Object)
	return nil
}

// splitProgram adds the instructions as text. They are also in the payload.
func (c *contents) splitProgram(payload []byte, layout blob.Layout) error {
	e, err := vmcode.ParsePayload(payload, layout)
	if err != nil {
		return err
	}
	for _, f := range e.Functions {
		if f.Kind != vmcode.Packed {
			c.functions = append(c.functions, f.Name)
		}
	}
	c.add(Instructions, "", "vm.txt", []byte(e.Text()))
	c.add(Payload, "", "bin", payload)
	return nil
}

// splitGraph adds the graph of a kind that stores it as text. It is also in the payload.
func (c *contents) splitGraph(form modulekind.Form, payload []byte) {
	r := blob.NewReader(payload)
	switch form {
	case modulekind.GraphText:
	case modulekind.SymbolGraph:
		symbol := r.Str("symbol")
		if r.Err() == nil {
			c.functions = []string{symbol}
		}
	default:
		return
	}
	graph := r.Bytes("graph")
	if r.Err() == nil && isText(graph) && bytes.HasPrefix(bytes.TrimSpace(graph), []byte{'{'}) {
		c.add(Graph, "", "graph.json", graph)
	}
}

// isText reports whether data is text that a terminal can show.
func isText(data []byte) bool {
	for len(data) > 0 {
		r, n := utf8.DecodeRune(data)
		if r == utf8.RuneError && n < 2 || !strconv.IsPrint(r) && r != '\n' && r != '\t' && r != '\r' {
			return false
		}
		data = data[n:]
	}
	return true
}
