package unpack

import (
	"bytes"
	"encoding/json"
	"path/filepath"

	"tvmgo/internal/inspect"
)

// Names of the files that do not belong to one module.
const (
	TreeFile = "tree.json"
	BlobFile = "library.bin"
)

// Tree is tree.json. Keys may be added, but keep their meaning.
type Tree struct {
	File         string             `json:"file"` // without its folder
	Architecture string             `json:"architecture"`
	Generation   inspect.Generation `json:"generation"`
	Symbol       string             `json:"symbol,omitempty"` // of the blob
	Layout       string             `json:"layout,omitempty"`
	Blob         string             `json:"blob,omitempty"` // file of the whole blob
	Modules      []Module           `json:"modules"`
	Problems     []string           `json:"problems"`
}

// Module is a node of the import tree. Number 0 is the root.
type Module struct {
	Index       int      `json:"index"`
	Kind        string   `json:"kind"` // "library" is the file itself
	PayloadSize int64    `json:"payload_size"`
	Format      string   `json:"format,omitempty"`
	Imports     []int    `json:"imports"`
	Functions   []string `json:"functions"`
	Constants   []string `json:"constants,omitempty"` // the constants that C source needs
	// FunctionLayout is the layout of the function table and the shaders, if it is not that of the blob. Unnamed means
	// that the descriptions in the table had no names. Both are needed to rebuild the same payload.
	FunctionLayout string `json:"function_layout,omitempty"`
	Unnamed        bool   `json:"unnamed,omitempty"`
	Files          []File `json:"files"`
}

// File is one file of a module.
type File struct {
	Name string `json:"name"`
	Role Role   `json:"role"`
	Of   string `json:"of,omitempty"`   // the shader or constant
	Flag uint32 `json:"flag,omitempty"` // of the shader
	Size int64  `json:"size"`
}

// Role is the role of a file in its module.
type Role string

// The roles. A file of role Payload is the whole module in its binary form.
const (
	Code      Role = "code"
	Meta      Role = "meta" // the function table, in the form of TVM's .tvm_meta.json files
	Shader    Role = "shader"
	Constant  Role = "constant"
	Constants Role = "constants" // names, types and shapes, and the symbols that need them
	Graph     Role = "graph"
	Payload   Role = "payload"

	Instructions Role = "instructions" // of an executable, as text
)

// newTree makes a tree from a report, without modules.
func newTree(c *inspect.Contents) *Tree {
	t := &Tree{File: filepath.Base(c.File), Architecture: c.Architecture, Generation: c.Generation, Modules: []Module{},
		Problems: append([]string{}, c.Problems...)}
	if c.Blob != nil {
		t.Symbol, t.Layout = c.Blob.Symbol, c.Blob.Layout
	}
	return t
}

func encodeJSON(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return out.Bytes(), err
}
